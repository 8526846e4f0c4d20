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
"""What `rerun failed` measures again; a run that the cluster lost is nobody's verdict."""

BASELINE_PREFIX = "baseline:"
"""How the names of asks begin that are for a commit of the base branch, in `Ask.head_sha`."""


def request_runs(
    given: CommandCall,
    one: grammar.RunCommand | grammar.RerunCommand,
    meant: scope.ResolvedScope,
    suite: Suite,
) -> CommandResult:
    """Ask for runs, fresh ones where the command says so."""
    scene = given.scene
    asked = selected_keys(meant)
    if meant.scope is grammar.Scope.FAILED:
        asked &= {row.key for row in scene.rows if row.state in FAILED_STATES}
        if not asked:
            return CommandResult(
                result=f"No case has failed on {scene.pull.head_sha[:7]}: nothing is run again."
            )
    what = describe_keys(asked, suite)
    if why := no_launch_reason(suite):
        return CommandResult(result=f"{what}: finished runs were looked for again. {why}")
    return CommandResult(result=f"{what}: {_start_text(one, scene)}", asks=(_run_request(given, one, asked),))


def _run_request(
    given: CommandCall, one: grammar.RunCommand | grammar.RerunCommand, asked: frozenset[CaseKey]
) -> RunRequest:
    return RunRequest(
        source=RequestSource.COMMAND,
        name=given.name,
        keys=asked,
        by=given.intent.author.login,
        fresh=1 if isinstance(one, grammar.RerunCommand) else 0,
        head_sha=given.scene.pull.head_sha,
        made=given.intent.created_at,
    )


def _start_text(one: grammar.RunCommand | grammar.RerunCommand, scene: CommandContext) -> str:
    if isinstance(scene.vouching, ApprovalNeeded):
        return f"asked for; nothing starts before “{scene.vouching.command}”, since {scene.vouching.why}."
    if isinstance(one, grammar.RunCommand):
        return "runs that are missing are started."
    return "fresh runs are started, on this head and on its baseline."


def cancel_runs(given: CommandCall, meant: scope.ResolvedScope, suite: Suite) -> CommandResult:
    """Withdraw what was asked for on this head."""
    if why := no_launch_reason(suite):
        return refuse(f"There is nothing to cancel. {why}")
    head_sha, asked = given.scene.pull.head_sha, selected_keys(meant)
    withdrawal = Cancellation(
        name=given.name,
        keys=asked,
        by=given.intent.author.login,
        head_sha=head_sha,
        made=given.intent.created_at,
    )
    result = f"{describe_keys(asked, suite)}: cancelled on {head_sha[:7]}; a push, run or rerun asks anew."
    return CommandResult(result=result, asks=(withdrawal,))


def show_plan(suite: Suite) -> CommandResult:
    """Point at the plan, which the report holds."""
    if why := no_launch_reason(suite):
        return refuse(why)
    return CommandResult(result="What would run, and its price, stands below, under “Plan”.")


def request_baseline(given: CommandCall, one: grammar.BaselineCommand, suite: Suite) -> CommandResult:
    """Ask for one more run of each case on a commit of the base branch; whoever looks after that branch
    carries it out."""
    if why := no_launch_reason(suite):
        return refuse(why)
    base = given.scene.pull.base_branch
    sha = given.scene.baselines.get(one.ref)
    if sha is None:
        return refuse(
            f"{one.ref or 'The merge base'} is no commit of {base}: baselines come from there alone."
        )
    ask = RunRequest(
        source=RequestSource.COMMAND,
        name=f"{BASELINE_PREFIX}{given.name}",
        keys=suite_keys(suite),
        by=given.intent.author.login,
        fresh=1,
        head_sha=sha,
        made=given.intent.created_at,
    )
    return CommandResult(result=f"{sha[:7]} of {base}: one more run of every case is started.", baseline=ask)
