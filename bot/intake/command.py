"""Reads `/benchmark …` commands out of a comment.

In:  a comment's text; later the names of a suite's cases and variants.
Out: one `Command` for each line that is one, `Unclear` with the nearest valid spelling for one that is not
     understood; then the cases and variants it means.

Never raises, whatever people write. The grammar:

    /benchmark                                     the same as run
    /benchmark run [CASE…] [VARIANT]               no CASE: the whole suite; no VARIANT: all of them
    /benchmark rerun [CASE…|failed|all] [VARIANT]  nothing named: all
    /benchmark status
    /benchmark help

CASE is a name or a glob such as `03_*`. A command stands on its own line, indented by three spaces at most.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from fnmatch import fnmatchcase

from bot.intake.markdown import plain_lines

# /benchmark rerun 03_dropout nnx
_COMMAND = re.compile(r"^ {0,3}/benchmark(?:\s+(?P<words>.*))?$", re.IGNORECASE | re.DOTALL)

# 03_dropout   04_*   where `run` was left out
_LIKE_A_CASE = re.compile(r"[0-9_*?]")

# A comment of GitHub's full length could hold thousands: nobody means that, and answering costs.
MOST_COMMANDS = 10
MOST_WORDS = 100
LONGEST_WORD = 100


class Scope(StrEnum):
    """What a command speaks of: the cases it names, those that failed, or all of the suite."""

    NAMED = "named"
    FAILED = "failed"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Measure these cases unless they are measured already. `words` are cases, globs, then variants."""

    text: str
    scope: Scope
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """Measure these cases again. `words` are cases, globs, then variants; only variants unless NAMED."""

    text: str
    scope: Scope
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Say again how things stand."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    """Say which commands there are."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotOffered:
    """A command of the family that this installation does not carry out yet."""

    text: str
    verb: str

    @property
    def why(self) -> str:
        """One plain sentence for the person who asked."""
        return f"{self.verb} is not offered by this installation yet: {OFFERED} are."


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """A command that is not understood: one sentence why, and the nearest valid spelling.

    `text` and `why` hold what the person wrote, so both are untrusted.
    """

    text: str
    why: str
    nearest: str


