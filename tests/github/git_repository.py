"""Writes small git repositories."""

from pathlib import Path

from dulwich.index import commit_tree
from dulwich.objects import Blob, Commit, ObjectID
from dulwich.refs import Ref
from dulwich.repo import Repo

from bot.domain import commit
from bot.domain import commit as domain_commit

WHO = b"Ada Lovelace <ada@example.org>"

FIRST = 1_795_000_000

FILE_MODE = 0o100644


class GitRepository:
    """A bare repository; each commit is a minute younger than the one before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        Repo.init_bare(str(path)).close()
        self._files: dict[str, dict[str, str]] = {}
        self._made = 0

    def write(self, branch: str, files: dict[str, str], *parents: str, message: str = "Change") -> str:
        """Commit the files of the (first) parent and these, where empty text removes a file."""
        before = parents or ((self.head(branch),) if self.head(branch) else ())
        inherited = self._files[before[0]] if before else {}
        kept = {path: text for path, text in {**inherited, **files}.items() if text}
        repo = Repo(str(self.path))
        try:
            blobs = {path: Blob.from_string(text.encode()) for path, text in kept.items()}
            for blob in blobs.values():
                repo.object_store.add_object(blob)
            commit = Commit()
            commit.tree = commit_tree(
                repo.object_store, [(path.encode(), blob.id, FILE_MODE) for path, blob in blobs.items()]
            )
            commit.parents = [ObjectID(parent.encode()) for parent in before]
            commit.author = commit.committer = WHO
            commit.author_time = commit.commit_time = FIRST + 60 * self._made
            commit.author_timezone = commit.commit_timezone = 0
            commit.message = message.encode()
            repo.object_store.add_object(commit)
            repo.refs[Ref(f"refs/heads/{branch}".encode())] = commit.id
        finally:
            repo.close()
        self._made += 1
        sha = commit.id.decode()
        self._files[sha] = kept
        return sha

    def head(self, branch: str) -> str:
        """The commit of a branch, or nothing."""
        repo = Repo(str(self.path))
        try:
            found = repo.refs.as_dict(Ref(b"refs/heads")).get(Ref(branch.encode()))
            return found.decode() if found else ""
        finally:
            repo.close()

    def commit(self, sha: str) -> domain_commit.Commit:
        """A commit in the product's words."""
        repo = Repo(str(self.path))
        try:
            found = repo[sha.encode()]
            assert isinstance(found, Commit)
            return commit.Commit(
                sha=sha,
                committed_at=found.commit_time,
                message=found.message.decode(),
                tree=found.tree.decode(),
                parents=tuple(parent.decode() for parent in found.parents),
            )
        finally:
            repo.close()
