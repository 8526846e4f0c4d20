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


def approve(call: CommandCall, command: grammar.ApproveCommand, suite: Suite) -> CommandResult:
    """Approve the head, bound to its commit and files; refuse anything but the full SHA of the current
    head."""
    pull, tree = call.context.pull, call.context.tree
    if reason := no_launch_reason(suite):
        return refuse(reason)
    if not pull.from_fork:
        return CommandResult(result="No approval is needed: the head is on a branch of this repository.")
    if not pull.head_sha.startswith(command.sha):
        return refuse(
            f"{command.sha[:12]} is not the head. If you have read {pull.head_sha[:7]}, "
            f"write “/benchmark approve {pull.head_sha}”."
        )
    if command.sha != pull.head_sha:
        return refuse(
            f"{command.sha[:12]} is only the beginning of the head, and a commit that begins so can be made "
            f"by whoever pushes. If you have read it, write “/benchmark approve {pull.head_sha}”."
        )
    if tree is None:
        return refuse(f"GitHub did not say which files {pull.head_sha[:7]} holds: write the command again.")
    by = call.intent.author.login
    approval = Approval(head_sha=pull.head_sha, tree=tree, by=by, made=call.intent.created_at)
    result = f"{pull.head_sha[:7]} may run, as it is; a push of other files needs an approval of its own."
    return CommandResult(result=result, approval=approval)


def acknowledge(
    call: CommandCall, command: grammar.AcknowledgeCommand, resolved: scope.ResolvedScope, suite: Suite
) -> CommandResult:
    """Accept the verdicts of these cases that have something to accept."""
    head = call.context.pull.head_sha
    keys = selected_keys(resolved)
    rows = [row for row in call.context.rows if row.key in keys]
    if not rows:
        return refuse(
            f"{describe_keys(keys, suite)}: there is no verdict on {head[:7]} yet, so nothing to accept."
        )
    accepted_rows = [(row, grounds) for row in rows if (grounds := acknowledged_state(row)) is not None]
    if not accepted_rows:
        states = ", ".join(
            dict.fromkeys(state_word(row.state, call.context.pull.base_branch) for row in rows)
        )
        return refuse(f"{describe_keys(keys, suite)}: {states}, so there is nothing to accept.")
    accepted = tuple(
        Acknowledgement(
            case=row.case,
            variant=row.variant,
            verdict=row.state,
            head_sha=head,
            by=call.intent.author.login,
            reason=command.reason,
            made=call.intent.created_at,
            grounds=grounds,
        )
        for row, grounds in accepted_rows
    )
    what = describe_keys(frozenset(row.key for row, _ in accepted_rows), suite)
    result = f"{what}: accepted, for as long as it says the same for the same reason and gets no worse."
    return CommandResult(result=result, acknowledgements=accepted)
