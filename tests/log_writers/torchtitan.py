"""The tests' own writer of torchtitan's logs, as torchtitan writes them under torchrun."""

from collections.abc import Sequence
from datetime import datetime, timedelta

_COLOURS = {
    "step": "31", "loss": "32", "grad_norm": "38;2;180;60;0", "memory": "38;2;54;234;195",
    "tps": "34", "tflops": "36", "mfu": "35",
}  # fmt: skip


def torchtitan_log(
    *,
    seconds: float = 2.0,
    losses: Sequence[float] = (12.48805, 7.31813, 6.9, 6.5, 6.25),
    every: int = 10,
    total: int | None = None,
    ranks: Sequence[int] = (0,),
    coloured: bool = True,
    mfu: bool = True,
    validated: bool = False,
    ending: Sequence[str] = ("Training completed", "Process group destroyed"),
    failure: str = "",
    start: str = "2026-05-19T22:07:47",
) -> str:
    """Steps 1, `every`, 2 x `every` …; `tps` of 160 sequences of 128 tokens on each device."""
    at = datetime.fromisoformat(start)
    lines: list[str] = ["+ torchrun --nproc_per_node=8 -m torchtitan.train --training.steps=10"]

    def say(text: str) -> None:
        stamp = f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}"
        lines.extend(f"[rank{rank}]:[titan] {stamp} - root - INFO - {text}" for rank in ranks)

    steps = [1, *(every * n for n in range(1, len(losses)))][: len(losses)]
    count = total or max(steps, default=1)
    say("Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=8, cp=1, tp=1, ep=1")
    say("CUDA capacity: NVIDIA B200 with 178.35GiB memory")
    say("\x1b[34mModel qwen3 14B \x1b[31msize: 14,768,307,200 total parameters\x1b[39m")
    say("CUDA memory usage for model: 4.18GiB(2.35%)")
    say(f"Trainer is initialized with local batch size 160, total steps {count} (warmup 600)")
    say("Training starts at step 1")
    before = 0
    for step, loss in zip(steps, losses, strict=True):
        at += timedelta(seconds=seconds * (step - before))
        before = step
        if validated and step > 1:
            say(f"validate step: {step:2}  loss: {loss:8.5f}  memory: 160.10GiB(89.77%)  tps: 20,480")
        numbers = {
            "step": f"{step:2}", "loss": f"{loss:8.5f}", "grad_norm": "21.1250",
            "memory": "160.86GiB(90.19%)", "tps": f"{round(20480 / seconds):,}", "tflops": "866.87",
            "mfu": "38.53%" if mfu else "N/A",
        }  # fmt: skip
        say(_coloured(numbers) if coloured else "  ".join(f"{name}: {numbers[name]}" for name in numbers))
    for text in ending:
        say(text)
    return "\n".join([*lines, failure] if failure else lines) + "\n"


def _coloured(numbers: dict[str, str]) -> str:
    """`step: 10  loss: …`, each name in a colour of its own."""
    return "  ".join(f"\x1b[{_COLOURS[name]}m{name}: {value}" for name, value in numbers.items()) + "\x1b[39m"
