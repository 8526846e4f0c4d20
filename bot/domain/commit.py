"""Commits, and when two spellings of a SHA name the same one."""

from msgspec import Struct


class Commit(Struct, frozen=True, kw_only=True):
    """A commit; `committed_at` is the committer's date, which a rebase renews. `tree` is the hash of its
    files, `parents` its parent commits, where GitHub's answer has them."""

    sha: str
    committed_at: float
    message: str
    tree: str | None = None
    parents: tuple[str, ...] = ()


MIN_SHA_LENGTH = 7
"""The fewest digits that may name a commit."""


def same_commit(one: str | None, other: str | None) -> bool:
    """Whether two SHAs name one commit: the shorter has 7 digits or more and is the prefix of the longer."""
    if one is None or other is None or min(len(one), len(other)) < MIN_SHA_LENGTH:
        return False
    short, long = sorted((one.lower(), other.lower()), key=len)
    return long.startswith(short)
