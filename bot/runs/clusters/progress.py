"""How far a job is, by what it says and was told.

In:  the end of a log, a command. Out: step numbers, None where they are not named.
Promises: pure and cheap: no format is read here, only the words that every step line of MaxText has.
"""

import re

# I0421 10:17:39.824857 136682829195072 metric_logger.py:196] completed step: 7, seconds: 0.147, …
STEP = re.compile(rb"completed step: (?P<step>\d{1,9}),")

# python3 -m maxtext.trainers.pre_train.train … steps=30 run_name=… , or --steps 30
_STEPS = re.compile(r"(?<![\w.-])(?:--)?steps[= ](?P<steps>[1-9]\d{0,8})(?![\w.])")

TAIL_BYTES = 8192
"""The end of a log that is looked at: a few dozen lines."""


def last_step(tail: bytes) -> int | None:
    """The newest step that the end of a log names."""
    found = STEP.findall(tail)
    return int(found[-1]) if found else None


def expected_steps(command: str) -> int | None:
    """The number of steps that a command asks for, where it says so once."""
    found = {int(one["steps"]) for one in _STEPS.finditer(command)}
    return found.pop() if len(found) == 1 else None
