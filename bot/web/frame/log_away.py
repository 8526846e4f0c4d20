"""Opens the log of a run, or says why there is none to be had.

In:  a run's record. Out: a `LogSource`; `LogAway` where the log cannot be shown.
"""

from bot.errors import Broken, Told
from bot.report.redact import redacted
from bot.runs.records import RunRecord
from bot.web.log.gzipped import Damaged
from bot.web.log.source import Logs, LogSource


class LogAway(Exception):
    """A log cannot be shown: with which status, what is the matter, and what to do."""

    def __init__(self, status: int, what: str, why: str) -> None:
        super().__init__(what)
        self.status = status
        self.what = what
        self.why = why


def log_away(problem: Told | Broken, address: str) -> LogAway:
    """What is said of a log that its store does not give; the store's address is not for strangers."""
    cause = problem.__cause__
    if isinstance(problem, Damaged):
        return LogAway(
            404,
            str(problem),
            "What was measured from it stays. The run's raw log holds everything that can be read of it.",
        )
    if isinstance(cause, FileNotFoundError | NotADirectoryError) or getattr(cause, "code", None) == 404:
        return LogAway(
            404,
            "This log is gone",
            "It is no longer where it was found: moved, deleted, or removed by the bucket's own rules. "
            "What was measured from it stays; to have a log again, run the case again.",
        )
    said = redacted(str(problem).replace(address, "the log"))
    return LogAway(
        503,
        "The place where this log is kept cannot be read right now",
        f"{said}. What was measured from it stays. Try again in a minute; if it lasts, "
        "tell who operates MaxView.",
    )


def open_run_log(logs: Logs, record: RunRecord) -> LogSource:
    """The log of a run; `LogAway` where there is none to be had."""
    if not record.log_uri:
        raise LogAway(404, "This run has no log yet", "It appears here when the run has written one.")
    try:
        return logs.open(record.log_uri)
    except (Told, Broken) as problem:
        raise log_away(problem, record.log_uri) from problem
