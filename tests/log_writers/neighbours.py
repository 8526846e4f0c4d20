"""The tests' own writers of the logs of OLMo, nanochat, LitGPT, torchtune, Lightning, Composer, Pax, T5X,
Keras, ms-swift and axolotl: one short function each."""

import json
from collections.abc import Sequence

LOSSES = (10.8123, 9.7, 8.55, 8.1, 7.9, 7.75)


def olmo_log(losses: Sequence[float] = LOSSES, *, core: bool = False, ending: bool = True) -> str:
    """OLMo's console, or OLMo-core's: a head and one metric a line."""
    lines = []
    for n, loss in enumerate(losses, start=1):
        at = f"2025-04-21 10:{n // 60:02}:{n % 60:02}.500\tnode7:0\t"
        if core:
            head = f"olmo_core.train.callbacks.console:82\tINFO\t[step={n}/{len(losses)},epoch=1,eta=2h03m]"
            pairs = {
                "train/CE loss": f"{loss:.4f}",
                "train/PPL": "1,234",
                "optim/LR (group 0)": "0.0003",
                "throughput/device/TPS": "12,345",
                "throughput/total tokens": "1.678B",
            }
        else:
            head = f"olmo.train:979\tINFO\t[step={n}/{len(losses)},epoch=0]"
            pairs = {
                "optim/total_grad_norm": "1.234",
                "train/CrossEntropyLoss": f"{loss:.4f}",
                "train/Perplexity": "1,234",
                "throughput/total_tokens": "16,777,216",
                "throughput/device/tokens_per_second": "12,345",
                "throughput/device/batches_per_second": "0.5012",
                "System/Peak GPU Memory (MB)": "39,813",
            }
        lines += [at + head, *(f"    {name}={value}" for name, value in pairs.items())]
    if ending:
        lines.append("2025-04-21 10:30:00.000\tnode7:0\tolmo.scripts.train:377\tINFO\tTraining complete")
    return "\n".join([*lines, ""])


def nanochat_log(
    losses: Sequence[float] = LOSSES, *, milliseconds: float = 456.78, ending: bool = True, old: bool = False
) -> str:
    """A pretraining of nanochat."""
    total = len(losses)
    lines = [
        "GPU: NVIDIA H100 80GB HBM3 | Peak FLOPS (BF16): 9.89e+14",
        "Step 00000 | Validation bpb: 3.300000",
    ]
    for n, loss in enumerate(losses):
        mfu = "mfu: 47.65" if old else "bf16_mfu: 47.65 | epoch: 1"
        norm = " grad norm: 1.2345 |" if old else ""
        lines.append(
            f"step {n:05d}/{total:05d} ({100 * n / total:.2f}%) | loss: {loss:.6f} |{norm} lrm: 1.00 | "
            f"dt: {milliseconds + n:.2f}ms | tok/sec: 1,147,523 | {mfu} | total time: 0.15m"
        )
    lines.append(f"Step {total:05d} | Validation bpb: 1.012345")
    if ending:
        lines += ["Peak memory usage: 75422.02MiB", "Total training time: 0.15m", ""]
    return "\n".join(lines)


def litgpt_log(losses: Sequence[float] = LOSSES, *, old: bool = False, ending: bool = True) -> str:
    """A pretraining of LitGPT, or of lit-gpt."""
    lines = ["Total parameters: 1,100,048,384", "Verifying settings ..."]
    for n, loss in enumerate(losses, start=1):
        lines.append(
            f"iter {n} step {n // 2}: loss {loss:.4f}, iter time: {100 + n:.2f}ms"
            f"{' (optimizer.step)' * (n % 2)}"
            if old
            else f"Epoch 1 | iter {n} step {n // 2} | loss train: {loss:.3f}, val: n/a | iter time: "
            f"{100 + n:.2f} ms{' (step)' * (n % 2)} remaining time: 0:10:00"
        )
    lines.append("iter 6: val loss 7.7000, val time: 812.10 ms")
    if ending:
        lines += ["| Performance", "| - Training Time : 12.34 s", "| - Memory Used   : 21.30 GB"]
    return "\n".join([*lines, ""])


