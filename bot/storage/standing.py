"""What stands on GitHub, as far as its own events and our writes put it in doubt.

In:  pull requests. Out: nothing; what is in doubt is looked at, and written, again.
"""

from sqlalchemy import Connection, and_, case, select, update

from bot.storage.pulls import CHANGED
from bot.storage.tables import PULL_REQUEST, REPORT

UNKNOWN_CHECK = -1
"""In place of the id of a check run that is to be looked for."""


def doubt_comment(connection: Connection, *, repository: str, number: int) -> None:
    """Forget what the comment says, before it is written: after an unclear end it is looked for first."""
    connection.execute(
        update(PULL_REQUEST)
        .where(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.number == number)
        .values(comment_hash=None)
    )


def doubt_check(connection: Connection, *, repository: str, number: int, head_sha: str) -> None:
    """Forget what the check says, before it is written: if that ends unclear, the next one writes again."""
    same = PULL_REQUEST.c.check_head == head_sha
    connection.execute(
        update(PULL_REQUEST)
        .where(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.number == number)
        .values(
            check_hash=None,
            check_head=head_sha,
            check_id=case((same, PULL_REQUEST.c.check_id), else_=None),
        )
    )


def check_was_reset(connection: Connection, *, repository: str, head_sha: str, now: float) -> tuple[int, ...]:
    """Have a commit's checks written again, since GitHub clears what is asked for again; the open pull
    requests whose head it is. What stands beside an older head is concluded like one that is pending."""
    again = {"check_hash": CHANGED, "wanted": PULL_REQUEST.c.wanted + 1, "due": now}
    here = PULL_REQUEST.c.repository == repository
    touched = connection.execute(
        update(PULL_REQUEST)
        .where(here, PULL_REQUEST.c.check_head == head_sha)
        .values(**again)
        .returning(PULL_REQUEST.c.number, PULL_REQUEST.c.open)
    ).all()
    was_head = select(REPORT.c.number).where(REPORT.c.repository == repository, REPORT.c.head_sha == head_sha)
    connection.execute(
        update(PULL_REQUEST)
        .where(here, PULL_REQUEST.c.check_head != head_sha, PULL_REQUEST.c.check_id.is_not(None))
        .where(PULL_REQUEST.c.number.in_(was_head))
        .values(check_head=head_sha, check_id=UNKNOWN_CHECK, check_pending=True, **again)
    )
    return tuple(sorted(row.number for row in touched if row.open))


def comment_was_changed(
    connection: Connection, *, repository: str, number: int, comment_id: int, now: float
) -> bool:
    """Have our comment looked at, since somebody else deleted or edited it; False where it is not ours."""
    ours = and_(
        PULL_REQUEST.c.repository == repository,
        PULL_REQUEST.c.number == number,
        PULL_REQUEST.c.comment_id == comment_id,
        PULL_REQUEST.c.open,
    )
    touched = connection.execute(
        update(PULL_REQUEST)
        .where(ours)
        .values(comment_hash=CHANGED, wanted=PULL_REQUEST.c.wanted + 1, due=now)
    )
    return touched.rowcount == 1


def is_worked_on(connection: Connection, *, repository: str, number: int, now: float) -> bool:
    """Whether somebody works on the pull request, and may be writing a comment whose id is not kept yet."""
    held = select(PULL_REQUEST.c.number).where(
        PULL_REQUEST.c.repository == repository,
        PULL_REQUEST.c.number == number,
        PULL_REQUEST.c.lease_until > now,
    )
    return connection.execute(held).first() is not None
