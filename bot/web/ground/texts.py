"""Every text in a value, through one function: nothing that holds text is passed by.

In:  a JSON document, or frozen dataclasses with their tuples. Out: the same with other texts.
Promises: what holds no text is the very same object afterwards, and a run's thousands of step lines are not
looked into further than they can hold text; a value of a kind that is not known is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import lru_cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Text = Callable[[str], str]
Value = TypeVar("Value")

FIGURES = frozenset({int, float, bool, type(None)})


def each_text(value: Value, text: Text, named: Mapping[str, Text] | None = None) -> Value:
    """`value` with `text` of each of its texts; those in a field or under a key that is `named` go through
    that function afterwards. Keys stay."""
    known: dict[str, str] = {}

    def remembered(given: str) -> str:
        if given not in known:
            known[given] = text(given)
        return known[given]

    return _changed(value, remembered, named or {})  # type: ignore[no-any-return]


def _changed(value: Any, text: Text, named: Mapping[str, Text]) -> Any:
    kind = type(value)
    if kind in FIGURES:
        return value
    if kind is str:
        return text(value)
    if kind is dict:
        return {key: _named(key, inner, text, named) for key, inner in value.items()}
    if kind is tuple or kind is list:
        return _sequence(value, text, named)
    if is_dataclass(kind):
        return _record(value, text, named)
    if isinstance(value, Enum):
        return value
    raise TypeError(f"texts are not looked for in a {kind.__name__}")


def _sequence(value: Any, text: Text, named: Mapping[str, Text]) -> Any:
    changed = [_changed(inner, text, named) for inner in value]
    same = all(one is other for one, other in zip(value, changed, strict=True))
    return value if same else type(value)(changed)


def _record(value: Any, text: Text, named: Mapping[str, Text]) -> Any:
    changes = {}
    kind: Any = type(value)
    for name in _with_text(kind):
        inner = getattr(value, name)
        if inner != () and (changed := _named(name, inner, text, named)) is not inner:
            changes[name] = changed
    return replace(value, **changes) if changes else value


def _named(name: object, value: Any, text: Text, named: Mapping[str, Text]) -> Any:
    changed = _changed(value, text, named)
    further = named.get(name) if isinstance(name, str) and isinstance(changed, str) else None
    return further(changed) if further else changed


@lru_cache(maxsize=256)
def _with_text(kind: Any) -> tuple[str, ...]:
    """The fields that may hold text."""
    hints = get_type_hints(kind)
    return tuple(field.name for field in fields(kind) if not _is_textless(hints[field.name]))


def _is_textless(hint: Any) -> bool:
    if hint in FIGURES or hint is Ellipsis:
        return True
    if get_origin(hint) in {tuple, Union, UnionType}:
        return all(_is_textless(inner) for inner in get_args(hint))
    return isinstance(hint, type) and issubclass(hint, Enum)
