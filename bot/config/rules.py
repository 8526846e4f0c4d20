"""Conditions across several keys of the configuration: what each refuses, and the same as JSON Schema."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from bot.config.document import Place

Json = dict[str, Any]
PlaceAndText = tuple[Place, str]


class Rule(Struct, frozen=True, kw_only=True):
    """A condition on the whole document: as a schema, and as the problems it finds in a plain value."""

    schema: Json
    problems: Callable[[Mapping[str, object]], Iterator[PlaceAndText]]


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _neither_runs_nor_launch(document: Mapping[str, object]) -> Iterator[PlaceAndText]:
    if "runs" not in document and "launch" not in document:
        yield (), "neither runs nor launch; say where runs are found (runs:) or what starts them (launch:)"


def _cluster_without_settings(document: Mapping[str, object]) -> Iterator[PlaceAndText]:
    launch = _mapping(document.get("launch"))
    cluster = launch.get("cluster")
    if cluster in ("xpk", "local") and cluster not in launch:
        yield ("launch",), f"cluster is {cluster}, but nothing says how it is used; add {cluster}: here"


def _case_without_command(document: Mapping[str, object]) -> Iterator[PlaceAndText]:
    if "launch" in document:
        for name, case in _mapping(document.get("cases")).items():
            if "command" not in _mapping(case):
                yield ("cases", name), "has no command, so it cannot be launched; add command: under it"


def _pattern_of_unnamed_variants(document: Mapping[str, object]) -> Iterator[PlaceAndText]:
    if "{variant}" in _pattern(document) and "variants" not in document:
        yield ("runs", "pattern"), "holds {variant}, but no variants are named; add variants: to the file"


def _pattern_must_name(placeholder: str, section: str) -> Rule:
    """Where `section` has several names, the pattern says which one a log belongs to."""

    def problems(document: Mapping[str, object]) -> Iterator[PlaceAndText]:
        pattern, several = _pattern(document), len(_mapping(document.get(section))) > 1
        if several and pattern and f"{{{placeholder}}}" not in pattern:
            yield (
                ("runs", "pattern"),
                f"does not say which of the {section} a log is of; put {{{placeholder}}} where its name is",
            )

    names_it = {"properties": {"runs": {"properties": {"pattern": {"pattern": rf"\{{{placeholder}\}}"}}}}}
    several_names = {"properties": {section: {"minProperties": 2}}, "required": [section]}
    return Rule(schema={"if": several_names, "then": names_it}, problems=problems)


def _pattern(document: Mapping[str, object]) -> str:
    pattern = _mapping(document.get("runs")).get("pattern")
    return pattern if isinstance(pattern, str) else ""


def _when_cluster_is(cluster: str) -> Json:
    chosen = {"properties": {"cluster": {"const": cluster}}, "required": ["cluster"]}
    return {"if": chosen, "then": {"required": [cluster]}}


_PATTERN_HAS_VARIANT: Json = {
    "properties": {"runs": {"properties": {"pattern": {"pattern": r"\{variant\}"}}, "required": ["pattern"]}},
    "required": ["runs"],
}

RULES = (
    Rule(
        schema={"anyOf": [{"required": ["runs"]}, {"required": ["launch"]}]},
        problems=_neither_runs_nor_launch,
    ),
    Rule(
        schema={"properties": {"launch": {"allOf": [_when_cluster_is("xpk"), _when_cluster_is("local")]}}},
        problems=_cluster_without_settings,
    ),
    Rule(
        schema={
            "if": {"required": ["launch"]},
            "then": {
                "properties": {"cases": {"additionalProperties": {"type": "object", "required": ["command"]}}}
            },
        },
        problems=_case_without_command,
    ),
    Rule(
        schema={"if": _PATTERN_HAS_VARIANT, "then": {"required": ["variants"]}},
        problems=_pattern_of_unnamed_variants,
    ),
    _pattern_must_name("variant", "variants"),
    _pattern_must_name("case", "cases"),
)
