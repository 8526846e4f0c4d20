"""Reads the words of one command, verb by verb.

In:  the words behind `/benchmark`, and the command as it is repeated to people.
Out: a `Command`, or `Unclear` with the nearest spelling that is one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches

from bot.intake.command import (
    VERBS,
    Acknowledge,
    Approve,
    Baseline,
    Cancel,
    Command,
    Help,
    Plan,
    Rerun,
    Run,
    Scope,
    Status,
    Unclear,
)

# 03_dropout   04_*   where `run` was left out
_LIKE_A_CASE = re.compile(r"[0-9_*?]")
_SHA = re.compile(r"[0-9a-f]{7,64}")
# main   release/1.2   v0.3   574ad3f
_REF = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_./-]*")
# --fresh, and what a telephone makes of it:   —fresh
_DASHES = re.compile(r"^[-\u2010-\u2015\u2212]+(?=\w)")

_ALIKE = 0.65  # of 1: `hlep` is help, and `please` is not plan

FRESH = "--fresh"
REASON = "reason="

# What other programs call these commands.
_ALSO = {
    "abort": "cancel",
    "acknowledge": "ack",
    "base": "baseline",
    "commands": "help",
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

_Read = Callable[[str, list[str]], Command | Unclear]


def read_verb(text: str, words: Sequence[str]) -> Command | Unclear:
    """Read a command of one word at least."""
    verb, *after = words
    read = _READERS.get(verb.lower())
    return read(text, after) if read else _read_other(text, verb, after)


def spelt(words: Sequence[str]) -> str:
    """The command of these words."""
    return " ".join(["/benchmark", *words])


def quoted(word: str) -> str:
    """A word with quotes around what has to have them: all behind `=`."""
    name, equals, value = word.partition("=")
    if not equals:
        return word
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{name}="{escaped}"'


def _read_run(text: str, words: list[str], verb: str = "run") -> Run | Rerun | Unclear:
    named, flags = _without_flags(words)
    unknown = [flag for flag in flags if flag != FRESH]
    if unknown:
        close = get_close_matches(unknown[0], [FRESH], n=1) if verb == "run" else []
        why = f"{unknown[0]} is not known here: {FRESH} is."
        return Unclear(text=text, why=why, nearest=spelt([verb, *named, *close]))
    scope, cases = _scope(named)
    made = Rerun if flags else Run
    return made(text=text, scope=scope, words=cases)


def _read_cancel(text: str, words: list[str]) -> Cancel | Unclear:
    named, flags = _without_flags(words)
    if flags:
        why = f"cancel knows no {flags[0]}."
        return Unclear(text=text, why=why, nearest=spelt(["cancel", *named]))
    scope, cases = _scope(named)
    return Cancel(text=text, scope=scope, words=cases)


def _without_flags(words: list[str]) -> tuple[list[str], list[str]]:
    """The words, and those among them that begin with dashes, each spelt with two."""
    flags = [_DASHES.sub("--", word).lower() for word in words if _DASHES.match(word)]
    return [word for word in words if not _DASHES.match(word)], flags


def _scope(words: list[str]) -> tuple[Scope, tuple[str, ...]]:
    """`all` at the beginning is every case; after it, as after nothing, only variants are named."""
    if not words:
        return Scope.ALL, ()
    first, *after = words
    return (Scope.ALL, tuple(after)) if first.lower() == Scope.ALL else (Scope.NAMED, tuple(words))


def _read_rerun(text: str, words: list[str]) -> Run | Rerun | Unclear:
    named, flags = _without_flags(words)
    first, *after = named or [Scope.ALL]
    if first.lower() == Scope.FAILED and set(flags) <= {FRESH}:
        return Rerun(text=text, scope=Scope.FAILED, words=tuple(after))
    for word in after:
        if word.lower() in {Scope.FAILED, Scope.ALL}:
            why = f"{word} and names of cases do not go together."
            return Unclear(text=text, why=why, nearest=spelt(["rerun", word.lower()]))
    return _read_run(text, [*words, FRESH], verb="rerun")


def _read_help(text: str, _words: list[str]) -> Help:
    return Help(text=text)


def _read_status(text: str, words: list[str]) -> Status | Unclear:
    if words:
        return Unclear(text=text, why="status takes no words after it.", nearest="/benchmark status")
    return Status(text=text)


def _read_plan(text: str, words: list[str]) -> Plan | Unclear:
    if words:
        return Unclear(text=text, why="plan takes no words after it.", nearest="/benchmark plan")
    return Plan(text=text)


def _read_baseline(text: str, words: list[str]) -> Baseline | Unclear:
    if not words:
        return Baseline(text=text)
    if len(words) > 1:
        why = "baseline takes one branch, tag or commit."
        return Unclear(text=text, why=why, nearest=spelt(["baseline", *_refs(words)[:1]]))
    if not _refs(words):
        why = f"{words[0]} cannot be the name of a branch, tag or commit."
        return Unclear(text=text, why=why, nearest="/benchmark baseline")
    return Baseline(text=text, ref=words[0])


def _refs(words: list[str]) -> list[str]:
    return [word for word in words if _REF.fullmatch(word)]


def _read_approve(text: str, words: list[str]) -> Approve | Unclear:
    digits = [word.lower() for word in words if _SHA.fullmatch(word.lower())]
    if len(words) == 1 and digits:
        return Approve(text=text, sha=digits[0])
    why = "approve takes one commit: the head's, in full, as the comment gives it to copy."
    return Unclear(text=text, why=why, nearest=spelt(["approve", *(digits[:1] or ["SHA"])]))


def _read_ack(text: str, words: list[str]) -> Acknowledge | Unclear:
    """Cases, then `reason=`; words behind a reason without quotes are shown inside them."""
    at = next((place for place, word in enumerate(words) if word.lower().startswith(REASON)), len(words))
    cases, reasons = words[:at], words[at:]
    reason = " ".join(reasons)[len(REASON) :].strip()
    named = cases or ["CASE"]
    if not cases or not reason:
        what = "a reason" if cases else "a case" if reason else "a case and a reason"
        why = f"ack needs {what}, so that whoever reads the verdict knows why it is accepted."
        shown = reason or "why this is accepted"
        return Unclear(text=text, why=why, nearest=spelt(["ack", *named, quoted(REASON + shown)]))
    if len(reasons) > 1:
        why = "a reason of several words stands in quotes, and last."
        return Unclear(text=text, why=why, nearest=spelt(["ack", *cases, quoted(REASON + reason)]))
    return Acknowledge(text=text, words=tuple(cases), reason=reason)


_READERS: Mapping[str, _Read] = {
    "run": _read_run,
    "rerun": _read_rerun,
    "cancel": _read_cancel,
    "status": _read_status,
    "plan": _read_plan,
    "baseline": _read_baseline,
    "approve": _read_approve,
    "ack": _read_ack,
    "help": _read_help,
}


def _read_other(text: str, verb: str, after: list[str]) -> Unclear:
    """The verb that was meant, with what stands behind it where that makes a command."""
    lower = verb.lower()
    close = [_ALSO[lower]] if lower in _ALSO else get_close_matches(lower, VERBS, n=1, cutoff=_ALIKE)
    tries = [[close[0], *after], [close[0]]] if close else []
    tries += [["run", verb, *after]] if not close and _LIKE_A_CASE.search(verb) else []
    readable = (words for words in tries if not isinstance(read_verb(text, words), Unclear))
    nearest = spelt([quoted(word) for word in next(readable, ["help"])])
    why = f"{verb} is not a command: {', '.join(VERBS[:-1])} and {VERBS[-1]} are."
    return Unclear(text=text, why=why, nearest=nearest)