Command = Run | Rerun | Status | Help | NotOffered


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The cases and variants that a command means, in the suite's order.

    Where `scope` is FAILED, only those of them that failed are meant.
    """

    scope: Scope
    cases: tuple[str, ...]
    variants: tuple[str, ...]


VERBS = ("run", "rerun", "status", "help")
VERBS_NOT_YET = ("cancel", "baseline", "approve", "ack", "plan")
OFFERED = "run, rerun, status and help"
USAGE = (
    "/benchmark run [CASE…] [VARIANT]",
    "/benchmark rerun [CASE…|failed|all] [VARIANT]",
    "/benchmark status",
    "/benchmark help",
)


def read_commands(body: str) -> tuple[Command | Unclear, ...]:
    """Read every command of a comment, in order; at most `MOST_COMMANDS`, then one `Unclear`."""
    found = [match for line in plain_lines(body) if (match := _COMMAND.match(line))]
    commands = [_read_command(match["words"] or "") for match in found[:MOST_COMMANDS]]
    if len(found) > MOST_COMMANDS:
        text, *_ = _words(found[MOST_COMMANDS]["words"] or "")
        why = f"one comment may hold {MOST_COMMANDS} commands: this one and those after it are left out."
        commands.append(Unclear(text=text, why=why, nearest="/benchmark run"))
    return tuple(commands)


def resolve(command: Run | Rerun, cases: Sequence[str], variants: Sequence[str]) -> Resolved | Unclear:
    """Say which cases and variants of a suite a command means."""
    named, chosen = _split_variants(command.words, cases, variants)
    if named and command.scope is not Scope.NAMED:
        return _miss(command, named[0], variants, "variant")
    meant: set[str] = set()
    for word in named:
        matched = {word} & set(cases) or {case for case in cases if fnmatchcase(case, word)}
        if not matched:
            return _miss(command, word, (*cases, *variants), "case or variant" if variants else "case")
        meant |= matched
    return Resolved(
        scope=command.scope if named or command.scope is not Scope.NAMED else Scope.ALL,
        cases=tuple(case for case in cases if not named or case in meant),
        variants=tuple(variant for variant in variants if not chosen or variant in chosen),
    )


def _words(rest: str) -> tuple[str, ...]:
    """The command as it is repeated to people, then its words; backticks around a word are dropped."""
    words = rest.replace("`", " ").split()
    shown = " ".join(word[:LONGEST_WORD] for word in words[:MOST_WORDS])
    return (f"/benchmark {shown}".rstrip(), *words)


def _read_command(rest: str) -> Command | Unclear:
    text, *words = _words(rest)
    if len(words) > MOST_WORDS or any(len(word) > LONGEST_WORD for word in words):
        why = f"a command may have {MOST_WORDS} words of {LONGEST_WORD} letters."
        return Unclear(text=text, why=why, nearest="/benchmark help")
    verb, *after = words or ["run"]
    match verb.lower():
        case "run":
            return Run(text=text, scope=Scope.NAMED if after else Scope.ALL, words=tuple(after))
        case "rerun":
            return _read_rerun(text, after)
        case "status" | "help":
            return _read_plain(text, verb.lower(), after)
        case _:
            return _read_other(text, verb, after)


def _read_plain(text: str, verb: str, after: list[str]) -> Status | Help | Unclear:
    if verb == "help":
        return Help(text=text)
    if after:
        return Unclear(text=text, why="status takes no words after it.", nearest="/benchmark status")
    return Status(text=text)


def _read_rerun(text: str, words: list[str]) -> Rerun | Unclear:
    if not words:
        return Rerun(text=text, scope=Scope.ALL)
    first, *after = words
    if first.lower() in {Scope.FAILED, Scope.ALL}:
        return Rerun(text=text, scope=Scope(first.lower()), words=tuple(after))
    for word in after:
        if word.lower() in {Scope.FAILED, Scope.ALL}:
            why = f"{word} and names of cases do not go together."
            return Unclear(text=text, why=why, nearest=f"/benchmark rerun {word.lower()}")
    return Rerun(text=text, scope=Scope.NAMED, words=tuple(words))


def _read_other(text: str, verb: str, after: list[str]) -> NotOffered | Unclear:
    if verb.lower() in VERBS_NOT_YET:
        return NotOffered(text=text, verb=verb.lower())
    close = get_close_matches(verb.lower(), VERBS + VERBS_NOT_YET, n=1)
    if close and close[0] in {"run", "rerun"}:
        nearest = " ".join(["/benchmark", close[0], *after])
    elif close and close[0] in VERBS:
        nearest = f"/benchmark {close[0]}"
    elif _LIKE_A_CASE.search(verb):
        nearest = " ".join(["/benchmark run", verb, *after])
    else:
        nearest = "/benchmark help"
    return Unclear(text=text, why=f"{verb} is not a command: {OFFERED} are.", nearest=nearest)


def _split_variants(
    words: tuple[str, ...], cases: Sequence[str], variants: Sequence[str]
) -> tuple[tuple[str, ...], set[str]]:
    """The words that are cases, and the variants; a name of both is a variant only where it comes last."""
    last = len(words) - 1
    chosen = {
        at for at, word in enumerate(words) if word in variants and (word not in cases or 0 < at == last)
    }
    return tuple(word for at, word in enumerate(words) if at not in chosen), {words[at] for at in chosen}


def _miss(command: Run | Rerun, word: str, names: Sequence[str], what: str) -> Unclear:
    nearest = _nearest(word, names)
    why = f"{word} is no {what} of this suite" + (f"; the nearest is {nearest}." if nearest else ".")
    words = command.text.split()
    spelling = [nearest if one == word else one for one in words] if nearest else words[:2]
    return Unclear(text=command.text, why=why, nearest=" ".join(spelling))


def _nearest(word: str, names: Sequence[str]) -> str | None:
    """The name that people most likely meant: one that holds the word, else the one spelt most alike."""
    bare = word.lower().strip("*?")
    holding = sorted(
        (name for name in names if bare and bare in name.lower()), key=lambda name: (len(name), name)
    )
    if holding:
        return holding[0]
    lowered = {name.lower(): name for name in reversed(names)}
    close = get_close_matches(bare, lowered, n=1, cutoff=0.0)
    return lowered[close[0]] if close else None
