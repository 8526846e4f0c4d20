"""Building blocks of JSON Schema as OpenAPI 3.1 uses it."""

from enum import Enum

Schema = dict[str, object]

TEXT: Schema = {"type": "string"}

INTEGER: Schema = {"type": "integer"}

NUMBER: Schema = {"type": "number"}

BOOLEAN: Schema = {"type": "boolean"}

ANYTHING: Schema = {}

TIMESTAMP: Schema = {"type": "string", "format": "date-time", "description": "UTC."}


def object_of(what: str, **fields: Schema) -> Schema:
    """An object whose fields are always there."""
    return {
        "type": "object",
        "description": what,
        "properties": {_key(name): shape for name, shape in fields.items()},
        "required": [_key(name) for name in fields],
    }


def with_optional(shape: Schema, **fields: Schema) -> Schema:
    """A record with keys that are there only where they say something."""
    known = shape["properties"]
    return {**shape, "properties": {**(known if isinstance(known, dict) else {}), **fields}}


def _key(name: str) -> str:
    """`class_` is `class`: some keys are words of Python."""
    return name.rstrip("_")


def nullable(shape: Schema) -> Schema:
    """The shape, or null: what is not known is null, never zero."""
    return {"anyOf": [shape, {"type": "null"}]}


def list_of(shape: Schema, what: str = "") -> Schema:
    """A list."""
    return {"type": "array", "items": shape, **({"description": what} if what else {})}


def mapping_of(shape: Schema, what: str) -> Schema:
    """A map from names to values of this shape."""
    return {"type": "object", "additionalProperties": shape, "description": what}


def enum_of(words: type[Enum], what: str = "") -> Schema:
    """One of the words of an enumeration."""
    return {
        "type": "string",
        "enum": [word.value for word in words],
        **({"description": what} if what else {}),
    }


def reference(name: str) -> Schema:
    """A shape that has a name of its own."""
    return {"$ref": f"#/components/schemas/{name}"}


def any_of(*shapes: Schema) -> Schema:
    """One of several shapes."""
    return {"anyOf": list(shapes)}


def described(shape: Schema, what: str) -> Schema:
    """The shape, with what it means."""
    return {**shape, "description": what}
