"""What comes of what people ask, in commands and by labels.

In:  the commands of one comment, and the `Scene`: what their author may do, the suite, the pull request, the
     rows of its newest report.
Out: `Decided`: what is now asked, withdrawn, approved, accepted, and for each command the one sentence that
     the pull request's comment will say. Pure.
"""

from dataclasses import dataclass, replace
from typing import assert_never

from bot.config import Suite
from bot.controller.allowing import acknowledge, approve
from bot.controller.scene import Answer, Given, Scene, refusal
from bot.controller.vouching import Vouched
from bot.controller.wishing import baseline, cancel, plan, run
from bot.intake import command, meaning, trust
from bot.intake.intent import Command
from bot.storage.pulls import CommandRecord

NO_CONFIGURATION = "Nothing can be run: the default branch has no valid .github/maxview.yml."

CLOSED = "This pull request is closed: nothing is run for it, and nothing is kept."

_OfSuite = command.OfCases | command.Plan | command.Baseline | command.Approve


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What the commands of one comment come to, in their order."""

    records: tuple[CommandRecord, ...]
    answers: tuple[Answer, ...]
    not_allowed: bool = False


def decide(intent: Command, scene: Scene) -> Decided:
    """Say what comes of the commands of one comment, one after the other.

    Who may not is told so once, however many commands there are."""
    if isinstance(scene.allowed, trust.Refused):
        text = " · ".join(one.text for one in intent.commands)
        refused = refusal(f"Refused: {scene.allowed.why}")
        return Decided(
            records=(_record(intent, scene, 0, text, refused),), answers=(refused,), not_allowed=True
        )
    records, answers = [], []
    for place, one in enumerate(intent.commands):
        answer = _answer(Given(one, intent, place, scene))
        if answer.approval is not None:
            scene = replace(scene, vouching=Vouched(by=answer.approval.by))
        records.append(_record(intent, scene, place, one.text, answer))
        answers.append(answer)
    return Decided(records=tuple(records), answers=tuple(answers))


def _record(intent: Command, scene: Scene, place: int, text: str, answer: Answer) -> CommandRecord:
    return CommandRecord(
        comment_id=intent.comment_id,
        position=place,
        text=text,
        by=intent.author.login,
        at=intent.created_at,
        result=answer.result,
        refused=answer.refused,
        head_sha=scene.pull.head_sha,
    )


def _answer(given: Given) -> Answer:
    match one := given.one:
        case command.Unclear():
            return _unclear(one)
        case command.Help():
            return Answer(result="The commands are listed below, under “Commands”.")
        case command.Status():
            return Answer(result="This comment was brought up to date.")
        case _:
            return _with_suite(given, one)


def _with_suite(given: Given, one: _OfSuite) -> Answer:
    suite = given.scene.suite
    if suite is None:
        return refusal(NO_CONFIGURATION)
    if not given.scene.pull.open:
        return refusal(CLOSED)
    match one:
        case command.Plan():
            return plan(suite)
        case command.Baseline():
            return baseline(given, one, suite)
        case command.Approve():
            return approve(given, one, suite)
        case _:
            return _of_cases(given, one, suite)


def _of_cases(given: Given, one: command.OfCases, suite: Suite) -> Answer:
    meant = meaning.resolve(one, suite.case_names, suite.variant_names)
    if isinstance(meant, command.Unclear):
        return _unclear(meant)
    match one:
        case command.Run() | command.Rerun():
            return run(given, one, meant, suite)
        case command.Cancel():
            return cancel(given, meant, suite)
        case command.Acknowledge():
            return acknowledge(given, one, meant, suite)
        case _:
            assert_never(one)


def _unclear(one: command.Unclear) -> Answer:
    return refusal(f"Not understood: {one.why} Did you mean “{one.nearest}”?")
