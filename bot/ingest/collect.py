"""Find the runs of a branch in a store, and read and measure each of them once.

The calls block: run them in a thread. Listings never descend below the pattern's own depth. A run's
commit comes from its path, from a manifest beside its log, or from the log. A tag, a branch or a dirty
tree names no commit.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime

from msgspec import Struct, field

from bot.artifacts.log_archive import ArchiveFile
from bot.artifacts.store import ArtifactStore
from bot.domain.commit import MIN_SHA_LENGTH
from bot.domain.run import FoundRun, LogFile, RunRecord
from bot.domain.run_pattern import PathFacts, RunPattern
from bot.errors import InternalError
from bot.ingest.read_log import ReadLog, read_log
from bot.ingest.turns import TurnTaker
from bot.verdict.judgement import MeasuredRun


class ImportQuery(Struct, frozen=True, kw_only=True):
    """The runs to look for: of a branch's slug, or of commits where the pattern has no branch. `since` is the
    earliest start (Unix seconds) to list."""

    slug: str
    shas: tuple[str, ...]
    variants: tuple[str, ...]
    cases: tuple[str, ...]
    since: float | None = None


class ImportedRun(Struct, frozen=True, kw_only=True):
    """A run that was read: its record, its measurement, and the text of the measured log, still in a
    temporary file."""

    record: RunRecord
    measured: MeasuredRun
    text: ArchiveFile


def find_runs(store: ArtifactStore, pattern: RunPattern, sought: ImportQuery) -> tuple[FoundRun, ...]:
    """The runs of one branch, newest first, with as few listings as the pattern allows."""
    files: dict[str, LogFile] = {}
    for glob, start in _listing_globs(pattern, sought):
        files |= {file.name: file for file in store.find(glob, start_offset=start)}
    return group_runs(
        files.values(), pattern, slugs=(sought.slug,), variants=sought.variants, cases=sought.cases
    )


def found_run_id(store: ArtifactStore, repository: str, found: FoundRun) -> str:
    """The run's id, the same whenever it is found again: 16 hexadecimal digits."""
    text = "\n".join((repository, store.uri(found.folder), found.case, found.variant))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def logs_generation(found: FoundRun) -> str:
    """A hash that changes whenever the content of any of the run's logs does."""
    text = "\n".join(f"{file.name} {file.generation}" for file in found.files)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class ManifestReader(Struct, frozen=True):
    """Reads the manifests beside runs, each once: many runs share a folder."""

    store: ArtifactStore
    _known: dict[str, str | None] = field(default_factory=dict)

    def commit(self, folder: str) -> str | None:
        """The commit by a manifest in the run's folder, or in the folder above."""
        for name in manifest_paths(folder):
            if name not in self._known:
                content = self.store.read_small(name)
                text = None if content is None else content.decode("utf-8", "replace")
                self._known[name] = None if text is None else manifest_commit(name, text)
            if sha := self._known[name]:
                return sha
        return None


def read_run(
    store: ArtifactStore,
    repository: str,
    found: FoundRun,
    manifests: ManifestReader,
    *,
    first_name: str | None = None,
    taker: TurnTaker | None = None,
) -> ImportedRun:
    """Read and measure a run's log: process 0's where there are several, else the one with most steps. The
    run's id is made of the repository's first known name."""
    file, read = _measured_log(store, found.files, taker)
    measured = read.measured
    claimed = measured.log.environment.commit
    record = RunRecord(
        id=found_run_id(store, first_name or repository, found),
        repository=repository,
        case=found.case,
        variant=found.variant,
        branch=found.slug,
        sha=found.sha or manifests.commit(found.folder) or claimed,
        started=found.started or log_start_time(measured) or file.updated,
        log_uri=store.uri(file.name),
        generation=logs_generation(found),
    )
    return ImportedRun(record=record, measured=measured, text=read.text)


