"""Says which cases and variants of a suite a command means.

In:  a command, the names of a suite's cases and variants.
Out: `Resolved` in the suite's order, or `Unclear` with the nearest name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import assert_never

from bot.intake.command import Acknowledge, Cancel, OfCases, Rerun, Run, Scope, Unclear
from bot.intake.verbs import REASON, quoted, spelt


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The cases and variants that a command means, in the suite's order.

    Where `scope` is FAILED, only those of them that failed are meant.
    """

    scope: Scope
    cases: tuple[str, ...]
    variants: tuple[str, ...]


def resolve(command: OfCases, cases: Sequence[str], variants: Sequence[str]) -> Resolved | Unclear:
    """Say which cases and variants of a suite a command means."""
    named, chosen = _split_variants(command.words, cases, variants)
    if named and command.scope is not Scope.NAMED:
        return _miss(command, named[0], variants, "variant")
    if isinstance(command, Acknowledge) and not named:
        why = "ack names a case: a variant alone would accept all that is wrong with it."
        return Unclear(text=command.text, why=why, nearest=_spelt(command, ["CASE", *command.words]))
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


def _split_variants(
    words: tuple[str, ...], cases: Sequence[str], variants: Sequence[str]
) -> tuple[tuple[str, ...], set[str]]:
    """The words that are cases, and the variants; a name of both is a variant only where it comes last."""
    last = len(words) - 1
    chosen = {
        at for at, word in enumerate(words) if word in variants and (word not in cases or 0 < at == last)
    }
    return tuple(word for at, word in enumerate(words) if at not in chosen), {words[at] for at in chosen}


def _miss(command: OfCases, word: str, names: Sequence[str], what: str) -> Unclear:
    parts = [part for part in word.split(",") if part]
    if "," in word and parts and all(any(fnmatchcase(name, part) for name in names) for part in parts):
        words = [one for given in command.words for one in (parts if given == word else [given])]
        return Unclear(
            text=command.text, why="names stand apart, without commas.", nearest=_spelt(command, words)
        )
    nearest = _nearest(word, names)
    why = f"{word} is no {what} of this suite" + (f"; the nearest is {nearest}." if nearest else ".")
    words = [nearest if one == word else one for one in command.words] if nearest else []
    return Unclear(text=command.text, why=why, nearest=_spelt(command, words))


def _spelt(command: OfCases, words: Sequence[str]) -> str:
    """The command with these words in place of its own."""
    match command:
        case Run():
            verb = ["run"]
        case Rerun():
            verb = ["rerun"]
        case Cancel():
            verb = ["cancel"]
        case Acknowledge():
            return spelt(["ack", *(words or ["CASE"]), quoted(REASON + command.reason)])
        case _:
            assert_never(command)
    return spelt([*verb, *([] if command.scope is Scope.NAMED else [command.scope]), *words])


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
