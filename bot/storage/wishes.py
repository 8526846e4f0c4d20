"""What one comment or label comes to, written down in one transaction.

In:  asks, withdrawals, an approval, acknowledgements, and what is said of each command.
Out: nothing; the pull request is looked at again at once, and what was withdrawn is stopped.
"""

from dataclasses import dataclass

from sqlalchemy import Connection

from bot.intake.pull import Repository
from bot.intake.trust import Approval
from bot.report.model import Acknowledgement
from bot.runs.asks import Ask, Source, Withdrawal
from bot.runs.standing import TERMINAL
from bot.storage import acknowledgements, approvals, asks, mainline, pulls, runs
from bot.storage.command_records import CommandRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """Everything that is to be remembered. `baselines` are asked of the base branch, not of a head."""

    records: tuple[CommandRecord, ...] = ()
    asks: tuple[Ask | Withdrawal, ...] = ()
    approvals: tuple[Approval, ...] = ()
    baselines: tuple[Ask, ...] = ()
    acknowledgements: tuple[Acknowledgement, ...] = ()


def keep(connection: Connection, repository: Repository, number: int, wishes: Wishes, *, now: float) -> None:
    """Remember all of it, or nothing."""
    here = (repository.full_name, number)
    for ask in wishes.asks:
        asks.keep(connection, *here, ask)
        if isinstance(ask, Withdrawal):
            _stop(connection, *here, ask)
    for ask in wishes.baselines:
        asks.keep(connection, repository.full_name, mainline.MAIN, ask)
        mainline.look(
            connection, repository=repository.full_name, installation=repository.installation, now=now
        )
    for approval in wishes.approvals:
        approvals.keep(connection, *here, approval)
    for one in wishes.acknowledgements:
        acknowledgements.keep(connection, *here, one)
    pulls.want(
        connection,
        repository=repository.full_name,
        number=number,
        installation=repository.installation,
        now=now,
        commands=wishes.records,
    )


def take_back(
    connection: Connection,
    repository: Repository,
    number: int,
    *,
    label: str,
    made: float,
    kept: Wishes,
    now: float,
) -> bool:
    """Forget what a label asked for until it was taken away (`made`, Unix seconds), and keep what is said of
    it; False, and nothing is kept, where it had asked for nothing."""
    here = (repository.full_name, number)
    taken = asks.take_back(connection, *here, source=Source.LABEL, name=label, made=made)
    if taken:
        keep(connection, repository, number, kept, now=now)
    return taken


def _stop(connection: Connection, repository: str, number: int, withdrawal: Withdrawal) -> None:
    """Stop wanting what has not ended: it is due at once, not when somebody happens to look."""
    wanted = runs.wanted(connection, repository, number)
    stopped = {
        run.id
        for run in wanted
        if f"{run.case}/{run.variant}" in withdrawal.keys and run.state not in TERMINAL
    }
    kept = [run.id for run in wanted if run.id not in stopped]
    runs.drop_wants(connection, repository=repository, number=number, but=kept)