def read_log_file(store: ArtifactStore, file: LogFile, taker: TurnTaker | None = None) -> ReadLog:
    """Read a log as far as it goes and measure the last run in it, in constant memory."""
    with store.open(file.name, file.generation) as chunks:
        return read_log(chunks, store.uri(file.name), taker)


def _listing_globs(pattern: RunPattern, sought: ImportQuery) -> list[tuple[str, str | None]]:
    """Globs, each with the name to start at: one per variant, so that each prefix is as long as possible."""
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
    store: ArtifactStore, files: Collection[LogFile], taker: TurnTaker | None
) -> tuple[LogFile, ReadLog]:
    best: tuple[LogFile, ReadLog] | None = None
    for file in files:
        read = read_log_file(store, file, taker)
        log = read.measured.log
        leads = log.environment.process == 0
        if best is None or leads or len(log.steps) > len(best[1].measured.log.steps):
            if best is not None:
                best[1].text.discard()
            best = file, read
        else:
            read.text.discard()
        if leads:
            break
    if best is None:
        raise InternalError("a run without logs was found")
    return best


def log_start_time(measured: MeasuredRun) -> float | None:
    """When the run began, where its log has dates with a year."""
    if not measured.log.dated:
        return None
    times = [mark.time for mark in measured.log.marks] + [step.time for step in measured.log.steps[:1]]
    return min((time for time in times if time is not None), default=None)


# Files that runners write, the most informative first.
MANIFEST_NAMES = ("manifest.txt", "summary.json", "meta.json")

COMMIT_KEY = "git_commit"

# git_commit: 574ad3fb9c1e
# git_commit=574ad3fb9c1e
_COMMIT_LINE = re.compile(rf"^[ \t]*{COMMIT_KEY}[ \t]*[:=][ \t]*(?P<value>[^\r\n]*)", re.MULTILINE)

_COMMIT_SHA = re.compile(rf"[0-9a-f]{{{MIN_SHA_LENGTH},64}}", re.IGNORECASE)


def manifest_paths(folder: str) -> tuple[str, ...]:
    """The paths of files that may record the commit: in the run's folder, then in its parent."""
    parent = folder.rpartition("/")[0]
    places = dict.fromkeys((folder, parent))
    return tuple(f"{place}/{name}" if place else name for place in places for name in MANIFEST_NAMES)


def manifest_commit(name: str, text: str) -> str | None:
    """The commit that the file `name` records, in lower case."""
    value = _value_from_json(text) if name.endswith(".json") else _value_from_lines(text)
    value = value.strip().strip("\"'")
    return value.lower() if _COMMIT_SHA.fullmatch(value) else None


def _value_from_lines(text: str) -> str:
    found = _COMMIT_LINE.search(text)
    return found["value"] if found else ""


def _value_from_json(text: str) -> str:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    value = document.get(COMMIT_KEY) if isinstance(document, dict) else None
    return value if isinstance(value, str) else ""


def group_runs(
    files: Iterable[LogFile],
    pattern: RunPattern,
    *,
    slugs: Collection[str],
    variants: Collection[str],
    cases: Collection[str],
) -> tuple[FoundRun, ...]:
    """The runs of these files, newest first; the logs of several hosts in one folder are one run."""
    read = pattern.reader(slugs=slugs, variants=variants, cases=cases)
    together: dict[tuple[str, PathFacts], list[LogFile]] = {}
    for file in files:
        if (facts := read(file.name)) is not None:
            together.setdefault((file.name.rpartition("/")[0], facts), []).append(file)
    runs = [_found_run(folder, facts, logs) for (folder, facts), logs in together.items()]
    return tuple(sorted(runs, key=lambda run: (-(run.started or 0.0), run.folder, run.case, run.variant)))


def _found_run(folder: str, facts: PathFacts, logs: list[LogFile]) -> FoundRun:
    return FoundRun(
        folder=folder,
        files=tuple(sorted(logs, key=lambda log: log.name)),
        case=facts.case,
        variant=facts.variant,
        slug=facts.slug,
        started=facts.started,
        sha=facts.sha,
    )
