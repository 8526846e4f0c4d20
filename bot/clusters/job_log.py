"""A job's log: the lines that XPK prints around a program's output, and the newest step in it.

No log format is read here, only the words that every step line of MaxText has.
"""

import json
import re
import time

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def date_line(seconds: float) -> str:
    """The time as GNU `date -u` prints it in the C locale: `Sat Apr 18 00:54:24 UTC 2026`.

    Names are spelled out here because `strftime` follows the locale.
    """
    at = time.gmtime(seconds)
    clock = f"{at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02}"
    return f"{_DAYS[at.tm_wday]} {_MONTHS[at.tm_mon - 1]} {at.tm_mday:2} {clock} UTC {at.tm_year}"


def log_header(*, started: float, sha: str, case: str, variant: str) -> str:
    """The lines above the program's output; the second one records which commit was measured."""
    meta = json.dumps({"sha": sha, "case": case, "variant": variant})
    return f"XPK Start: {date_line(started)}\nBENCH_META {meta}\n"


def log_footer(*, ended: float, exit_code: int) -> str:
    """The lines below the program's output."""
    return f"XPK End: {date_line(ended)}\nEXIT_CODE={exit_code}\n"


def timeout_line(program: str) -> str:
    """The line that GNU `timeout --verbose` prints when the time limit has passed."""
    return f"timeout: sending signal TERM to command '{program}'\n"


def limit_line(problem: str) -> str:
    """The line that says which limit ended a job; `bot.logs` knows it as the cause of a failure."""
    return f"maxview: job ended: {problem}\n"


# I0421 10:17:39.824857 136682829195072 metric_logger.py:196] completed step: 7, seconds: 0.147, …
STEP_LINE = re.compile(rb"completed step: (?P<step>\d{1,9}),")

TAIL_BYTES = 8192
"""How much of a log's end is read for the newest step: a few dozen lines."""


def last_step(tail: bytes) -> int | None:
    """The newest step in the end of a log."""
    found = STEP_LINE.findall(tail)
    return int(found[-1]) if found else None
