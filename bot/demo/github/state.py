"""The mutable state of the stand-in GitHub. Times are Unix seconds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count

from bot.domain.repository import Permission


@dataclass(slots=True, kw_only=True)
class AccountState:
    """A person or bot, and what they may do with the repository."""

    id: int
    login: str
    permission: Permission

    @property
    def is_bot(self) -> bool:
        """Whether it is an App's account."""
        return self.login.endswith("[bot]")


@dataclass(slots=True, kw_only=True)
class PullState:
    """One pull request; its head is a branch of the repository's own, or of the `fork`."""

    number: int
    id: int
    title: str
    author: AccountState
    head_branch: str
    head_sha: str
    base_branch: str
    draft: bool
    created_at: float
    updated_at: float
    closed_at: float | None = None
    merged_at: float | None = None
    locked: bool = False
    labels: list[str] = field(default_factory=list)
    fork: str | None = None


@dataclass(slots=True, kw_only=True)
class LabelState:
    """One label of the repository; `colour` is six hexadecimal digits."""

    id: int
    name: str
    colour: str = "ededed"
    description: str = ""


@dataclass(slots=True, kw_only=True)
class GitHubComment:
    """One comment; `by_app` where the App wrote it. `reactions` maps contents to those who gave them."""

    id: int
    number: int
    author: AccountState
    body: str
    by_app: bool
    created_at: float
    updated_at: float
    reactions: dict[str, list[AccountState]] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class GitHubCheck:
    """One check run of the App, as it was last written; `annotations` only ever grow."""

    id: int
    head_sha: str
    name: str
    status: str
    conclusion: str | None
    external_id: str
    details_url: str | None
    title: str | None
    summary: str | None
    started_at: float
    completed_at: float | None
    annotations: list[Mapping[str, object]] = field(default_factory=list)
    actions: list[Mapping[str, object]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusState:
    """One commit status; the newest of a context counts."""

    id: int
    sha: str
    state: str
    context: str
    description: str | None
    target_url: str | None
    created_at: float


@dataclass(slots=True, kw_only=True)
class RecordedDelivery:
    """One webhook delivery, or one attempt to repeat it under the same `guid`."""

    id: int
    guid: str
    event: str
    action: str | None
    payload: Mapping[str, object]
    headers: Mapping[str, str]
    delivered_at: float
    redelivery: bool
    status: str
    status_code: int
    duration: float


@dataclass(slots=True, kw_only=True)
class InjectedFault:
    """What the next matching request gets instead of its answer, before or `after` it took effect."""

    method: str
    ending: str
    status: int
    message: str
    headers: Mapping[str, str]
    after: bool


def _default_permissions() -> dict[str, str]:
    return {
        "metadata": "read",
        "contents": "read",
        "issues": "read",
        "pull_requests": "write",
        "checks": "write",
        "statuses": "write",
    }


@dataclass(slots=True, kw_only=True)
class GitHubState:
    """Everything that the stand-in remembers."""

    full_name: str
    url: str
    app_id: int
    slug: str
    installation: int
    default_branch: str
    private: bool
    now: Callable[[], float]
    ids: "count[int]" = field(default_factory=lambda: count(1001))
    accounts: dict[str, AccountState] = field(default_factory=dict)
    pulls: dict[int, PullState] = field(default_factory=dict)
    comments: dict[int, GitHubComment] = field(default_factory=dict)
    labels: dict[str, LabelState] = field(default_factory=dict)
    teams: dict[str, set[str]] = field(default_factory=dict)
    checks: dict[int, GitHubCheck] = field(default_factory=dict)
    statuses: list[StatusState] = field(default_factory=list)
    deliveries: list[RecordedDelivery] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    faults: list[InjectedFault] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    permissions: dict[str, str] = field(default_factory=_default_permissions)
    away: bool = False
    archived: bool = False
    suspended_at: float | None = None

    @property
    def owner(self) -> str:
        """The login of the repository's owner."""
        return self.full_name.partition("/")[0]

    def account(self, login: str) -> AccountState:
        """The account of this login, which is made when it is new; a stranger may read."""
        if login not in self.accounts:
            self.accounts[login] = AccountState(id=next(self.ids), login=login, permission=Permission.READ)
        return self.accounts[login]

    def label(self, name: str) -> LabelState:
        """The label of this name, which is made when it is new; GitHub tells them apart without case."""
        return self.labels.setdefault(name.lower(), LabelState(id=next(self.ids), name=name))

    def bot(self) -> AccountState:
        """The App's own account."""
        return self.account(f"{self.slug}[bot]")

    def comments_of(self, number: int) -> list[GitHubComment]:
        """The comments of one pull request, oldest first."""
        return [comment for comment in self.comments.values() if comment.number == number]
