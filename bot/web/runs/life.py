"""What the page of a launched run says of its life: how it stands, and the attempts before this one.

In:  a `RunStanding` as this visitor may read it, the time. Out: `LifeView`. Pure.
"""

from dataclasses import dataclass

from bot.report.figures import NONE, seconds
from bot.report.life_words import life_words
from bot.runs.standing import RunStanding
from bot.web.ground.moments import Moment, moment


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptLine:
    """An attempt that was given up: when it began and ended, how far it came, why, the cluster's words."""

    number: int
    job: str
    began: Moment | None
    ended: Moment | None
    took: str
    step: str
    why: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeView:
    """`words` say how it stands, `note` what its cluster says of it."""

    words: str
    note: str
    attempts: tuple[AttemptLine, ...]


def life_view(run: RunStanding, now: float) -> LifeView:
    """The section of the page."""
    return LifeView(
        words=life_words(run, now),
        note=run.note,
        attempts=tuple(
            AttemptLine(
                number=one.number,
                job=one.name,
                began=moment(one.began),
                ended=moment(one.ended),
                took=NONE if one.began is None else seconds(one.ended - one.began),
                step=NONE if one.last_step is None else str(one.last_step),
                why=one.why,
                note=one.note,
            )
            for one in run.past
        ),
    )
