"""The tests' own writer of Hugging Face Trainer logs: with progress bars, LLaMA-Factory's stamps, or
neither."""

from collections.abc import Sequence
from datetime import datetime, timedelta


def hugging_face_log(
    *,
    losses: Sequence[float] = (2.2818, 2.2647, 2.1045, 2.0274, 2.0086, 1.9083),
    every: int = 5,
    seconds: float = 20.0,
    per_epoch: int = 17,
    epochs: int = 2,
    total: int | None = None,
    style: str = "stamped",
    evaluated: bool = False,
    quoted: bool = False,
    ending: bool = True,
    start: str = "2024-11-26T22:07:15",
) -> str:
    """`style`: "stamped" (LLaMA-Factory), "bar" (tqdm), "bare"; `quoted`: values as strings (version 5)."""
    at = datetime.fromisoformat(start)
    if total is None:  # a Trainer ends where its epochs do
        epochs = max(epochs, -(-every * len(losses) // per_epoch))
    count = total or per_epoch * epochs
    lines: list[str] = []

    def say(text: str) -> None:
        lines.append(
            f"[INFO|{at:%Y-%m-%d %H:%M:%S}] logging.py:157 >> {text}\n" if style == "stamped" else text
        )

    if style == "stamped":
        say("***** Running training *****")
        say(f"  Num examples = {per_epoch * 128 + 6:,}")
        say(f"  Num Epochs = {epochs:,}")
        say("  Total train batch size (w. parallel, distributed & accumulation) = 128")
        say(f"  Total optimization steps = {count:,}")
    for n, loss in enumerate(losses, start=1):
        at += timedelta(seconds=seconds * every)
        step = every * n
        quote = "'" if quoted else ""
        text = f"{{'loss': {quote}{loss}{quote}, 'learning_rate': 2.5e-06, 'epoch': {step / per_epoch:.2f}}}"
        bar = f"\r {100 * step // count:3}%|█▌        | {step}/{count} [01:40<05:00, 20.00s/it]"
        if style == "bar":
            lines.append(f"{bar}\r{' ' * 60}\r{text}\n{bar}")
        else:
            say(text)
        if evaluated and n == 3:
            say("***** Running Evaluation *****")
            say(f"{{'eval_loss': {loss}, 'eval_runtime': 13.1, 'epoch': {step / per_epoch:.2f}}}")
    if ending:
        say("{'train_runtime': 600.1, 'train_steps_per_second': 0.05, 'train_loss': 2.1, 'epoch': 2.0}")
    return "\n".join([*lines, ""])