def torchtune_log(losses: Sequence[float] = LOSSES, *, style: str = "bar") -> str:
    """torchtune's bar, its text file, or its JSON lines."""
    total = len(losses)
    if style == "bar":
        return (
            "".join(
                f"\r1|{n}|Loss: {loss}: {100 * n // total:3}%|██ | {n}/{total} [00:{n:02}<00:10, 2.30it/s]"
                for n, loss in enumerate(losses, start=1)
            )
            + "\n"
        )
    if style == "json":
        return "".join(
            json.dumps({"step": n, "loss": loss, "lr": 2e-5, "tokens_per_second_per_gpu": 1234.5}) + "\n"
            for n, loss in enumerate(losses, start=1)
        )
    return "".join(
        f"Step {n} | loss:{loss} lr:2e-05 tokens_per_second_per_gpu:1234.5 peak_memory_alloc:13.25 \n"
        for n, loss in enumerate(losses, start=1)
    )


def lightning_log(losses: Sequence[float] = LOSSES, *, rich: bool = False, ending: bool = True) -> str:
    """Two epochs under Lightning's bar."""
    total = len(losses)
    lines = ["GPU available: True (cuda), used: True", "TPU available: False, using: 0 TPU cores"]
    for epoch in range(2):
        for n, loss in enumerate(losses, start=1):
            lines.append(
                f"Epoch {epoch}/1  ━━━━━━━━━━━━━━━━ {n}/{total} 0:00:0{epoch} • 0:00:00 20.00it/s "
                f"v_num: 0.000 train_loss: {loss:.3f}"
                if rich
                else f"\rEpoch {epoch}: {100 * n // total:3}%|██ | {n}/{total} [00:00<00:00, 20.00it/s, "
                f"v_num=0, train_loss={loss:.3f}]"
            )
    if ending:
        lines.append("`Trainer.fit` stopped: `max_epochs=2` reached.")
    return "\n".join([*lines, ""])


def composer_log(losses: Sequence[float] = LOSSES, *, tokens: bool = False, ending: bool = True) -> str:
    """LLM Foundry's console."""
    lines = []
    for n, loss in enumerate(losses, start=1):
        lines += [
            f"[token={2048 * n}/{2048 * len(losses)}]:" if tokens else f"[batch={n}/{len(losses)}]:",
            f"\t Train time/batch: {n - 1}",
            f"\t Train loss/train/total: {loss:.4f}",
            "\t Train throughput/batches_per_sec: 0.5012",
            "\t Train throughput/device/tokens_per_sec: 12345.6000",
        ]
    lines += ["[Eval batch=1/1] Eval on eval data:", "\t Eval metrics/eval/LanguageCrossEntropy: 2.1000"]
    if ending:
        lines.append(
            "2023-05-09 10:12:01,123: rank0[18][MainThread]: INFO: llmfoundry.command_utils.train: Done."
        )
    return "\n".join([*lines, ""])


def pax_log(losses: Sequence[float] = LOSSES, *, every: int = 10, ending: bool = True) -> str:
    """paxml's status and summary lines, of every tenth step."""
    lines = []
    for n, loss in enumerate(losses, start=1):
        stamp = f"I0421 10:{n:02}:39.824857 140123456789 "
        lines += [
            f"{stamp}programs.py:515] steps/sec: {0.5 + n / 1000:.6f}",
            f"{stamp}summary_utils.py:915] [PAX STATUS] step_i: {every * n}, train loss: {loss}",
            f"{stamp}summary_utils.py:634] Metrics values at step {every * n}:",
            f"{stamp}summary_utils.py:635]   loss={loss:.6f}",
        ]
    if ending:
        last = every * len(losses)
        lines.append(
            f"I0421 10:59:39.824857 140123456789 executors.py:428] Training loop completed (step (`{last}`) "
            f"greater than or equal to num_train_step (`{last}`)."
        )
    return "\n".join([*lines, ""])


