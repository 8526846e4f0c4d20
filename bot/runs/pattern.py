"""Which case, variant and branch a log belongs to, told from its name alone.

In:  the `runs.pattern` of the configuration, names of files, and the slugs, variants and cases to look for.
Out: globs that find the files, facts of one name, and runs.
Promises never to invert a slug (`feat/x` and `feat-x` have one slug): names are compared with what was
computed from known branches, variants and cases, so that `main` never takes a run of `main_v2`.
"""

import difflib
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.runs.records import FoundRun, RunFile

PLACEHOLDERS = ("variant", "slug", "date", "time", "case", "sha")

# {variant}_ckpt_xpk_{slug}_{date}_{time}/{variant}_xpk_{slug}_{date}_{time}_{case}/*.log
_PLACEHOLDER = re.compile(r"\{(?P<name>[^{}]*)\}")

# One level of a pattern: text, placeholders and single stars; not empty, `.` or `..`.
_UNIT = rf"(?:[^{{}}/*?\[\]\\\x00-\x1f]|\{{(?:{'|'.join(PLACEHOLDERS)})\}})"
_LEVEL = rf"(?!\.\.?(?:/|$))(?:\*|\*?{_UNIT}(?:\*?{_UNIT})*\*?)"

# What a whole pattern looks like; the configuration's schema carries it too.
PATTERN_FORM = rf"{_LEVEL}(?:/{_LEVEL})*"

# The fewest digits that may stand for a commit.
SHORTEST_SHA = 7

