"""The values a configuration becomes: what is measured, where its runs are, what starts them.

In:  nothing. Out: `Suite` and its parts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.config.checks import NO_CHECKS, CheckConfig
from bot.config.schema import (
    COPYBARA_BRANCHES,
    DEFAULT_CHIP_HOURS_PER_DAY,
    DEFAULT_CONCURRENT_RUNS,
    DEFAULT_OLD_AFTER_DAYS,
)
from bot.config.trust import DEFAULT_TRUSTED, TrustedAccounts
from bot.domain.globs import glob_matches
from bot.domain.run_pattern import RunPattern
from bot.verdict.judgement import Margins


class ClusterKind(StrEnum):
    """What runs the cases."""

    XPK = "xpk"
    LOCAL = "local"


class CompareMode(StrEnum):
    """What is held against what: head against base, or the variants of the head against each other."""

    REF = "ref"
    VARIANT = "variant"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSource:
    """Where finished runs are found: `source` opens with `open_store`."""

    source: str
    pattern: RunPattern


@dataclass(frozen=True, slots=True, kw_only=True)
class XpkConfig:
    """How XPK is called. `docker_image` may hold `{sha}`; a run takes so many `slices` together."""

    cluster: str
    project: str
    zone: str
    device_type: str
    docker_image: str
    priority: str
    timeout_seconds: int
    slices: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalConfig:
    """How cases run on this machine: commits are checked out of `repository`. No `memory_mb`: no limit."""

    repository: str
    timeout_seconds: int
    memory_mb: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchConfig:
    """How runs are started; the part named by `cluster` is there."""

    cluster: ClusterKind
    xpk: XpkConfig | None = None
    local: LocalConfig | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A named setting: `args` are added to every command."""

    name: str
    args: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is measured; without `command` it can be found, but not launched. No `paths`: every change
    concerns it."""

    name: str
    command: str | None = None
    paths: tuple[str, ...] = ()

    def touched_by(self, changed: Iterable[str]) -> bool:
        """Whether a change of these files is one to run the case for by itself."""
        return not self.paths or any(glob_matches(glob, path) for path in changed for glob in self.paths)


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
        return not self.paths or any(glob_matches(glob, path) for path in changed for glob in self.paths)

    def watches(self, branch: str) -> bool:
        """Whether a push to this branch starts runs without a pull request."""
        return any(glob_matches(glob, branch) for glob in self.branches)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What launches may cost; None is no limit of that kind. A day is one of UTC."""

    chip_hours_per_day: float = DEFAULT_CHIP_HOURS_PER_DAY
    concurrent_runs: int = DEFAULT_CONCURRENT_RUNS
    chip_hours_per_person_per_day: float | None = None
    chip_hours_per_pull_request: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineConfig:
    """How main itself is kept measured: `daily_at` is seconds since midnight UTC, None for never."""

    daily_at: int | None = None
    old_after_days: float = DEFAULT_OLD_AFTER_DAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The whole configuration. `runs` or `launch` is there, or both."""

    cases: Mapping[str, Case]
    variants: Mapping[str, Variant]
    triggers: Triggers
    runs: RunSource | None = None
    launch: LaunchConfig | None = None
    compare: tuple[CompareMode, ...] = (CompareMode.REF,)
    checks: CheckConfig = NO_CHECKS
    trust: TrustedAccounts = DEFAULT_TRUSTED
    baseline: BaselineConfig = BaselineConfig()
    budget: Budget = Budget()
    margins: Margins = Margins()

    def touched_by(self, changed: Sequence[str]) -> bool:
        """Whether a change of these files is one to answer: it touches what triggers, and a case."""
        return self.triggers.touched_by(changed) and any(
            case.touched_by(changed) for case in self.cases.values()
        )

    @property
    def case_names(self) -> tuple[str, ...]:
        """The cases in the order they are written."""
        return tuple(self.cases)

    @property
    def variant_names(self) -> tuple[str, ...]:
        """The variants in the order they are written."""
        return tuple(self.variants)
