"""Commits, and when two spellings of a SHA name the same one."""

from msgspec import Struct


class Commit(Struct, frozen=True, kw_only=True):
    """One commit; `committed_at` is the committer's date, which a rebase renews. `tree` is the hash of its
    files, and `parents` the commits it was made on, where the answer says them."""

    sha: str
    committed_at: float
    message: str
    tree: str | None = None
    parents: tuple[str, ...] = ()


# The fewest digits that may stand for a commit.
MIN_SHA_LENGTH = 7


def same_commit(one: str | None, other: str | None) -> bool:
    """Whether two spellings name one commit: the shorter has 7 digits or more and begins the longer."""
    if one is None or other is None or min(len(one), len(other)) < MIN_SHA_LENGTH:
        return False
    short, long = sorted((one.lower(), other.lower()), key=len)
    return long.startswith(short)
