"""The headline and its severity."""

import pytest

from bot.report.headline import headline, is_green, is_settled, severity
from bot.report.model import Report, RowState
from tests.report.samples import mixed, report, same, several_same, slower
from tests.report.states import every_state, row_in_state

STATES = every_state()


def test_the_mixed_headline_counts_states_worst_first() -> None:
    """Red first, then what cannot be judged, then what is awaited, then what is well."""
    assert headline(mixed()) == (
        "🔴 MaxView: 1 slower · 1 new failure · 1 not like for like · 1 inconclusive · 1 running · 1 queued"
        " · 9 same (13 of 15 cases done)"
    )


def test_all_the_same_states_the_bound() -> None:
    """Green says how large a change it rules out, rounded up."""
    assert headline(report(*several_same(14))) == (
        "✅ MaxView: no change > 1.0 % in 14 cases, loss curves identical"
    )


def test_more_memory_is_news_though_the_step_time_is_the_same() -> None:
    """A row that got worse in an exact metric is never under a green headline."""
    said = STATES["more_memory"]
    assert headline(said) == "⚠️ MaxView: 1 same time, more memory · 3 same (4 of 4 cases done)"
    assert not is_green(said)


@pytest.mark.parametrize("state", RowState)
def test_no_state_beside_a_slower_case_hides_it(state: RowState) -> None:
    """Red stays red, whatever stands beside it."""
    said = report(slower("a"), row_in_state(state, "b"))
    assert headline(said).startswith("🔴")
    assert severity(said) == 3


@pytest.mark.parametrize("state", [RowState.QUEUED, RowState.RUNNING, RowState.NO_RUN])
def test_what_is_awaited_is_neither_worse_news_nor_green(state: RowState) -> None:
    """A queued case re-creates no comment, and colours none green."""
    said = report(same("a"), row_in_state(state, "b"))
    assert severity(said) == 0
    assert not is_green(said)


def test_settled_means_that_nothing_is_awaited() -> None:
    """A check may be concluded only then."""
    assert is_settled(report(same("a"), slower("b")))
    assert not is_settled(mixed())


def test_a_report_of_no_case_is_not_green() -> None:
    """No evidence is no verdict."""
    empty: Report = report()
    assert not is_green(empty)
    assert headline(empty) == "⚪ MaxView: nothing measured yet"
