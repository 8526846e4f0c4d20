"""What comes of asking for runs, and of withdrawing what was asked.

In:  a command and the cases it means. Out: an `Answer`. Pure.
"""

from bot.config import Suite
from bot.controller.asking import suite_keys
from bot.controller.scene import Answer, Given, Scene, key, keys, named, no_launch, refusal
from bot.controller.vouching import Waits
from bot.intake import command, meaning
from bot.report.model import RowState
from bot.runs.asks import Ask, Source, Withdrawal

FAILED_STATES = frozenset({RowState.NEW_FAILURE, RowState.FAILS_ON_BOTH, RowState.LOST})
"""What `rerun failed` measures again; a run that the cluster lost is nobody's verdict."""

BASELINE = "baseline:"
"""How the names of asks begin that are for a commit of the base branch, in `Ask.head_sha`."""


def run(given: Given, one: command.Run | command.Rerun, meant: meaning.Resolved, suite: Suite) -> Answer:
    """Ask for runs, fresh ones where the command says so."""
    scene = given.scene
    asked = keys(meant)
    if meant.scope is command.Scope.FAILED:
        asked &= {key(row) for row in scene.rows if row.state in FAILED_STATES}
        if not asked:
            return Answer(result=f"No case has failed on {scene.pull.head_sha[:7]}: nothing is run again.")
    what = named(asked, suite)
    if why := no_launch(suite):
        return Answer(result=f"{what}: finished runs were looked for again. {why}")
    return Answer(result=f"{what}: {_starting(one, scene)}", asks=(_ask(given, one, asked),))


def _ask(given: Given, one: command.Run | command.Rerun, asked: frozenset[str]) -> Ask:
    return Ask(
        source=Source.COMMAND,
        name=given.name,
        keys=asked,
        by=given.intent.author.login,
        fresh=1 if isinstance(one, command.Rerun) else 0,
        head_sha=given.scene.pull.head_sha,
        made=given.intent.created_at,
    )


def _starting(one: command.Run | command.Rerun, scene: Scene) -> str:
    if isinstance(scene.vouching, Waits):
        return f"asked for; nothing starts before “{scene.vouching.command}”, since {scene.vouching.why}."
    if isinstance(one, command.Run):
        return "runs that are missing are started."
    return "fresh runs are started, on this head and on its baseline."


def cancel(given: Given, meant: meaning.Resolved, suite: Suite) -> Answer:
    """Withdraw what was asked for on this head."""
    if why := no_launch(suite):
        return refusal(f"There is nothing to cancel. {why}")
    head_sha, asked = given.scene.pull.head_sha, keys(meant)
    withdrawal = Withdrawal(
        name=given.name,
        keys=asked,
        by=given.intent.author.login,
        head_sha=head_sha,
        made=given.intent.created_at,
    )
    result = f"{named(asked, suite)}: cancelled on {head_sha[:7]}; a push, run or rerun asks anew."
    return Answer(result=result, asks=(withdrawal,))


def plan(suite: Suite) -> Answer:
    """Point at the plan, which the report holds."""
    if why := no_launch(suite):
        return refusal(why)
    return Answer(result="What would run, and its price, stands below, under “Plan”.")


def baseline(given: Given, one: command.Baseline, suite: Suite) -> Answer:
    """Ask for one more run of each case on a commit of the base branch; whoever looks after that branch
    carries it out."""
    if why := no_launch(suite):
        return refusal(why)
    base = given.scene.pull.base_branch
    sha = given.scene.baselines.get(one.ref)
    if sha is None:
        return refusal(
            f"{one.ref or 'The merge base'} is no commit of {base}: baselines come from there alone."
        )
    ask = Ask(
        source=Source.COMMAND,
        name=f"{BASELINE}{given.name}",
        keys=suite_keys(suite),
        by=given.intent.author.login,
        fresh=1,
        head_sha=sha,
        made=given.intent.created_at,
    )
    return Answer(result=f"{sha[:7]} of {base}: one more run of every case is started.", baseline=ask)
