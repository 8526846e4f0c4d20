"""The tests' own writer of MLPerf's log lines, and of what NeMo prints besides.

In:  times and losses.
Out: the text of a log.
"""

import json
from collections.abc import Sequence

BATCH, LENGTH = 2048, 2048


def mlperf_log(
    *,
    steps: int = 24,
    block: int = 12,
    seconds: float = 11.05,
    eval_seconds: float = 12.8,
    timed: bool = True,
    bracketed: bool = True,
    losses: Sequence[float] = (2.7511, 2.7392),
    status: str = "success",
    ranks: int = 3,
    repeated: bool = False,
) -> str:
    """`timed`: each step's time (NeMo), else only blocks; `bracketed`: evaluations have a start and a stop;
    `repeated`: a reader of the log prints the starts of the blocks once more, at the end."""
    now = 1_696_466_193.0
    lines: list[str] = []

    def say(key: str, value: object = None, **metadata: object) -> None:
        record = {
            "namespace": "",
            "time_ms": round(now * 1000),
            "event_type": "POINT_IN_TIME",
            "key": key,
            "value": value,
            "metadata": {"file": "/workspace/llm/custom.py", "lineno": 277, **metadata},
        }
        lines.append(f":::MLLOG {json.dumps(record)}")

    for _ in range(ranks):
        say("init_start")
    say("submission_platform", "DGX-H100")
    say("global_batch_size", BATCH)
    say("max_sequence_length", LENGTH)
    say("run_start")
    trained = 0
    for n in range(steps // block):
        say("block_start", first_epoch_num=trained, epoch_count=block * BATCH * LENGTH)
        for _ in range(block):
            now += seconds
            trained += BATCH * LENGTH
            if timed:
                say("tracked_stats", {"train_step_timing": seconds}, step=trained)
        say("block_stop", first_epoch_num=trained)
        if bracketed:
            say("eval_start", epoch_num=trained)
            now += eval_seconds
        say("eval_accuracy", losses[n], epoch_num=trained)
        if bracketed:
            say("eval_stop", epoch_num=trained)
    say("run_stop", status=status)
    again = [f"Processing {line}" for line in lines if '"block_start"' in line] if repeated else []
    return "\n".join([*lines, *again, ""])


def nemo_log(
    *, losses: Sequence[float] = (11.03, 10.9, 10.8), seconds: float = 23.1, version: int = 2
) -> str:
    """Version 2's lines, or version 1's progress bar, which is drawn twice for each step."""
    lines = []
    for n, loss in enumerate(losses):
        own = seconds + n / 100
        if version == 2:
            lines.append(
                f"Training epoch 0, iteration {n}/{len(losses) - 1} | lr: 1e-06 | global_batch_size: 256 | "
                f"global_step: {n} | reduced_train_loss: {loss} | train_step_timing in s: {own:.2f} | "
                f"consumed_samples: {256 * (n + 1)}"
            )
        else:
            bar = (
                f"Epoch 0:   1%|          | {n + 1}/500 [00:10<01:00, 23.10s/it, loss={loss}, v_num=, "
                f"reduced_train_loss={loss}, global_step={n}.000, train_step_timing in s={own:.2f}]"
            )
            lines.append(f"\r{bar}\r{bar}")
    return "\n".join([*lines, f"`Trainer.fit` stopped: `max_steps={len(losses)}` reached.", ""])
