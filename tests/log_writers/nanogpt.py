"""The tests' own writer of nanoGPT's logs."""

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
