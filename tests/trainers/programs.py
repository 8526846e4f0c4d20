"""Small trainings by real trainers on a CPU: `python -m tests.trainers.programs TRAINER HOW FOLDER`.

TRAINER is hugging_face, lightning, lightning_csv, keras or nanogpt. HOW is ok, nan, raise, missing (an import
that fails), kill, terminate, segfault, abort or disk (FOLDER is on a full disk).
"""

import math
import os
import signal
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

STEPS = 24
BAD_STEP = 9


def _accident(how: str, step: int) -> None:
    """What goes wrong at this step, if anything."""
    if step != BAD_STEP:
        return
    signals = {
        "kill": signal.SIGKILL,
        "terminate": signal.SIGTERM,
        "segfault": signal.SIGSEGV,
        "abort": signal.SIGABRT,
    }
    if how == "raise":
        message = "the shapes (4, 8) and (8, 3) do not fit"
        raise ValueError(message)
    if how in signals:
        sys.stdout.flush()
        os.kill(os.getpid(), signals[how])


def _rate(how: str) -> float:
    return 1e30 if how == "nan" else 0.05


def hugging_face(how: str, folder: Path) -> None:
    """A Trainer on random data."""
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    torch.manual_seed(0)

    class Model(torch.nn.Module):  # type: ignore[misc]
        """One linear layer."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)
            self.seen = 0

        def forward(self, x: Any, labels: Any = None) -> dict[str, Any]:
            """The loss of a batch."""
            self.seen += 1
            _accident(how, self.seen)
            output = self.layer(x)
            return {"loss": ((output.squeeze(-1) - labels) ** 2).mean(), "logits": output}

    data = [{"x": torch.randn(8), "labels": torch.randn(())} for _ in range(STEPS * 4)]
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=4,
        num_train_epochs=1,
        logging_steps=2,
        learning_rate=_rate(how),
        save_strategy="steps" if how == "disk" else "no",
        save_steps=8,
        report_to=[],
        use_cpu=True,
        seed=0,
        log_level="info",
    )
    transformers.Trainer(model=Model(), args=arguments, train_dataset=data).train()


def lightning(how: str, folder: Path) -> None:
    """A Lightning Trainer with its progress bar."""
    _lightning(how, folder, csv=False)


def lightning_csv(how: str, folder: Path) -> None:
    """The same, with the CSV logger, whose file is printed at the end."""
    _lightning(how, folder, csv=True)
    for path in sorted(folder.rglob("metrics.csv")):
        sys.stdout.write(path.read_text(encoding="utf-8"))


def _lightning(how: str, folder: Path, *, csv: bool) -> None:
    torch: Any = import_module("torch")
    pl: Any = import_module("lightning")
    loggers: Any = import_module("lightning.pytorch.loggers")
    torch.manual_seed(0)

    class Module(pl.LightningModule):  # type: ignore[misc]
        """One linear layer."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            """The loss of a batch."""
            _accident(how, batch_idx)
            x, y = batch
            loss = ((self.layer(x).squeeze(-1) - y) ** 2).mean()
            self.log("train_loss", loss, prog_bar=True)
            return loss

        def configure_optimizers(self) -> Any:
            """Plain descent."""
            return torch.optim.SGD(self.parameters(), lr=_rate(how))

    dataset = torch.utils.data.TensorDataset(torch.randn(STEPS * 4, 8), torch.randn(STEPS * 4))
    trainer = pl.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=loggers.CSVLogger(str(folder)) if csv else False,
        log_every_n_steps=2,
        enable_checkpointing=how == "disk",
        default_root_dir=str(folder),
        enable_progress_bar=not csv,
    )
    trainer.fit(Module(), torch.utils.data.DataLoader(dataset, batch_size=4))


def keras(how: str, folder: Path) -> None:
    """`model.fit`."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    keras_module: Any = import_module("keras")
    numpy: Any = import_module("numpy")
    keras_module.utils.set_random_seed(0)
    model = keras_module.Sequential([keras_module.layers.Dense(1)])
    model.compile(optimizer=keras_module.optimizers.SGD(_rate(how)), loss="mse", metrics=["mae"])

    class Accident(keras_module.callbacks.Callback):  # type: ignore[misc]
        """What goes wrong."""

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002 - Keras names it
            """Behind a batch."""
            _accident(how, batch)

    callbacks = [Accident()]
    if how == "disk":
        callbacks.append(keras_module.callbacks.ModelCheckpoint(str(folder / "model.keras")))
    x, y = numpy.random.randn(STEPS * 4, 8), numpy.random.randn(STEPS * 4)
    model.fit(
        x,
        y,
        batch_size=4,
        epochs=3,
        verbose=2 if how == "ok" else 1,
        callbacks=callbacks,
        validation_split=0.25,
    )


def nanogpt(how: str, folder: Path) -> None:
    """A loop that prints what nanoGPT's does; its checkpoint is torch's."""
    torch: Any = import_module("torch")
    torch.manual_seed(0)
    layer = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=_rate(how))
    sys.stdout.write(f"tokens per iteration will be: 32\nmax_iters = {STEPS}\n")
    for step in range(STEPS + 1):
        began = time.perf_counter()
        _accident(how, step)
        loss = ((layer(torch.randn(64, 8)).squeeze(-1)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        took = (time.perf_counter() - began) * 1000
        value = loss.item()
        text = "nan" if math.isnan(value) else f"{value:.4f}"
        sys.stdout.write(f"iter {step}: loss {text}, time {took:.2f}ms, mfu -100.00%\n")
        if step % 8 == 7:
            torch.save({"step": step, "weights": torch.randn(400_000)}, folder / "ckpt.pt")


PROGRAMS: dict[str, Callable[[str, Path], None]] = {
    "hugging_face": hugging_face,
    "lightning": lightning,
    "lightning_csv": lightning_csv,
    "keras": keras,
    "nanogpt": nanogpt,
}


def main() -> None:
    """Train as asked."""
    trainer, how, folder = sys.argv[1:4]
    if how == "missing":
        import_module("flash_attn_of_nobody")
    PROGRAMS[trainer](how, Path(folder))


if __name__ == "__main__":
    main()