# What the values of a log's name look like where they are not compared with known ones.
_FORMS = {
    "date": r"[0-9]{8}",
    "time": r"[0-9]{6}",
    "sha": rf"[0-9a-fA-F]{{{SHORTEST_SHA},40}}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PathFacts:
    """What a file's name says about its run. `started` is in Unix seconds, from date and time in UTC."""

    case: str
    variant: str
    slug: str | None = None
    started: float | None = None
    sha: str | None = None


Reader = Callable[[str], PathFacts | None]


def slug(branch: str) -> str:
    """A branch as runs spell it: every stretch of other characters becomes one underscore, case is kept."""
    return re.sub(r"[^A-Za-z0-9]+", "_", branch)


@dataclass(frozen=True, slots=True)
class RunPattern:
    """A checked `runs.pattern`. Raises ValueError saying what is wrong with the text, and where."""

    text: str

    def __post_init__(self) -> None:
        if (problem := _problem(self.text)) is not None:
            raise ValueError(problem)

    @property
    def placeholders(self) -> frozenset[str]:
        """The names between braces."""
        return frozenset(match["name"] for match in _PLACEHOLDER.finditer(self.text))

    def glob(
        self,
        *,
        slug: str | None = None,
        variant: str | None = None,
        case: str | None = None,
        sha: str | None = None,
    ) -> str:
        """The glob of the files of these runs; what is None, and date and time, may be anything."""
        known = {"slug": slug, "variant": variant, "case": case}
        if sha is not None:
            known["sha"] = f"{sha[:SHORTEST_SHA]}*"
        filled = _PLACEHOLDER.sub(lambda found: known.get(found["name"]) or "*", self.text)
        return re.sub(r"\*+", "*", filled)

    def start_offset(
        self,
        *,
        date_from: str,
        slug: str | None = None,
        variant: str | None = None,
        case: str | None = None,
    ) -> str | None:
        """The name below which no run of `date_from` (YYYYMMDD) or later lies; None where the pattern does
        not begin with what is known, followed by the date."""
        before, date, _ = self.text.partition("{date}")
        known = {"slug": slug, "variant": variant, "case": case}
        filled = _PLACEHOLDER.sub(lambda found: known.get(found["name"]) or "*", before)
        return f"{filled}{date_from}" if date and "*" not in filled else None

    def read(
        self, name: str, *, slugs: Collection[str], variants: Collection[str], cases: Collection[str]
    ) -> PathFacts | None:
        """What `name` says, where it is a log of one of these branches, variants and cases."""
        return self.reader(slugs=slugs, variants=variants, cases=cases)(name)

    def reader(self, *, slugs: Collection[str], variants: Collection[str], cases: Collection[str]) -> Reader:
        """`read` for many names."""
        forms = _FORMS | {"slug": _one_of(slugs), "variant": _one_of(variants), "case": _one_of(cases)}
        whole = re.compile(_expression(self.text, forms), re.DOTALL)
        only = {"variant": _only(variants), "case": _only(cases)}

        def read(name: str) -> PathFacts | None:
            match = whole.fullmatch(name)
            return _facts(only | match.groupdict()) if match else None

        return read


def group_runs(
    files: Iterable[RunFile],
    pattern: RunPattern,
    *,
    slugs: Collection[str],
    variants: Collection[str],
    cases: Collection[str],
) -> tuple[FoundRun, ...]:
    """The runs these files belong to, newest first; the logs of several hosts in one folder are one run."""
    read = pattern.reader(slugs=slugs, variants=variants, cases=cases)
    together: dict[tuple[str, PathFacts], list[RunFile]] = {}
    for file in files:
        if (facts := read(file.name)) is not None:
            together.setdefault((file.name.rpartition("/")[0], facts), []).append(file)
    runs = [_found(folder, facts, logs) for (folder, facts), logs in together.items()]
    return tuple(sorted(runs, key=lambda run: (-(run.started or 0.0), run.folder, run.case, run.variant)))


def _found(folder: str, facts: PathFacts, logs: list[RunFile]) -> FoundRun:
    return FoundRun(
        folder=folder,
        files=tuple(sorted(logs, key=lambda log: log.name)),
        case=facts.case,
        variant=facts.variant,
        slug=facts.slug,
        started=facts.started,
        sha=facts.sha,
    )


def _expression(text: str, forms: dict[str, str]) -> str:
    written, end, seen = "", 0, set[str]()
    for found in re.finditer(r"\{(?P<name>[a-z]+)\}|\*", text):
        name = found["name"]
        written += re.escape(text[end : found.start()])
        if name is None:
            written += r"[^/]*"
        elif name in seen:
            written += f"(?P={name})"
        else:
            written += f"(?P<{name}>{forms[name]})"
            seen.add(name)
        end = found.end()
    return written + re.escape(text[end:])


def _one_of(known: Collection[str]) -> str:
    """Any of the known names, the longest first; nothing matches where none is known."""
    return "|".join(re.escape(name) for name in sorted(set(known), key=lambda n: (-len(n), n))) or r"(?!)"


def _only(known: Collection[str]) -> str | None:
    """The value of a placeholder that the pattern leaves out: clear only where there is one."""
    return next(iter(known)) if len(set(known)) == 1 else None


def _facts(values: dict[str, str | None]) -> PathFacts | None:
    case, variant, sha = values["case"], values["variant"], values.get("sha")
    if case is None or variant is None:
        return None
    return PathFacts(
        case=case,
        variant=variant,
        slug=values.get("slug"),
        started=_started(values.get("date"), values.get("time")),
        sha=sha.lower() if sha else None,
    )


def _started(date: str | None, time: str | None) -> float | None:
    if date is None:
        return None
    try:
        began = datetime.strptime(f"{date}{time or '000000'}", "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return began.timestamp()


def _problem(text: str) -> str | None:
    for found in _PLACEHOLDER.finditer(text):
        if found["name"] not in PLACEHOLDERS:
            near = difflib.get_close_matches(found["name"], PLACEHOLDERS, n=1)
            hint = f"did you mean {{{near[0]}}}?" if near else f"there are {_listed()}"
            return f"unknown placeholder {found[0]}; {hint}"
    if re.search(r"[{}]", _PLACEHOLDER.sub("", text)):
        return "a brace without its partner; placeholders are written {case}"
    if "**" in text:
        return "** is not supported; * stands for anything within one level"
    if odd := re.search(r"[?\[\]\\\x00-\x1f]", text):
        return f"{odd[0]!r} is not supported; the only wildcard is *"
    if not re.fullmatch(PATTERN_FORM, text):
        return "a level is empty, . or ..; write names separated by single slashes, relative to the source"
    return None


def _listed() -> str:
    return ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
