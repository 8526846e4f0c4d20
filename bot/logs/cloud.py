"""Reads what a Cloud Logging export says about a message: it takes the stamp off the text and keeps it aside.

In:  the text in front of and behind a message that stands in a JSON entry.
Out: a `Prefix`.

Both shapes are read: an array printed over many lines, and one entry per line.
"""

import re

from bot.logs.almanac import RFC, rfc_time
from bot.logs.prefix import Prefix

ENTRY = 8 * 1024
"""Bytes of an entry read behind its message: labels of JobSet and Kueue are long."""

# "message": "    "textPayload": "    "log": ", as Docker writes it
OPENING = re.compile(r'"(?:message|textPayload|log)"\s*:\s*"[^"\n]{0,120}$')
# "timestamp": "2026-07-30T19:22:14.580075023Z"    "time": "2026-07-30T19:22:14.580075023Z", Docker's
_TIME = re.compile(rf'"time(?:stamp)?"\s*:\s*"{RFC}"')
# "pod_name": "ym-qw35-10-pathways-head-0-0-dsbgb"
_POD = re.compile(r'"pod_name"\s*:\s*"(?P<pod>[\w.-]+)"')
# "batch.kubernetes.io/job-completion-index": "3"
_INDEX = re.compile(r'job-completion-index"\s*:\s*"(?P<index>\d{1,5})"')
# "sourceLocation": {"file": "metric_logger.py", "line": "196"}
_FILE = re.compile(r'"file"\s*:\s*"(?:[^"]*/)?(?P<file>[\w.]+)"')
_LINE = re.compile(r'"line"\s*:\s*"?(?P<line>\d{1,7})"?')
# the next entry of an array, or the next line of one entry per line
_NEXT = re.compile(r'"insertId"|\n\s*\{"')


def cloud_prefix(before: str, after: str) -> Prefix | None:
    """The facts around a message, or `None` where it does not stand in an entry."""
    if not OPENING.search(before[-200:]):
        return None
    entry = _own_part(before, after)
    time, pod, index = _TIME.search(entry), _POD.search(entry), _INDEX.search(entry)
    file, line = _FILE.search(entry), _LINE.search(entry)
    return Prefix(
        time=rfc_time(time) if time else None,
        host=pod["pod"] if pod else "",
        file=file["file"] if file else None,
        line=int(line["line"]) if line else 0,
        implied=int(index["index"]) if index else None,
    )


def _own_part(before: str, after: str) -> str:
    """The text of the entry: what follows the message first, then what stands before it on its line."""
    end = _NEXT.search(after)
    own = after[: end.start()] if end else after
    start = max(before.rfind('"insertId"'), before.rfind("\n{"), before.rfind("\r{"))
    return own + "\n" + (before[start:] if start >= 0 else "")
