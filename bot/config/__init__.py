"""`.github/maxview.yml` as a `Suite`: what is measured, where its runs are, and what starts them.

In:  the text of the file. Out: a `Suite`, or `Told` with every problem, each with its line.
Promises that what the published JSON Schema refuses is refused here and the other way round.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bot.config.check import check
from bot.config.checks import NO_CHECKS, CheckKind, Checks, read_checks
from bot.config.document import Problem, parse
from bot.config.rules import RULES, json_schema
from bot.config.schema import (
    COPYBARA_BRANCHES,
    DEFAULT_CHIP_HOURS_PER_DAY,
    DEFAULT_CONCURRENT_RUNS,
    DEFAULT_LABELS,
    DEFAULT_PRIORITY,
    DEFAULT_TIMEOUT,
    DOCUMENT,
    UNITS,
)
from bot.errors import Told
from bot.globs import matches
from bot.runs.pattern import RunPattern
from bot.verdict.judgement import Margins

__all__ = ["FILE", "CheckKind", "Checks", "Suite", "json_schema", "problems_of", "read_suite"]

# A checked mapping: every value has the type that its shape promises.
Plain = Mapping[str, Any]

FILE = ".github/maxview.yml"

# What the one variant is called where none is named.
DEFAULT_VARIANT = "default"


class Cluster(StrEnum):
    """What runs the cases."""

    XPK = "xpk"
    LOCAL = "local"


class Compare(StrEnum):
    """What is held against what: head against base, or the variants of the head against each other."""

    REF = "ref"
    VARIANT = "variant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Where finished runs are found: `source` opens with `open_store`."""

    source: str
    pattern: RunPattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Xpk:
    """How XPK is called. `docker_image` may hold `{sha}`."""

    cluster: str
    project: str
    zone: str
    device_type: str
    docker_image: str
    priority: str
    timeout_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """How cases run on this machine: commits are checked out of `repository`."""

    repository: str
    timeout_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How runs are started; the part named by `cluster` is there."""

    cluster: Cluster
    xpk: Xpk | None = None
    local: Local | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A named setting: `args` are added to every command."""

    name: str
    args: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is measured; without `command` it can be found, but not launched."""

    name: str
    command: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggers:
    """What starts an answer. No `paths`: every change does."""

    pull_request: bool = True
    drafts: bool = False
    paths: tuple[str, ...] = ()
    labels: Mapping[str, str]
    branches: tuple[str, ...] = COPYBARA_BRANCHES

    def touched_by(self, changed: Iterable[str]) -> bool:
        """Whether a change of these files is one to answer."""
        return not self.paths or any(matches(glob, path) for path in changed for glob in self.paths)

    def watches(self, branch: str) -> bool:
        """Whether a push to this branch starts runs without a pull request."""
        return any(matches(glob, branch) for glob in self.branches)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What launches may cost; None is no limit of that kind. A day is one of UTC."""

    chip_hours_per_day: float = DEFAULT_CHIP_HOURS_PER_DAY
    concurrent_runs: int = DEFAULT_CONCURRENT_RUNS
    chip_hours_per_person_per_day: float | None = None
    chip_hours_per_pull_request: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The whole configuration. `runs` or `launch` is there, or both."""

    cases: Mapping[str, Case]
    variants: Mapping[str, Variant]
    triggers: Triggers
    runs: Runs | None = None
    launch: Launch | None = None
    compare: tuple[Compare, ...] = (Compare.REF,)
    checks: Checks = NO_CHECKS
    budget: Budget = Budget()
    margins: Margins = Margins()

    @property
    def case_names(self) -> tuple[str, ...]:
        """The cases in the order they are written."""
        return tuple(self.cases)

    @property
    def variant_names(self) -> tuple[str, ...]:
        """The variants in the order they are written."""
        return tuple(self.variants)


def problems_of(text: str) -> tuple[Problem, ...]:
    """Everything to put right in `text`, by line; nothing where it is a valid configuration."""
    return _checked(text)[1]


def read_suite(text: str, name: str = FILE) -> Suite:
    """The configuration in `text`, which is called `name` in messages. Raises `Told` with every problem."""
    document, problems = _checked(text)
    if problems:
        raise Told("\n".join(f"{name}:{problem.line}: {problem.text}" for problem in problems))
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
        cases={name: Case(name=name, command=_one_line(case)) for name, case in document["cases"].items()},
        variants={name: Variant(name=name, **variant) for name, variant in variants.items()},
        triggers=_triggers(document.get("triggers", {})),
        runs=_runs(document["runs"]) if "runs" in document else None,
        launch=_launch(document["launch"]) if "launch" in document else None,
        compare=tuple(dict.fromkeys(map(Compare, document.get("compare", [Compare.REF])))),
        checks=read_checks(document.get("checks", CheckKind.OFF)),
        budget=Budget(**document.get("budget", {})),
        margins=Margins(**document.get("margins", {})),
    )


def _one_line(case: Plain) -> str | None:
    command: str | None = case.get("command")
    return command.strip() if command else None


def _runs(part: Plain) -> Runs:
    return Runs(source=part["source"], pattern=RunPattern(part["pattern"]))


def _triggers(part: Plain) -> Triggers:
    lists = {name: tuple(part[name]) for name in ("paths", "branches") if name in part}
    return Triggers(**{"labels": DEFAULT_LABELS, **part, **lists})


def _launch(part: Plain) -> Launch:
    xpk, local = part.get("xpk"), part.get("local")
    return Launch(
        cluster=Cluster(part["cluster"]),
        xpk=_xpk(xpk) if xpk else None,
        local=Local(repository=local["repository"], timeout_seconds=_seconds(local)) if local else None,
    )


def _xpk(part: Plain) -> Xpk:
    return Xpk(
        cluster=part["cluster"],
        project=part["project"],
        zone=part["zone"],
        device_type=part["device-type"],
        docker_image=part["docker-image"],
        priority=part.get("priority", DEFAULT_PRIORITY),
        timeout_seconds=_seconds(part),
    )


def _seconds(part: Plain) -> int:
    timeout: str = part.get("timeout", DEFAULT_TIMEOUT)
    return int(timeout[:-1]) * UNITS[timeout[-1]]
