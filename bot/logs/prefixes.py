"""Read the text in front of a message: date, host, line of the program.

Glog stamps, RFC 3339 dates, labels of Ray, Kubernetes, Docker, torchrun, Slurm and journald, Cloud Logging
entries, logfmt and CSV. Patterns are not anchored at the start of a line: pasted logs have no lines.
`DateResolver` finds the year of lines that carry none.
"""

import re
from datetime import UTC, datetime, timedelta

from msgspec import Struct

DAY_SECONDS = 86400.0
UNDATED = 3e8
"""Times below this are of no known year: they count from the January before the first line. No log lasts nine
years."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_DAYS_BEFORE_MONTH = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)
"""Of a leap year."""
_HALF_YEAR = 6
"""Months. A larger step back is a new year, a larger step on is a return to the last year."""

# Tue Apr 21 10:16:19 UTC 2026
# Tue Apr 21 10:16:19 AM UTC 2026
_UNIX_DATE = re.compile(
    r"[A-Z][a-z]{2} +(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<clock>\d\d?:\d\d:\d\d)"
    r"(?: (?P<half>[AP]M))? (?:[A-Z]{2,5}|[+-]\d{2,4}) (?P<year>\d{4})"
)

# Tue 21 Apr 2026 10:16:19 AM UTC
_DAY_FIRST_DATE = re.compile(
    r"[A-Z][a-z]{2},? +(?P<day>\d{1,2}) (?P<month>[A-Z][a-z]{2}) (?P<year>\d{4}) (?P<clock>\d\d?:\d\d:\d\d)"
    r"(?: (?P<half>[AP]M))?"
)

# 2026-07-30T19:22:14.580032463Z    2026-04-18 00:54:48.104797    2026-07-30T19:22:14+02:00
RFC3339 = (
    r"(?P<year>\d{4})-(?P<mm>\d\d)-(?P<dd>\d\d)[T ](?P<clock>\d\d:\d\d:\d\d)(?:[.,](?P<part>\d{1,9}))?"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
)

_RFC3339_DATE = re.compile(RFC3339)


def parse_date(text: str) -> float | None:
    """Unix seconds of a date at the start of `text`, as the program `date` writes it.

    Its zone is taken as UTC, because the stamps of the other lines are in the same zone.
    """
    if found := _UNIX_DATE.match(text) or _DAY_FIRST_DATE.match(text):
        month = found["month"]
        if month not in _MONTHS:
            return None
        midnight = _midnight_utc(int(found["year"]), _MONTHS.index(month) + 1, int(found["day"]))
        return None if midnight is None else midnight + _clock_seconds(found["clock"], found["half"])
    if found := _RFC3339_DATE.match(text):
        return rfc3339_time(found)
    return None


def rfc3339_time(found: re.Match[str]) -> float | None:
    """Unix seconds of a match of `RFC3339`. A date without a zone is taken as UTC."""
    midnight = _midnight_utc(int(found["year"]), int(found["mm"]), int(found["dd"]))
    if midnight is None:
        return None
    whole = midnight + _clock_seconds(found["clock"], None)
    zone = found["zone"] or "Z"
    if zone != "Z":
        ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:])).total_seconds()
        whole -= ahead if zone[0] == "+" else -ahead
    return whole + float(f"0.{found['part'] or 0}")


def _clock_seconds(text: str, half: str | None) -> float:
    """Seconds since midnight of `10:16:19`. `half` is AM, PM or `None`."""
    hour, minute, second = map(int, text.split(":"))
    if half is not None:
        hour = hour % 12 + 12 * (half == "PM")
    return hour * 3600.0 + minute * 60.0 + second


def _midnight_utc(year: int, month: int, day: int) -> float | None:
    """Unix seconds of a midnight, or `None` where the day does not exist."""
    try:
        return datetime(year, month, day, tzinfo=UTC).timestamp()
    except ValueError:
        return None


def with_year(time: float, year: int) -> float:
    """Unix seconds of an undated time, whose first year is `year`."""
    if time >= UNDATED:
        return time
    days, rest = divmod(time, DAY_SECONDS)
    years, day = divmod(int(days), 366)
    month = max(n for n in range(12) if _DAYS_BEFORE_MONTH[n] <= day)
    midnight = _midnight_utc(year + years, month + 1, 1)
    return time if midnight is None else midnight + (day - _DAYS_BEFORE_MONTH[month]) * DAY_SECONDS + rest


class DateResolver:
    """Gives the lines of one log their time, although most of them carry no year.

    It takes the lines in the order of the log. A change from December to January is a new year.
    """

    def __init__(self) -> None:
        self._new_years = 0  # since the last whole date
        self._month = 0
        self._year: int | None = None
        self._midnights: dict[tuple[int, str, str], float] = {}
        self.first_year: int | None = None  # of the lines that had no year when they were read
        self.version = 0  # while it stays the same, a day and a clock have the same time

    def see_date(self, time: float) -> None:
        """Take a line with a whole date: the lines after it are of its year."""
        if time < UNDATED:
            return
        date = datetime.fromtimestamp(time, UTC)
        if self.first_year is None:
            self.first_year = date.year - self._new_years - (self._month > date.month + _HALF_YEAR)
            self.version += 1
        if self._year == date.year - self._new_years and self._month == date.month:
            return
        self._year, self._new_years, self._month = date.year, 0, date.month
        self.version += 1

    def resolve(self, month: str, day: str, clock: str) -> float | None:
        """The time of a line stamped `0421 10:17:39.824857`, or `None` where that is no date."""
        number, new_years = int(month), self._new_years
        if self._month and number < self._month - _HALF_YEAR:
            self._new_years = new_years = new_years + 1
            self._month = number
            self.version += 1
        elif self._month and number > self._month + _HALF_YEAR:
            new_years -= 1
        elif number != self._month:
            self._month = number
            self.version += 1
        midnight = self._midnight(new_years, month, day)
        if midnight is None:
            return None
        return midnight + int(clock[:2]) * 3600 + int(clock[3:5]) * 60 + float(clock[6:])

    def _midnight(self, new_years: int, month: str, day: str) -> float | None:
        key = ((self._year or 0) + new_years, month, day)
        if (known := self._midnights.get(key)) is not None:
            return known
        if self._year is not None:
            found = _midnight_utc(self._year + new_years, int(month), int(day))
        elif 1 <= int(month) <= 12 and 1 <= int(day) <= 31 and 0 <= new_years < 9:
            found = (366 * new_years + _DAYS_BEFORE_MONTH[int(month) - 1] + int(day) - 1) * DAY_SECONDS
        else:
            found = None
        if found is not None and len(self._midnights) < 4096:
            self._midnights[key] = found
        return found


PREFIX_LENGTH = 400
"""Characters read in front of a message: a Ray, kubectl or Cloud Logging label, a date and a glog stamp."""

# I0421 10:17:39.824857 136682829195072 metric_logger.py:196]
GLOG = (
    r"(?P<severity>[IWEF])(?P<month>\d\d)(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d\.\d{1,6}) +"
    r"(?P<thread>\d{1,20}) (?P<file>[\w.<>/-]{1,120}):(?P<line>\d{1,7})\]"
)

_STAMP_START = re.compile(r"[IWEF]\d{4} \d\d:")

_STAMP_LENGTH = 360
"""Characters from the start of a stamp to its line number, with the brackets behind it, at most."""

_LEAD_LENGTH = 160
"""Characters of a message in front of its literal, at most."""

# metric_logger.py:196] [process=4][thread=MainThread] Saving ...
_BRACKETS = r"\s*(?:\[[^\[\]\n]{0,80}\]\s*)*"

_PROCESS = re.compile(r"\[process=(\d{1,6})\]")

# (run_maxtext_train pid=78967, ip=10.130.0.11)
_RAY = re.compile(r"\((?:[\w.:-]+ )?pid=(?P<pid>\d+)(?:, ip=(?P<ip>[\w.:]+))?\)[ \t]*\Z")

# [pod/mt-04-int8-wddlh-slice-job-0-3-abcde/jax-tpu]
_POD = re.compile(r"\[pod/(?P<name>[\w.-]+)(?:/[\w.-]+)?\]:?[ \t]*\Z")

# [resource.labels.podName: mt-04-int8-wddlh-slice-job-0-3-abcde]
_LOGS_EXPLORER = re.compile(r"\[resource\.labels\.(?P<label>\w+): (?P<value>[\w.-]+)\][ \t]*\Z")

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

_LABELS_BY_LAST_CHARACTER = {
    ")": (_RAY,),
    "]": (_LOGS_EXPLORER, _POD, _TORCHRUN),
    "|": (_COMPOSE,),
    ":": (_POD, _JOURNAL, _TORCHRUN, _SLURM),
    "F": (_CRI,),
    "P": (_CRI,),
}
"""Labels by their last character that is no blank, so that few are tried in each place."""

_TRAILING_DATE = re.compile(rf"(?<!\d){RFC3339}:?[ \t]*\Z")

# mt-04-int8-wddlh-slice-job-0-3-abcde: host 3 of slice 0
_POD_INDEX = re.compile(r"-job-\d+-(\d+)(?:-\w{5})?\Z")


class LinePrefix(Struct, frozen=True, kw_only=True):
    """What the text in front of a message states; what it does not state is `None`, the host then "".

    `host` distinguishes the hosts of one log, and `thread` does where `host` is "". `process` is the index
    that the prefix states, `implied_process` the one that the host's name implies.
    """

    time: float | None = None
    host: str = ""
    thread: str = ""
    file: str | None = None
    line: int = 0
    process: int | None = None
    implied_process: int | None = None


class LeadPatterns(Struct, frozen=True):
    """The text between a prefix and a literal: patterns that end where the literal begins, with and
    without a glog stamp. `limit`: the most characters that `bare` covers."""

    stamped: re.Pattern[str]
    bare: re.Pattern[str]
    limit: int


def lead_patterns(lead: str, limit: int | None = None) -> LeadPatterns:
    """The patterns of a message that has `lead` (a regular expression) in front of its literal."""
    limit = (_LEAD_LENGTH if lead else 0) if limit is None else limit
    return LeadPatterns(re.compile(rf"{GLOG}{_BRACKETS}{lead}\Z"), re.compile(rf"{lead}\Z"), limit)


def read_prefix(before: str, lead: LeadPatterns, dates: DateResolver) -> LinePrefix:
    """The prefix at the end of `before`."""
    stamped = _last_stamp(before, lead.stamped)
    if stamped is not None:
        return _stamped_prefix(before, stamped, dates)
    found = lead.bare.search(before, max(0, len(before) - lead.limit))
    if found is None:
        return LinePrefix()
    host, implied, dated = _labels(before[: found.start()])
    if dated is not None:
        dates.see_date(dated)
    return LinePrefix(time=dated, host=host, implied_process=implied)


def _last_stamp(before: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """The stamp right in front of the message, if there is one."""
    start = before.rfind(":", 0, before.rfind("]") + 1) - _STAMP_LENGTH
    found = None
    for candidate in _STAMP_START.finditer(before, max(0, start)):
        found = pattern.match(before, candidate.start()) or found
    return found


def _stamped_prefix(before: str, found: re.Match[str], dates: DateResolver) -> LinePrefix:
    host, implied, dated = _labels(before[: found.start()])
    if dated is not None:
        dates.see_date(dated)
    process = _PROCESS.search(found[0]) if "[process=" in found[0] else None
    return LinePrefix(
        time=dates.resolve(found["month"], found["day"], found["clock"]),
        host=host,
        thread=found["thread"],
        file=found["file"],
        line=int(found["line"]),
        process=int(process[1]) if process else None,
        implied_process=implied,
    )


def _labels(rest: str) -> tuple[str, int | None, float | None]:
    """Host, process index that it implies, and date: read from right to left, in either order."""
    host, implied, dated = "", None, None
    for _ in range(3):
        if not rest or rest[-1] not in " ])\tZ:|0123456789":
            break
        if dated is None and (date := _TRAILING_DATE.search(rest, max(0, len(rest) - 48))):
            dated, rest = rfc3339_time(date), rest[: date.start()]
        elif label := _label(rest):
            start, name, index = label
            host = f"{name} {host}" if name and host else name or host  # Ray's worker, and its rank
            implied, rest = index if implied is None else implied, rest[:start]
        else:
            break
    return host, implied, dated


def _label(rest: str) -> tuple[int, str, int | None] | None:
    """Where the label at the end begins, the host that it names, the process index that the name implies."""
    for label in _LABELS_BY_LAST_CHARACTER.get(rest.rstrip(" \t")[-1:], ()):
        if found := label.search(rest):
            break
    else:
        return None
    if label is _RAY:
        return found.start(), f"{found['ip'] or ''}/{found['pid']}", None
    if label is _LOGS_EXPLORER:
        named = "pod" in found["label"].lower()
        return found.start(), found["value"] if named else "", _pod_index(found["value"])
    if label in {_TORCHRUN, _SLURM}:
        return found.start(), f"rank {int(found['rank'])}", int(found["rank"])
    return found.start(), found["name"], _pod_index(found["name"].partition(" ")[0])


def _pod_index(pod: str) -> int | None:
    found = _POD_INDEX.search(pod)
    return int(found[1]) if found else None


# time=2026-07-30T19:22:14.580032Z level=info msg="completed step: 3, ...
_LOGFMT = re.compile(
    rf'(?:[\w.]{{1,40}}=[^\s"]{{0,80}} )*?(?:time|ts|timestamp)="?{RFC3339}"?'
    r'(?: [\w.]{1,40}=(?:"[^"]{0,80}"|[^\s"]{0,80})){0,8} (?:msg|message)="[^"]{0,120}\Z'
)

_CSV_CELL = r'(?:"[^",]{0,80}"|[^",]{0,80})'

# 2026-07-30T19:22:14.580032Z,INFO,"completed step: 3, ...
_CSV_ROW = re.compile(rf'(?:{_CSV_CELL},){{0,4}}?"?{RFC3339}"?(?:,{_CSV_CELL}){{0,4}},"[^"]{{0,120}}\Z')

# 1qmzk2f8,"completed step: 3, ... loss: 9.100",2026-07-30T19:22:14.580032Z
_CSV_BEFORE = re.compile(rf'(?:{_CSV_CELL},){{0,8}}"[^"]{{0,120}}\Z')

_CSV_AFTER = re.compile(rf'[^"\n]{{0,1400}}"(?:,{_CSV_CELL}){{0,4}}?,"?{RFC3339}"?(?=[,\r\n]|\Z)')


def cell_time(front: str, text: str) -> float | None:
    """Unix seconds of a logfmt line or a CSV row, whose message continues from `front` into `text`.

    The date must be a cell of its own on the message's line: a date within a message is no time of the line.
    """
    line = front[max(front.rfind("\n"), front.rfind("\r")) + 1 :]
    found = _LOGFMT.match(line) or _CSV_ROW.match(line)
    if found is None and _CSV_BEFORE.match(line):
        found = _CSV_AFTER.match(text)
    return rfc3339_time(found) if found else None


ENTRY_BYTES = 8 * 1024
"""Bytes of an entry read behind its message: labels of JobSet and Kueue are long."""

# "message": "    "textPayload": "    "log": ", as Docker writes it
_ENTRY_MESSAGE = re.compile(r'"(?:message|textPayload|log)"\s*:\s*"[^"\n]{0,120}$')

# "timestamp": "2026-07-30T19:22:14.580075023Z"    "time": "2026-07-30T19:22:14.580075023Z", Docker's
_ENTRY_TIME = re.compile(rf'"time(?:stamp)?"\s*:\s*"{RFC3339}"')

# "pod_name": "ym-qw35-10-pathways-head-0-0-dsbgb"
_ENTRY_POD = re.compile(r'"pod_name"\s*:\s*"(?P<pod>[\w.-]+)"')

# "batch.kubernetes.io/job-completion-index": "3"
_ENTRY_INDEX = re.compile(r'job-completion-index"\s*:\s*"(?P<index>\d{1,5})"')

# "sourceLocation": {"file": "metric_logger.py", "line": "196"}
_ENTRY_FILE = re.compile(r'"file"\s*:\s*"(?:[^"]*/)?(?P<file>[\w.]+)"')

_ENTRY_LINE = re.compile(r'"line"\s*:\s*"?(?P<line>\d{1,7})"?')

# the next entry of an array, or the next line of one entry per line
_NEXT_ENTRY = re.compile(r'"insertId"|\n\s*\{"')


def cloud_logging_prefix(before: str, after: str) -> LinePrefix | None:
    """The prefix of a message in a Cloud Logging entry, or `None` where it is in no entry.

    Entries are read from an array printed over many lines, or one per line.
    """
    if not _ENTRY_MESSAGE.search(before[-200:]):
        return None
    entry = _own_entry(before, after)
    time, pod, index = _ENTRY_TIME.search(entry), _ENTRY_POD.search(entry), _ENTRY_INDEX.search(entry)
    file, line = _ENTRY_FILE.search(entry), _ENTRY_LINE.search(entry)
    return LinePrefix(
        time=rfc3339_time(time) if time else None,
        host=pod["pod"] if pod else "",
        file=file["file"] if file else None,
        line=int(line["line"]) if line else 0,
        implied_process=int(index["index"]) if index else None,
    )


def _own_entry(before: str, after: str) -> str:
    """The text of the entry: the part behind the message first, then the part in front of it."""
    end = _NEXT_ENTRY.search(after)
    own = after[: end.start()] if end else after
    start = max(before.rfind('"insertId"'), before.rfind("\n{"), before.rfind("\r{"))
    return own + "\n" + (before[start:] if start >= 0 else "")
