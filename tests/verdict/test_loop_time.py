"""The loop time: what it holds, what it leaves out, and the phases it is split into."""

import pytest
from msgspec import structs

from bot.logs.facts import Mark, MarkKind, RunLog
from bot.verdict.compare import compare
from bot.verdict.judgement import LoopPhase, LoopTime, TimingMeasure, Verdict
from bot.verdict.measure import measure
from bot.verdict.noise import PastRun
from tests.verdict.made_runs import START, Shape, apart, normals, run, run_log


def _loop(log: RunLog) -> LoopTime:
    found = measure(log).measurements.loop
    assert found is not None
    return found


def _phases(loop: LoopTime) -> dict[LoopPhase, float]:
    return {part.phase: part.seconds for part in loop.phases}


def test_a_quiet_run_has_one_phase() -> None:
    """Its loop time is its steady step time."""
    loop = _loop(run_log(Shape(jitter=0.0)))
    assert loop.seconds == pytest.approx(0.147, rel=1e-3)
    assert (list(_phases(loop)), loop.bursts, loop.settling_steps) == ([LoopPhase.STEADY], 0, 0)


def test_stalls_are_in_it_and_the_median_is_not_moved() -> None:
    """Four of sixteen steps that take 60 % longer cost 15 %."""
    stalls = dict.fromkeys((5, 9, 13, 17), 0.6 * 0.147)
    measured = measure(run_log(Shape(jitter=0.0, stalls=stalls)))
    loop = measured.measurements.loop
    assert loop is not None
    assert measured.measurements.steady.seconds == pytest.approx(0.147, rel=1e-3)
    assert sum(_phases(loop).values()) == pytest.approx(loop.seconds)


@pytest.mark.parametrize("seconds", [9.25, 23.0, 28.0])
@pytest.mark.parametrize("step", [4, 5, 6])
def test_the_stall_after_the_first_save_is_cut_out(seconds: float, step: int) -> None:
    """With its catch-up; it varies by tens of seconds between equal runs."""
    loop = _loop(run_log(Shape(jitter=0.0, stalls={step: seconds})))
    assert loop.seconds == pytest.approx(0.147, rel=1e-3)
    assert loop.settling_seconds == pytest.approx(seconds, abs=0.3)


def test_a_late_stall_is_no_save_of_the_first_step() -> None:
    """Fifteen steps later it is lost time."""
    loop = _loop(run_log(Shape(jitter=0.0, stalls={15: 9.0})))
    assert (loop.settling_steps, loop.bursts) == (0, 1)
    assert loop.seconds > 0.5


@pytest.mark.parametrize(
    ("kind", "phase"),
    [(MarkKind.EVAL_ENDED, LoopPhase.EVAL), (MarkKind.CHECKPOINT_STARTED, LoopPhase.CHECKPOINT)],
)
def test_a_mark_names_the_phase(kind: MarkKind, phase: LoopPhase) -> None:
    """What lies in the same gap took its time."""
    log = run_log(Shape(jitter=0.0, stalls={12: 2.0}))
    time = (log.steps[12].time or START) - 0.5
    named = structs.replace(log, marks=(*log.marks, Mark(kind=kind, time=time, step=11)))
    assert _phases(_loop(named))[phase] == pytest.approx(2.0 / 16, rel=0.1)


def test_time_lost_in_bursts_is_slower_once_it_is_confirmed() -> None:
    """The step time is unchanged, and the phase is named."""
    past = [PastRun(seconds=0.147 * (1 + 0.0015 * z), loop=0.1472 * (1 + 0.002 * z)) for z in normals(20, 5)]
    stalls = dict.fromkeys((6, 10, 14), 0.3)
    head = [run(Shape(seed=seed, stalls=stalls)) for seed in (2, 3, 4)]
    first = compare([run()], head[:1], history=past, comparable_cases=25)
    assert (first.verdict, first.timing.measure) == (Verdict.CONFIRMING, TimingMeasure.LOOP)
    found = compare(apart([run()]), apart(head), history=past, comparable_cases=25, look=2)
    assert found.verdict is Verdict.SLOWER
    assert found.reason.startswith("step time unchanged, ")
    assert " % more time in stalls: 9 of 48 steps" in found.reason
    assert {row.key: row.direction.value for row in found.rows}["loop_step_seconds"] == "worse"


@pytest.mark.parametrize("stalls", [{9: 0.15}, dict.fromkeys((5, 10, 15), 0.09), {16: 5.0}])
def test_time_lost_by_head_alone_is_never_called_unchanged(stalls: dict[int, float]) -> None:
    """One run a side, with and without a history."""
    past = [PastRun(seconds=0.147 * (1 + 0.0015 * z), loop=0.147 * (1 + 0.002 * z)) for z in normals(20, 5)]
    for history in ((), past):
        found = compare([run()], [run(Shape(seed=2, stalls=stalls))], history=history, comparable_cases=25)
        assert found.verdict in {Verdict.CONFIRMING, Verdict.INCONCLUSIVE}
        assert found.timing.measure is TimingMeasure.LOOP


def test_an_early_stall_that_only_head_has_is_its_own() -> None:
    """Where the logs name no save, and base has no such stall."""
    late, early = run(Shape(seed=2, stalls={5: 12.0})), run()
    assert compare([early], [late]).timing.measure is TimingMeasure.LOOP
    assert compare([run(Shape(stalls={4: 23.0}))], [late]).verdict is Verdict.SAME
