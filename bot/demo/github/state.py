"""The mutable state of the stand-in GitHub. Times are Unix seconds."""

from collections.abc import Awaitable, Callable, Mapping
from itertools import count

from msgspec import Struct, field

from bot.domain.repository import Permission


class AccountState(Struct, kw_only=True):
    """A person or bot, and what they may do with the repository."""

    id: int
    login: str
    permission: Permission

    @property
    def is_bot(self) -> bool:
        """Whether it is an App's account."""
        return self.login.endswith("[bot]")


class PullState(Struct, kw_only=True):
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
    labels: list[str] = []
    fork: str | None = None


class LabelState(Struct, kw_only=True):
    """One label of the repository; `colour` is six hexadecimal digits."""

    id: int
    name: str
    colour: str = "ededed"
    description: str = ""


class GitHubComment(Struct, kw_only=True):
    """One comment; `by_app` where the App wrote it. `reactions` maps contents to those who gave them."""

    id: int
    number: int
    author: AccountState
    body: str
    by_app: bool
    created_at: float
    updated_at: float
    reactions: dict[str, list[AccountState]] = {}


class GitHubCheck(Struct, kw_only=True):
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
    annotations: list[Mapping[str, object]] = []
    actions: list[Mapping[str, object]] = []


class StatusState(Struct, frozen=True, kw_only=True):
    """One commit status; the newest of a context counts."""

    id: int
    sha: str
    state: str
    context: str
    description: str | None
    target_url: str | None
    created_at: float


class RecordedDelivery(Struct, kw_only=True):
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


class InjectedFault(Struct, kw_only=True):
    """What the next `times` matching requests get instead of their answer, before or `after` they took
    effect."""

    method: str
    ending: str
    status: int
    message: str
    headers: Mapping[str, str]
    after: bool
    times: int = 1


class Interruption(Struct, frozen=True, kw_only=True):
    """What happens right before the next matching request is read, or `after` it was and before its answer
    arrives."""

    method: str
    ending: str
    act: Callable[[], Awaitable[None]]
    after: bool


class SignInCode(Struct, frozen=True, kw_only=True):
    """What a browser brought back from GitHub; good once, and with the verifier of its `challenge`."""

    login: str
    challenge: str
    redirect_uri: str


def _default_permissions() -> dict[str, str]:
    return {
        "metadata": "read",
        "contents": "read",
        "issues": "read",
        "pull_requests": "write",
        "checks": "write",
        "statuses": "write",
    }


class GitHubState(Struct, kw_only=True):
    """Everything that the stand-in remembers.

    `readable` names the repositories that a person's own token may read; `other_ids` are the numbers of those
    among them that are not the App's. `client_id` and `client_secret` are
    the App's for signing people in; `user_token_seconds` is how long their tokens last, None for ever.
    """

    full_name: str
    url: str
    app_id: int
    slug: str
    installation: int
    default_branch: str
    private: bool
    now: Callable[[], float]
    client_id: str
    client_secret: str
    repository_id: int = 1
    user_token_seconds: int | None = 28_800
    ids: "count[int]" = field(default_factory=lambda: count(1001))
    accounts: dict[str, AccountState] = {}
    pulls: dict[int, PullState] = {}
    comments: dict[int, GitHubComment] = {}
    labels: dict[str, LabelState] = {}
    teams: dict[str, set[str]] = {}
    checks: dict[int, GitHubCheck] = {}
    statuses: list[StatusState] = []
    deliveries: list[RecordedDelivery] = []
    tokens: set[str] = set()
    user_tokens: dict[str, str] = {}
    sign_in_codes: dict[str, SignInCode] = {}
    readable: dict[str, set[str]] = {}
    other_ids: dict[str, int] = {}
    faults: list[InjectedFault] = []
    interruptions: list[Interruption] = []
    requests: list[str] = []
    permissions: dict[str, str] = field(default_factory=_default_permissions)
    away: bool = False
    archived: bool = False
    installed: bool = True
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
        """The label of this name, which is made when it is new; GitHub ignores case here."""
        return self.labels.setdefault(name.lower(), LabelState(id=next(self.ids), name=name))

    def bot(self) -> AccountState:
        """The App's own account."""
        return self.account(f"{self.slug}[bot]")

    def comments_of(self, number: int) -> list[GitHubComment]:
        """The comments of one pull request, oldest first."""
        return [comment for comment in self.comments.values() if comment.number == number]
