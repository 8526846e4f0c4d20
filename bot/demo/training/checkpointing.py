"""Checkpoints: the parameters as a file, with MaxText's lines around the write.

In:  parameters, a folder. Out: `checkpoints/STEP/state.json`, whole or not at all.
"""

import json
from pathlib import Path

from . import max_logging
from .device_clock import CLOCK
from .model import Parameters


def save(parameters: Parameters, folder: Path, step: int) -> None:
    """Write the parameters as they are after `step`."""
    asked = CLOCK.now()
    max_logging.log(f"Waiting for step {step} to finish before checkpoint...")
    waited = CLOCK.now() - asked
    max_logging.log(f"Waited {waited} seconds for step {step} to finish before starting checkpointing.")
    max_logging.log(f"[process=0] Saving checkpoint at step {step}")
    place = folder / str(step)
    place.mkdir(parents=True, exist_ok=True)
    fresh = place / ".state.json"
    fresh.write_text(json.dumps(list(parameters.rows())), encoding="ascii")
    fresh.replace(place / "state.json")
    max_logging.log(f"Started an asynchronous checkpoint save for step {step}")
