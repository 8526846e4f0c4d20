"""The lines that stand around a program's output in a log, as XPK prints them.

In:  Unix seconds, the job's names, an exit code. Out: lines of text, each with its line end.
"""

import json
import time

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def date_line(seconds: float) -> str:
    """The moment as GNU `date -u` prints it in the C locale: `Sat Apr 18 00:54:24 UTC 2026`.

    Names are spelt out here because `strftime` would follow the locale.
    """
    at = time.gmtime(seconds)
    clock = f"{at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02}"
    return f"{_DAYS[at.tm_wday]} {_MONTHS[at.tm_mon - 1]} {at.tm_mday:2} {clock} UTC {at.tm_year}"


def opening(*, started: float, sha: str, case: str, variant: str) -> str:
    """What stands above the program's output; the second line records which commit was measured."""
    meta = json.dumps({"sha": sha, "case": case, "variant": variant})
    return f"XPK Start: {date_line(started)}\nBENCH_META {meta}\n"


def closing(*, ended: float, exit_code: int) -> str:
    """What stands below the program's output."""
    return f"XPK End: {date_line(ended)}\nEXIT_CODE={exit_code}\n"


def over_time(program: str) -> str:
    """What GNU `timeout --verbose` says when the time limit has passed."""
    return f"timeout: sending signal TERM to command '{program}'\n"
