"""The tests' own writer of MLPerf's log lines."""

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
