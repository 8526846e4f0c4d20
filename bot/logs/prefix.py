"""Reads what stands in front of a message: when, on which host, from which line of the program.

In:  the text in front of a message, any logging system's.
Out: a `Prefix`; what the text does not say is `None`, the host then "".

Nothing is anchored at the start of a line: pasted logs have none.
"""

import re
from dataclasses import dataclass

from bot.logs.almanac import RFC, Almanac, rfc_time

REACH = 400
"""Characters read in front of a message: a Ray, kubectl or Cloud Logging label, a date and a glog stamp."""

# I0421 10:17:39.824857 136682829195072 metric_logger.py:196]
GLOG = (
    r"(?P<severity>[IWEF])(?P<month>\d\d)(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d\.\d{1,6}) +"
    r"(?P<thread>\d{1,20}) (?P<file>[\w.<>/-]{1,120}):(?P<line>\d{1,7})\]"
)
_STAMP_START = re.compile(r"[IWEF]\d{4} \d\d:")
_STAMP = 360
"""Characters from the start of a stamp to the line number in it, at most, with the brackets behind it."""
_LEAD = 160
"""Characters of a message in front of its literal, at most."""
# metric_logger.py:196] [process=4][thread=MainThread] Saving ...
_BETWEEN = r"\s*(?:\[[^\[\]\n]{0,80}\]\s*)*"
_PROCESS = re.compile(r"\[process=(\d{1,6})\]")

