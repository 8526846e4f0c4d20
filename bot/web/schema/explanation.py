"""The shapes of an explanation, taken from its own values.

In:  nothing. Out: schemas by name.
"""

import msgspec

from bot.verdict.explanation import Explanation
from bot.web.schema.words import Schema


def explanation_shapes() -> dict[str, Schema]:
    """The explanation's own shapes; a figure that is no number is null."""
    _, shapes = msgspec.json.schema_components([Explanation], ref_template="#/components/schemas/{name}")
    return {name: _with_gaps(shape) for name, shape in shapes.items()}


def _with_gaps(shape: Schema) -> Schema:
    if shape.get("type") == "number":
        return {"type": ["number", "null"]}
    return {name: _inner(value) for name, value in shape.items() if name != "default"}


def _inner(value: object) -> object:
    if isinstance(value, dict):
        return _with_gaps(value)
    return [_inner(one) for one in value] if isinstance(value, list) else value
