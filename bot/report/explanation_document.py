"""The JSON object of an explanation, as `maxview compare --explain --format json` and the API give it.

In:  an `Explanation`, or None. Out: a dictionary of JSON values under the names of its fields; changes and
errors are on the log scale, as the decision takes them.
"""

from collections.abc import Mapping
from dataclasses import asdict

from bot.report.numbers import number
from bot.verdict.explanation import Explanation


def explanation_document(explanation: Explanation | None) -> object:
    """The whole explanation; None where there is none."""
    return None if explanation is None else _json(asdict(explanation))


def _json(value: object) -> object:
    match value:
        case Mapping():
            return {name: _json(inner) for name, inner in value.items()}
        case tuple() | list():
            return [_json(inner) for inner in value]
        case float():
            return number(value)
        case _:
            return value
