"""A repository of plain values for the stand-in GitHub, where a test names its commits itself."""

from dataclasses import dataclass, field

from bot.demo.github.git import ChangedFile, CommitSignature, GitFile, HistoryCommit
from bot.domain.commit import Commit


@dataclass(slots=True, kw_only=True)
class PlainHistory:
    """`commits` are every branch's, newest first; any other SHA is a commit without parents.

    `files` maps a path, or `ref:path`, to a text; `paths` are the files of every difference.
    """

    commits: tuple[Commit, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    branches: dict[str, str] = field(default_factory=dict)

    def heads(self) -> dict[str, str]:
        """The commit of every branch."""
        return self.branches

    def resolve(self, ref: str) -> str | None:
        """The ref itself: every name is known."""
        return ref

    def commit(self, sha: str) -> HistoryCommit:
        """One of the commits, or one that nothing is known of."""
        known = next((commit for commit in self.commits if commit.sha == sha), None)
        return _git_commit(known or Commit(sha=sha, committed_at=0.0, message=""))

    def walk(self, sha: str) -> list[HistoryCommit]:  # noqa: ARG002
        """All commits, whichever is asked for."""
        return [_git_commit(commit) for commit in self.commits]

    def between(self, base: str, head: str) -> list[str]:
        """The head alone."""
        return [] if base == head else [head]

    def merge_base(self, one: str, other: str) -> str | None:  # noqa: ARG002
        """The newest commit."""
        return self.commits[0].sha if self.commits else one

    def entry(self, sha: str, path: str) -> GitFile | list[str] | None:
        """A file, the same at every commit that has none of its own."""
        text = self.files.get(f"{sha}:{path}", self.files.get(path))
        return None if text is None else GitFile(sha=sha, content=text.encode())

    def changes(self, base: str, head: str) -> list[ChangedFile]:  # noqa: ARG002
        """The same files between any two commits."""
        return [
            ChangedFile(path=path, before=None, status="modified", sha=head, additions=1, deletions=1)
            for path in self.paths
        ]


def _git_commit(commit: Commit) -> HistoryCommit:
    who = CommitSignature(name="Somebody", email="somebody@example.org", time=commit.committed_at)
    return HistoryCommit(
        sha=commit.sha,
        tree=commit.tree or commit.sha,
        parents=commit.parents,
        author=who,
        committer=who,
        message=commit.message,
    )
