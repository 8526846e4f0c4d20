"""Read the git repository behind the stand-in GitHub: branches, commits, files, differences.

The repository is opened for each call, so changes by others are seen.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import SequenceMatcher
from pathlib import Path
from typing import Protocol

from dulwich import objects
from dulwich.diff_tree import RenameDetector, TreeChange, tree_changes
from dulwich.graph import find_merge_base
from dulwich.object_store import tree_lookup_path
from dulwich.objects import Blob, ObjectID, Tree
from dulwich.refs import Ref
from dulwich.repo import Repo
from msgspec import Struct


class CommitSignature(Struct, frozen=True, kw_only=True):
    """Who made a commit, and when in Unix seconds."""

    name: str
    email: str
    time: float


class HistoryCommit(Struct, frozen=True, kw_only=True):
    """One commit."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: CommitSignature
    committer: CommitSignature
    message: str


class GitFile(Struct, frozen=True, kw_only=True):
    """A file of a commit."""

    sha: str
    content: bytes


class ChangedFile(Struct, frozen=True, kw_only=True):
    """A file that differs between two commits; `before` is its old path where it was renamed."""

    path: str
    before: str | None
    status: str
    sha: str
    additions: int
    deletions: int


class History(Protocol):
    """What the stand-in asks of a repository. Tests have one of plain values."""

    def heads(self) -> dict[str, str]:
        """The commit of every branch."""
        ...

    def resolve(self, ref: str) -> str | None:
        """The full SHA of a branch, or of a commit named by its full SHA."""
        ...

    def commit(self, sha: str) -> HistoryCommit:
        """One commit."""
        ...

    def walk(self, sha: str) -> list[HistoryCommit]:
        """A commit and all its ancestors, newest first."""
        ...

    def between(self, base: str, head: str) -> list[str]:
        """The commits of `head` that `base` does not have, oldest first."""
        ...

    def merge_base(self, one: str, other: str) -> str | None:
        """A newest common ancestor."""
        ...

    def entry(self, sha: str, path: str) -> GitFile | list[str] | None:
        """A file of a commit, or the names in a folder, or None."""
        ...

    def changes(self, base: str, head: str) -> list[ChangedFile]:
        """The files that differ between two commits."""
        ...


class GitHistory:
    """The history of a git repository on disk, bare or not."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def heads(self) -> dict[str, str]:
        """The commit of every branch."""
        with self._open() as repo:
            return {
                name.decode(): sha.decode() for name, sha in repo.refs.as_dict(Ref(b"refs/heads")).items()
            }

    def resolve(self, ref: str) -> str | None:
        """The full SHA of a branch, or of a commit named by its full SHA."""
        heads = self.heads()
        name = ref.removeprefix("refs/").removeprefix("heads/")
        if name in heads:
            return heads[name]
        with self._open() as repo:
            known = len(ref) in {40, 64} and ObjectID(ref.encode()) in repo.object_store
            return ref if known and isinstance(repo[ObjectID(ref.encode())], objects.Commit) else None

    def commit(self, sha: str) -> HistoryCommit:
        """One commit."""
        with self._open() as repo:
            return _commit(_commit_object(repo, sha))

    def walk(self, sha: str) -> list[HistoryCommit]:
        """A commit and all its ancestors, newest first."""
        with self._open() as repo:
            return [_commit(entry.commit) for entry in repo.get_walker(include=[ObjectID(sha.encode())])]

    def between(self, base: str, head: str) -> list[str]:
        """The commits of `head` that `base` does not have, oldest first."""
        known = {commit.sha for commit in self.walk(base)}
        return [commit.sha for commit in reversed(self.walk(head)) if commit.sha not in known]

    def merge_base(self, one: str, other: str) -> str | None:
        """A newest common ancestor."""
        with self._open() as repo:
            found = find_merge_base(repo, [ObjectID(one.encode()), ObjectID(other.encode())])
            return found[0].decode() if found else None

    def entry(self, sha: str, path: str) -> GitFile | list[str] | None:
        """A file of a commit, or the names in a folder, or None."""
        with self._open() as repo:
            try:
                _, found = tree_lookup_path(repo.__getitem__, _commit_object(repo, sha).tree, path.encode())
            except (KeyError, NotADirectoryError):
                return None
            entry = repo[found]
            if isinstance(entry, Tree):
                return [item.path.decode() for item in entry.items() if item.path]
            return GitFile(sha=found.decode(), content=entry.as_raw_string())

    def changes(self, base: str, head: str) -> list[ChangedFile]:
        """The files that differ between two commits."""
        with self._open() as repo:
            trees = (_commit_object(repo, base).tree, _commit_object(repo, head).tree)
            detector = RenameDetector(repo.object_store)
            return [
                _changed_file(repo, one)
                for one in tree_changes(repo.object_store, *trees, rename_detector=detector)
            ]

    @contextmanager
    def _open(self) -> Iterator[Repo]:
        repo = Repo(str(self._path))
        try:
            yield repo
        finally:
            repo.close()


def _commit_object(repo: Repo, sha: str) -> objects.Commit:
    found = repo[ObjectID(sha.encode())]
    if not isinstance(found, objects.Commit):
        raise KeyError(sha)
    return found


def _commit(found: objects.Commit) -> HistoryCommit:
    return HistoryCommit(
        sha=found.id.decode(),
        tree=found.tree.decode(),
        parents=tuple(parent.decode() for parent in found.parents),
        author=_signature(found.author, found.author_time),
        committer=_signature(found.committer, found.commit_time),
        message=found.message.decode("utf-8", "replace"),
    )


# Ada Lovelace <ada@example.org>
_SIGNATURE = re.compile(r"^(?P<name>.*?) *<(?P<email>[^>]*)>")


def _signature(who: bytes, time: float) -> CommitSignature:
    text = who.decode("utf-8", "replace")
    found = _SIGNATURE.match(text)
    name, email = (found["name"], found["email"]) if found else (text, "")
    return CommitSignature(name=name, email=email, time=time)


_CHANGE_STATUS = {"add": "added", "delete": "removed", "rename": "renamed", "copy": "copied"}


def _changed_file(repo: Repo, change: TreeChange) -> ChangedFile:
    old, new = change.old, change.new
    entry = new if new is not None and new.path is not None else old
    before, after = _blob_lines(repo, old), _blob_lines(repo, new)
    same = sum(
        block.size for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    )
    renamed = change.type == "rename" and old is not None and old.path is not None
    return ChangedFile(
        path=(entry.path or b"").decode() if entry else "",
        before=old.path.decode() if renamed and old is not None and old.path is not None else None,
        status=_CHANGE_STATUS.get(change.type, "modified"),
        sha=(entry.sha or b"").decode() if entry else "",
        additions=len(after) - same,
        deletions=len(before) - same,
    )


def _blob_lines(repo: Repo, entry: object) -> list[bytes]:
    sha = getattr(entry, "sha", None)
    blob = repo[sha] if sha else None
    return blob.data.splitlines() if isinstance(blob, Blob) else []
