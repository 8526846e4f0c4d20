"""Masks of log lines: what two lines share although stamps, numbers and names differ.

Pure. Every pattern takes time linear in the line, of which at most `MAX_CHARACTERS` are read.
"""

import re
from datetime import UTC, datetime

MAX_CHARACTERS = 600

# [pod/mt-04-int8-slice-job-0-0/jax-tpu] I0421 10:17:39.824857 136682829195072 metric_logger.py:196] …
_GLOG = re.compile(
    r"[IWEF](?P<month>\d\d)(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d)(?P<part>\.\d{1,6})? +\d{1,20} "
    r"(?P<file>[\w.<>/-]{1,120}:\d{1,7}\])"
)

# 2026-04-21 10:16:43.123456: W …     2026-04-21T10:16:43Z
_ISO = re.compile(
    r"(?P<date>20\d\d-\d\d-\d\d)[T ](?P<clock>\d\d:\d\d:\d\d)(?P<part>[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?:? ?"
)

_STAMP_WITHIN = 200
"""Characters in which a timestamp begins: a label of the cluster may come first."""

_VOLATILE = (
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "…"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "…"),
    (re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b"), "…"),
    (re.compile(r"/(?:tmp|var/tmp|dev/shm|proc)/[^\s'\",;)]{1,200}"), "/tmp/…"),  # noqa: S108 - a word for such paths
    (re.compile(r"(?<!\d)20\d{6}[_-]\d{6}(?!\d)|\b20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:\.\d+)?)?"), "…"),
    (
        re.compile(
            r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d [A-Z]{3,4} 20\d\d"
        ),
        "…",
    ),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b"), "…"),
    (re.compile(r"\b(?:pid|tid|thread|port)[ =:]{1,2}\d+", re.IGNORECASE), "pid=…"),
    (re.compile(r"-slice-job-\d+-\d+(?:-\w{5})?"), "-slice-job-…"),
)

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")

_LIST = re.compile(r"#(?:[, ]+#)+")


def message(text: str) -> str:
    """The beginning of the line without its timestamp."""
    return without_stamp(text[:MAX_CHARACTERS])


def without_stamp(text: str) -> str:
    """The line without its timestamp: from the source location on, if it names one."""
    if found := _GLOG.search(text, 0, _STAMP_WITHIN + 60):
        return found["file"] + text[found.end() :]
    if found := _ISO.search(text, 0, _STAMP_WITHIN):
        return text[: found.start()] + text[found.end() :]
    return text


def mask(text: str) -> str:
    """What similar lines share: no timestamp, no numbers, nothing that belongs to one run."""
    return _LIST.sub("#", _NUMBER.sub("#", without_volatile(text))).strip()


def without_volatile(text: str, names: "re.Pattern[str] | None" = None) -> str:
    """The message without its volatile parts, numbers kept; `names` matches the run's own names."""
    said = message(text)
    if names is not None:
        said = names.sub("…", said)
    for pattern, sign in _VOLATILE:
        said = pattern.sub(sign, said)
    return said


def printed_at(text: str, year: int) -> float | None:
    """When the line was printed, in Unix seconds; None if it does not say."""
    if found := _GLOG.search(text, 0, _STAMP_WITHIN + 60):
        return _unix_seconds(f"{year}-{found['month']}-{found['day']}", found["clock"], found["part"])
    if found := _ISO.search(text, 0, _STAMP_WITHIN):
        return _unix_seconds(found["date"], found["clock"], found["part"])
    return None


def names_pattern(*names: str | None) -> "re.Pattern[str] | None":
    """A pattern of the names that belong to one run: run name, workload, id."""
    telling = sorted({name for name in names if name and len(name) >= 4}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, telling))) if telling else None


def _unix_seconds(date: str, clock: str, part: str | None) -> float | None:
    try:
        whole = datetime.fromisoformat(f"{date}T{clock}").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return whole + float(f"0.{part[1:]}") if part else whole
