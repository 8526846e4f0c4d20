"""What belongs to a pull request, for those who have nothing but a link of its comment."""

from msgspec import Struct
from sqlalchemy import Connection, or_, select

from bot.domain.commit import same_commit
from bot.domain.pull_request import SubjectKind, branch_slug
from bot.report.model import Report
from bot.storage import reports
from bot.storage.refs import Ref, RefKind
from bot.storage.tables import PULL_REQUEST, REPORT, WANT


class PullScope(Struct, frozen=True, kw_only=True):
    """The pull requests and watched branches (`numbers` of their rows) that somebody may read."""

    repository: str
    numbers: frozenset[int]

    def names_run(self, connection: Connection, run: str) -> bool:
        """Whether one of them wants this run, or has a report that names it."""
        here = (WANT.c.repository == self.repository, WANT.c.number.in_(self.numbers))
        if connection.execute(select(WANT.c.run).where(*here, WANT.c.run == run)).first() is not None:
            return True
        return any(run in _runs_of(report) for report in self._reports(connection))

    def is_own(self, connection: Connection, ref: Ref) -> bool:
        """Whether a name means one of them: itself, a commit that it was reported on, or its own branch."""
        match ref.kind:
            case RefKind.PULL:
                return ref.number in self.numbers
            case RefKind.COMMIT:
                return any(same_commit(ref.sha, sha) for sha in self._heads(connection))
            case RefKind.BRANCH:
                return ref.branch in self._branches(connection)

    def is_base(self, connection: Connection, ref: Ref) -> bool:
        """Whether a name means what one of them is compared with: its base branch, or the merge base."""
        for report in self._reports(connection):
            if ref.kind is RefKind.BRANCH and ref.branch == branch_slug(report.base_branch):
                return True
            if ref.kind is RefKind.COMMIT and same_commit(ref.sha, report.merge_base):
                return True
        return False

    def opens_comparison(self, connection: Connection, base: Ref, head: Ref) -> bool:
        """Whether two names may be compared: one of them their own, the other that or its base."""
        own = [self.is_own(connection, ref) for ref in (base, head)]
        others = (ref for ref, ours in zip((base, head), own, strict=True) if not ours)
        return any(own) and all(self.is_base(connection, ref) for ref in others)

    def _reports(self, connection: Connection) -> list[Report]:
        keys = select(REPORT.c.number, REPORT.c.head_sha).where(
            REPORT.c.repository == self.repository, REPORT.c.number.in_(self.numbers)
        )
        rows = connection.execute(keys.order_by(REPORT.c.made.desc()).limit(MAX_REPORTS)).all()
        found = (reports.newest(connection, self.repository, row.number, row.head_sha) for row in rows)
        return [report for report in found if report is not None]

    def _heads(self, connection: Connection) -> tuple[str, ...]:
        rows = select(REPORT.c.head_sha).where(
            REPORT.c.repository == self.repository, REPORT.c.number.in_(self.numbers)
        )
        return tuple(connection.execute(rows).scalars())

    def _branches(self, connection: Connection) -> frozenset[str]:
        rows = select(PULL_REQUEST.c.head_branch).where(
            PULL_REQUEST.c.repository == self.repository,
            PULL_REQUEST.c.number.in_(self.numbers),
            or_(PULL_REQUEST.c.from_fork.is_(False), PULL_REQUEST.c.kind == SubjectKind.BRANCH),
        )
        return frozenset(branch_slug(name) for name in connection.execute(rows).scalars() if name)


MAX_REPORTS = 30
"""Newest reports that are searched for a run: a link to an older one asks for a signing in."""


def _runs_of(report: Report) -> frozenset[str]:
    rows = report.rows
    return frozenset(run.id for row in rows for run in (*row.base_runs, *row.head_runs, *row.stale_runs))
