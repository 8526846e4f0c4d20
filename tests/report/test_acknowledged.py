"""An acceptance turns what follows from a verdict, holds while nothing gets worse, and colours nothing."""

from dataclasses import replace

import pytest

from bot.report.acknowledged import acknowledged, grounds, holds
from bot.report.headline import headline, is_green, severity
from bot.report.model import Acknowledgement, CaseReport, RowState
from bot.report.states import Tier
from bot.verdict.judgement import LossVerdict, TimingVerdict, Verdict
from bot.web.cases.overview import row_line
from tests.report.parts import compared, rows, timing
from tests.report.samples import case, failing, report, same, slower, unsure
from tests.report.states import REASON, accepted, row_in_state


def _slower(percent: float) -> CaseReport:
    return case("04_int8", RowState.SLOWER, compared(Verdict.SLOWER, timing(TimingVerdict.SLOWER, percent)))


def _heavier(memory: float) -> CaseReport:
    changed = compared(Verdict.SAME, timing(TimingVerdict.SAME, 0.1), metrics=rows(1.31, memory))
    return case("04_int8", RowState.SAME, changed)


def _acceptance(row: CaseReport) -> Acknowledgement:
    one = accepted(row).acknowledged
    assert one is not None
    return one


def test_an_accepted_verdict_keeps_its_words_and_loses_its_weight() -> None:
    """The symbol and the state stay; severity falls to what is left, and nothing becomes green."""
    before, after = report(slower(), same("a")), report(accepted(slower()), same("a"))

    assert (Tier.RED, Tier.QUIET) == (severity(before), severity(after))
    assert headline(before).replace("1 slower", "1 slower, acknowledged") == headline(after)
    assert headline(after).startswith("🔴")
    assert not is_green(after)


def test_what_nobody_accepted_still_counts() -> None:
    """One acceptance does not cover another case."""
    assert Tier.RED == severity(report(accepted(slower()), failing()))


@pytest.mark.parametrize("state", [*RowState])
def test_only_news_can_be_accepted(state: RowState) -> None:
    """Nothing green, nothing that is still awaited."""
    can = {
        RowState.SLOWER,
        RowState.DIVERGED,
        RowState.NEW_FAILURE,
        RowState.NOT_COMPARABLE,
        RowState.NOT_LIKE_FOR_LIKE,
        RowState.INCONCLUSIVE,
    }
    assert (state in can) == (grounds(row_in_state(state)) is not None)


def test_a_slower_case_may_be_slower_by_its_band() -> None:
    """What was accepted was told with a band: more than that is news."""
    held = [percent for percent in (3.0, 6.1, 7.0, 9.5) if holds(_acceptance(_slower(6.1)), _slower(percent))]
    assert [3.0, 6.1, 7.0] == held


def test_another_verdict_is_not_what_was_accepted() -> None:
    """Slower is not failing, a failure is not another failure, and diverged is worse than slower."""
    other = failing()
    assert other.failure is not None
    differently = replace(other, failure=replace(other.failure, fingerprint="other"))

    assert holds(_acceptance(failing()), failing())
    assert not holds(_acceptance(failing()), differently)
    assert not holds(_acceptance(_slower(6.1)), failing("04_int8", "linen"))
    assert not holds(_acceptance(unsure("04_int8")), _slower(6.1))


def test_a_changed_loss_is_news_beside_an_accepted_slowdown() -> None:
    """The same state for another reason."""
    row = _slower(6.1)
    assert row.comparison is not None
    drifted = replace(row.comparison.loss, verdict=LossVerdict.DRIFTED)
    changed = replace(row, comparison=replace(row.comparison, loss=drifted))

    assert not holds(_acceptance(row), changed)


def test_more_memory_than_was_accepted_is_news() -> None:
    """The same words, and a larger figure."""
    assert holds(_acceptance(_heavier(1.38)), _heavier(1.38))
    assert holds(_acceptance(_heavier(1.38)), _heavier(1.36))
    assert not holds(_acceptance(_heavier(1.38)), _heavier(1.60))


def test_the_newest_acceptance_of_a_case_counts() -> None:
    """An older one of the same case is replaced, one of another case is not its."""
    old, new = _acceptance(_slower(20.0)), replace(_acceptance(_slower(6.1)), made=9e9, reason="newer")
    (row,) = acknowledged([_slower(6.0)], [new, old])
    (other,) = acknowledged([_slower(6.0)], [replace(old, variant="nnx")])

    assert row.acknowledged is not None
    assert ("newer", None) == (row.acknowledged.reason, other.acknowledged)
    assert REASON == old.reason


def test_the_page_says_who_accepted_a_verdict() -> None:
    """Beside its word, in a line of its own; the colour stays."""
    shown = report(accepted(slower(), "known <b> @x `y`"))
    line = row_line(shown, shown.rows[0], "a")

    assert ("slower", "red") == (line.word, line.tone)
    assert "👁 accepted by ada: known <b> @x `y`" == line.accepted.replace("\u200b", "")
