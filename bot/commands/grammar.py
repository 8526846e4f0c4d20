"""Reads `/benchmark …` commands out of a comment.

    /benchmark                                       same as run
    /benchmark run [CASE…] [VARIANT] [--fresh]       no CASE: the whole suite; no VARIANT: all of them
    /benchmark rerun [CASE…|failed|all] [VARIANT]    nothing named: all; same as run --fresh
    /benchmark cancel [CASE…] [VARIANT]
    /benchmark status
    /benchmark plan
    /benchmark baseline [REF]                        no REF: the commit that the head is compared with
    /benchmark approve SHA                           the head commit, in full
    /benchmark ack CASE [VARIANT] reason="…"
    /benchmark rotate-links
    /benchmark help

CASE is a name or a glob such as `03_*`; `bot.commands.scope` says which cases it means. A command is on
its own line, indented by at most three spaces. Each such line gives one `Command`, or one `ParseError`
with the nearest valid spelling. Never raises, whatever people write.

Any Unicode space separates words. A quote opens at the beginning of a word or after `=`, so the one in
`don't` is a letter; inside quotes a backslash escapes a quote or backslash. Typographic quotes count
too: phones insert them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from enum import StrEnum
from typing import ClassVar

from msgspec import Struct

from bot.commands.prose import plain_lines
from bot.domain.command import CommandVerb


class Scope(StrEnum):
    """The cases that a command is about: those it names, those that failed, or the whole suite."""

    NAMED = "named"
    FAILED = "failed"
    ALL = "all"


class RunCommand(Struct, frozen=True, kw_only=True):
    """Measure these cases unless they are measured already. `words` are cases, globs, then variants."""

    verb: ClassVar = CommandVerb.RUN

    text: str
    scope: Scope
    words: tuple[str, ...] = ()


class RerunCommand(Struct, frozen=True, kw_only=True):
    """Measure these cases again. `words` are cases, globs, then variants; only variants unless NAMED."""

    verb: ClassVar = CommandVerb.RERUN

    text: str
    scope: Scope
    words: tuple[str, ...] = ()


class CancelCommand(Struct, frozen=True, kw_only=True):
    """Stop measuring these cases on this head. `words` are cases, globs, then variants."""

    verb: ClassVar = CommandVerb.CANCEL

    text: str
    scope: Scope
    words: tuple[str, ...] = ()


class StatusCommand(Struct, frozen=True, kw_only=True):
    """Show the current state again."""

    verb: ClassVar = CommandVerb.STATUS

    text: str


class PlanCommand(Struct, frozen=True, kw_only=True):
    """Show what would run, and what it would cost."""

    verb: ClassVar = CommandVerb.PLAN

    text: str


class BaselineCommand(Struct, frozen=True, kw_only=True):
    """Measure a commit of the base branch as the baseline; no `ref` means the merge base."""

    verb: ClassVar = CommandVerb.BASELINE

    text: str
    ref: str | None = None


class ApproveCommand(Struct, frozen=True, kw_only=True):
    """Allow the code of a fork's head to run; `sha` is the beginning of the head's SHA, in lower case."""

    verb: ClassVar = CommandVerb.APPROVE

    text: str
    sha: str


class AcknowledgeCommand(Struct, frozen=True, kw_only=True):
    """Accept these cases' verdicts, for this reason. `words` name at least one case."""

    verb: ClassVar = CommandVerb.ACKNOWLEDGE

    text: str
    words: tuple[str, ...]
    reason: str
    scope: Scope = Scope.NAMED


class RotateLinksCommand(Struct, frozen=True, kw_only=True):
    """Make every link of the repository's comments invalid, and write new ones."""

    verb: ClassVar = CommandVerb.ROTATE_LINKS

    text: str


class HelpCommand(Struct, frozen=True, kw_only=True):
    """List the commands."""

    verb: ClassVar = CommandVerb.HELP

    text: str


class ParseError(Struct, frozen=True, kw_only=True):
    """A command that is not understood: one sentence why, and the nearest valid spelling; its verb if that is
    clear.

    `text`, `why` and `nearest` hold what the person wrote, so all are untrusted.
    """

    text: str
    why: str
    nearest: str
    verb: CommandVerb | None = None


CaseCommand = RunCommand | RerunCommand | CancelCommand | AcknowledgeCommand

Command = (
    CaseCommand
    | StatusCommand
    | PlanCommand
    | BaselineCommand
    | ApproveCommand
    | RotateLinksCommand
    | HelpCommand
)

VERBS = tuple(CommandVerb)

# The closing quotes of each opening quote.
_CLOSING_QUOTES = {
    '"': '"',
    "'": "'",
    "“": '”“"',
    "”": '”"',
    "„": '“”"',
    "«": '»"',
    "‘": "’'",
    "’": "’'",
}

