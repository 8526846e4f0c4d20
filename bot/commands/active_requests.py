"""Which of all requests for runs are active on the current head. Pure.

Deliveries arrive late and out of order, so only the times at which people asked count. Whether the head's
code may run is decided in `bot.commands.fork_approval`.
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
    log: RequestLog, pull: Subject, suite: Suite, changed_paths: Sequence[str]
) -> tuple[RunRequest, ...]:
    """The active requests for this head, in the order in which they were made, each without cancelled keys.
    Cases and variants that the suite no longer has are left out."""
    requested = _requested(log, pull, suite, changed_paths)
    cancelled = _newest_cancellations(log, pull)
    active = (
        replace(request, keys=request.keys - _cancelled_keys(request, cancelled)) for request in requested
    )
    return tuple(request for request in active if request.keys)


def cancellations(
    log: RequestLog, pull: Subject, suite: Suite, changed_paths: Sequence[str]
) -> Mapping[CaseKey, Cancellation]:
    """By key, the newest cancellation of what was requested for this head and has not been requested
    again."""
    requested = {key for request in _requested(log, pull, suite, changed_paths) for key in request.keys}
    wanted = {key for request in requests_in_force(log, pull, suite, changed_paths) for key in request.keys}
    return {key: one for key, one in _newest_cancellations(log, pull).items() if key in requested - wanted}


def suite_keys(suite: Suite) -> frozenset[CaseKey]:
    """Every case of a suite in every variant."""
    return frozenset(combine_keys(suite.case_names, suite.variant_names))


def _requested(
    log: RequestLog, pull: Subject, suite: Suite, changed_paths: Sequence[str]
) -> list[RunRequest]:
    """Every request that applies to this head, cancelled or not."""
    known = suite_keys(suite)
    found = (
        [_push_request(pull, suite, changed_paths)] if runs_automatically(pull, suite, changed_paths) else []
    )
    found += [one for one in log if isinstance(one, RunRequest) and _applies_to(one, pull)]
    return sorted(
        (replace(request, keys=request.keys & known) for request in found), key=lambda request: request.order
    )


def runs_automatically(pull: Subject, suite: Suite, changed_paths: Sequence[str]) -> bool:
    """Whether a push is measured without a request: the trigger is on, and the change touches a case."""
    triggers = suite.triggers
    if isinstance(pull, Branch):
        triggered = triggers.watches(pull.head_branch)
    else:
        triggered = triggers.pull_request and (triggers.drafts or not pull.draft)
    return triggered and suite.touched_by(changed_paths)


def _push_request(pull: Subject, suite: Suite, changed_paths: Sequence[str]) -> RunRequest:
    touched = [case.name for case in suite.cases.values() if case.touched_by(changed_paths)]
    keys = frozenset(combine_keys(touched, suite.variant_names))
    return RunRequest(source=RequestSource.PUSH, name=PUSH_NAME, keys=keys, head_sha=pull.head_sha)


def _applies_to(request: RunRequest, pull: Subject) -> bool:
    """Whether a request applies to this head; a label's only while the pull request has the label."""
    match request.source:
        case RequestSource.LABEL:
            return isinstance(pull, PullRequest) and (
                pull.labels is None or request.name.lower() in {label.lower() for label in pull.labels}
            )
        case RequestSource.COMMAND | RequestSource.PUSH | RequestSource.SCHEDULE:
            return request.head_sha in {None, pull.head_sha}
        case _:
            assert_never(request.source)


def _newest_cancellations(log: RequestLog, pull: Subject) -> dict[CaseKey, Cancellation]:
    """The newest cancellation of every key on this head."""
    newest: dict[CaseKey, Cancellation] = {}
    for one in sorted(log, key=lambda one: one.order):
        if isinstance(one, Cancellation) and one.head_sha == pull.head_sha:
            newest |= dict.fromkeys(one.keys, one)
    return newest


def _cancelled_keys(request: RunRequest, cancelled: Mapping[CaseKey, Cancellation]) -> frozenset[CaseKey]:
    return frozenset(key for key in request.keys if key in cancelled and cancelled[key].order > request.order)


def launches_runs(suite: Suite) -> bool:
    """Whether this program starts runs for the suite."""
    return suite.launch is not None
