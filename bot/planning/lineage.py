"""Which commit of main a branch or pull request became, and how that is known.

A change made inside Google is exported by Copybara as a branch `test_<CL>`: one commit whose message
ends with the number of its change list (CL). A pull request from outside is imported, reviewed inside
and exported to main again: as a merge of two parents, or as one commit that names the pull request in a
trailer. A change may be submitted under another number than it was reviewed under, so the number alone
is never relied on.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum

from msgspec import Struct

# PiperOrigin-RevId: 936672580
_CHANGE_TRAILER = re.compile(r"^PiperOrigin-RevId: *(?P<change>[1-9][0-9]{0,17}) *$", re.MULTILINE)

# COPYBARA_INTEGRATE_REVIEW=https://github.com/acme/maxtext/pull/31 from ada:fast-attention f1216c0aca7d386…
# The export of a change that is not submitted yet says FUTURE_ in front.
_REVIEW_TRAILER = re.compile(
    r"^(?:FUTURE_)?COPYBARA_INTEGRATE_REVIEW=https://[^/\s]+/(?P<repository>[^/\s]+/[^/\s]+)/pull/"
    r"(?P<number>[1-9][0-9]{0,9}) from \S+ (?P<sha>[0-9a-f]{40}|[0-9a-f]{64}) *$",
    re.MULTILINE,
)

# Merge pull request #31 from ada:fast-attention          the first line of a merge, GitHub's or Copybara's
_MERGE_TITLE = re.compile(r"^Merge pull request #(?P<number>[1-9][0-9]{0,9}) from \S+")

# Make attention faster (#31)                              the first line of a squash by GitHub
_SQUASH_TITLE = re.compile(r"^.*\S \(#(?P<number>[1-9][0-9]{0,9})\)$")

# test_936672580   exported_pr_936672580
_EXPORTED_BRANCH = re.compile(r"^(?:test|exported_pr)_(?P<change>[1-9][0-9]{0,17})$")


class Trailers(Struct, frozen=True, kw_only=True):
    """Where a commit comes from, by its message. `change` is the number of the change list, `pull` the pull
    request that was imported, merged or squashed, `imported` the head that was imported."""

    change: int | None = None
    pull: int | None = None
    imported: str | None = None


def read_trailers(message: str, repository: str) -> Trailers:
    """Read a commit's message. A trailer that names a pull request of another repository is ignored.

    The last of repeated trailers counts: messages quote older messages above their own trailers.
    """
    changes = _CHANGE_TRAILER.findall(message.replace("\r\n", "\n"))
    change = int(changes[-1]) if changes else None
    for review in reversed(list(_REVIEW_TRAILER.finditer(message.replace("\r\n", "\n")))):
        if review["repository"].lower() == repository.lower():
            return Trailers(change=change, pull=int(review["number"]), imported=review["sha"])
    title = message.split("\n", 1)[0].rstrip()
    titled = _MERGE_TITLE.match(title) or _SQUASH_TITLE.match(title)
    return Trailers(change=change, pull=int(titled["number"]) if titled else None)


def change_of_branch(branch: str) -> int | None:
    """The number of the change list that a branch was exported from; None for other branches."""
    exported = _EXPORTED_BRANCH.match(branch)
    return int(exported["change"]) if exported else None


class LandingEvidence(IntEnum):
    """How we know that a head landed as a commit of main, strongest evidence first."""

    SAME_COMMIT = 1
    MERGED = 2
    SAME_FILES = 3
    IMPORTED_HEAD = 4
    SAME_CHANGE = 5
    SAME_PULL = 6


LandingSign = tuple[LandingEvidence, str | int | None]
"""A kind of evidence, and the commit, files, change or pull request that it is about."""


class MainCommit(Struct, frozen=True, kw_only=True):
    """A commit of main; `tree` is the hash of its files."""

    sha: str
    tree: str | None
    parents: tuple[str, ...]
    message: str


class LandingHead(Struct, frozen=True, kw_only=True):
    """The last known head of a branch or of a pull request (`number`)."""

    sha: str
    branch: str
    number: int | None = None
    tree: str | None = None
    change: int | None = None


class Landing(Struct, frozen=True, kw_only=True):
    """`head` became `commit` on main. The head's runs count for main only where the same files landed."""

    head: LandingHead
    commit: MainCommit
    known: LandingEvidence

    @property
    def same_files(self) -> bool:
        """Whether the head's files are the commit's."""
        if self.known in {LandingEvidence.SAME_COMMIT, LandingEvidence.SAME_FILES}:
            return True
        return self.head.tree is not None and self.head.tree == self.commit.tree


def first_parent_line(commits: Sequence[MainCommit]) -> tuple[MainCommit, ...]:
    """The commits that main itself pointed to, newest first, of a listing that begins with main's newest.

    GitHub also lists the commits that a merge brought in. Main never pointed to those, and their files lack
    what main had gained meanwhile."""
    by_sha = {commit.sha: commit for commit in commits}
    line: list[MainCommit] = []
    current = commits[0] if commits else None
    while current is not None:
        line.append(current)
        current = by_sha.get(current.parents[0]) if current.parents else None
    return tuple(line)


def find_landings(
    heads: Iterable[LandingHead], commits: Sequence[MainCommit], repository: str
) -> Mapping[str, Landing]:
    """By the head's commit, the commit of main that it became; `commits` as GitHub lists them, newest first.

    The strongest evidence wins, and among equals the newest commit: a change that was rolled back and landed
    again is its newest landing. A head without evidence in these commits counts as not landed.
    """
    by_sign = _signs_of_commits(first_parent_line(commits), repository)
    found: dict[str, Landing] = {}
    for head in heads:
        # Strongest evidence first; of equals the newest commit.
        matches = [(sign[0], *by_sign[sign]) for sign in _signs_of_head(head) if sign in by_sign]
        if matches:
            evidence, _, commit = min(matches, key=lambda match: match[:2])
            found[head.sha] = Landing(head=head, commit=commit, known=evidence)
    return found


def _signs_of_commits(
    line: Sequence[MainCommit], repository: str
) -> Mapping[LandingSign, tuple[int, MainCommit]]:
    """By sign, the newest commit of main that shows it, with its position."""
    by_sign: dict[LandingSign, tuple[int, MainCommit]] = {}
    for position, commit in enumerate(line):
        trailers = read_trailers(commit.message, repository)
        signs: list[LandingSign] = [
            (LandingEvidence.SAME_COMMIT, commit.sha),
            # The first parent is main itself: a head that main already contained did not land here.
            *((LandingEvidence.MERGED, parent) for parent in commit.parents[1:]),
            (LandingEvidence.SAME_FILES, commit.tree),
            (LandingEvidence.IMPORTED_HEAD, trailers.imported),
            (LandingEvidence.SAME_CHANGE, trailers.change),
            (LandingEvidence.SAME_PULL, trailers.pull),
        ]
        for sign in signs:
            by_sign.setdefault(sign, (position, commit))
    return by_sign


def _signs_of_head(head: LandingHead) -> list[LandingSign]:
    signs: list[LandingSign] = [
        (LandingEvidence.SAME_COMMIT, head.sha),
        (LandingEvidence.MERGED, head.sha),
        (LandingEvidence.SAME_FILES, head.tree),
        (LandingEvidence.IMPORTED_HEAD, head.sha),
        (LandingEvidence.SAME_CHANGE, head.change),
        (LandingEvidence.SAME_CHANGE, change_of_branch(head.branch)),
        (LandingEvidence.SAME_PULL, head.number),
    ]
    return [(evidence, value) for evidence, value in signs if value is not None]
