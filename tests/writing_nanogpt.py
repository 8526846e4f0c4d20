"""The tests' own writer of the logs of nanoGPT, llm.c and modded-nanogpt.

In:  losses and times.
Out: the text of a log each.
"""

from collections.abc import Sequence

LOSSES = (10.9598, 10.8556, 10.7157, 10.5684, 10.4235, 10.2918)


def nanogpt_log(
    *,
    losses: Sequence[float] = LOSSES,
    milliseconds: float = 123.45,
    every: int = 10,
    last: int | None = None,
    evaluated: bool = True,
    configured: int | None = 5000,
) -> str:
    """Iterations 0, `every`, …; the configuration file says `configured`, the command line `last`."""
    end = every * (len(losses) - 1) if last is None else last
    lines = [f"max_iters = {configured}"] if configured else []
    lines.append(f"Overriding: max_iters = {end}")
    for n, loss in enumerate(losses):
        if evaluated and n % 3 == 0:
            lines.append(f"step {every * n}: train loss {loss:.4f}, val loss {loss + 0.01:.4f}")
        mfu = -100.0 if n < 5 else 12.34
        lines.append(
            f"iter {every * n}: loss {loss:.4f}, time {milliseconds + n / 100:.2f}ms, mfu {mfu:.2f}%"
        )
    return "\n".join([*lines, ""])


def llmc_log(*, losses: Sequence[float] = LOSSES, every: int = 3) -> str:
    """A main.log: an evaluation before every `every`-th step and at the end."""
    lines = []
    for step, loss in enumerate(losses):
        if step % every == 0:
            lines.append(f"s:{step} tel:{loss + 0.05:.4f}")
        lines.append(f"s:{step} trl:{loss:.4f} lr:0.000002 norm:15.24")
    return "\n".join([*lines, f"s:{len(losses)} tel:{losses[-1]:.4f}", ""])


def llmc_console(*, losses: Sequence[float] = LOSSES, milliseconds: float = 3000.12) -> str:
    """What the program prints: the tokens per second are an average over the steps so far."""
    lines = [
        f"step {n:4}/{len(losses)} | loss {loss:7.6f} (+nanz)| norm 15.3724 (+nanz)| lr 8.57e-07 | "
        f"{milliseconds + n / 100:.2f} ms | 45.1% bf16 MFU | 174000 tok/s"
        for n, loss in enumerate(losses, start=1)
    ]
    return "\n".join([*lines, ""])


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