# (run_maxtext_train pid=78967, ip=10.130.0.11)
_RAY = re.compile(r"\((?:[\w.:-]+ )?pid=(?P<pid>\d+)(?:, ip=(?P<ip>[\w.:]+))?\)[ \t]*\Z")
# [pod/mt-04-int8-wddlh-slice-job-0-3-abcde/jax-tpu]
_POD = re.compile(r"\[pod/(?P<name>[\w.-]+)(?:/[\w.-]+)?\]:?[ \t]*\Z")
# [resource.labels.podName: mt-04-int8-wddlh-slice-job-0-3-abcde]
_EXPLORER = re.compile(r"\[resource\.labels\.(?P<label>\w+): (?P<value>[\w.-]+)\][ \t]*\Z")
# mt-04-int8-wddlh-slice-job-0-3-abcde jax-tpu | text     worker-3  | text
_COMPOSE = re.compile(r"(?:^|(?<=[\n\r]))(?P<name>[\w.-]+(?: [\w.-]+)?) *\| *\Z")
# [rank0]:[rank0]:[titan]     [default3]:, as torchrun writes it
_TORCHRUN = re.compile(r"\[[a-z]{1,20}(?P<rank>\d{1,6})\]:[ \t]*(?:\[titan\][ \t]*)?\Z")
# 12: text, as srun --label writes it
_SLURM = re.compile(r"(?:^|(?<=\s))(?P<rank>\d{1,5}):[ \t]+\Z")
# 2026-07-30T19:22:14.580032463Z stderr F text, as a node keeps what its containers print
_CRI = re.compile(r"(?<=[Z\d] )(?P<name>)(?:stdout|stderr) [FP] \Z")
# 2026-07-30T19:22:14.580032+0000 tpu-vm-3 python3[8812]: text, as journalctl -o short-iso-precise prints it
_JOURNAL = re.compile(r"(?<=[Z\d] )(?P<name>[\w.-]{1,64}) [\w./@-]{1,64}\[\d{1,10}\]:[ \t]+\Z")
_ENDING = {
    ")": (_RAY,),
    "]": (_EXPLORER, _POD, _TORCHRUN),
    "|": (_COMPOSE,),
    ":": (_POD, _JOURNAL, _TORCHRUN, _SLURM),
    "F": (_CRI,),
    "P": (_CRI,),
}
"""Labels by their last character but blanks: each is searched for only where it may stand."""
_RFC_LAST = re.compile(rf"(?<!\d){RFC}:?[ \t]*\Z")
# mt-04-int8-wddlh-slice-job-0-3-abcde: host 3 of slice 0
_POD_INDEX = re.compile(r"-job-\d+-(\d+)(?:-\w{5})?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """`host` tells hosts of one log apart; `thread` only does where `host` is "". `process` is the index
    that the prefix itself states, or that the host's name implies (`implied`)."""

    time: float | None = None
    host: str = ""
    thread: str = ""
    file: str | None = None
    line: int = 0
    process: int | None = None
    implied: int | None = None


@dataclass(frozen=True, slots=True)
class Lead:
    """What may stand between a prefix and a literal: patterns that end where the literal begins, and the
    most characters that the second one covers."""

    stamped: re.Pattern[str]
    bare: re.Pattern[str]
    most: int


def lead_pattern(lead: str, most: int | None = None) -> Lead:
    """The patterns of a message that has `lead` (a regular expression) in front of its literal."""
    most = (_LEAD if lead else 0) if most is None else most
    return Lead(re.compile(rf"{GLOG}{_BETWEEN}{lead}\Z"), re.compile(rf"{lead}\Z"), most)


def read_prefix(before: str, lead: Lead, almanac: Almanac) -> Prefix:
    """The prefix at the end of `before`."""
    stamped = _last_stamp(before, lead.stamped)
    if stamped is not None:
        return _stamped(before, stamped, almanac)
    found = lead.bare.search(before, max(0, len(before) - lead.most))
    if found is None:
        return Prefix()
    host, implied, dated = _labels(before[: found.start()])
    if dated is not None:
        almanac.anchor(dated)
    return Prefix(time=dated, host=host, implied=implied)


def _last_stamp(before: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """The stamp right in front of the message, if there is one."""
    start = before.rfind(":", 0, before.rfind("]") + 1) - _STAMP
    found = None
    for candidate in _STAMP_START.finditer(before, max(0, start)):
        found = pattern.match(before, candidate.start()) or found
    return found


def _stamped(before: str, found: re.Match[str], almanac: Almanac) -> Prefix:
    host, implied, dated = _labels(before[: found.start()])
    if dated is not None:
        almanac.anchor(dated)
    process = _PROCESS.search(found[0]) if "[process=" in found[0] else None
    return Prefix(
        time=almanac.place(found["month"], found["day"], found["clock"]),
        host=host,
        thread=found["thread"],
        file=found["file"],
        line=int(found["line"]),
        process=int(process[1]) if process else None,
        implied=implied,
    )


def _labels(rest: str) -> tuple[str, int | None, float | None]:
    """Host, its index, and date, read from right to left: label and date in either order."""
    host, implied, dated = "", None, None
    for _ in range(3):
        if not rest or rest[-1] not in " ])\tZ:|0123456789":
            break
        if dated is None and (date := _RFC_LAST.search(rest, max(0, len(rest) - 48))):
            dated, rest = rfc_time(date), rest[: date.start()]
        elif label := _label(rest):
            start, name, index = label
            host = f"{name} {host}" if name and host else name or host  # Ray's worker, and the rank in it
            implied, rest = index if implied is None else implied, rest[:start]
        else:
            break
    return host, implied, dated


def _label(rest: str) -> tuple[int, str, int | None] | None:
    """Where the label at the end begins, the host it names, and the process index that the name implies."""
    for label in _ENDING.get(rest.rstrip(" \t")[-1:], ()):
        if found := label.search(rest):
            break
    else:
        return None
    if label is _RAY:
        return found.start(), f"{found['ip'] or ''}/{found['pid']}", None
    if label is _EXPLORER:
        named = "pod" in found["label"].lower()
        return found.start(), found["value"] if named else "", _index(found["value"])
    if label in {_TORCHRUN, _SLURM}:
        return found.start(), f"rank {int(found['rank'])}", int(found["rank"])
    return found.start(), found["name"], _index(found["name"].partition(" ")[0])


def _index(pod: str) -> int | None:
    found = _POD_INDEX.search(pod)
    return int(found[1]) if found else None
