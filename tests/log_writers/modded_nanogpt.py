"""The tests' own writer of modded-nanogpt's logs."""

from collections.abc import Sequence


def modded_nanogpt_log(
    *,
    milliseconds: Sequence[float] = (55, 28, 24, 36, 27, 36, 27, 35),
    every: int = 4,
    total: int | None = None,
) -> str:
    """Times add up from line to line; an evaluation repeats the number of the step before it."""
    count, spent = total or len(milliseconds), 0.0
    row = "|   {}  NVIDIA H100 80GB HBM3          On  |   00000000:05:00.0 Off |                    0 |"
    lines = [
        *(row.format(n) for n in range(8)),
        "for step in range(train_steps + 1):",
        f"step:0/{count} val_loss:10.8275 train_time:0ms step_avg:0.03ms",
    ]
    for step, own in enumerate(milliseconds, start=1):
        spent += own
        lines.append(f"step:{step}/{count} train_time:{spent:.0f}ms step_avg:{spent / step:.2f}ms")
        if step % every == 0:
            lines.append(
                f"step:{step}/{count} val_loss:4.4709 train_time:{spent:.0f}ms step_avg:{spent / step:.2f}ms"
            )
    return "\n".join([*lines, "peak memory allocated: 30908 MiB reserved: 46332 MiB", ""])
