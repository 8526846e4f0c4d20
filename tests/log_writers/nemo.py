"""The tests' own writer of NeMo's log lines."""

from collections.abc import Sequence


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
