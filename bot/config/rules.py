"""What no single key of the configuration can say: conditions on the document as a whole.

In:  the plain value of a document. Out: the problems found, and the same conditions as JSON Schema.
"""

from collections.abc import Iterator, Mapping

from bot.config.schema import DOCUMENT
from bot.config.shapes import Json, Place, Rule, schema_of


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _nowhere(document: Mapping[str, object]) -> Iterator[tuple[Place, str]]:
    if "runs" not in document and "launch" not in document:
        yield (), "neither runs nor launch; say where runs are found (runs:) or what starts them (launch:)"


def _cluster_unsaid(document: Mapping[str, object]) -> Iterator[tuple[Place, str]]:
    launch = _mapping(document.get("launch"))
    cluster = launch.get("cluster")
    if cluster in ("xpk", "local") and cluster not in launch:
        yield ("launch",), f"cluster is {cluster}, but nothing says how it is used; add {cluster}: here"


def _command_missing(document: Mapping[str, object]) -> Iterator[tuple[Place, str]]:
    if "launch" in document:
        for name, case in _mapping(document.get("cases")).items():
            if "command" not in _mapping(case):
                yield ("cases", name), "has no command, so it cannot be launched; add command: under it"


def _variants_unnamed(document: Mapping[str, object]) -> Iterator[tuple[Place, str]]:
    if "{variant}" in _pattern(document) and "variants" not in document:
        yield ("runs", "pattern"), "holds {variant}, but no variants are named; add variants: to the file"


def _unsaid(placeholder: str, section: str) -> Rule:
    def problems(document: Mapping[str, object]) -> Iterator[tuple[Place, str]]:
        pattern, several = _pattern(document), len(_mapping(document.get(section))) > 1
        if several and pattern and f"{{{placeholder}}}" not in pattern:
            yield (
                ("runs", "pattern"),
                f"does not say which of the {section} a log is of; put {{{placeholder}}} where its name is",
            )

    pattern_says = {"properties": {"runs": {"properties": {"pattern": {"pattern": rf"\{{{placeholder}\}}"}}}}}
    there_are_several = {"properties": {section: {"minProperties": 2}}, "required": [section]}
    return Rule(schema={"if": there_are_several, "then": pattern_says}, problems=problems)


def _pattern(document: Mapping[str, object]) -> str:
    pattern = _mapping(document.get("runs")).get("pattern")
    return pattern if isinstance(pattern, str) else ""


def _when_cluster_is(cluster: str) -> Json:
    chosen = {"properties": {"cluster": {"const": cluster}}, "required": ["cluster"]}
    return {"if": chosen, "then": {"required": [cluster]}}


_HOLDS_VARIANT = {
    "properties": {"runs": {"properties": {"pattern": {"pattern": r"\{variant\}"}}, "required": ["pattern"]}},
    "required": ["runs"],
}

RULES = (
    Rule(schema={"anyOf": [{"required": ["runs"]}, {"required": ["launch"]}]}, problems=_nowhere),
    Rule(
        schema={"properties": {"launch": {"allOf": [_when_cluster_is("xpk"), _when_cluster_is("local")]}}},
        problems=_cluster_unsaid,
    ),
    Rule(
        schema={
            "if": {"required": ["launch"]},
            "then": {
                "properties": {"cases": {"additionalProperties": {"type": "object", "required": ["command"]}}}
            },
        },
        problems=_command_missing,
    ),
    Rule(schema={"if": _HOLDS_VARIANT, "then": {"required": ["variants"]}}, problems=_variants_unnamed),
    _unsaid("variant", "variants"),
    _unsaid("case", "cases"),
)


def json_schema() -> Json:
    """The JSON Schema of `.github/maxview.yml`, published at `/schema/maxview.json`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "MaxView: .github/maxview.yml",
        **schema_of(DOCUMENT),
        "allOf": [rule.schema for rule in RULES],
    }
