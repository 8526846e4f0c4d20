"""Reads what MaxText's post-training prints besides step lines: evaluations of reinforcement learning, ends.

In:  sightings of the literals in `REINFORCEMENT`.
Out: statements.
"""

import re
from collections.abc import Iterator

from bot.logs.facts import Mark, MarkKind
from bot.logs.sighting import Needle, Sighting
from bot.logs.statement import Finished, Statement

# Pre RL Training: corr=3, total=10, accuracy=30.0%, partial_accuracy=40.0%, ..., mean_reward=0.1234
_RESULT = re.compile(r"RL Training: corr=\d")
# Intermediate Eval (step=5): corr=3, total=10, ...
_BETWEEN = re.compile(r"Intermediate Eval \(step=(?P<step>\d{1,12})\):")


def _around(seen: Sighting) -> Iterator[Statement]:
    if _RESULT.match(seen.text) and seen.front.endswith(("Pre ", "Post ")):
        yield Mark(kind=MarkKind.EVAL_ENDED, time=seen.time, offset=seen.offset)
    elif seen.text.startswith("RL Training Completed Successfully!"):
        yield Finished()


def _between(seen: Sighting) -> Iterator[Statement]:
    if found := _BETWEEN.match(seen.text):
        yield Mark(kind=MarkKind.EVAL_ENDED, time=seen.time, step=int(found["step"]), offset=seen.offset)


def _distilled(_: Sighting) -> Iterator[Statement]:
    # Distillation Complete.
    yield Finished()


REINFORCEMENT = (
    Needle(literal=b"RL Training", read=_around, lead="(?:Pre |Post )?", telling=True),
    Needle(literal=b"Intermediate Eval (step=", read=_between, telling=True),
    Needle(literal=b"Distillation Complete.", read=_distilled),
)