# Zero-width spaces and joiners, direction marks, a byte order mark.
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")

_ESCAPABLE = frozenset("\\\"'")


class SplitLine(Struct, frozen=True):
    """The words of a line. `closed` is false where its last quote never ends."""

    words: tuple[str, ...]
    closed: bool


class _WordScanner(Struct):
    rest: str
    at: int = 0
    closed: bool = True

    def words(self) -> Iterator[str]:
        while self.at < len(self.rest):
            if _is_separator(self.rest[self.at]):
                self.at += 1
            else:
                yield self._word()

    def _word(self) -> str:
        word = ""
        while self.at < len(self.rest) and not _is_separator(self.rest[self.at]):
            letter = self.rest[self.at]
            self.at += 1
            opens = letter in _CLOSING_QUOTES and (not word or word.endswith("="))
            word += self._quoted(_CLOSING_QUOTES[letter]) if opens else letter
        return word

    def _quoted(self, closers: str) -> str:
        inside = ""
        while self.at < len(self.rest):
            letter = self.rest[self.at]
            self.at += 1
            if letter in closers:
                return inside
            if letter == "\\" and self.rest[self.at : self.at + 1] in _ESCAPABLE:
                letter = self.rest[self.at]
                self.at += 1
            inside += letter
        self.closed = False
        return inside


def split_words(rest: str) -> SplitLine:
    """The words of `rest`, without the invisible characters that copying brings along."""
    scan = _WordScanner(_INVISIBLE.sub("", rest))
    words = tuple(word for word in scan.words() if word)
    return SplitLine(words, scan.closed)


def _is_separator(letter: str) -> bool:
    return letter.isspace() or letter == "`"


# 03_dropout   04_*   where `run` was left out
_LIKE_A_CASE = re.compile(r"[0-9_*?]")

_SHA = re.compile(r"[0-9a-f]{7,64}")

# main   release/1.2   v0.3   574ad3f
_REF = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_./-]*")

# --fresh, and what phones make of it:   —fresh
_DASHES = re.compile(r"^[-\u2010-\u2015\u2212]+(?=\w)")

_VERB_SIMILARITY = 0.65  # of 1: `hlep` is help, and `please` is not plan

FRESH_FLAG = "--fresh"

REASON_PREFIX = "reason="

# The names of these commands in other programs.
_SYNONYMS = {
    "abort": "cancel",
    "acknowledge": "ack",
    "base": "baseline",
    "commands": "help",
    "rotate": "rotate-links",
    "cost": "plan",
    "ok": "approve",
    "ok-to-test": "approve",
    "price": "plan",
    "retest": "rerun",
    "retry": "rerun",
    "start": "run",
    "stop": "cancel",
    "test": "run",
    "usage": "help",
}

_VerbReader = Callable[[str, list[str]], Command | ParseError]


def read_verb(text: str, words: Sequence[str]) -> Command | ParseError:
    """Read a command of at least one word."""
    verb, *after = words
    read = _READERS.get(verb.lower())
    return read(text, after) if read else _read_unknown_verb(text, verb, after)


def spell_command(words: Sequence[str]) -> str:
    """The command of these words."""
    return " ".join(["/benchmark", *words])


def quote_word(word: str) -> str:
    """A word with its value quoted: everything after `=`."""
    name, equals, value = word.partition("=")
    if not equals:
        return word
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{name}="{escaped}"'


def _read_run(text: str, words: list[str], verb: str = "run") -> RunCommand | RerunCommand | ParseError:
    named, flags = _split_flags(words)
    unknown = [flag for flag in flags if flag != FRESH_FLAG]
    if unknown:
        close = get_close_matches(unknown[0], [FRESH_FLAG], n=1) if verb == "run" else []
        why = f"{unknown[0]} is not known here: {FRESH_FLAG} is."
        return ParseError(text=text, why=why, nearest=spell_command([verb, *named, *close]))
    scope, cases = _read_scope(named)
    made = RerunCommand if flags else RunCommand
    return made(text=text, scope=scope, words=cases)


def _read_cancel(text: str, words: list[str]) -> CancelCommand | ParseError:
    named, flags = _split_flags(words)
    if flags:
        why = f"cancel knows no {flags[0]}."
        return ParseError(text=text, why=why, nearest=spell_command(["cancel", *named]))
    scope, cases = _read_scope(named)
    return CancelCommand(text=text, scope=scope, words=cases)


def _split_flags(words: list[str]) -> tuple[list[str], list[str]]:
    """The other words, and the flags, each spelled with two dashes."""
    flags = [_DASHES.sub("--", word).lower() for word in words if _DASHES.match(word)]
    return [word for word in words if not _DASHES.match(word)], flags


