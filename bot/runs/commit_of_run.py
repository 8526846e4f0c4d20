"""Which commit a found run measured, by the small files that runners leave beside its log.

In:  a run's folder, then the text of a file. Out: names to look for, then the commit.
Promises a commit of at least 7 digits or None: a tag, a branch or a dirty tree names no commit.
"""

import json
import re

from bot.runs.pattern import SHORTEST_SHA

# What a runner may have written, the one with most to say first.
NAMES = ("manifest.txt", "summary.json", "meta.json")

KEY = "git_commit"

# git_commit: 574ad3fb9c1e
# git_commit=574ad3fb9c1e
_LINE = re.compile(rf"^[ \t]*{KEY}[ \t]*[:=][ \t]*(?P<value>[^\r\n]*)", re.MULTILINE)

_COMMIT = re.compile(rf"[0-9a-f]{{{SHORTEST_SHA},64}}", re.IGNORECASE)


def names_to_look_for(folder: str) -> tuple[str, ...]:
    """The files that may record the commit, nearest first: in the run's folder, then in its parent."""
    parent = folder.rpartition("/")[0]
    places = dict.fromkeys((folder, parent))
    return tuple(f"{place}/{name}" if place else name for place in places for name in NAMES)


def commit_of(name: str, text: str) -> str | None:
    """The commit that the file `name` records, in lower case."""
    value = _from_json(text) if name.endswith(".json") else _from_lines(text)
    value = value.strip().strip("\"'")
    return value.lower() if _COMMIT.fullmatch(value) else None


def _from_lines(text: str) -> str:
    found = _LINE.search(text)
    return found["value"] if found else ""


def _from_json(text: str) -> str:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    value = document.get(KEY) if isinstance(document, dict) else None
    return value if isinstance(value, str) else ""
