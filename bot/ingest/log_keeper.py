"""Make the forms in which logs are stored: the text of older runs, redacted forms, and room.

A log's text is stored when it is first read. What is made here is made from it, or for runs of older
versions from the place where their log lies, as long as it does. Each piece of work may be repeated: a form
has a name derived from what it is made of, and is there as a whole or not at all. The calls block.
"""

import logging
from collections.abc import Callable
from urllib.parse import unquote

from msgspec import Struct, field
from msgspec.structs import replace

from bot.artifacts.log_archive import ARCHIVE_SUFFIX, ArchiveCache
from bot.artifacts.sources import split_address
from bot.artifacts.store import AddressGuard, ArtifactStore
from bot.domain.run import RunRecord
from bot.errors import InternalError, NotFound, NotGranted, UserError
from bot.ingest.read_log import read_log, redact_archive, redacted_name, text_name
from bot.ingest.turns import Turns
from bot.redaction.rules import RULES_VERSION
from bot.storage import kept_logs, queue, runs
from bot.storage.database import Database
from bot.storage.kept_logs import FORMER_SECONDS, Absence, FormerLog, KeptLog
from bot.storage.queue import Claim
from bot.storage.tables import KEPT_LOG

REPEAT_SECONDS = 86_400.0
"""When a log that could not be read is tried again: somebody may have given a permission meanwhile."""

LEASE_SECONDS = 600.0
"""For what a caller makes at once: longer than any log takes."""

LOG = logging.getLogger(__name__)


def any_address(_record: RunRecord) -> AddressGuard | None:
    """Every run may be read where it lies."""
    return None


class Kept(Struct, frozen=True):
    """What became of a log, and when there is more to do."""

    log: KeptLog
    due: float | None


class LogKeeper(Struct, kw_only=True):
    """Makes what is missing of a log. `guard` says what may be opened for a run that lies elsewhere."""

    database: Database
    artifacts: ArtifactStore
    now: Callable[[], float]
    turns: Turns = field(default_factory=Turns)
    guard: Callable[[RunRecord], AddressGuard | None] = any_address
    owner: str = "log keeper"

    def work(self, log: KeptLog) -> Kept:
        """Store the text, make the redacted form if the repository is public, delete former forms."""
        record = self.database.read_here(runs.by_id, log.run)
        if record is None:
            return Kept(log, None)
        if log.text is None:
            try:
                log = self._with_text(log, record)
            except UserError as error:
                absence = _absence(error)
                again = None if absence is Absence.GONE else self.now() + REPEAT_SECONDS
                return Kept(replace(log, absence=absence, problem=error.text), again)
        if self._needs_redaction(log, record):
            log = self._redacted(log, record)
        return self._without_former(log)

    def prepare(self, run: str) -> None:
        """Do the work on one run's log now, unless somebody is at it."""
        self.database.write_now(kept_logs.request, run)
        claim = self.database.write_now(
            queue.claim_row, KEPT_LOG, key={"run": run}, owner=self.owner, now=self.now(), lease=LEASE_SECONDS
        )
        if claim is not None:
            kept = self.work(kept_logs.kept_log(claim.row))
            self.release(claim, kept)

    def release(self, claim: Claim, kept: Kept) -> None:
        """Write what became of a claimed row."""
        self.database.write_now(queue.release, claim, due=kept.due, values=kept_logs.values_of(kept.log))

    def _with_text(self, log: KeptLog, record: RunRecord) -> KeptLog:
        """Store the text of a run that was read by an older version. Our own copy of its log is not kept
        beside it."""
        if record.log_uri is None:
            raise NotFound("this run has no log")
        own = self.artifacts.uri("-").removesuffix("-")
        is_own = record.log_uri.startswith(own)
        store, name = split_address(record.log_uri, None if is_own else self.guard(record))
        own_name = (
            unquote(record.log_uri.removeprefix(own))
            if record.log_uri.startswith("file:")
            else (record.log_uri.removeprefix(own))
        )
        if is_own and name.endswith(ARCHIVE_SUFFIX):
            return replace(log, text=own_name, absence=None, problem=None)
        kept = text_name(record.id, record.generation or f"attempt-{record.attempt}")
        with store.open(name) as chunks:
            read = read_log(chunks, record.log_uri, self.turns.of(record.repository))
        read.text.keep(self.artifacts, kept)
        former = log.former
        if is_own:
            former = (*former, FormerLog(own_name, self.now()))
            self.database.write_now(kept_logs.move_log, record.id, self.artifacts.uri(kept))
        return replace(log, text=kept, absence=None, problem=None, former=former)

    def _needs_redaction(self, log: KeptLog, record: RunRecord) -> bool:
        if log.redacted is not None and log.rules == RULES_VERSION:
            return False
        return log.redacted is not None or self.database.read_here(kept_logs.is_public, record.repository)

    def _redacted(self, log: KeptLog, record: RunRecord) -> KeptLog:
        if log.text is None:
            raise InternalError(f"run {log.run}: a log without text has no redacted form")
        archive = ArchiveCache(self.artifacts).open(log.text)
        name = redacted_name(log.text)
        redact_archive(archive, self.turns.of(record.repository)).keep(self.artifacts, name)
        former = log.former
        if log.redacted not in (None, name):
            former = (*former, FormerLog(log.redacted or "", self.now()))
        return replace(log, redacted=name, rules=RULES_VERSION, former=former)

    def _without_former(self, log: KeptLog) -> Kept:
        """Delete the forms that nobody can be reading any more."""
        used, now = {log.text, log.redacted}, self.now()
        for one in log.former:
            if one.since + FORMER_SECONDS <= now and one.name not in used:
                self.artifacts.delete(one.name)
        left = tuple(one for one in log.former if one.since + FORMER_SECONDS > now and one.name not in used)
        due = min((one.since + FORMER_SECONDS for one in left), default=None)
        return Kept(replace(log, former=left), due)


def _absence(error: UserError) -> Absence:
    """What the failure to read a log where it was found means."""
    cause = error.__cause__
    missing = isinstance(error, NotFound) or isinstance(cause, FileNotFoundError | NotADirectoryError)
    if missing or getattr(cause, "code", None) == 404:
        return Absence.GONE
    return Absence.REFUSED if isinstance(error, NotGranted) else Absence.UNREADABLE
