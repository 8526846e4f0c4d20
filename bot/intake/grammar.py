"""Reads `/benchmark …` commands out of a comment.

In:  a comment's text.
Out: one `Command` for each line that is one, `Unclear` with the nearest valid spelling for one that is not
     understood, or that would be a command but for how its first word is written.

Never raises, whatever people write. The commands are described in `bot.intake.command`.
"""

import re
from difflib import SequenceMatcher

from bot.intake.command import Command, Unclear
from bot.intake.line import split
from bot.intake.markdown import plain_lines
from bot.intake.verbs import REASON, quoted, read_verb, spelt

# /benchmark rerun 03_dropout nnx
_COMMAND = re.compile(r"^ {0,3}/benchmark(?:\s+(?P<rest>.*))?$", re.IGNORECASE | re.DOTALL)

# The same with an invisible sign or an odd space before it, somebody addressed, another slash or a typing
# error:   @maxview /benchmark run     ／benchmark     /benchmarks     /benchmark: run     /benchmark-run
_NEARLY = re.compile(
    r"^[\s\u200b-\u200f\u2060\ufeff]*(?P<to>@[\w\[\]/-]+[,:]?\s+)?(?P<slash>[/⁄∕⧸／╱])"
    r"(?P<name>[^\W\d_]{7,14})(?:[:=,.;!?-]\s*|\s+|$)(?P<rest>.*)$",
    re.DOTALL,
)
_ALIKE = 0.88  # of 1: one letter of `benchmark` missing, doubled, wrong or in its neighbour's place

# A comment of GitHub's full length could hold thousands: nobody means that, and answering costs.
MOST_COMMANDS = 10
MOST_WORDS = 100
LONGEST_WORD = 100
LONGEST_REASON = 300
LONGEST_TEXT = 200


def read_commands(body: str) -> tuple[Command | Unclear, ...]:
    """Read every command of a comment, in order; at most `MOST_COMMANDS`, then one `Unclear`."""
    commands: list[Command | Unclear] = []
    for line in plain_lines(body):
        found = _read_line(line)
        if found is not None and len(commands) == MOST_COMMANDS:
            why = f"one comment may hold {MOST_COMMANDS} commands: this one and those after it are left out."
            return (*commands, Unclear(text=found.text, why=why, nearest="/benchmark run"))
        commands += [] if found is None else [found]
    return tuple(commands)


def _read_line(line: str) -> Command | Unclear | None:
    if match := _COMMAND.match(line):
        return _read_command(match["rest"] or "")
    if (match := _NEARLY.match(line)) and _is_our_name(match["name"]):
        return _almost(match, line)
    return None


def _is_our_name(name: str) -> bool:
    """Whether a word is `benchmark`, or was to be."""
    return SequenceMatcher(None, name.lower(), "benchmark").ratio() >= _ALIKE


def _almost(match: re.Match[str], line: str) -> Unclear | None:
    """A line that would be a command if its beginning were spelt rightly; any other is somebody's prose."""
    meant = _read_command(match["rest"])
    if isinstance(meant, Unclear):
        return None
    why = f"a command begins its line with /benchmark; here {_beginning(match, line)}."
    return Unclear(text=_shown(line), why=why, nearest=meant.text)


def _beginning(match: re.Match[str], line: str) -> str:
    """What is wrong with the first word."""
    if match["to"]:
        return "somebody is addressed before it"
    if _COMMAND.match(line.strip(" ")):
        return "it is indented"
    unseen = _COMMAND.match(line[match.start("slash") :])
    return "an odd space or an invisible sign stands before it" if unseen else "its first word is another"


def _read_command(rest: str) -> Command | Unclear:
    text = _shown(f"/benchmark {rest}")
    found = split(rest)
    if len(found.words) > MOST_WORDS or any(_too_long(word) for word in found.words):
        why = (
            f"a command may have {MOST_WORDS} words of {LONGEST_WORD} letters, "
            f"and a reason {LONGEST_REASON} letters."
        )
        return Unclear(text=text, why=why, nearest="/benchmark help")
    if not found.closed:
        nearest = spelt([*found.words[:-1], quoted(found.words[-1])] if found.words else [])
        return Unclear(text=text, why="a quote is opened and never closed.", nearest=nearest)
    return read_verb(text, found.words or ("run",))


def _too_long(word: str) -> bool:
    is_reason = word.lower().startswith(REASON)
    return len(word) > (LONGEST_REASON + len(REASON) if is_reason else LONGEST_WORD)


def _shown(line: str) -> str:
    """A command as it is repeated to people: its beginning, on one line, without backticks."""
    return " ".join(line.replace("`", " ").split())[:LONGEST_TEXT].rstrip()
