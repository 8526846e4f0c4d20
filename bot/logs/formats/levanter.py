"""Levanter's logs: the name of the run and its devices. Its steps go to a tracker and a progress bar."""

import re
from collections.abc import Iterator

from bot.logs.facts import Environment
from bot.logs.rules import LiteralRule, Match, Statement

# INFO:levanter.trainer:Setting run id to 8eyi8adv
_RUN = re.compile(r"levanter\.trainer\S{0,3}[^\n]{0,80}?Setting run id to (?P<name>[\w.-]{1,80})")

# INFO:levanter.distributed:Initialized jax.distributed with 8 devices, 1 processes
_DEVICES = re.compile(
    r"levanter\.distributed[^\n]{0,80}?Initialized jax\.distributed with (?P<count>\d{1,7}) devices"
)


def _environment(match: Match) -> Iterator[Statement]:
    if found := _RUN.match(match.text):
        yield Environment(run_name=found["name"])
    elif found := _DEVICES.match(match.text):
        yield Environment(devices=int(found["count"]) or None)


LEVANTER = (LiteralRule(literal=b"levanter.", read=_environment, distinctive=True),)