def _read_scope(words: list[str]) -> tuple[Scope, tuple[str, ...]]:
    """`all` as the first word is every case; after it, as after nothing, only variants follow."""
    if not words:
        return Scope.ALL, ()
    first, *after = words
    return (Scope.ALL, tuple(after)) if first.lower() == Scope.ALL else (Scope.NAMED, tuple(words))


def _read_rerun(text: str, words: list[str]) -> RunCommand | RerunCommand | ParseError:
    named, flags = _split_flags(words)
    first, *after = named or [Scope.ALL]
    if first.lower() == Scope.FAILED and set(flags) <= {FRESH_FLAG}:
        return RerunCommand(text=text, scope=Scope.FAILED, words=tuple(after))
    for word in after:
        if word.lower() in {Scope.FAILED, Scope.ALL}:
            why = f"{word} and names of cases do not go together."
            return ParseError(text=text, why=why, nearest=spell_command(["rerun", word.lower()]))
    return _read_run(text, [*words, FRESH_FLAG], verb="rerun")


def _read_help(text: str, _words: list[str]) -> HelpCommand:
    return HelpCommand(text=text)


def _read_status(text: str, words: list[str]) -> StatusCommand | ParseError:
    if words:
        return ParseError(text=text, why="status takes no words after it.", nearest="/benchmark status")
    return StatusCommand(text=text)


def _read_plan(text: str, words: list[str]) -> PlanCommand | ParseError:
    if words:
        return ParseError(text=text, why="plan takes no words after it.", nearest="/benchmark plan")
    return PlanCommand(text=text)


def _read_rotate_links(text: str, words: list[str]) -> RotateLinksCommand | ParseError:
    if words:
        why = "rotate-links takes no words after it."
        return ParseError(text=text, why=why, nearest="/benchmark rotate-links")
    return RotateLinksCommand(text=text)


def _read_baseline(text: str, words: list[str]) -> BaselineCommand | ParseError:
    if not words:
        return BaselineCommand(text=text)
    if len(words) > 1:
        why = "baseline takes one branch, tag or commit."
        return ParseError(text=text, why=why, nearest=spell_command(["baseline", *_valid_refs(words)[:1]]))
    if not _valid_refs(words):
        why = f"{words[0]} cannot be the name of a branch, tag or commit."
        return ParseError(text=text, why=why, nearest="/benchmark baseline")
    return BaselineCommand(text=text, ref=words[0])


def _valid_refs(words: list[str]) -> list[str]:
    return [word for word in words if _REF.fullmatch(word)]


def _read_approve(text: str, words: list[str]) -> ApproveCommand | ParseError:
    digits = [word.lower() for word in words if _SHA.fullmatch(word.lower())]
    if len(words) == 1 and digits:
        return ApproveCommand(text=text, sha=digits[0])
    why = "approve takes one commit: the head's, in full, as the comment gives it to copy."
    return ParseError(text=text, why=why, nearest=spell_command(["approve", *(digits[:1] or ["SHA"])]))


def _read_ack(text: str, words: list[str]) -> AcknowledgeCommand | ParseError:
    """Cases, then `reason=`; words after an unquoted reason are shown inside its quotes."""
    at = next(
        (place for place, word in enumerate(words) if word.lower().startswith(REASON_PREFIX)), len(words)
    )
    cases, reasons = words[:at], words[at:]
    reason = " ".join(reasons)[len(REASON_PREFIX) :].strip()
    named = cases or ["CASE"]
    if not cases or not reason:
        what = "a reason" if cases else "a case" if reason else "a case and a reason"
        why = f"ack needs {what}, so that whoever reads the verdict knows why it is accepted."
        shown = reason or "why this is accepted"
        return ParseError(
            text=text, why=why, nearest=spell_command(["ack", *named, quote_word(REASON_PREFIX + shown)])
        )
    if len(reasons) > 1:
        why = "a reason of several words stands in quotes, and last."
        return ParseError(
            text=text, why=why, nearest=spell_command(["ack", *cases, quote_word(REASON_PREFIX + reason)])
        )
    return AcknowledgeCommand(text=text, words=tuple(cases), reason=reason)


_READERS: Mapping[str, _VerbReader] = {
    "run": _read_run,
    "rerun": _read_rerun,
    "cancel": _read_cancel,
    "status": _read_status,
    "plan": _read_plan,
    "baseline": _read_baseline,
    "approve": _read_approve,
    "ack": _read_ack,
    "rotate-links": _read_rotate_links,
    "help": _read_help,
}


