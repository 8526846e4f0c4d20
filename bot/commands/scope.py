"""Resolves the words of a command to cases and variants of the suite.

A word that names none of them gives a `ParseError` with the nearest name.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import assert_never

from msgspec import Struct

from bot.commands.grammar import (
    REASON_PREFIX,
    AcknowledgeCommand,
    CancelCommand,
    CaseCommand,
    ParseError,
    RerunCommand,
    RunCommand,
    Scope,
    quote_word,
    spell_command,
)


class ResolvedScope(Struct, frozen=True, kw_only=True):
    """The cases and variants that a command means, in the suite's order.

    Where `scope` is FAILED, only those of them that failed are meant.
    """

    scope: Scope
    cases: tuple[str, ...]
    variants: tuple[str, ...]


def resolve_scope(
    command: CaseCommand, cases: Sequence[str], variants: Sequence[str]
) -> ResolvedScope | ParseError:
    """The cases and variants of a suite that a command means."""
    named, chosen = _split_variants(command.words, cases, variants)
    if named and command.scope is not Scope.NAMED:
        return _unknown_name(command, named[0], variants, "variant")
    if isinstance(command, AcknowledgeCommand) and not named:
        why = "ack names a case: a variant alone would accept all that is wrong with it."
        return ParseError(text=command.text, why=why, nearest=_spell_with(command, ["CASE", *command.words]))
    meant: set[str] = set()
    for word in named:
        matched = {word} & set(cases) or {case for case in cases if fnmatchcase(case, word)}
        if not matched:
            return _unknown_name(
                command, word, (*cases, *variants), "case or variant" if variants else "case"
            )
        meant |= matched
    return ResolvedScope(
        scope=command.scope if named or command.scope is not Scope.NAMED else Scope.ALL,
        cases=tuple(case for case in cases if not named or case in meant),
        variants=tuple(variant for variant in variants if not chosen or variant in chosen),
    )


def _split_variants(
    words: tuple[str, ...], cases: Sequence[str], variants: Sequence[str]
) -> tuple[tuple[str, ...], set[str]]:
    """The words that are cases, and the variants; a name of both is a variant only in last position."""
    last = len(words) - 1
    chosen = {
        at for at, word in enumerate(words) if word in variants and (word not in cases or 0 < at == last)
    }
    return tuple(word for at, word in enumerate(words) if at not in chosen), {words[at] for at in chosen}


def _unknown_name(command: CaseCommand, word: str, names: Sequence[str], what: str) -> ParseError:
    parts = [part for part in word.split(",") if part]
    if "," in word and parts and all(any(fnmatchcase(name, part) for name in names) for part in parts):
        words = [one for given in command.words for one in (parts if given == word else [given])]
        return ParseError(
            text=command.text, why="names stand apart, without commas.", nearest=_spell_with(command, words)
        )
    nearest = _nearest_name(word, names)
    why = f"{word} is no {what} of this suite" + (f"; the nearest is {nearest}." if nearest else ".")
    words = [nearest if one == word else one for one in command.words] if nearest else []
    return ParseError(text=command.text, why=why, nearest=_spell_with(command, words))


def _spell_with(command: CaseCommand, words: Sequence[str]) -> str:
    """The command with these words instead of its own."""
    match command:
        case RunCommand():
            verb = ["run"]
        case RerunCommand():
            verb = ["rerun"]
        case CancelCommand():
            verb = ["cancel"]
        case AcknowledgeCommand():
            return spell_command(["ack", *(words or ["CASE"]), quote_word(REASON_PREFIX + command.reason)])
        case _:
            assert_never(command)
    return spell_command([*verb, *([] if command.scope is Scope.NAMED else [command.scope]), *words])


def _nearest_name(word: str, names: Sequence[str]) -> str | None:
    """The name that people most likely meant: one that contains the word, else the most similar one."""
    bare = word.lower().strip("*?")
    holding = sorted(
        (name for name in names if bare and bare in name.lower()), key=lambda name: (len(name), name)
    )
    if holding:
        return holding[0]
    lowered = {name.lower(): name for name in reversed(names)}
    close = get_close_matches(bare, lowered, n=1, cutoff=0.0)
    return lowered[close[0]] if close else None
