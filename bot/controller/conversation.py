"""What was asked, approved and accepted on a pull request, as its report says it.

In:  a pull request, its suite, what is known of its head.
Out: the request for its report with all that in it.

An approval of other files than the head's is dropped as soon as they are seen.
"""

from dataclasses import dataclass, replace

from bot.config import Suite
from bot.controller.asking import Kept, asks_in_force, withdrawn
from bot.controller.deciding import starts_runs
from bot.controller.facts import HeadFacts
from bot.controller.vouching import Waits, vouched
from bot.intake.pull import Pull
from bot.intake.trust import Approval
from bot.report.material import Request
from bot.report.model import Acknowledgement
from bot.storage import acknowledgements, approvals, asks
from bot.storage.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What people asked and withdrew, approved and accepted."""

    kept: Kept = ()
    approval: Approval | None = None
    acknowledgements: tuple[Acknowledgement, ...] = ()


async def approval_of(database: Database, pull: Pull, facts: HeadFacts) -> Approval | None:
    """The approval that counts; one of other files is forgotten, so that going back to its commit later
    needs another. One that was given after GitHub was asked for the head may be of the next head."""
    approval = await database.read(approvals.newest, pull.repository, pull.number)
    if approval is None or facts.tree is None or approval.tree == facts.tree:
        return approval
    if approval.made > pull.updated_at:
        return approval
    until = pull.updated_at  # one that arrives just now is not looked at here
    await database.write(approvals.drop, pull.repository, pull.number, but_tree=facts.tree, until=until)
    return approval


async def read_conversation(database: Database, pull: Pull, facts: HeadFacts) -> Conversation:
    """Everything that was said on a pull request."""
    here = (pull.repository, pull.number)
    return Conversation(
        kept=await database.read(asks.of_pull, *here),
        approval=await approval_of(database, pull, facts),
        acknowledgements=await database.read(acknowledgements.of_pull, *here),
    )


def heard_in(request: Request, conversation: Conversation, *, facts: HeadFacts, suite: Suite) -> Request:
    """The request for a report that says what was asked and what it waits for."""
    pull, kept, paths = request.pull, conversation.kept, facts.changed_paths
    request = replace(
        request, acknowledgements=conversation.acknowledgements, labels=tuple(suite.triggers.labels)
    )
    if not starts_runs(suite):
        return request
    request = replace(
        request,
        withdrawn={key: one.by for key, one in withdrawn(kept, pull, suite, paths).items()},
    )
    standing = vouched(pull, facts.tree, conversation.approval)
    if not isinstance(standing, Waits):
        return request
    asked = frozenset(key for ask in asks_in_force(kept, pull, suite, paths) for key in ask.keys)
    return replace(request, waiting=asked, approval=standing.command if asked else "")
