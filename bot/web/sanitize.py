"""Make foreign text safe to show, and apply a function to every text inside a value.

`sanitize` removes terminal codes, shows control characters as visible signs, and names characters that would
reorder their neighbours. `map_texts` refuses a value of an unknown type, so no text is missed; a part without
text is returned as the same object.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import Struct, UnsetType, structs

# Terminal colours and cursor moves: ESC [ 31 m, ESC ] 0 ; title BEL
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")

# Control characters, and characters that change the direction or joining of their neighbours.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def sanitize(text: str) -> str:
    """`text` safe to show; line ends and tabs stay."""
    return _INVISIBLE.sub(_visible_name, _ANSI.sub("", text))


def strip_ansi(text: str) -> str:
    """`text` without terminal codes, otherwise unchanged."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def _visible_name(found: re.Match[str]) -> str:
    """A control picture, or the code point and name of a character that would reorder its neighbours."""
    code = ord(found[0])
    if code == 0x0D:
        return " "
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"[U+{code:04X} {unicodedata.name(found[0], 'CONTROL')}]"


TextFunction = Callable[[str], str]

Value = TypeVar("Value")

TEXTLESS_TYPES = frozenset({int, float, bool, type(None), UnsetType})


def map_texts(value: Value, text: TextFunction, named: Mapping[str, TextFunction] | None = None) -> Value:
    """Apply `text` to every text inside `value`.

    A text in a field or under a key in `named` goes through that function afterwards. Keys stay as they are.
    """
    known: dict[str, str] = {}

    def remembered(given: str) -> str:
        if given not in known:
            known[given] = text(given)
        return known[given]

    return _map_value(value, remembered, named or {})  # type: ignore[no-any-return]


def _map_value(value: Any, text: TextFunction, named: Mapping[str, TextFunction]) -> Any:
    kind = type(value)
    if kind in TEXTLESS_TYPES:
        return value
    if kind is str:
        return text(value)
    if kind is dict:
        return {key: _map_named(key, inner, text, named) for key, inner in value.items()}
    if kind is tuple or kind is list:
        return _map_sequence(value, text, named)
    if issubclass(kind, Struct):
        return _map_struct(value, text, named)
    if isinstance(value, Enum):
        return value
    raise TypeError(f"texts are not looked for in a {kind.__name__}")


def _map_sequence(value: Any, text: TextFunction, named: Mapping[str, TextFunction]) -> Any:
    changed = [_map_value(inner, text, named) for inner in value]
    same = all(one is other for one, other in zip(value, changed, strict=True))
    return value if same else type(value)(changed)


def _map_struct(value: Any, text: TextFunction, named: Mapping[str, TextFunction]) -> Any:
    changes = {}
    kind: Any = type(value)
    for name in _text_fields(kind):
        inner = getattr(value, name)
        if inner != () and (changed := _map_named(name, inner, text, named)) is not inner:
            changes[name] = changed
    return structs.replace(value, **changes) if changes else value


def _map_named(name: object, value: Any, text: TextFunction, named: Mapping[str, TextFunction]) -> Any:
    changed = _map_value(value, text, named)
    further = named.get(name) if isinstance(name, str) and isinstance(changed, str) else None
    return further(changed) if further else changed


@lru_cache(maxsize=256)
def _text_fields(kind: Any) -> tuple[str, ...]:
    """The fields that can hold text."""
    hints = get_type_hints(kind)
    return tuple(name for name in kind.__struct_fields__ if not _holds_no_text(hints[name]))


def _holds_no_text(hint: Any) -> bool:
    if hint in TEXTLESS_TYPES or hint is Ellipsis:
        return True
    if get_origin(hint) in {tuple, Union, UnionType}:
        return all(_holds_no_text(inner) for inner in get_args(hint))
    return isinstance(hint, type) and issubclass(hint, Enum)
