"""What we have published about a pull request or branch, as far as we know."""

from msgspec import Struct

MAX_COMMENT_DELETIONS = 2
"""Stop recreating the comment after two deletions: the second is on purpose."""


class NoComment(Struct, frozen=True):
    """No comment was created, or we do not know whether it was."""


class PostedComment(Struct, frozen=True, kw_only=True):
    """Our comment says what we wrote last. `digest` is of its body, `change_digest` of what it decides."""

    id: int
    digest: str
    severity: int
    change_digest: str
    written_at: float
    deletions: int = 0


class DirtyComment(Struct, frozen=True, kw_only=True):
    """Our comment may differ from our last write: a write ended unclear, or somebody edited or deleted it."""

    id: int
    severity: int
    deletions: int = 0


class RemovedComment(Struct, frozen=True):
    """People deleted the comment so often that it is not created again."""


CommentState = NoComment | PostedComment | DirtyComment | RemovedComment


class CheckRun(Struct, frozen=True):
    """A check run whose id we know."""

    id: int


class UnknownCheckRun(Struct, frozen=True):
    """A check run of ours that must be looked up by our key."""


class CommitStatus(Struct, frozen=True):
    """A commit status; GitHub knows it by its context."""


CheckTarget = CheckRun | UnknownCheckRun | CommitStatus


class NoCheck(Struct, frozen=True):
    """No check was written."""


class PostedCheck(Struct, frozen=True, kw_only=True):
    """The check says what we wrote last. Where `pending`, it has no conclusion yet."""

    head_sha: str
    target: CheckTarget
    digest: str
    pending: bool = False


class DirtyCheck(Struct, frozen=True, kw_only=True):
    """The check may differ from our last write: a write ended unclear, or GitHub has reset it."""

    head_sha: str
    target: CheckTarget
    pending: bool = False


CheckState = NoCheck | PostedCheck | DirtyCheck
