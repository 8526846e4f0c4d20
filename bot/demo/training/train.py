"""Trains the network for some steps and says what MaxText would say.

In:  `python -m training.train CONFIG.json run_name=NAME [key=value…]`. Out: a log and two checkpoints.
"""

import json
import sys
from pathlib import Path
from typing import Any

from . import checkpointing, max_logging, max_utils
from .device_clock import CLOCK
from .metric_logger import TERA, MetricLogger
from .model import CONTEXT, Parameters, accumulate, add_scaled, divide, initial_parameters, zeros_like

HERE = Path(__file__).parent
BYTES_PER_NUMBER = 8

MICROBATCH = 2
"""Examples that are dispatched at once: few, for the clock looks at the processor's speed after each."""


class Corpus:
    """A text as numbers, and batches of it in an order that depends on the step alone."""

    def __init__(self, text: str) -> None:
        self.characters = sorted(set(text))
        number = {character: index for index, character in enumerate(self.characters)}
        self._text = [number[character] for character in text]

    def batch(self, step: int, size: int) -> list[tuple[list[int], int]]:
        """`size` examples: the characters before, and the character that follows."""
        places = range(step * size, (step + 1) * size)
        starts = [place * 7 % (len(self._text) - CONTEXT) for place in places]
        return [(self._text[start : start + CONTEXT], self._text[start + CONTEXT]) for start in starts]


def loss_and_gradient(parameters: Parameters, batch: list[tuple[list[int], int]]) -> tuple[float, Parameters]:
    """The mean cross-entropy (nats) over the batch, and its gradient, accumulated over microbatches."""
    gradient = zeros_like(parameters)
    loss = 0.0
    for start in range(0, len(batch), MICROBATCH):
        loss += accumulate(parameters, gradient, batch[start : start + MICROBATCH])
        CLOCK.tick()
    divide(gradient, len(batch))
    return loss / len(batch), gradient


def update(
    parameters: Parameters, gradient: Parameters, velocity: Parameters, config: dict[str, Any]
) -> None:
    """One step of gradient descent with momentum, in place."""
    for weights, slope, speed in zip(parameters.rows(), gradient.rows(), velocity.rows(), strict=True):
        speed[:] = [config["momentum"] * old for old in speed]
        add_scaled(speed, slope, 1.0)
        add_scaled(weights, speed, -config["learning_rate"])


def read_config(arguments: list[str]) -> dict[str, Any]:
    """The configuration file with the `key=value` arguments laid over it."""
    config: dict[str, Any] = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    for argument in arguments[1:]:
        key, _, value = argument.partition("=")
        config[key] = type(config.get(key, ""))(value)
    return config


def set_up(config: dict[str, Any], corpus: Corpus) -> tuple[Parameters, MetricLogger]:
    """Make the network, and say what is about to run on what."""
    max_utils.print_system_information(HERE.parent / "requirements.txt")
    max_logging.log(f"Num_devices: 1, shape {(1,) * 13}")
    parameters = initial_parameters(
        characters=len(corpus.characters),
        embedding=config["embedding_size"],
        hidden=config["hidden_size"],
        seed=config["seed"],
    )
    numbers = parameters.count() * BYTES_PER_NUMBER
    max_utils.print_compiled_memory(argument_bytes=2 * numbers, temp_bytes=numbers)
    # Two operations per weight and example forwards, twice that backwards.
    flops = 6.0 * parameters.count() * config["batch_size"]
    logger = MetricLogger(tokens=config["batch_size"], flops=flops)
    logger.write_setup(parameters=parameters.count())
    print(f"Per train step:\n Total TFLOPs: {flops / TERA:.2f} ")
    print(" split as 100.00% learnable weight flops and 0.00% attention flops", flush=True)
    return parameters, logger


def train(config: dict[str, Any]) -> None:
    """The training loop."""
    corpus = Corpus((HERE / "corpus.txt").read_text(encoding="utf-8"))
    parameters, logger = set_up(config, corpus)
    velocity = zeros_like(parameters)
    checkpoints = Path(config["base_output_directory"]) / config["run_name"] / "checkpoints"
    last = config["steps"] - 1
    dispatched = CLOCK.now()
    for step in range(config["steps"]):
        loss, gradient = loss_and_gradient(parameters, corpus.batch(step, config["batch_size"]))
        update(parameters, gradient, velocity, config)
        now = CLOCK.now()
        seconds, dispatched = now - dispatched, now
        if step in {0, last}:
            checkpointing.save(parameters, checkpoints, step)
        if step == 0:
            max_utils.print_memory_statistics("After params initialized")
        logger.buffer_and_write(step=step, seconds=seconds, loss=loss)
    logger.flush()
    max_utils.print_waiting(CLOCK.wait())


def main(arguments: list[str]) -> None:
    """Read the configuration and train."""
    config = read_config(arguments)
    for key in sorted(config):
        max_logging.log(f"Config param {key}: {config[key]}")
    train(config)


if __name__ == "__main__":
    main(sys.argv[1:])