def _read_unknown_verb(text: str, verb: str, after: list[str]) -> ParseError:
    """The nearest verb, with the words after it where that is a valid command."""
    lower = verb.lower()
    close = (
        [_SYNONYMS[lower]]
        if lower in _SYNONYMS
        else get_close_matches(lower, VERBS, n=1, cutoff=_VERB_SIMILARITY)
    )
    tries = [[close[0], *after], [close[0]]] if close else []
    tries += [["run", verb, *after]] if not close and _LIKE_A_CASE.search(verb) else []
    readable = (words for words in tries if not isinstance(read_verb(text, words), ParseError))
    nearest = spell_command([quote_word(word) for word in next(readable, ["help"])])
    why = f"{verb} is not a command: {', '.join(VERBS[:-1])} and {VERBS[-1]} are."
    return ParseError(text=text, why=why, nearest=nearest)


# /benchmark rerun 03_dropout nnx
_COMMAND = re.compile(r"^ {0,3}/benchmark(?:\s+(?P<rest>.*))?$", re.IGNORECASE | re.DOTALL)

# The same with an invisible character or an odd space before it, an @mention, another slash or a typing
# error:   @maxview /benchmark run     ／benchmark     /benchmarks     /benchmark: run     /benchmark-run
_NEAR_MISS = re.compile(
    r"^[\s\u200b-\u200f\u2060\ufeff]*(?P<to>@[\w\[\]/-]+[,:]?\s+)?(?P<slash>[/⁄∕⧸／╱])"
    r"(?P<name>[^\W\d_]{7,14})(?:[:=,.;!?-]\s*|\s+|$)(?P<rest>.*)$",
    re.DOTALL,
)

_NAME_SIMILARITY = 0.88  # of 1: one letter of `benchmark` missing, doubled, wrong or in its neighbour's place

# A comment of GitHub's full length could hold thousands: nobody means that, and answers cost.
MAX_COMMANDS = 10

MAX_WORDS = 100

MAX_WORD_LENGTH = 100

MAX_REASON_LENGTH = 300

MAX_SHOWN_LENGTH = 200


def read_commands(body: str) -> tuple[Command | ParseError, ...]:
    """Read every command of a comment, in order; at most `MAX_COMMANDS`, then one `ParseError`."""
    commands: list[Command | ParseError] = []
    for line in plain_lines(body):
        found = _read_line(line)
        if found is not None and len(commands) == MAX_COMMANDS:
            why = f"one comment may hold {MAX_COMMANDS} commands: this one and those after it are left out."
            return (*commands, ParseError(text=found.text, why=why, nearest="/benchmark run"))
        commands += [] if found is None else [found]
    return tuple(commands)


def _read_line(line: str) -> Command | ParseError | None:
    if match := _COMMAND.match(line):
        return _read_command(match["rest"] or "")
    if (match := _NEAR_MISS.match(line)) and _is_our_name(match["name"]):
        return _read_near_miss(match, line)
    return None


def _is_our_name(name: str) -> bool:
    """Whether a word is `benchmark`, or nearly."""
    return SequenceMatcher(None, name.lower(), "benchmark").ratio() >= _NAME_SIMILARITY


def _read_near_miss(match: re.Match[str], line: str) -> ParseError | None:
    """A line that would be a command if it began correctly; any other line is prose."""
    meant = _read_command(match["rest"])
    if isinstance(meant, ParseError):
        return None
    why = f"a command begins its line with /benchmark; here {_first_word_problem(match, line)}."
    return ParseError(text=_shown_text(line), why=why, nearest=meant.text, verb=meant.verb)


def _first_word_problem(match: re.Match[str], line: str) -> str:
    """What is wrong with the beginning of the line."""
    if match["to"]:
        return "somebody is addressed before it"
    if _COMMAND.match(line.strip(" ")):
        return "it is indented"
    unseen = _COMMAND.match(line[match.start("slash") :])
    return "an odd space or an invisible sign stands before it" if unseen else "its first word is another"


def _read_command(rest: str) -> Command | ParseError:
    text = _shown_text(f"/benchmark {rest}")
    found = split_words(rest)
    if len(found.words) > MAX_WORDS or any(_too_long(word) for word in found.words):
        why = (
            f"a command may have {MAX_WORDS} words of {MAX_WORD_LENGTH} letters, "
            f"and a reason {MAX_REASON_LENGTH} letters."
        )
        return ParseError(text=text, why=why, nearest="/benchmark help")
    if not found.closed:
        nearest = spell_command([*found.words[:-1], quote_word(found.words[-1])] if found.words else [])
        return ParseError(text=text, why="a quote is opened and never closed.", nearest=nearest)
    return read_verb(text, found.words or ("run",))


def _too_long(word: str) -> bool:
    is_reason = word.lower().startswith(REASON_PREFIX)
    return len(word) > (MAX_REASON_LENGTH + len(REASON_PREFIX) if is_reason else MAX_WORD_LENGTH)


def _shown_text(line: str) -> str:
    """A command as it is shown to people: its beginning, on one line, without backticks."""
    return " ".join(line.replace("`", " ").split())[:MAX_SHOWN_LENGTH].rstrip()
