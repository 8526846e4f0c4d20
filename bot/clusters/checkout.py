"""Git without a git program: check a commit out into a folder, or write new commits.

A folder holds exactly the commit's tree or does not exist. Nothing is written outside of it, whatever
names and links the tree holds. The only door to dulwich.
"""

import errno
import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp

from dulwich.errors import NotGitRepository
from dulwich.object_store import iter_tree_contents
from dulwich.objects import Blob, Commit, ObjectID, Tree
from dulwich.refs import Ref
from dulwich.repo import Repo
from msgspec import Struct

from bot.errors import UserError

MAX_FILES = 200_000
"""Files and folders of one commit: a few hundred bytes of nested trees can name billions of them."""

MAX_BYTES = 20_000_000_000
"""Bytes of one commit's files."""


class GitCommit(Struct, frozen=True, kw_only=True):
    """A commit of a repository; `at` is when it was made, in Unix seconds."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    message: str
    author: str
    at: int


def check_out(repository: Path, sha: str, into: Path, *, max_bytes: int = MAX_BYTES) -> None:
    """Check a commit out into the folder `into`, which must not exist or must hold this commit already.

    Raises `UserError` where the repository or the commit does not exist, or where its files are too many, too
    large, or not to be written.
    """
    if into.exists():
        return
    into.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(mkdtemp(prefix=".fresh-", dir=into.parent))
    try:
        fresh.chmod(0o755)
        _write_tree(repository, sha, fresh, max_bytes)
        fresh.rename(into)
    except OSError as problem:
        # Another process was faster, which is as good.
        if into.exists():
            return
        if problem.errno in _NAMES_CANNOT_BE:
            raise UserError(f"The commit {sha} holds names that cannot be written: {problem}") from problem
        raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


_NAMES_CANNOT_BE = {errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP}
"""What the system says to names that no file can have, or that two entries of a tree have."""


def _write_tree(repository: Path, sha: str, folder: Path, max_bytes: int) -> None:
    links: list[tuple[Path, bytes]] = []
    left = max_bytes
    with _open_repository(repository) as opened:
        tree = _find_commit(opened, repository, sha).tree
        if _count_entries(opened, tree) > MAX_FILES:
            raise UserError(f"The commit {sha} has more than {MAX_FILES} files and folders.")
        for entry in iter_tree_contents(opened.object_store, tree):
            target = folder / _safe_path(entry.path)
            if stat.S_ISREG(entry.mode):
                content = opened.object_store[entry.sha].as_raw_string()
                left -= len(content)
                if left < 0:
                    raise UserError(f"The files of the commit {sha} take more than {max_bytes} bytes.")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                target.chmod(0o755 if entry.mode & 0o100 else 0o644)
            elif stat.S_ISLNK(entry.mode):
                links.append((target, opened.object_store[entry.sha].as_raw_string()))
    # Links come last, so that no file is written through one; and no link is either.
    for target, points_to in links:
        if any(parent.is_symlink() for parent in target.parents if parent.is_relative_to(folder)):
            raise UserError(f"The commit {sha} holds a file below a link: {target.relative_to(folder)}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(os.fsdecode(points_to))


def _count_entries(opened: Repo, root: ObjectID) -> int:
    """The files and folders below a tree. Each tree is read once, in however many places it is."""
    counts: dict[ObjectID, int] = {}
    waiting = [root]
    while waiting:
        tree = opened.object_store[waiting[-1]]
        entries = tree.items() if isinstance(tree, Tree) else []
        folders = [entry.sha for entry in entries if entry.mode is not None and stat.S_ISDIR(entry.mode)]
        unread = [ObjectID(folder) for folder in folders if folder is not None and folder not in counts]
        if unread and waiting[-1] not in counts:
            counts[waiting[-1]] = (
                0  # no tree can hold itself: a second visit finds everything below it counted
            )
            waiting += unread
            continue
        counts[waiting.pop()] = len(entries) + sum(counts[folder] for folder in folders if folder is not None)
    return counts[root]


def _safe_path(path: bytes) -> PurePosixPath:
    name = PurePosixPath(os.fsdecode(path))
    if name.is_absolute() or not name.parts or {"..", ".git"} & {part.lower() for part in name.parts}:
        raise UserError(f"The commit holds a file with a name that cannot be written: {os.fsdecode(path)!r}.")
    return name


def _open_repository(repository: Path) -> Repo:
    try:
        return Repo(str(repository))
    except NotGitRepository as problem:
        raise UserError(
            f"There is no git repository at {repository}. Set launch.local.repository."
        ) from problem


def _find_commit(opened: Repo, repository: Path, sha: str) -> Commit:
    try:
        found = opened[ObjectID(sha.encode("ascii"))]
    except (KeyError, ValueError, AssertionError) as problem:
        raise UserError(
            f"The repository at {repository} has no commit {sha}. Fetch it there first."
        ) from problem
    if not isinstance(found, Commit):
        raise UserError(f"{sha} in the repository at {repository} is not a commit.")
    return found


def create_repository(path: Path) -> None:
    """Make an empty bare repository whose default branch is `main`."""
    path.mkdir(parents=True)
    Repo.init_bare(str(path), default_branch=b"main").close()


def write_commit(
    repository: Path,
    *,
    branch: str,
    files: Mapping[str, bytes],
    message: str,
    author: str,
    at: int,
    parents: Iterable[str] = (),
) -> GitCommit:
    """Write a commit with exactly these files, and point the branch to it.

    `author` reads `Name <address>`; `at` is in Unix seconds. The same arguments give the same commit.
    """
    with _open_repository(repository) as opened:
        commit = Commit()
        commit.tree = _store_tree(opened, files)
        commit.parents = [ObjectID(parent.encode("ascii")) for parent in parents]
        commit.author = commit.committer = author.encode()
        commit.author_time = commit.commit_time = at
        commit.author_timezone = commit.commit_timezone = 0
        commit.encoding = b"UTF-8"
        commit.message = message.encode()
        opened.object_store.add_object(commit)
        opened.refs[Ref(b"refs/heads/" + branch.encode())] = commit.id
        return _git_commit(commit)


def _store_tree(opened: Repo, files: Mapping[str, bytes]) -> ObjectID:
    """Store the files and their folders; returns the outermost tree."""
    tree = Tree()
    folders: dict[str, dict[str, bytes]] = {}
    for name, content in files.items():
        first, _, rest = name.partition("/")
        if rest:
            folders.setdefault(first, {})[rest] = content
        else:
            blob = Blob.from_string(content)
            opened.object_store.add_object(blob)
            tree.add(first.encode(), 0o100644, blob.id)
    for folder, inside in folders.items():
        tree.add(folder.encode(), 0o040000, _store_tree(opened, inside))
    opened.object_store.add_object(tree)
    return tree.id


def _git_commit(commit: Commit) -> GitCommit:
    return GitCommit(
        sha=commit.id.decode("ascii"),
        tree=commit.tree.decode("ascii"),
        parents=tuple(parent.decode("ascii") for parent in commit.parents),
        message=commit.message.decode("utf-8", "replace"),
        author=commit.author.decode("utf-8", "replace"),
        at=commit.commit_time,
    )
