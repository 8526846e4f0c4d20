"""The commands approve and ack. Pure."""

from bot.commands import grammar, scope
from bot.commands.context import (
    CommandCall,
    CommandResult,
    describe_keys,
    no_launch_reason,
    refuse,
    selected_keys,
)
from bot.config import Suite
from bot.domain.run_request import Approval
from bot.report.assess import acknowledged_state, state_word
from bot.report.model import Acknowledgement


def approve(given: CommandCall, one: grammar.ApproveCommand, suite: Suite) -> CommandResult:
    """Bind the approval to the commit and to its files; anything but the head as it stands is refused."""
    pull, tree = given.scene.pull, given.scene.tree
    if why := no_launch_reason(suite):
        return refuse(why)
    if not pull.from_fork:
        return CommandResult(result="No approval is needed: the head is on a branch of this repository.")
    if not pull.head_sha.startswith(one.sha):
        return refuse(
            f"{one.sha[:12]} is not the head. If you have read {pull.head_sha[:7]}, "
            f"write “/benchmark approve {pull.head_sha}”."
        )
    if one.sha != pull.head_sha:
        return refuse(
            f"{one.sha[:12]} is only the beginning of the head, and a commit that begins so can be made by "
            f"whoever pushes. If you have read it, write “/benchmark approve {pull.head_sha}”."
        )
    if tree is None:
        return refuse(f"GitHub did not say which files {pull.head_sha[:7]} holds: write the command again.")
    by = given.intent.author.login
    approval = Approval(head_sha=pull.head_sha, tree=tree, by=by, made=given.intent.created_at)
    result = f"{pull.head_sha[:7]} may run, as it is; a push of other files needs an approval of its own."
    return CommandResult(result=result, approval=approval)


def acknowledge(
    given: CommandCall, one: grammar.AcknowledgeCommand, meant: scope.ResolvedScope, suite: Suite
) -> CommandResult:
    """Accept the verdicts of these cases that have something to accept."""
    head = given.scene.pull.head_sha
    asked = selected_keys(meant)
    rows = [row for row in given.scene.rows if row.key in asked]
    if not rows:
        return refuse(
            f"{describe_keys(asked, suite)}: there is no verdict on {head[:7]} yet, so nothing to accept."
        )
    bases = [(row, why) for row in rows if (why := acknowledged_state(row)) is not None]
    if not bases:
        stands = ", ".join(dict.fromkeys(state_word(row.state, given.scene.pull.base_branch) for row in rows))
        return refuse(f"{describe_keys(asked, suite)}: {stands}, so there is nothing to accept.")
    accepted = tuple(
        Acknowledgement(
            case=row.case,
            variant=row.variant,
            verdict=row.state,
            head_sha=head,
            by=given.intent.author.login,
            reason=one.reason,
            made=given.intent.created_at,
            grounds=why,
        )
        for row, why in bases
    )
    what = describe_keys(frozenset(row.key for row, _ in bases), suite)
    result = f"{what}: accepted, for as long as it says the same for the same reason and gets no worse."
    return CommandResult(result=result, acknowledgements=accepted)
