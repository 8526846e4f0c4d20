"""`.github/maxview.yml` as a `Suite`: what is measured, where its runs are, and what starts them.

In:  the text of the file. Out: a `Suite`, or `Told` with every problem, each with its line.
Promises that what the published JSON Schema refuses is refused here and the other way round.
"""

from collections.abc import Mapping
from typing import Any

from bot.config.check import check
from bot.config.checks import NO_CHECKS, CheckConfig, CheckKind, read_checks
from bot.config.document import Problem, parse
from bot.config.launch_schema import DEFAULT_PRIORITY, DEFAULT_SLICES, DEFAULT_TIMEOUT, MEMORY_UNITS, UNITS
from bot.config.rules import RULES, json_schema
from bot.config.schema import DEFAULT_LABELS, DOCUMENT
from bot.config.suite import (
    BaselineConfig,
    Budget,
    Case,
    ClusterKind,
    CompareMode,
    LaunchConfig,
    LocalConfig,
    RunSource,
    Suite,
    Triggers,
    Variant,
    XpkConfig,
)
from bot.config.trust import TrustedAccounts, read_trusted
from bot.domain.run_pattern import RunPattern
from bot.errors import UserError
from bot.verdict.judgement import Margins

__all__ = [
    "FILE",
    "NO_CHECKS",
    "BaselineConfig",
    "Budget",
    "Case",
    "CheckConfig",
    "CheckKind",
    "ClusterKind",
    "CompareMode",
    "LaunchConfig",
    "LocalConfig",
    "RunSource",
    "Suite",
    "Triggers",
    "TrustedAccounts",
    "Variant",
    "XpkConfig",
    "json_schema",
    "problems_of",
    "read_suite",
]

# A checked mapping: every value has the type that its shape promises.
Plain = Mapping[str, Any]

FILE = ".github/maxview.yml"

# What the one variant is called where none is named.
DEFAULT_VARIANT = "default"


def problems_of(text: str) -> tuple[Problem, ...]:
    """Everything to put right in `text`, by line; nothing where it is a valid configuration."""
    return _checked(text)[1]


def read_suite(text: str, name: str = FILE) -> Suite:
    """The configuration in `text`, which is called `name` in messages. Raises `Told` with every problem."""
    document, problems = _checked(text)
    if problems:
        raise UserError("\n".join(f"{name}:{problem.line}: {problem.text}" for problem in problems))
    return _suite(document)


def _checked(text: str) -> tuple[Plain, tuple[Problem, ...]]:
    tree = parse(text)
    if isinstance(tree, Problem):
        return {}, (tree,)
    reading = check(tree, DOCUMENT)
    if not isinstance(reading.value, dict):
        return {}, tuple(reading.problems)
    for rule in RULES:
        for place, problem in rule.problems(reading.value):
            reading.refuse(place, problem)
    return reading.value, tuple(sorted(reading.problems))


def _suite(document: Plain) -> Suite:
    variants = document.get("variants") or {DEFAULT_VARIANT: {}}
    return Suite(
        cases={name: _case(name, case) for name, case in document["cases"].items()},
        variants={name: Variant(name=name, **variant) for name, variant in variants.items()},
        triggers=_triggers(document.get("triggers", {})),
        runs=_runs(document["runs"]) if "runs" in document else None,
        launch=_launch(document["launch"]) if "launch" in document else None,
        compare=tuple(dict.fromkeys(map(CompareMode, document.get("compare", [CompareMode.REF])))),
        checks=read_checks(document.get("checks", CheckKind.OFF)),
        trust=read_trusted(document.get("trust", {})),
        baseline=_mainline(document.get("baseline", {})),
        budget=Budget(**document.get("budget", {})),
        margins=Margins(**document.get("margins", {})),
    )


def _case(name: str, case: Plain) -> Case:
    return Case(name=name, command=_one_line(case), paths=tuple(case.get("paths", ())))


def _one_line(case: Plain) -> str | None:
    command: str | None = case.get("command")
    return command.strip() if command else None


def _runs(part: Plain) -> RunSource:
    return RunSource(source=part["source"], pattern=RunPattern(part["pattern"]))


def _triggers(part: Plain) -> Triggers:
    lists = {name: tuple(part[name]) for name in ("paths", "branches") if name in part}
    return Triggers(**{"labels": DEFAULT_LABELS, **part, **lists})


def _mainline(part: Plain) -> BaselineConfig:
    if "daily_at" not in part:
        return BaselineConfig(**part)
    hours, minutes = part["daily_at"].split(":")
    return BaselineConfig(**{**part, "daily_at": int(hours) * 3600 + int(minutes) * 60})


def _launch(part: Plain) -> LaunchConfig:
    xpk, local = part.get("xpk"), part.get("local")
    return LaunchConfig(
        cluster=ClusterKind(part["cluster"]),
        xpk=_xpk(xpk) if xpk else None,
        local=_local(local) if local else None,
    )


def _xpk(part: Plain) -> XpkConfig:
    return XpkConfig(
        cluster=part["cluster"],
        project=part["project"],
        zone=part["zone"],
        device_type=part["device-type"],
        slices=part.get("slices", DEFAULT_SLICES),
        docker_image=part["docker-image"],
        priority=part.get("priority", DEFAULT_PRIORITY),
        timeout_seconds=_seconds(part),
    )


def _local(part: Plain) -> LocalConfig:
    memory: str | None = part.get("memory")
    return LocalConfig(
        repository=part["repository"],
        timeout_seconds=_seconds(part),
        memory_mb=int(memory[:-1]) * MEMORY_UNITS[memory[-1]] if memory else None,
    )


def _seconds(part: Plain) -> int:
    timeout: str = part.get("timeout", DEFAULT_TIMEOUT)
    return int(timeout[:-1]) * UNITS[timeout[-1]]
