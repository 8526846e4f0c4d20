"""Which case, variant and branch a log belongs to, read from its path alone.

A `RunPattern` is a checked `runs.pattern` of the configuration. It makes globs that find log files, and
reads the facts out of one path. A slug is never inverted (`feat/x` and `feat-x` have the same slug):
paths are compared with what known branches, variants and cases give, so `main` never matches a run of
`main_v2`.
"""

import difflib
import re
from collections.abc import Callable, Collection
from datetime import UTC, datetime

from msgspec import Struct

from bot.domain.commit import MIN_SHA_LENGTH

PLACEHOLDERS = ("variant", "slug", "date", "time", "case", "sha")

# {variant}_ckpt_xpk_{slug}_{date}_{time}/{variant}_xpk_{slug}_{date}_{time}_{case}/*.log
_PLACEHOLDER = re.compile(r"\{(?P<name>[^{}]*)\}")

# One level of a pattern: text, placeholders and single stars; not empty, `.` or `..`.
_UNIT = rf"(?:[^{{}}/*?\[\]\\\x00-\x1f]|\{{(?:{'|'.join(PLACEHOLDERS)})\}})"

_LEVEL = rf"(?!\.\.?(?:/|$))(?:\*|\*?{_UNIT}(?:\*?{_UNIT})*\*?)"

# A whole pattern; part of the configuration's schema too.
PATTERN_REGEX = rf"{_LEVEL}(?:/{_LEVEL})*"

# The values of a log's path that are not compared with known ones.
_VALUE_REGEX = {
    "date": r"[0-9]{8}",
    "time": r"[0-9]{6}",
    "sha": rf"[0-9a-fA-F]{{{MIN_SHA_LENGTH},40}}",
}


class PathFacts(Struct, frozen=True, kw_only=True):
    """What a log's path says about its run. `started` is in Unix seconds, from date and time in UTC."""

    case: str
    variant: str
    slug: str | None = None
    started: float | None = None
    sha: str | None = None


PathReader = Callable[[str], PathFacts | None]


class RunPattern(Struct, frozen=True):
    """A checked `runs.pattern`. Raises ValueError saying what is wrong with the text, and where."""

    text: str

    def __post_init__(self) -> None:
        if (problem := _syntax_error(self.text)) is not None:
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
        """The glob of these runs' files; what is None, and date and time, match anything."""
        known = {"slug": slug, "variant": variant, "case": case}
        if sha is not None:
            known["sha"] = f"{sha[:MIN_SHA_LENGTH]}*"
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
        """The facts of a path, where it is a log of one of these branches, variants and cases."""
        return self.reader(slugs=slugs, variants=variants, cases=cases)(name)

    def reader(
        self, *, slugs: Collection[str], variants: Collection[str], cases: Collection[str]
    ) -> PathReader:
        """`read` for many names."""
        forms = _VALUE_REGEX | {"slug": _one_of(slugs), "variant": _one_of(variants), "case": _one_of(cases)}
        whole = re.compile(_path_regex(self.text, forms), re.DOTALL)
        only = {"variant": _only_value(variants), "case": _only_value(cases)}

        def read(name: str) -> PathFacts | None:
            match = whole.fullmatch(name)
            return _path_facts(only | match.groupdict()) if match else None

        return read


def _path_regex(text: str, forms: dict[str, str]) -> str:
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


def _only_value(known: Collection[str]) -> str | None:
    """The value of a placeholder that the pattern lacks: known only where there is a single one."""
    return next(iter(known)) if len(set(known)) == 1 else None


def _path_facts(values: dict[str, str | None]) -> PathFacts | None:
    case, variant, sha = values["case"], values["variant"], values.get("sha")
    if case is None or variant is None:
        return None
    return PathFacts(
        case=case,
        variant=variant,
        slug=values.get("slug"),
        started=_start_time(values.get("date"), values.get("time")),
        sha=sha.lower() if sha else None,
    )


def _start_time(date: str | None, time: str | None) -> float | None:
    if date is None:
        return None
    try:
        began = datetime.strptime(f"{date}{time or '000000'}", "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return began.timestamp()


def _syntax_error(text: str) -> str | None:
    for found in _PLACEHOLDER.finditer(text):
        if found["name"] not in PLACEHOLDERS:
            near = difflib.get_close_matches(found["name"], PLACEHOLDERS, n=1)
            hint = f"did you mean {{{near[0]}}}?" if near else f"there are {_placeholder_list()}"
            return f"unknown placeholder {found[0]}; {hint}"
    if re.search(r"[{}]", _PLACEHOLDER.sub("", text)):
        return "a brace without its partner; placeholders are written {case}"
    if "**" in text:
        return "** is not supported; * stands for anything within one level"
    if odd := re.search(r"[?\[\]\\\x00-\x1f]", text):
        return f"{odd[0]!r} is not supported; the only wildcard is *"
    if not re.fullmatch(PATTERN_REGEX, text):
        return "a level is empty, . or ..; write names separated by single slashes, relative to the source"
    return None


def _placeholder_list() -> str:
    return ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
