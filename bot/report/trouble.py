"""Why runs could not be read, as one sentence that may stand in public.

In:  the error of a store of runs.
Out: plain text without system errors, addresses or folders of the server: the operator's log has those.
"""

import re

from bot.errors import Broken, Told

UNREAD = "The runs could not be read"
AGAIN = "MaxView tries again by itself"
# /srv/runs/maxtext: no such folder; …      gs://bucket/prefix: permission denied; …
_PLACE = re.compile(r"^\S*/\S*: ")
# ([Errno -2] Name or service not known)
_SYSTEM = re.compile(r"\s?\([^()]{0,400}\)|\[Errno[^\]]{0,20}\]\s?")
_AGAIN = re.compile(r"[;,]?\s*(?:or )?try again[^;.]{0,80}")
_PATH = re.compile(r"[\"'`]?(?:\w{1,20}:/)?(?<![\w.])/[^\s:;,]{2,}")


def unread(problem: Told | Broken) -> str:
    """`The runs could not be read, and MaxView tries again by itself: permission denied; give …`."""
    if isinstance(problem, Broken):
        return f"{UNREAD} because their store could not be reached; {AGAIN}."
    text = _AGAIN.sub("", _SYSTEM.sub("", _PLACE.sub("", problem.text)))
    text = _PATH.sub("[path]", text).strip(" .;:,")
    return f"{UNREAD}, and {AGAIN}: {text}." if text else f"{UNREAD}; {AGAIN}."
