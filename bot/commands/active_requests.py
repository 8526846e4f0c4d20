"""Which of all requests for runs are active on the current head. Pure.

Deliveries arrive late and out of order, so only the times at which people asked count. Whether the head's
code
may run is decided in `bot.commands.fork_approval`.
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

from msgspec.structs import replace

from bot.config import Suite
from bot.domain.case_key import CaseKey, combine_keys
from bot.domain.pull_request import Branch, PullRequest, Subject
from bot.domain.run_request import Cancellation, RequestSource, RunRequest

PUSH_NAME = "push"

RequestLog = Sequence[RunRequest | Cancellation]


def requests_in_force(
    kept: RequestLog, pull: Subject, suite: Suite, changed_paths: Sequence[str]
) -> tuple[RunRequest, ...]:
    """What is to be measured on this head, in the order in which it was asked; each with the keys that are
    left of it. Cases and variants that the suite no longer has are left out."""
    asked = _requested(kept, pull, suite, changed_paths)
    stopped = _newest_cancellations(kept, pull)
    left = (replace(ask, keys=ask.keys - _cancelled_keys(ask, stopped)) for ask in asked)
    return tuple(ask for ask in left if ask.keys)


def cancellations(
    kept: RequestLog, pull: Subject, suite: Suite, changed_paths: Sequence[str]
) -> Mapping[CaseKey, Cancellation]:
    """By key, the newest withdrawal of what was asked for this head and is asked no more."""
    asked = {key for ask in _requested(kept, pull, suite, changed_paths) for key in ask.keys}
    wanted = {key for ask in requests_in_force(kept, pull, suite, changed_paths) for key in ask.keys}
    return {key: one for key, one in _newest_cancellations(kept, pull).items() if key in asked - wanted}


def suite_keys(suite: Suite) -> frozenset[CaseKey]:
    """Every case of a suite in every variant."""
    return frozenset(combine_keys(suite.case_names, suite.variant_names))


def _requested(
    kept: RequestLog, pull: Subject, suite: Suite, changed_paths: Sequence[str]
) -> list[RunRequest]:
    """Everything that was ever asked and concerns this head."""
    known = suite_keys(suite)
    asks = (
        [_push_request(pull, suite, changed_paths)]
        if _starts_automatically(pull, suite, changed_paths)
        else []
    )
    asks += [one for one in kept if isinstance(one, RunRequest) and _applies_to(one, pull)]
    return sorted((replace(ask, keys=ask.keys & known) for ask in asks), key=lambda ask: ask.order)


def _starts_automatically(pull: Subject, suite: Suite, changed_paths: Sequence[str]) -> bool:
    triggers = suite.triggers
    if isinstance(pull, Branch):
        return triggers.watches(pull.head_branch) and triggers.touched_by(changed_paths)
    ready = triggers.drafts or not pull.draft
    return triggers.pull_request and ready and triggers.touched_by(changed_paths)


def _push_request(pull: Subject, suite: Suite, changed_paths: Sequence[str]) -> RunRequest:
    touched = [case.name for case in suite.cases.values() if case.touched_by(changed_paths)]
    keys = frozenset(combine_keys(touched, suite.variant_names))
    return RunRequest(source=RequestSource.PUSH, name=PUSH_NAME, keys=keys, head_sha=pull.head_sha)


def _applies_to(ask: RunRequest, pull: Subject) -> bool:
    """Whether an ask holds for this head; one of a label only while the pull request bears it."""
    match ask.source:
        case RequestSource.LABEL:
            return isinstance(pull, PullRequest) and (
                pull.labels is None or ask.name.lower() in {label.lower() for label in pull.labels}
            )
        case RequestSource.COMMAND | RequestSource.PUSH | RequestSource.SCHEDULE:
            return ask.head_sha in {None, pull.head_sha}
        case _:
            assert_never(ask.source)


def _newest_cancellations(kept: RequestLog, pull: Subject) -> dict[CaseKey, Cancellation]:
    """The newest withdrawal of every key on this head."""
    newest: dict[CaseKey, Cancellation] = {}
    for one in sorted(kept, key=lambda one: one.order):
        if isinstance(one, Cancellation) and one.head_sha == pull.head_sha:
            newest |= dict.fromkeys(one.keys, one)
    return newest


def _cancelled_keys(ask: RunRequest, stopped: Mapping[CaseKey, Cancellation]) -> frozenset[CaseKey]:
    return frozenset(key for key in ask.keys if key in stopped and stopped[key].order > ask.order)


def launches_runs(suite: Suite) -> bool:
    """Whether this program starts runs for the suite."""
    return suite.launch is not None
