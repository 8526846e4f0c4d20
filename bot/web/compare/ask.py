"""What an address of a comparison asks for.

In:  `main...pr/12`, `574ad3f:linen...574ad3f:nnx`, and the case that was chosen.
Out: two `End`s that the database knows; else `Unclear`, with what may have been meant.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from bot.storage import refs
from bot.storage.database import Connection
from bot.web.cases.pairing import End, Matched, Pairing
from bot.web.ground.access import Unclear

HOW = (
    "Two names joined by three dots are compared: main...574ad3f, main...pr/12, "
    "or two variants of one name, main:linen...main:nnx. A name is a branch, a commit of at least "
    "7 digits, or a pull request."
)
LONGEST = 250
"""Characters of a name: GitHub's branches end there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One end as it was spelt."""

    name: str
    variant: str | None


def asked_ends(text: str) -> tuple[Asked, Asked]:
    """The two ends of `base...head`; `Unclear` where there are not two."""
    base, dots, head = text.partition("...")
    if not dots or not base or not head or max(len(base), len(head)) > LONGEST:
        raise Unclear("Two names are needed", HOW)
    return _asked(base), _asked(head)


def known_end(connection: Connection, repository: str, asked: Asked) -> End:
    """The end by what is stored; `Unclear` where nothing is known by its name."""
    ref = refs.resolve(connection, repository, asked.name)
    if ref is None:
        near = refs.nearest(connection, repository, asked.name)
        raise Unclear(f"{asked.name} is not known here", _meant(near) + HOW)
    return End(ref=ref, variant=asked.variant)


def checked(pairing: Pairing) -> Pairing:
    """The pairing; `Unclear` where an end has no run, or none in the variant that was asked for."""
    if not pairing.rows:
        names = " and ".join(dict.fromkeys((pairing.base.ref.text, pairing.head.ref.text)))
        raise Unclear(
            f"No measured run of {names} is known",
            "A run appears here as soon as its log was found and read.",
        )
    for end, known in ((pairing.base, pairing.known[0]), (pairing.head, pairing.known[1])):
        if end.variant is not None and end.variant not in known:
            raise Unclear(
                f"{end.ref.text} has no run in the variant {end.variant}",
                _meant(get_close_matches(end.variant, known, cutoff=0.4) or sorted(known)) + HOW,
            )
    return pairing


def chosen_row(pairing: Pairing, case: str | None, variant: str | None) -> int | None:
    """The place of the row that was asked for, None for none; `Unclear` where there is no such row."""
    if not case:
        return None
    places = [place for place, row in enumerate(pairing.rows) if row.case == case]
    if not places:
        cases = list(dict.fromkeys(row.case for row in pairing.rows))
        near = get_close_matches(case, cases, cutoff=0.4) or cases[:3]
        raise Unclear(f"There is no case {case} in this comparison", _meant(near))
    if not variant:
        return places[0]
    fitting = [place for place in places if variant in pairing.rows[place].variants]
    if not fitting:
        raise Unclear(
            f"The case {case} has no variant {variant} in this comparison",
            _meant(_variants(pairing.rows[place] for place in places)),
        )
    return fitting[0]


def _variants(rows: Iterable[Matched]) -> list[str]:
    return sorted({variant for row in rows for variant in row.variants})


def _meant(names: Sequence[str]) -> str:
    return f"Did you mean {' or '.join(names)}? " if names else ""


def _asked(text: str) -> Asked:
    name, colon, variant = text.partition(":")
    return Asked(name=name, variant=variant if colon and variant else None)
