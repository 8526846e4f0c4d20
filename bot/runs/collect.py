"""Find the runs of a branch in a store, and read each of them once.

In:  a `RunStore`, a checked pattern, and the names to look for.
Out: `FoundRun`s; and for one of them a `Collected`: the record to keep, and what was measured of its log.

The calls block: callers run them in a thread. Listings never descend below the pattern's own depth.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bot.logs.read import LogReader
from bot.runs.commit_of_run import commit_of, names_to_look_for
from bot.runs.pattern import RunPattern, group_runs
from bot.runs.records import FoundRun, RunFile, RunRecord
from bot.storage.artifacts import RunStore
from bot.storage.line_index import WORTH_KEEPING, IndexShelf, LineCounter, identity
from bot.storage.pieces import GZIP_MAGIC
from bot.verdict.judgement import MeasuredRun
from bot.verdict.measure import measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What to look for: a branch's slug, or the commits where the pattern names no branch; `since` is the
    earliest start (Unix seconds) worth listing."""

    slug: str
    shas: tuple[str, ...]
    variants: tuple[str, ...]
    cases: tuple[str, ...]
    since: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """One run, read: the record to keep, and what was measured of it."""

    record: RunRecord
    measured: MeasuredRun


def find_runs(store: RunStore, pattern: RunPattern, sought: Sought) -> tuple[FoundRun, ...]:
    """The runs of one branch, newest first, by as few listings as the pattern allows."""
    files: dict[str, RunFile] = {}
    for glob, start in _listings(pattern, sought):
        files |= {file.name: file for file in store.find(glob, start_offset=start)}
    return group_runs(
        files.values(), pattern, slugs=(sought.slug,), variants=sought.variants, cases=sought.cases
    )


def run_id(store: RunStore, repository: str, found: FoundRun) -> str:
    """The same id whenever this run is found again: 16 hexadecimal digits."""
    text = "\n".join((repository, store.uri(found.folder), found.case, found.variant))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def generation(found: FoundRun) -> str:
    """Changes whenever the content of any of the run's logs does."""
    text = "\n".join(f"{file.name} {file.generation}" for file in found.files)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Manifests:
    """What the small files beside runs record; each is asked for once, since many runs share a folder."""

    store: RunStore
    _known: dict[str, str | None] = field(default_factory=dict)

    def commit(self, folder: str) -> str | None:
        """The commit that a manifest in a run's folder, or in the one above, records."""
        for name in names_to_look_for(folder):
            if name not in self._known:
                content = self.store.read_small(name)
                text = None if content is None else content.decode("utf-8", "replace")
                self._known[name] = None if text is None else commit_of(name, text)
            if sha := self._known[name]:
                return sha
        return None


def read_run(
    store: RunStore,
    repository: str,
    found: FoundRun,
    manifests: Manifests,
    *,
    first_name: str | None = None,
    shelf: IndexShelf | None = None,
) -> Collected:
    """Read and measure a run's log: process 0's where there are several, else the fullest. Its id is made of
    the name by which the repository was first known. Where the lines of a large log stand goes to `shelf`."""
    file, measured = _measured_log(store, found.files, shelf or IndexShelf())
    claimed = measured.log.environment.commit
    record = RunRecord(
        id=run_id(store, first_name or repository, found),
        repository=repository,
        case=found.case,
        variant=found.variant,
        branch=found.slug,
        sha=found.sha or manifests.commit(found.folder) or claimed,
        started=found.started or started(measured) or file.updated,
        log_uri=store.uri(file.name),
        generation=generation(found),
    )
    return Collected(record=record, measured=measured)


def read_log_file(store: RunStore, file: RunFile, shelf: IndexShelf | None = None) -> MeasuredRun:
    """Read one log to its end and measure the last run in it, in constant memory; its lines are counted on
    the way, so that the log page need not."""
    reader, lines = LogReader(store.uri(file.name)), LineCounter()
    counts = shelf is not None and file.size >= WORTH_KEEPING
    with store.open(file.name, file.generation) as chunks:
        for number, chunk in enumerate(chunks):
            reader.feed(chunk)
            # The lines of a gzip are those of its text, which passes inside the reader.
            counts = counts and not (number == 0 and chunk.startswith(GZIP_MAGIC))
            if counts:
                lines.feed(chunk)
    if shelf is not None and counts:
        shelf.keep(identity(store.uri(file.name), file.generation), lines.index())
    return measure(reader.close()[-1])


def _listings(pattern: RunPattern, sought: Sought) -> list[tuple[str, str | None]]:
    """Globs, each with the name to begin at: one per variant, so that every prefix is as long as can be."""
    variants: Sequence[str | None] = sought.variants if "variant" in pattern.placeholders else (None,)
    shas: Sequence[str | None] = (None,)
    if "slug" not in pattern.placeholders and "sha" in pattern.placeholders:
        shas = sought.shas
    begun = datetime.fromtimestamp(sought.since, UTC).strftime("%Y%m%d") if sought.since else None
    return [
        (
            pattern.glob(slug=sought.slug, variant=variant, sha=sha),
            pattern.start_offset(date_from=begun, slug=sought.slug, variant=variant) if begun else None,
        )
        for variant in variants
        for sha in shas
    ]


def _measured_log(
    store: RunStore, files: Collection[RunFile], shelf: IndexShelf
) -> tuple[RunFile, MeasuredRun]:
    read: list[tuple[RunFile, MeasuredRun]] = []
    for file in files:
        read.append((file, read_log_file(store, file, shelf)))
        if read[-1][1].log.environment.process == 0:
            return read[-1]
    return max(read, key=lambda one: len(one[1].log.steps))


def started(measured: MeasuredRun) -> float | None:
    """When the run began, where its log says so with a year."""
    if not measured.log.dated:
        return None
    times = [mark.time for mark in measured.log.marks] + [step.time for step in measured.log.steps[:1]]
    return min((time for time in times if time is not None), default=None)
