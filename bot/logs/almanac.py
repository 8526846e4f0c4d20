"""Gives the lines of a log their time, although most of them carry no year.

In:  month, day and time of day of each line; whole dates where a line has one.
Out: Unix seconds UTC, or seconds on a calendar without years (below `UNDATED`) while no year is known.

A change from December to January is a new year. Lines are taken in the order of the log.
"""

import re
from datetime import UTC, datetime, timedelta

DAY = 86400.0
UNDATED = 3e8
"""Times below this count from the January before the first line: no log lasts nine years."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BEFORE = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)  # days before each month of a leap year
_HALF = 6  # months: a step back of more is the next year, a step on of more the last one

# Tue Apr 21 10:16:19 UTC 2026
# Tue Apr 21 10:16:19 AM UTC 2026
_UNIX_DATE = re.compile(
    r"[A-Z][a-z]{2} +(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<clock>\d\d?:\d\d:\d\d)"
    r"(?: (?P<half>[AP]M))? (?:[A-Z]{2,5}|[+-]\d{2,4}) (?P<year>\d{4})"
)
# Tue 21 Apr 2026 10:16:19 AM UTC
_DAY_FIRST = re.compile(
    r"[A-Z][a-z]{2},? +(?P<day>\d{1,2}) (?P<month>[A-Z][a-z]{2}) (?P<year>\d{4}) (?P<clock>\d\d?:\d\d:\d\d)"
    r"(?: (?P<half>[AP]M))?"
)
# 2026-07-30T19:22:14.580032463Z    2026-04-18 00:54:48.104797    2026-07-30T19:22:14+02:00
RFC = (
    r"(?P<year>\d{4})-(?P<mm>\d\d)-(?P<dd>\d\d)[T ](?P<clock>\d\d:\d\d:\d\d)(?:[.,](?P<part>\d{1,9}))?"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_RFC = re.compile(RFC)


def written_date(text: str) -> float | None:
    """Unix seconds of a date as the program `date` writes it, at the start of `text`; its zone is taken as
    UTC, because the stamps of the lines between are in the same zone."""
    if found := _UNIX_DATE.match(text) or _DAY_FIRST.match(text):
        month = found["month"]
        if month not in _MONTHS:
            return None
        midnight = _unix(int(found["year"]), _MONTHS.index(month) + 1, int(found["day"]))
        return None if midnight is None else midnight + _clock(found["clock"], found["half"])
    if found := _RFC.match(text):
        return rfc_time(found)
    return None


def rfc_time(found: re.Match[str]) -> float | None:
    """Unix seconds of a match of `RFC`; without a zone it is taken as UTC."""
    midnight = _unix(int(found["year"]), int(found["mm"]), int(found["dd"]))
    if midnight is None:
        return None
    whole = midnight + _clock(found["clock"], None)
    zone = found["zone"] or "Z"
    if zone != "Z":
        ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:])).total_seconds()
        whole -= ahead if zone[0] == "+" else -ahead
    return whole + float(f"0.{found['part'] or 0}")


def _clock(text: str, half: str | None) -> float:
    """Seconds since midnight of `10:16:19`, in a half of the day if one is named."""
    hour, minute, second = map(int, text.split(":"))
    if half is not None:
        hour = hour % 12 + 12 * (half == "PM")
    return hour * 3600.0 + minute * 60.0 + second


def _unix(year: int, month: int, day: int) -> float | None:
    """Unix seconds of a midnight, or `None` where there is no such day."""
    try:
        return datetime(year, month, day, tzinfo=UTC).timestamp()
    except ValueError:
        return None


def in_year(time: float, year: int) -> float:
    """A time of the calendar without years, now that its year is known."""
    if time >= UNDATED:
        return time
    days, rest = divmod(time, DAY)
    later, day = divmod(int(days), 366)
    month = max(n for n in range(12) if _BEFORE[n] <= day)
    midnight = _unix(year + later, month + 1, 1)
    return time if midnight is None else midnight + (day - _BEFORE[month]) * DAY + rest


class Almanac:
    """The calendar of one log."""

    def __init__(self) -> None:
        self._later = 0
        self._month = 0
        self._year: int | None = None
        self._midnights: dict[tuple[int, str, str], float] = {}
        self.first_year: int | None = None  # of the lines that had no year when they were read
        self.turns = 0  # while it stays the same, a day and a clock have one time

    def anchor(self, time: float) -> None:
        """A line with a whole date: the lines after it are of that year."""
        if time < UNDATED:
            return
        moment = datetime.fromtimestamp(time, UTC)
        if self.first_year is None:
            self.first_year = moment.year - self._later - (self._month > moment.month + _HALF)
            self.turns += 1
        if self._year == moment.year - self._later and self._month == moment.month:
            return
        self._year, self._later, self._month = moment.year, 0, moment.month
        self.turns += 1

    def place(self, month: str, day: str, clock: str) -> float | None:
        """The time of a line stamped `0421 10:17:39.824857`, or `None` where that is no date."""
        number, later = int(month), self._later
        if self._month and number < self._month - _HALF:
            self._later = later = later + 1
            self._month = number
            self.turns += 1
        elif self._month and number > self._month + _HALF:
            later -= 1
        elif number != self._month:
            self._month = number
            self.turns += 1
        midnight = self._midnight(later, month, day)
        if midnight is None:
            return None
        return midnight + int(clock[:2]) * 3600 + int(clock[3:5]) * 60 + float(clock[6:])

    def _midnight(self, later: int, month: str, day: str) -> float | None:
        year = self._year
        key = ((year or 0) + later, month, day)
        if (known := self._midnights.get(key)) is not None:
            return known
        if year is None:
            valid = 1 <= int(month) <= 12 and 1 <= int(day) <= 31 and 0 <= later < 9
            found = (366 * later + _BEFORE[int(month) - 1] + int(day) - 1) * DAY if valid else None
        else:
            found = _unix(year + later, int(month), int(day))
        if found is not None and len(self._midnights) < 4096:
            self._midnights[key] = found
        return found
