"""The shapes a configuration is made of, each of which validates a value and is a JSON Schema.

In:  nothing. Out: shapes, and `schema_of` which writes one as JSON Schema.
Promises that whatever a shape can refuse is in its schema: the two are read from the same fields.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import assert_never

Json = dict[str, object]

# Where a value stands: the keys and indexes from the document down to it.
Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Text; the whole of it must match `form` (ECMA syntax that Python shares) where there is one.

    `wants` completes "must be …"; `explain` may say more about text that does not match."""

    wants: str
    form: str | None = None
    explain: Callable[[str], str | None] | None = None
    longest: int = 8000

    def fits(self, value: str) -> bool:
        """Whether the form allows `value`."""
        return self.form is None or re.fullmatch(self.form, value) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number from `least` to `most`, or above `over`; `wants` completes "must be …"."""

    wants: str
    most: float
    least: float | None = None
    over: float | None = None
    kind: type = float


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false."""


@dataclass(frozen=True, slots=True)
class Exactly:
    """One number and no other."""

    value: int


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words."""

    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Several:
    """A list of values of one shape."""

    of: "Shape"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A mapping from names of the reader's choice to values of one shape, at least one of them where
    `needed`."""

    name: Text
    value: "Shape"
    needed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of a record: what it is for, and what holds where it is absent."""

    shape: "Shape"
    about: str
    required: str = ""
    default: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A mapping with known keys; where `empty` is allowed, nothing at all stands for no keys."""

    keys: Mapping[str, Key]
    empty: str = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Worded:
    """A record that a single word may stand for."""

    word: Choice
    record: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A condition on the whole document, as a schema and as the problems it finds in a plain value."""

    schema: Json
    problems: Callable[[Mapping[str, object]], Iterator[tuple[Place, str]]] = field(repr=False)


Single = Text | Number | Flag | Exactly | Choice
Shape = Single | Several | Named | Record | Worded


def homes(record: Record, name: str) -> Iterator[str]:
    """Where below `record` a key of this name is known: `local`, or `launch.local` from further above."""
    for key, part in record.keys.items():
        shape = part.shape.record if isinstance(part.shape, Worded) else part.shape
        if isinstance(shape, Record):
            if name in shape.keys:
                yield key
            yield from (f"{key}.{home}" for home in homes(shape, name))


def schema_of(shape: Shape) -> Json:
    """The JSON Schema of a shape."""
    match shape:
        case Text() | Number() | Flag() | Exactly() | Choice():
            return _schema_of_single(shape)
        case Several():
            return {"type": "array", "items": schema_of(shape.of)}
        case Named():
            return {
                "type": "object",
                "propertyNames": schema_of(shape.name),
                "additionalProperties": schema_of(shape.value),
                "minProperties": shape.needed,
            }
        case Record():
            return _schema_of_record(shape)
        case Worded():
            return {"anyOf": [schema_of(shape.word), schema_of(shape.record)]}
        case _:
            assert_never(shape)


def _schema_of_single(shape: Single) -> Json:
    match shape:
        case Text():
            form = {"pattern": f"^(?:{shape.form})$"} if shape.form else {}
            return {"type": "string", "minLength": 1, "maxLength": shape.longest, **form}
        case Number():
            return _schema_of_number(shape)
        case Flag():
            return {"type": "boolean"}
        case Exactly():
            return {"type": "integer", "const": shape.value}
        case Choice():
            return {"type": "string", "enum": list(shape.options)}
        case _:
            assert_never(shape)


def _schema_of_number(shape: Number) -> Json:
    limits = {"minimum": shape.least, "exclusiveMinimum": shape.over, "maximum": shape.most}
    return {
        "type": "integer" if shape.kind is int else "number",
        **{limit: value for limit, value in limits.items() if value is not None},
    }


def _schema_of_record(shape: Record) -> Json:
    return {
        "type": ["object", "null"] if shape.empty == "allowed" else "object",
        "properties": {name: _schema_of_key(key) for name, key in shape.keys.items()},
        "required": [name for name, key in shape.keys.items() if key.required],
        "additionalProperties": False,
    }


def _schema_of_key(key: Key) -> Json:
    default = {} if key.default is None else {"default": key.default}
    return {"description": key.about, **schema_of(key.shape), **default}
