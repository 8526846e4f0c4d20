"""Open the stored log of a run, in the form that its reader may see.

In a private repository readers see the text; everybody else sees its redacted form, which alone is opened
for them. Calls block: callers run them in a thread. A log that cannot be shown is `LogUnavailable`.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from bot.artifacts.log_archive import ArchiveCache, DamagedArchive, LogArchive
from bot.artifacts.store import ArtifactStore
from bot.domain.run import RunRecord
from bot.errors import InternalError, UserError
from bot.redaction.redact import redact
from bot.storage import kept_logs
from bot.storage.database import Database
from bot.storage.kept_logs import Absence, KeptLog

PREPARATION_SECONDS = 5.0
"""How long a page waits for a form that is being made: a log of some 100 MB."""

POLL_SECONDS = 0.1

GONE = "This log is gone"

GONE_WHY = (
    "It is no longer where it was found: moved, deleted, or removed by the bucket's own rules. "
    "What was measured from it stays; to have a log again, run the case again."
)


REFUSED = "This server may not read this log"

REFUSED_WHY = (
    "Its operator's policy does not grant the repository the place where it was found. What was "
    "measured from it stays; ask the operator."
)


class LogUnavailable(Exception):
    """A log cannot be shown: HTTP status, what is the matter, and what to do."""

    def __init__(self, status: int, what: str, why: str) -> None:
        super().__init__(what)
        self.status = status
        self.what = what
        self.why = why


class Logs:
    """The stored logs. `prepare` makes what is missing of a run's log; without it, the worker is asked to."""

    def __init__(
        self,
        database: Database,
        artifacts: ArtifactStore,
        prepare: Callable[[str], None] | None = None,
        *,
        patience: float = PREPARATION_SECONDS,
    ) -> None:
        self._database = database
        self._archives = ArchiveCache(artifacts)
        self._prepare = prepare
        self._patience = patience

    def open(self, record: RunRecord, *, redacted: bool) -> LogArchive:
        """The log of a run, redacted or as it is; raises `LogUnavailable` if it cannot be shown."""
        if not record.log_uri:
            raise LogUnavailable(
                404, "This run has no log yet", "It appears here when the run has written one."
            )
        with reading_logs(record):
            name = self._form(record.id, redacted=redacted) or self._prepared(record, redacted=redacted)
            try:
                return self._archives.open(name)
            except DamagedArchive:
                self._archives.forget(name)
                raise

    def _form(self, run: str, *, redacted: bool) -> str | None:
        """The name of the stored form; None if there is none."""
        log = self._database.read_here(kept_logs.find, run)
        return _name(log, redacted=redacted)

    def _prepared(self, record: RunRecord, *, redacted: bool) -> str:
        """The name of the form once it is made."""
        if self._prepare is None:
            self._database.write_now(kept_logs.request, record.id)
        else:
            self._prepare(record.id)
        until = time.monotonic() + self._patience
        while True:
            log = self._database.read_here(kept_logs.find, record.id)
            if (name := _name(log, redacted=redacted)) is not None:
                return name
            if log is not None and log.absence is not None:
                raise _no_text(log, record)
            if time.monotonic() > until:
                raise LogUnavailable(
                    503,
                    "This log is being prepared",
                    "Before a log is shown its text is stored and secrets are taken out of it. "
                    "Try again in a minute.",
                )
            time.sleep(POLL_SECONDS)


def _name(log: KeptLog | None, *, redacted: bool) -> str | None:
    return None if log is None else log.redacted if redacted else log.text


def _no_text(log: KeptLog, record: RunRecord) -> LogUnavailable:
    """Why there is no text of a log; of a place that may not be read nothing is said."""
    match log.absence:
        case Absence.GONE:
            return LogUnavailable(404, GONE, GONE_WHY)
        case Absence.REFUSED:
            return LogUnavailable(404, REFUSED, REFUSED_WHY)
        case _:
            return _cannot_be_read(log.problem or "", (record,))


@contextmanager
def reading_logs(*records: RunRecord) -> Iterator[None]:
    """Translate failures of reading these runs' logs to `LogUnavailable`."""
    try:
        yield
    except (UserError, InternalError) as problem:
        cause = problem.__cause__
        if isinstance(cause, FileNotFoundError | NotADirectoryError) or getattr(cause, "code", None) == 404:
            raise LogUnavailable(404, GONE, GONE_WHY) from problem
        raise _cannot_be_read(str(problem), records) from problem


def _cannot_be_read(text: str, records: Sequence[RunRecord]) -> LogUnavailable:
    for record in records:
        text = text.replace(record.log_uri, "the log") if record.log_uri else text
    return LogUnavailable(
        503,
        "The place where this log is kept cannot be read right now",
        f"{redact(text)}. What was measured from it stays. Try again in a minute; if it lasts, "
        "tell who operates MaxView.",
    )
