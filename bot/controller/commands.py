"""What comes of a comment's commands.

In:  the commands, what their author may do, and the suite they speak of.
Out: a `CommandRecord`, whose one sentence is what the pull request's comment will say. Pure.
"""

from typing import assert_never

from bot.config import Suite
from bot.controller.deciding import starts_runs
from bot.intake import command, meaning, trust
from bot.intake.intent import Command
from bot.intake.pull import Permission
from bot.storage.pulls import CommandRecord

FAILED = "failed"
"""Stands in `CommandRecord.fresh` for the cases that failed, whichever they are when it is carried out."""


def decide(intent: Command, *, permission: Permission, suite: Suite | None) -> CommandRecord:
    """Say what comes of the commands of one comment."""
    text = " · ".join(one.text for one in intent.commands)
    allowed = trust.decide_trust(permission, intent.author)
    answers = [_answer(one, allowed, suite) for one in intent.commands]
    return CommandRecord(
        comment_id=intent.comment_id,
        text=text,
        by=intent.author.login,
        at=intent.created_at,
        result=" ".join(dict.fromkeys(result for result, _, _ in answers)),
        refused=any(refused for _, refused, _ in answers),
        fresh=tuple(dict.fromkeys(key for _, _, keys in answers for key in keys)),
    )


NO_LAUNCH = "This repository starts no runs: its .github/maxview.yml has no launch section."
NOT_HERE = "MaxView does not start runs on this repository's cluster yet; it reads those that finished there."

_Answer = tuple[str, bool, tuple[str, ...]]


def _answer(one: command.Command | command.Unclear, allowed: trust.Trust, suite: Suite | None) -> _Answer:
    """The sentence, whether it is a refusal, and the cases a fresh run is asked for."""
    if isinstance(allowed, trust.Refused):
        return f"Refused: {allowed.why}", True, ()
    match one:
        case command.Unclear():
            return f"Not understood: {one.why} Did you mean “{one.nearest}”?", True, ()
        case (
            command.Cancel() | command.Plan() | command.Baseline() | command.Approve() | command.Acknowledge()
        ):
            return "This command is not offered by this installation yet.", True, ()
        case command.Help():
            return "The commands are listed below, under “Commands”.", False, ()
        case command.Status():
            return "This comment was brought up to date.", False, ()
        case command.Run() | command.Rerun():
            return _run(one, suite)
        case _:
            assert_never(one)


def _run(one: command.Run | command.Rerun, suite: Suite | None) -> _Answer:
    if suite is None:
        return "Nothing can be run: the default branch has no valid .github/maxview.yml.", True, ()
    meant = meaning.resolve(one, suite.case_names, suite.variant_names)
    if isinstance(meant, command.Unclear):
        return f"Not understood: {meant.why} Did you mean “{meant.nearest}”?", True, ()
    keys = tuple(f"{case}/{variant}" for case in meant.cases for variant in meant.variants)
    asked = keys if meant.scope is not command.Scope.FAILED else (FAILED, *keys)
    what = _what(meant, suite)
    if not starts_runs(suite):
        why = NOT_HERE if suite.launch else NO_LAUNCH
        return f"{what}: finished runs were looked for again. {why}", False, ()
    if isinstance(one, command.Run):
        return f"{what}: runs that are missing are started.", False, ()
    return f"{what}: fresh runs are started, on this head and on its baseline.", False, asked


def _what(meant: meaning.Resolved, suite: Suite) -> str:
    if meant.scope is command.Scope.FAILED:
        return "The cases that failed"
    if len(meant.cases) == len(suite.case_names):
        return "All cases"
    shown = ", ".join(meant.cases[:5]) + (f" and {len(meant.cases) - 5} more" if len(meant.cases) > 5 else "")
    if len(meant.variants) < len(suite.variant_names):
        shown += f" ({', '.join(meant.variants)})"
    return shown
