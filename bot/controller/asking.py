"""What of everything that was asked of a pull request holds now.

In:  what people asked and withdrew, the pull request as it stands, the suite, the paths it touches.
Out: the asks in force, for the plan of runs; who withdrew what else would be measured. Pure.

The order in which wishes arrive does not matter, only the order in which people made them: deliveries come
late and out of turn. Nothing here says that a head may be run: see `bot.controller.vouching`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from bot.config import Suite
from bot.intake.pull import Pull
from bot.runs.asks import Ask, Source, Withdrawal

PUSH = "push"

Kept = Sequence[Ask | Withdrawal]


def asks_in_force(kept: Kept, pull: Pull, suite: Suite, changed_paths: Sequence[str]) -> tuple[Ask, ...]:
    """What is to be measured on this head, in the order in which it was asked; each with the keys that are
    left of it. Cases and variants that the suite no longer has are left out."""
    asked = _asked(kept, pull, suite, changed_paths)
    stopped = _stopped(kept, pull)
    left = (replace(ask, keys=ask.keys - _withdrawn(ask, stopped)) for ask in asked)
    return tuple(ask for ask in left if ask.keys)


def withdrawn(kept: Kept, pull: Pull, suite: Suite, changed_paths: Sequence[str]) -> Mapping[str, Withdrawal]:
    """By `case/variant`, the newest withdrawal of what was asked for this head and is asked no more."""
    asked = {key for ask in _asked(kept, pull, suite, changed_paths) for key in ask.keys}
    wanted = {key for ask in asks_in_force(kept, pull, suite, changed_paths) for key in ask.keys}
    return {key: one for key, one in _stopped(kept, pull).items() if key in asked - wanted}


def suite_keys(suite: Suite) -> frozenset[str]:
    """Every `case/variant` of a suite."""
    return frozenset(f"{case}/{variant}" for case in suite.case_names for variant in suite.variant_names)


def _asked(kept: Kept, pull: Pull, suite: Suite, changed_paths: Sequence[str]) -> list[Ask]:
    """Everything that was ever asked and concerns this head."""
    known = suite_keys(suite)
    asks = [_pushed(pull, suite, changed_paths)] if _starts_by_itself(pull, suite, changed_paths) else []
    asks += [one for one in kept if isinstance(one, Ask) and _concerns(one, pull)]
    return sorted((replace(ask, keys=ask.keys & known) for ask in asks), key=lambda ask: ask.order)


def _starts_by_itself(pull: Pull, suite: Suite, changed_paths: Sequence[str]) -> bool:
    triggers = suite.triggers
    if pull.is_branch:
        return triggers.watches(pull.head_branch) and triggers.touched_by(changed_paths)
    ready = triggers.drafts or not pull.draft
    return triggers.pull_request and ready and triggers.touched_by(changed_paths)


def _pushed(pull: Pull, suite: Suite, changed_paths: Sequence[str]) -> Ask:
    touched = [case.name for case in suite.cases.values() if case.touched_by(changed_paths)]
    keys = frozenset(f"{case}/{variant}" for case in touched for variant in suite.variant_names)
    return Ask(source=Source.PUSH, name=PUSH, keys=keys, head_sha=pull.head_sha)


def _concerns(ask: Ask, pull: Pull) -> bool:
    """Whether an ask holds for this head; one of a label only while the pull request bears it."""
    match ask.source:
        case Source.LABEL:
            return pull.labels is None or ask.name.lower() in {label.lower() for label in pull.labels}
        case Source.COMMAND | Source.PUSH | Source.SCHEDULE:
            return ask.head_sha in {None, pull.head_sha}
        case _:
            assert_never(ask.source)


def _stopped(kept: Kept, pull: Pull) -> dict[str, Withdrawal]:
    """The newest withdrawal of every key on this head."""
    newest: dict[str, Withdrawal] = {}
    for one in sorted(kept, key=lambda one: one.order):
        if isinstance(one, Withdrawal) and one.head_sha == pull.head_sha:
            newest |= dict.fromkeys(one.keys, one)
    return newest


def _withdrawn(ask: Ask, stopped: Mapping[str, Withdrawal]) -> frozenset[str]:
    return frozenset(key for key in ask.keys if key in stopped and stopped[key].order > ask.order)
