"""The values a configuration becomes: what is measured, where its runs are, what starts them."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from bot.domain.globs import glob_matches
from bot.domain.run_pattern import RunPattern
from bot.verdict.judgement import Margins

# The name of the only variant where the configuration names none.
DEFAULT_VARIANT = "default"

# Copybara exports Google's changes to branches of these names.
COPYBARA_BRANCHES = ("test_*", "exported_pr_*")

DEFAULT_LABELS: Mapping[str, str] = {"benchmark": "all", "benchmark:*": "{case}"}

# Keeps a mistake in a configuration from using up a quota in one night; raised by writing a number.
DEFAULT_CHIP_HOURS_PER_DAY = 200.0
DEFAULT_CONCURRENT_RUNS = 4

# Main moves a dozen commits a day (MaxText); after a week its speed says little.
DEFAULT_OLD_AFTER_DAYS = 7.0

DEFAULT_TIMEOUT = "60m"
DEFAULT_PRIORITY = "medium"
DEFAULT_SLICES = 1


class ClusterKind(StrEnum):
    """What runs the cases."""

    XPK = "xpk"
    LOCAL = "local"


class CompareMode(StrEnum):
    """What is compared: head with base, or the variants of the head with each other."""

    REF = "ref"
    VARIANT = "variant"


class CheckKind(StrEnum):
    """What is shown beside the comment: nothing, a commit status, or a check run."""

    OFF = "off"
    STATUS = "status"
    CHECK = "check"


class RunSource(Struct, frozen=True, kw_only=True):
    """Where finished runs are found: `source` opens with `open_store`."""

    source: str
    pattern: RunPattern


class XpkConfig(Struct, frozen=True, kw_only=True):
    """How XPK is called. `docker_image` may hold `{sha}`; a run uses `slices` slices at once."""

    cluster: str
    project: str
    zone: str
    device_type: str
    docker_image: str
    priority: str
    timeout_seconds: int
    slices: int = DEFAULT_SLICES


class LocalConfig(Struct, frozen=True, kw_only=True):
    """How cases run on this machine: commits are checked out of `repository`. No `memory_mb`: no limit."""

    repository: str
    timeout_seconds: int
    memory_mb: int | None = None


class LaunchConfig(Struct, frozen=True, kw_only=True):
    """How runs are started; the part named by `cluster` is there."""

    cluster: ClusterKind
    xpk: XpkConfig | None = None
    local: LocalConfig | None = None


class Variant(Struct, frozen=True, kw_only=True):
    """Named settings that cases run with: `args` are added to every command."""

    name: str
    args: str = ""


class Case(Struct, frozen=True, kw_only=True):
    """What is measured. Without `command` it can be found, but not launched. No `paths`: every change
    concerns it."""

    name: str
    command: str | None = None
    paths: tuple[str, ...] = ()

    def touched_by(self, changed: Iterable[str]) -> bool:
        """Whether a change of these files runs the case automatically."""
        return not self.paths or any(glob_matches(glob, path) for path in changed for glob in self.paths)


class Triggers(Struct, frozen=True, kw_only=True):
    """What starts an answer. No `paths`: every change does."""

    pull_request: bool = True
    drafts: bool = False
    paths: tuple[str, ...] = ()
    labels: Mapping[str, str]
    branches: tuple[str, ...] = COPYBARA_BRANCHES

    def touched_by(self, changed: Iterable[str]) -> bool:
        """Whether a change of these files is answered."""
        return not self.paths or any(glob_matches(glob, path) for path in changed for glob in self.paths)

    def watches(self, branch: str) -> bool:
        """Whether a push to this branch starts runs without a pull request."""
        return any(glob_matches(glob, branch) for glob in self.branches)


class CheckConfig(Struct, frozen=True, kw_only=True):
    """`pending`: it may be shown while runs are awaited. `fail_on_regression`: it may turn red."""

    kind: CheckKind = CheckKind.OFF
    pending: bool = False
    fail_on_regression: bool = False


NO_CHECKS = CheckConfig()


class TrustedBot(Struct, frozen=True, kw_only=True):
    """An App's account. It is trusted where login, id and type agree, since logins can be taken over."""

    login: str
    id: int


# Copybara exports Google's changes as branches and drives their pull requests (its public account).
COPYBARA = TrustedBot(login="copybara-service[bot]", id=56741989)
DEFAULT_BOTS = (COPYBARA,)


class TrustedAccounts(Struct, frozen=True, kw_only=True):
    """Bots that may start runs, and teams (`organisation/team`) whose members may."""

    bots: tuple[TrustedBot, ...] = ()
    teams: tuple[str, ...] = ()


DEFAULT_TRUSTED = TrustedAccounts(bots=DEFAULT_BOTS)


class Budget(Struct, frozen=True, kw_only=True):
    """What launches may cost; None is no limit of that kind. A day is one of UTC."""

    chip_hours_per_day: float = DEFAULT_CHIP_HOURS_PER_DAY
    concurrent_runs: int = DEFAULT_CONCURRENT_RUNS
    chip_hours_per_person_per_day: float | None = None
    chip_hours_per_pull_request: float | None = None


class BaselineConfig(Struct, frozen=True, kw_only=True):
    """How main itself is measured: `daily_at` is seconds since midnight UTC, None for never."""

    daily_at: int | None = None
    old_after_days: float = DEFAULT_OLD_AFTER_DAYS


class Suite(Struct, frozen=True, kw_only=True):
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
        """Whether a change of these files is answered: it touches a trigger's path and a case."""
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
