"""What holds of every plan, whatever was asked and whatever became of its runs."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from msgspec.structs import replace

from bot.domain.run import RunState
from bot.domain.run_request import RequestSource, RunRequest
from bot.planning.plan import MAX_REPEATS
from bot.report.model import RowState
from tests.planning.samples import ALL, LINES, SUBJECT, found, plan
from tests.worker.samples import BASE, HEAD

SUBSETS = st.frozensets(st.sampled_from(sorted(ALL)), max_size=len(ALL))

ASKS = st.lists(
    st.builds(
        RunRequest,
        source=st.sampled_from(RequestSource),
        name=st.text("abc", max_size=2),
        keys=SUBSETS,
        by=st.sampled_from(["", "bob"]),
        fresh=st.integers(0, 2),
    ),
    max_size=4,
)

STATES = st.sampled_from([state for state in RunState if state is not RunState.CANCELLED])


@given(run_requests=ASKS, numbers=st.tuples(st.integers(0, 4), st.integers(0, 4)))
def test_the_order_of_asks_does_not_matter(run_requests: list[RunRequest], numbers: tuple[int, int]) -> None:
    """Deliveries come in any order; the same runs are wanted."""
    lines = [
        structs.replace(one, base_runs=found(BASE, numbers[0]), head_runs=found(HEAD, numbers[1]))
        for one in LINES
    ]
    plans = {
        plan(replace(SUBJECT, run_requests=tuple(order)), lines)
        for order in list(permutations(run_requests))[:8]
    }
    assert len(plans) == 1


@given(run_requests=ASKS, states=st.lists(STATES, min_size=200, max_size=200), rows=st.sampled_from(RowState))
def test_planning_again_starts_nothing_new(
    run_requests: list[RunRequest], states: list[RunState], rows: RowState
) -> None:
    """Whatever has become of the runs of a plan, no new one is named while their report is the same."""
    first = plan(replace(SUBJECT, run_requests=tuple(run_requests)))
    started = tuple(
        structs.replace(one.record, state=state) for one, state in zip(first, states, strict=False)
    )
    lines = [structs.replace(one, state=rows) for one in LINES]
    again = plan(replace(SUBJECT, run_requests=tuple(run_requests), started=started), lines)
    assert {one.record.key for one in again} <= {one.record.key for one in first}


@given(run_requests=ASKS)
def test_a_plan_names_no_run_twice_and_has_an_end(run_requests: list[RunRequest]) -> None:
    """Each key once, each in the asks, and never more repeats than the most for every time asked."""
    planned = plan(replace(SUBJECT, run_requests=tuple(run_requests)))
    keys = [one.record.key for one in planned]
    assert len(keys) == len(set(keys))
    wished = {key for request in run_requests for key in request.keys}
    assert {one.record.case_key for one in planned} <= wished
    assert len(planned) <= 2 * len(wished) * (1 + MAX_REPEATS)
