"""The tests' own writer of llm.c's logs: main.log, and the program's own output."""

from collections.abc import Sequence

from tests.log_writers.nanogpt import LOSSES


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
