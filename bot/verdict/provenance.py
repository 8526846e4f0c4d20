"""Did both sides run the code they claim: commits, and the call sites that their lines came from.

In:  the runs of both sides and the commits they are filed under. Out: `Provenance`.
Promises: sides are called the same code only where both claim one commit and nothing they print disagrees.

The `file.py:line` in front of a message is a fingerprint of the source that really ran, at no cost.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from bot.logs.facts import RunLog, Step
from bot.verdict.judgement import Caveat, CaveatKind, MeasuredRun

SHORTEST_SHA = 7
"""Git's own abbreviation: fewer digits may belong to two commits."""

MOST_PLACES = 4
"""Call sites named: one proves it, a few help to find the commit."""

# linen_xpk_main_20260418_180002_03_dropout
VARIANT = re.compile(r"^(?P<variant>[A-Za-z0-9]+)_xpk_")


class Across(StrEnum):
    """What the two sides of a comparison are. Sides of one commit in one variant cannot be a regression; two
    variants of one commit may well differ. Where nothing is stated, the run names have to tell."""

    UNSTATED = "unstated"
    COMMITS = "commits"
    VARIANTS = "variants"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Whether both sides claim one commit, whether they then are the same code, and what to say about it."""

    same_claim: bool
    same_code: bool
    caveats: tuple[Caveat, ...]


def provenance(
    base: Sequence[MeasuredRun],
    head: Sequence[MeasuredRun],
    base_commit: str | None,
    head_commit: str | None,
    *,
    across: Across = Across.UNSTATED,
) -> Provenance:
    """Compare what both sides say they ran with what their lines show."""
    claims = (base_commit or _claimed(base), head_commit or _claimed(head))
    unlike = _unlike(base, head)
    one_claim = claims[0] is not None and claims[1] is not None and same_commit(claims[0], claims[1])
    same_claim = one_claim and not _of_two_variants(base, head, across)
    caveats = [*_misfiled("base", base, base_commit), *_misfiled("head", head, head_commit)]
    if unlike is not None and one_claim:
        claimed = f"both sides claim commit {(claims[0] or '')[:12]}"
        caveats.append(_caveat("commit", unlike, f"{claimed}, but {unlike.text}"))
    elif unlike is not None and None in claims:
        caveats.append(_caveat("commit", unlike, f"the logs do not record both commits, and {unlike.text}"))
    return Provenance(
        same_claim=same_claim,
        same_code=same_claim and not caveats,
        caveats=tuple(caveats),
    )


def same_commit(one: str, other: str) -> bool:
    """Tell whether two claims name one commit: equal, or one the beginning of the other."""
    shorter, longer = sorted((one.lower(), other.lower()), key=len)
    return len(shorter) >= SHORTEST_SHA and longer.startswith(shorter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlike:
    """A sign that different code ran."""

    base: str
    head: str
    text: str


def _caveat(field: str, unlike: Unlike, text: str) -> Caveat:
    return Caveat(kind=CaveatKind.PROVENANCE, field=field, base=unlike.base, head=unlike.head, text=text)


def _unlike(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> Unlike | None:
    """Find a message that both sides print from different places, or fields that only one prints."""
    one, other = _sites(base), _sites(head)
    moved = [message for message in one if message in other and one[message] != other[message]]
    if moved:
        sites = [_named(sorted({*_places(side, moved)})) for side in (one, other)]
        return Unlike(
            base=sites[0],
            head=sites[1],
            text=f"their lines come from different source ({sites[0]} on base, {sites[1]} on head): "
            "they did not run the same code",
        )
    fields = (_fields(base), _fields(head))
    if fields[0] and fields[1] and fields[0] != fields[1]:
        only = [", ".join(sorted(one - other)) or "none" for one, other in (fields, fields[::-1])]
        return Unlike(
            base=only[0],
            head=only[1],
            text="their step lines hold different fields "
            f"(only on base: {only[0]}; only on head: {only[1]}): they did not run the same code",
        )
    return None


def _named(places: Sequence[str]) -> str:
    more = len(places) - MOST_PLACES
    return ", ".join(places[:MOST_PLACES]) + (f" and {more} more" if more > 0 else "")


def _sites(side: Sequence[MeasuredRun]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for run in side:
        for site in run.log.environment.call_sites:
            found.setdefault(site.message, set()).add(f"{site.file}:{site.line}")
    return {message: frozenset(places) for message, places in found.items()}


def _places(side: dict[str, frozenset[str]], messages: Sequence[str]) -> list[str]:
    return [place for message in messages for place in side[message]]


def _fields(side: Sequence[MeasuredRun]) -> frozenset[str]:
    """Return the names of the fields on the first run's last step line, which no warm-up or profiler cuts."""
    steps = side[0].log.steps if side else ()
    return _printed(steps[-1]) if steps else frozenset()


def _printed(step: Step) -> frozenset[str]:
    optional = {
        "TFLOP/s/device": step.tflops_per_device,
        "Tokens/s/device": step.tokens_per_device,
        "total_weights": step.total_weights,
        "loss": step.loss,
        "perplexity": step.perplexity,
    }
    return frozenset({name for name, value in optional.items() if value is not None}) | {
        name for name, _ in step.extras
    }


def _claimed(side: Sequence[MeasuredRun]) -> str | None:
    return next((run.log.environment.commit for run in side if run.log.environment.commit), None)


def _misfiled(name: str, side: Sequence[MeasuredRun], commit: str | None) -> list[Caveat]:
    """Report runs whose log states another commit than the one they are filed under."""
    stated = [run.log.environment.commit for run in side]
    other = next((sha for sha in stated if sha and commit and not same_commit(sha, commit)), None)
    if other is None or commit is None:
        return []
    values = (other, None) if name == "base" else (None, other)
    text = f"{name} is filed under commit {commit}, but its log says that {other} ran"
    return [
        Caveat(kind=CaveatKind.PROVENANCE, field="commit", base=values[0], head=values[1], text=text),
    ]


def _of_two_variants(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun], across: Across) -> bool:
    match across:
        case Across.VARIANTS:
            return True
        case Across.COMMITS:
            return False
        case Across.UNSTATED:
            return _variants_differ(base, head)
        case _:
            assert_never(across)


def _variants_differ(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> bool:
    """Tell whether the sides are two variants (Linen and NNX) of one commit, which then may well differ."""
    one, other = _variants(base), _variants(head)
    return bool(one) and bool(other) and one != other


def _variants(side: Sequence[MeasuredRun]) -> set[str]:
    return {match["variant"] for run in side if (match := VARIANT.match(_name(run.log))) is not None}


def _name(log: RunLog) -> str:
    return log.environment.run_name or ""
