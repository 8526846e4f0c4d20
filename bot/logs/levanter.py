"""Knows a log of Levanter, which prints no step lines: its steps go to a tracker and a progress bar.

In:  sightings of the literals in `LEVANTER`.
Out: statements: the name of the run and its devices.
"""

import re
from collections.abc import Iterator

from bot.logs.facts import Environment
from bot.logs.sighting import Needle, Sighting
from bot.logs.statement import Statement

# INFO:levanter.trainer:Setting run id to 8eyi8adv
_RUN = re.compile(r"levanter\.trainer\S{0,3}[^\n]{0,80}?Setting run id to (?P<name>[\w.-]{1,80})")
# INFO:levanter.distributed:Initialized jax.distributed with 8 devices, 1 processes
_DEVICES = re.compile(
    r"levanter\.distributed[^\n]{0,80}?Initialized jax\.distributed with (?P<count>\d{1,7}) devices"
)


def _said(seen: Sighting) -> Iterator[Statement]:
    if found := _RUN.match(seen.text):
        yield Environment(run_name=found["name"])
    elif found := _DEVICES.match(seen.text):
        yield Environment(devices=int(found["count"]) or None)


LEVANTER = (Needle(literal=b"levanter.", read=_said, telling=True),)
