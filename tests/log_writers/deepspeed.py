"""The tests' own writer of DeepSpeed's and DeepSpeed-Chat's logs."""

from collections.abc import Sequence
from datetime import datetime, timedelta

ENDING = ("[2023-04-18 09:18:15,594] [INFO] [launch.py:460:main] Process 47973 exits successfully.",)


def deepspeed_lines(
    *, steps: int = 60, every: int = 10, seconds: float = 0.746, start: str = "2023-04-18T01:46:52"
) -> list[str]:
    """DeepSpeed's own line for every `every`-th step."""
    at = datetime.fromisoformat(start)
    lines = []
    for step in range(every, steps + 1, every):
        at += timedelta(seconds=every * seconds)
        stamp = f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}] [INFO]"
        rates = f"RunningAvgSamplesPerSec={128 / seconds + 1:.6f}, CurrSamplesPerSec={128 / seconds:.6f}"
        where = f"epoch=0/micro_step={step}/global_step={step}"
        lines.append(f"{stamp} [logging.py:96:log_dist] [Rank 0] step={step}, skipped=6, lr=[9.6e-06]")
        lines.append(
            f"{stamp} [timer.py:199:stop] {where}, {rates}, MemAllocated=3.96GB, MaxMemAllocated=22.95GB"
        )
    return lines


def deepspeed_log(*, seconds: float = 0.746, ending: Sequence[str] = ENDING) -> str:
    """Supervised fine-tuning of DeepSpeed-Chat: no loss per step, a perplexity before and after."""
    opening = [
        "***** Running training *****",
        "***** Evaluating perplexity, Epoch 0/16 *****",
        "ppl: 4998.29",
    ]
    return "\n".join([*opening, *deepspeed_lines(seconds=seconds), *ending, ""])


def deepspeed_chat_log(*, steps: int = 12, seconds: float = 3.8, ending: Sequence[str] = ENDING) -> str:
    """Reinforcement learning of DeepSpeed-Chat: three losses, and DeepSpeed's lines between."""
    lines = []
    for step in range(steps):
        own = seconds + step / 100
        lines.append(
            f"|E2E latency={own:.2f}s |Gather latency=0.00s (0.00%) |Generate time=2.54s (66.86%) |Training "
            "time=1.03s (27.06%) |Others=0.23 (6.08%)|CurSamplesPerSec=16.82 |AvgSamplesPerSec=16.52"
        )
        if step % 10 == 9:
            lines += deepspeed_lines(steps=step + 1, every=step + 1)
        losses = f"act_loss: {-0.1 + step / 100:.6f}|cri_loss: 0.036376|unsuper_loss: 0.0"
        lines += [f"epoch: 0|step: {step}|ppo_ep: 1|{losses}", "average reward score: 1.79", "-" * 85]
    return "\n".join([*lines, *ending, ""])
