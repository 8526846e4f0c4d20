"""The tests' own writer of Megatron-LM's logs, and of a fork that prints every iteration twice."""

from collections.abc import Sequence
from datetime import datetime, timedelta


def megatron_log(
    *,
    milliseconds: Sequence[float] = (4493.2, 812.5, 810.1, 811.8, 809.9),
    losses: Sequence[float] | None = None,
    total: int | None = None,
    start: str = "2025-06-28T18:42:27",
    fork: str = "megatron",
    parameters_billion: float = 0.91,
    max_allocated_mb: float = 7706.13916015625,
    ending: str = "[exiting program at iteration 5] datetime: 2025-06-28 18:43:00",
) -> str:
    """One Megatron-LM log; `fork="primus"` prints every iteration twice, with running averages."""
    at = datetime.fromisoformat(start)
    losses = [10.9 - 0.1 * n for n in range(len(milliseconds))] if losses is None else losses
    lines = ["using world size: 8, data-parallel size: 1", "iteration = train(forward_step_func,"]
    for n, (ms, loss) in enumerate(zip(milliseconds, losses, strict=True), start=1):
        at += timedelta(milliseconds=ms)
        mean = sum(milliseconds[2:n]) / max(n - 2, 1)
        spent = f"{ms:.1f}" if fork == "megatron" else f"{ms:.1f}/{mean:.1f}"
        if fork != "megatron" and n <= 2:
            spent = f"{sum(milliseconds[:n]) / n:.1f}"
        line = (
            f" [{at:%Y-%m-%d %H:%M:%S}] iteration {n:8d}/{total or len(milliseconds):8d} | "
            f"consumed samples: {16 * n:12d} | elapsed time per iteration (ms): {spent} | "
            f"learning rate: 1.000000E-04 | global batch size:    16 | lm loss: {loss:.6E} | "
            "loss scale: 1.0 | number of skipped iterations:   0 | number of nan iterations:   0 |"
        )
        lines += [f"utils.py:{site}] {line}" for site in (425, 429)] if fork == "primus" else [line]
        if n == 1:
            lines.append(f"Total number of parameters in billions: {parameters_billion:.2f}")
            lines.append(
                f"[Rank 0] (after 1 iterations) memory (MB) | allocated: 1941.8 | "
                f"max allocated: {max_allocated_mb} | reserved: 8178.0 | max reserved: 8178.0"
            )
    return "\n".join([*lines, ending, ""])
