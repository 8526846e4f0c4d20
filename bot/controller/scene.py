"""What a command is decided on, and what it comes to.

In:  nothing. Out: `Scene`, `Given` and `Answer`, and the words that several answers share.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.config import Suite
from bot.controller.deciding import starts_runs
from bot.controller.vouching import Vouched, Waits
from bot.intake import command, meaning, trust
from bot.intake.intent import Command
from bot.intake.pull import Pull
from bot.intake.trust import Approval
from bot.report.model import Acknowledgement, CaseReport
from bot.runs.asks import Ask, Withdrawal


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a command is decided on. `tree` is the hash of the head's files, `rows` the newest report of this
    head, `baselines` the commit that each `baseline` command means, None where there is none on the base."""

    allowed: trust.Trust
    pull: Pull
    suite: Suite | None
    tree: str | None = None
    vouching: Vouched | Waits = field(default_factory=Vouched)
    rows: tuple[CaseReport, ...] = ()
    baselines: Mapping[str | None, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one command comes to: a sentence for people, and what is to be remembered."""

    result: str
    refused: bool = False
    asks: tuple[Ask | Withdrawal, ...] = ()
    baseline: Ask | None = None
    approval: Approval | None = None
    acknowledgements: tuple[Acknowledgement, ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """One command, where it stands, and the scene."""

    one: command.Command | command.Unclear
    intent: Command
    place: int
    scene: Scene

    @property
    def name(self) -> str:
        """What tells it apart from every other command, and says which came first."""
        return f"{self.intent.comment_id}:{self.place:02}"


def refusal(result: str) -> Answer:
    """A sentence that grants nothing."""
    return Answer(result=result, refused=True)


NO_LAUNCH = "This repository starts no runs: its .github/maxview.yml has no launch section."


def no_launch(suite: Suite) -> str:
    """Why nothing is started here; nothing where runs are."""
    return "" if starts_runs(suite) else NO_LAUNCH


def key(row: CaseReport) -> str:
    """`case/variant` of a row."""
    return f"{row.case}/{row.variant}"


def keys(meant: meaning.Resolved) -> frozenset[str]:
    """Every `case/variant` that is meant."""
    return frozenset(f"{case}/{variant}" for case in meant.cases for variant in meant.variants)


SHOWN = 5  # cases named in an answer


def named(keys: frozenset[str], suite: Suite) -> str:
    """`All cases`, or their names in the suite's order, with the variants where not all are meant."""
    cases = [case for case in suite.case_names if any(f"{case}/{one}" in keys for one in suite.variant_names)]
    variants = [one for one in suite.variant_names if any(f"{case}/{one}" in keys for case in cases)]
    if len(cases) == len(suite.case_names):
        shown = "All cases"
    else:
        shown = ", ".join(cases[:SHOWN]) + (f" and {len(cases) - SHOWN} more" if len(cases) > SHOWN else "")
    return shown if len(variants) == len(suite.variant_names) else f"{shown} ({', '.join(variants)})"
