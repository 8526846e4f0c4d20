"""The scalars of TensorBoard's event files and of W&B's offline runs, as `bot.logs.records` writes them.

A step is one that states a loss of training. Its time is the moment at which the scalars were written, and a
time that the trainer itself measured is the step's own.
"""

import json
import re
from collections.abc import Iterator

from bot.logs.facts import Mark, MarkKind, Step
from bot.logs.failures import exit_code_class, fingerprint
from bot.logs.records import EVENT_LINE, EXIT_LINE, HISTORY_LINE
from bot.logs.rules import Completed, LiteralRule, Match, PossibleCause, Statement

_RECORD_BYTES = 32 * 1024

_LOSSES = (
    "loss", "train/loss", "train_loss", "training/loss", "loss/train", "Loss/train", "learning/loss",
    "train/CrossEntropyLoss", "train/CE loss", "loss/train/total", "train_loss_step", "train/loss_step",
    "train/lm_loss", "lm loss", "epoch_loss", "batch_loss", "Train/Loss", "Loss",
)  # fmt: skip

_EVAL_LOSSES = (
    "eval/loss",
    "val_loss",
    "val/loss",
    "validation/loss",
    "eval_loss",
    "loss/val",
    "eval/avg_loss",
)

_SECONDS = ("perf/step_time_seconds", "step_time", "train/step_time", "time/step")

_EXIT = re.compile(r"wandb exit (?P<code>-?\d{1,10})(?=\s|\Z)")


def _record(match: Match) -> Iterator[Statement]:
    text = match.after(_RECORD_BYTES)
    try:
        record, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
    except (ValueError, RecursionError):
        return
    values = {name: float(value) for name, value in record.items() if isinstance(value, int | float)}
    number = values.pop("step", values.pop("_step", -1.0))
    number = values.pop("train/global_step", values.pop("trainer/global_step", number))
    time = values.pop("wall_time", values.pop("_timestamp", None))
    if not 0 <= number < 1e12:
        return
    for name in _EVAL_LOSSES:
        if name in values:
            yield Mark(
                kind=MarkKind.EVAL_ENDED, time=time, step=int(number), loss=values[name], offset=match.offset
            )
            break
    loss = next((name for name in _LOSSES if name in values), None)
    if loss is None:
        return
    seconds = next((name for name in _SECONDS if name in values), None)
    yield Step(
        step=int(number),
        seconds=values[seconds] if seconds else None,
        loss=values[loss],
        time=time,
        offset=match.offset,
        extras=tuple((name, value) for name, value in values.items() if name not in (loss, seconds)),
    )


def _exit(match: Match) -> Iterator[Statement]:
    found = _EXIT.match(match.text)
    if found is None:
        return
    code = int(found["code"])
    if code == 0:
        yield Completed()
        return
    kind, error = exit_code_class(code), f"exit code {code}"
    yield PossibleCause(
        kind=kind,
        error=error,
        fingerprint=fingerprint(kind, error, str(code)),
        echo=True,
        training=False,
        offset=match.offset,
        end=match.offset + len(found[0]),
    )


TENSORBOARD = (LiteralRule(literal=EVENT_LINE, read=_record, distinctive=True),)

WANDB = (
    LiteralRule(literal=HISTORY_LINE, read=_record, distinctive=True),
    LiteralRule(literal=EXIT_LINE, read=_exit),
)