def t5x_log(losses: Sequence[float] = LOSSES, *, every: int = 100, ending: bool = True) -> str:
    """T5X's lines by CLU's writer, of every hundredth step."""
    stamp = "I0421 10:17:39.824857 140123456789 "
    lines = [f"{stamp}train.py:607] Starting main loop over steps 0-{every * len(losses)}"]
    for n, loss in enumerate(losses, start=1):
        at = f"I0421 10:{n:02}:39.824857 140123456789 "
        lines.append(
            f"{at}logging_writer.py:48] [{every * n}] collection=train accuracy=0.012, loss={loss}, "
            f"timing/seqs_per_second=160.5, timing/steps_per_second={1.25 + n / 1000}"
        )
    if ending:
        lines.append("I0421 10:59:39.824857 140123456789 train.py:588] Finished.")
    return "\n".join([*lines, ""])


def keras_log(losses: Sequence[float] = LOSSES, *, epochs: int = 2, style: str = "lines") -> str:
    """`model.fit` with a line an epoch (3's), with a bar (3's), or with the bar of Keras 2."""
    total, lines = len(losses), []
    for epoch in range(1, epochs + 1):
        lines.append(f"Epoch {epoch}/{epochs}")
        for n, loss in enumerate(losses, start=1):
            if style == "bar":
                lines.append(
                    f"\r{n}/{total} ━━━━━━━━━━━━━━━━━━━━ 0s {40 + epoch}ms/step - loss: {loss:.4f} - mae: 0.9"
                )
            elif style == "old":
                lines.append(
                    f"\r{n}/{total} [====>.....] - ETA: 0s - 1s {40 + epoch}ms/step - loss: {loss:.4f}"
                )
            elif n == total:
                lines.append(f"{n}/{total} - 1s - {40 + epoch}ms/step - loss: {loss:.4f} - val_loss: 2.5")
    return "\n".join([*lines, ""])


def ms_swift_log(
    losses: Sequence[float] = LOSSES, *, jsonl: bool = False, every: int = 5, ending: bool = True
) -> str:
    """ms-swift's console, or its `logging.jsonl`."""
    total, lines = every * len(losses), []
    for n, loss in enumerate(losses, start=1):
        step, seconds = every * n, 2.0 * every * n + 3
        record: dict[str, object] = {
            "loss": loss,
            "grad_norm": 1.5,
            "learning_rate": 1e-5,
            "token_acc": 0.65,
            "epoch": round(step / total, 2),
            "global_step/max_steps": f"{step}/{total}",
            "percentage": f"{100 * step / total:.2f}%",
            "elapsed_time": f"{int(seconds // 60)}m {int(seconds % 60)}s"
            if seconds >= 60
            else f"{int(seconds)}s",
            "remaining_time": "4m 28s",
            "memory(GiB)": 4.87,
            "train_speed(iter/s)": round(step / seconds, 6),
        }
        lines.append(json.dumps(record) if jsonl else str(record))
    if ending:
        end = {
            "train_runtime": 183.4, "train_steps_per_second": 0.512, "train_loss": 1.5,
            "global_step/max_steps": f"{total}/{total}", "elapsed_time": "3m 3s",
            "train_speed(iter/s)": 0.5124,
        }  # fmt: skip
        lines.append(json.dumps(end) if jsonl else str(end))
    return "\n".join([*lines, ""])


def axolotl_log(losses: Sequence[float] = LOSSES, *, ending: bool = True) -> str:
    """axolotl's own lines around the Trainer's."""
    stamp = "[2025-04-21 10:16:20,123] [INFO] [axolotl.train."
    lines = [f"{stamp}train:226] [PID:77] [RANK:0] Starting trainer..."]
    lines += [
        f"{{'loss': {loss}, 'grad_norm': 1.5, 'learning_rate': 1e-05, 'epoch': {n / len(losses):.2f}}}"
        for n, loss in enumerate(losses, start=1)
    ]
    if ending:
        lines += [
            "{'train_runtime': 60.0, 'train_steps_per_second': 0.1, 'train_loss': 2.1, 'epoch': 1.0}",
            f"{stamp}train:267] [PID:77] [RANK:0] Training completed! Saving trained model to ./out.",
        ]
    return "\n".join([*lines, ""])
