"""The commands run, rerun, cancel, plan and baseline. Pure."""

from bot.commands import grammar, scope
from bot.commands.active_requests import suite_keys
from bot.commands.context import (
    CommandCall,
    CommandContext,
    CommandResult,
    describe_keys,
    no_launch_reason,
    refuse,
    selected_keys,
)
from bot.commands.fork_approval import ApprovalNeeded
from bot.config import Suite
from bot.domain.case_key import CaseKey
from bot.domain.run_request import Cancellation, RequestSource, RunRequest
from bot.report.model import RowState

FAILED_STATES = frozenset({RowState.NEW_FAILURE, RowState.FAILS_ON_BOTH, RowState.LOST})
"""What `rerun failed` measures again. A run that the cluster lost has no verdict, so it counts as failed."""

BASELINE_PREFIX = "baseline:"
"""The names of requests for a commit of the base branch start with this; `head_sha` is that commit."""


def request_runs(
    call: CommandCall,
    command: grammar.RunCommand | grammar.RerunCommand,
    resolved: scope.ResolvedScope,
    suite: Suite,
) -> CommandResult:
    """Request runs, fresh ones if the command says so."""
    context = call.context
    keys = selected_keys(resolved)
    if resolved.scope is grammar.Scope.FAILED:
        keys &= {row.key for row in context.rows if row.state in FAILED_STATES}
        if not keys:
            return CommandResult(
                result=f"No case has failed on {context.pull.head_sha[:7]}: nothing is run again."
            )
    what = describe_keys(keys, suite)
    if reason := no_launch_reason(suite):
        return CommandResult(result=f"{what}: finished runs were looked for again. {reason}")
    return CommandResult(
        result=f"{what}: {_start_text(command, context)}", requests=(_run_request(call, command, keys),)
    )


def _run_request(
    call: CommandCall, command: grammar.RunCommand | grammar.RerunCommand, keys: frozenset[CaseKey]
) -> RunRequest:
    return RunRequest(
        source=RequestSource.COMMAND,
        name=call.name,
        keys=keys,
        by=call.intent.author.login,
        fresh=1 if isinstance(command, grammar.RerunCommand) else 0,
        head_sha=call.context.pull.head_sha,
        made=call.intent.created_at,
    )


def _start_text(command: grammar.RunCommand | grammar.RerunCommand, context: CommandContext) -> str:
    if isinstance(context.fork_approval, ApprovalNeeded):
        needed = context.fork_approval
        return f"asked for; nothing starts before “{needed.command}”, since {needed.why}."
    if isinstance(command, grammar.RunCommand):
        return "runs that are missing are started."
    return "fresh runs are started, on this head and on its baseline."


def cancel_runs(call: CommandCall, resolved: scope.ResolvedScope, suite: Suite) -> CommandResult:
    """Cancel what was requested on this head."""
    if reason := no_launch_reason(suite):
        return refuse(f"There is nothing to cancel. {reason}")
    head_sha, keys = call.context.pull.head_sha, selected_keys(resolved)
    cancellation = Cancellation(
        name=call.name,
        keys=keys,
        by=call.intent.author.login,
        head_sha=head_sha,
        made=call.intent.created_at,
    )
    result = f"{describe_keys(keys, suite)}: cancelled on {head_sha[:7]}; a push, run or rerun asks anew."
    return CommandResult(result=result, requests=(cancellation,))


def show_plan(suite: Suite) -> CommandResult:
    """Point at the plan, which is in the report."""
    if reason := no_launch_reason(suite):
        return refuse(reason)
    return CommandResult(result="What would run, and its price, stands below, under “Plan”.")


def request_baseline(call: CommandCall, command: grammar.BaselineCommand, suite: Suite) -> CommandResult:
    """Request one more run of each case on a commit of the base branch; the main branch's step plans it."""
    if reason := no_launch_reason(suite):
        return refuse(reason)
    base = call.context.pull.base_branch
    sha = call.context.baselines.get(command.ref)
    if sha is None:
        return refuse(
            f"{command.ref or 'The merge base'} is no commit of {base}: baselines come from there alone."
        )
    request = RunRequest(
        source=RequestSource.COMMAND,
        name=f"{BASELINE_PREFIX}{call.name}",
        keys=suite_keys(suite),
        by=call.intent.author.login,
        fresh=1,
        head_sha=sha,
        made=call.intent.created_at,
    )
    return CommandResult(
        result=f"{sha[:7]} of {base}: one more run of every case is started.", baseline=request
    )
