"""Building a report: runs that pass and fail on one side, and the parity of two variants."""

import pytest
from msgspec.structs import replace

from bot.domain.run import BaselineChoice, HeadChoice, RunRecord
from bot.logs.facts import Failure, OutcomeState
from bot.report.assess import ParityTally, headline, parity_tally
from bot.report.build import build_report, parity_rows
from bot.report.comment import DETAIL_LEVELS, comment_body
from bot.report.documents import report_document
from bot.report.folds import parity_fold
from bot.report.model import (
    CaseRuns,
    CaseSides,
    InterimLook,
    ParityRow,
    ParityTransition,
    Report,
    ReportRequest,
    RowState,
)
from bot.report.text.pieces import markdown
from bot.templating import Renderer
from bot.verdict.judgement import MeasuredRun, TimingVerdict, Verdict
from bot.verdict.measure import measure
from tests.report.sample_states import every_state
from tests.report.samples import report
from tests.verdict.made_runs import TPU, Shape, run_log
from tests.worker.samples import PULL

MIXED_REQUEST = ReportRequest(
    pull=PULL, merge_base="b" * 40, made_at=0.0, variants=("linen", "nnx"), compares_variants=True
)

RENDERER = Renderer()


def _run_failing_with(fingerprint: str) -> MeasuredRun:
    log = run_log()
    failure = Failure(
        kind="code", error=f"KeyError: '{fingerprint}'", fingerprint=fingerprint, where="train.py:12"
    )
    outcome = replace(log.outcome, state=OutcomeState.FAILED, exit_code=1, failure=failure)
    return measure(replace(log, outcome=outcome))


PASSING_RUN, FAILING_RUN = measure(run_log()), _run_failing_with("f1")


def _mixed_case(variant: str, base: int, head: int) -> CaseRuns:
    def records(side: str, count: int) -> tuple[RunRecord, ...]:
        return tuple(
            RunRecord(
                id=f"{variant}-{side}-{n}",
                repository="acme/x",
                case="a",
                variant=variant,
                sha=("b" if side == "base" else "a") * 40,
                log_uri=f"file:{variant}-{side}-{n}",
            )
            for n in range(count)
        )

    choice = BaselineChoice(sha="b" * 40, distance=0, why="the merge base", runs=records("base", base))
    return CaseRuns(case="a", variant=variant, head=HeadChoice(runs=records("head", head)), base=choice)


def _mixed_report(base: tuple[MeasuredRun, ...], head: tuple[MeasuredRun, ...]) -> Report:
    """Linen passes on both sides; NNX has these runs."""
    runs = {"linen-base-0": PASSING_RUN, "linen-head-0": PASSING_RUN}
    runs |= {f"nnx-base-{n}": run for n, run in enumerate(base)}
    runs |= {f"nnx-head-{n}": run for n, run in enumerate(head)}
    measured = {name: _on_another_day(run, day) for day, (name, run) in enumerate(runs.items())}
    cases = (_mixed_case("linen", 1, 1), _mixed_case("nnx", len(base), len(head)))
    return build_report(MIXED_REQUEST, cases, measured).report


def _on_another_day(run: MeasuredRun, day: int) -> MeasuredRun:
    """The same run with another log: one log is no evidence twice."""
    steps = tuple(replace(step, time=(step.time or 0.0) + 86_400.0 * day) for step in run.log.steps)
    return measure(replace(run.log, steps=steps))


def _verdict(said: Report) -> Verdict | None:
    """What the comparison, its JSON and the command line say of the second row."""
    comparison = said.rows[1].comparison
    return comparison.verdict if comparison else None


def _body(said: Report) -> str:
    return comment_body(said, public_url="https://maxview.example", render=RENDERER.render)


def test_a_failure_that_some_runs_of_main_have_is_not_new() -> None:
    """Row, quote and parity agree, and the row stays in sight: main fails in half of its runs."""
    said = _mixed_report((PASSING_RUN, FAILING_RUN), (FAILING_RUN, FAILING_RUN))
    assert said.rows[1].state is RowState.FAILS_ON_BOTH
    assert _verdict(said) is Verdict.FAILS_ON_BOTH
    assert said.parity[0].second_transition is ParityTransition.FAILS_THE_SAME
    assert "also on main (1 of 2 runs)" in _body(said)
    assert "new failure" not in _body(said)


def test_a_failure_that_differs_from_mains_is_new() -> None:
    """Row and parity agree that it is new."""
    said = _mixed_report((PASSING_RUN, FAILING_RUN), (_run_failing_with("f2"),))
    assert said.rows[1].state is RowState.NEW_FAILURE
    assert _verdict(said) is Verdict.NEW_FAILURE
    assert said.parity[0].second_transition is ParityTransition.FAILS_NOW


def test_a_case_with_a_failing_run_is_not_fixed() -> None:
    """Green is refused where one of two runs fails as main does."""
    said = _mixed_report((FAILING_RUN,), (PASSING_RUN, FAILING_RUN))
    assert said.rows[1].state is RowState.INCONCLUSIVE
    assert _verdict(said) is Verdict.INCONCLUSIVE
    assert said.rows[1].comparison is not None
    assert said.rows[1].comparison.timing.change is None
    assert said.parity[0].second_transition is ParityTransition.MIXED


def test_mixed_runs_of_main_are_no_news_where_the_head_passes() -> None:
    """Nothing went from fail to pass: main's runs are mixed."""
    said = _mixed_report((FAILING_RUN, PASSING_RUN), (PASSING_RUN, PASSING_RUN))
    assert said.rows[1].state is RowState.SAME
    assert said.parity[0].second_transition is ParityTransition.MIXED
    assert "fail → pass" not in _body(said)


def test_a_failed_run_among_passing_ones_is_shown_with_its_log() -> None:
    """Row, quote, link and what to do: the failure is not hidden by the figures of the others."""
    said = _mixed_report((PASSING_RUN, PASSING_RUN), (PASSING_RUN, FAILING_RUN, PASSING_RUN))
    text = _body(said)
    assert said.rows[1].state is RowState.INCONCLUSIVE
    assert "⚠️ inconclusive, 1 of 3 runs failed |" in text
    assert "1 of 3 runs failed: `KeyError: 'f1'` at `train.py:12` · new: succeeds on main" in text
    assert "/runs/nnx-head-1/log" in text
    assert "**Act on 1:** `a · nnx` has 1 of 3 runs that failed." in text


def test_every_case_is_counted_once_in_the_headline() -> None:
    """The counts of the headline add up to its cases, whatever is said of them."""
    rows = [row for name in every_state().values() for row in name.rows]
    for chosen in (rows, rows[::2], rows[::3]):
        words = headline(report(*chosen)).split("MaxView: ")[1].split(" (")[0]
        assert sum(int(part.split()[0]) for part in words.split(" · ")) == len(chosen)


PARITY_REQUEST = ReportRequest(
    pull=PULL, merge_base="b" * 40, made_at=0.0, variants=("linen", "nnx"), compares_variants=True
)


def _run(seconds: float = 0.147, **log: object) -> MeasuredRun:
    made = run_log(Shape(step_seconds=seconds, steps=30))
    return measure(replace(made, **log))


def _failing(fingerprint: str, state: OutcomeState = OutcomeState.FAILED, kind: str = "code") -> MeasuredRun:
    run = _run()
    failure = Failure(kind=kind, error="KeyError: 'x'", fingerprint=fingerprint)
    outcome = replace(run.log.outcome, state=state, exit_code=1, failure=failure)
    return _run(outcome=outcome, steps=(), steps_seen=0)


PASS, FAIL, OTHER, LOST = (
    _run(),
    _failing("f1"),
    _failing("f2"),
    _failing("f3", OutcomeState.KILLED, "preempted"),
)

Runs = MeasuredRun | tuple[MeasuredRun, ...] | None


def _runs(given: Runs) -> tuple[MeasuredRun, ...]:
    match given:
        case None:
            return ()
        case MeasuredRun():
            return (given,)
        case _:
            return given


def _sides(case: str, variant: str, base: Runs, head: Runs) -> CaseSides:
    runs = CaseRuns(
        case=case,
        variant=variant,
        head=HeadChoice(),
        base=BaselineChoice(sha="b" * 40, distance=0, why="the merge base"),
    )
    return CaseSides(runs, _runs(base), _runs(head), InterimLook(look=1, runs=""))


def _row(base: Runs, head: Runs) -> ParityRow:
    """The second variant's sides; the first one passes on both."""
    (row,) = parity_rows((_sides("a", "linen", PASS, PASS), _sides("a", "nnx", base, head)), PARITY_REQUEST)
    return row


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        (PASS, PASS, ParityTransition.STILL_PASSES),
        (FAIL, PASS, ParityTransition.PASSES_NOW),
        (PASS, FAIL, ParityTransition.FAILS_NOW),
        (FAIL, FAIL, ParityTransition.FAILS_THE_SAME),
        (FAIL, OTHER, ParityTransition.FAILS_OTHERWISE),
        (None, FAIL, ParityTransition.UNKNOWN),
        (PASS, None, ParityTransition.UNKNOWN),
        (PASS, LOST, ParityTransition.UNKNOWN),
        ((PASS, FAIL), PASS, ParityTransition.MIXED),
        (PASS, (PASS, FAIL), ParityTransition.MIXED),
        (FAIL, (PASS, FAIL), ParityTransition.MIXED),
        ((PASS, FAIL), FAIL, ParityTransition.FAILS_THE_SAME),
        ((PASS, FAIL), OTHER, ParityTransition.FAILS_NOW),
        ((FAIL, OTHER), OTHER, ParityTransition.FAILS_THE_SAME),
        ((PASS, LOST), PASS, ParityTransition.STILL_PASSES),
    ],
)
def test_the_sides_of_a_case_decide_its_parity_transition(
    base: Runs, head: Runs, expected: ParityTransition
) -> None:
    """Failures are told apart by their fingerprints; a run that the cluster lost tells nothing."""
    row = _row(base, head)
    assert (row.first_transition, row.second_transition) == (ParityTransition.STILL_PASSES, expected)


def test_parity_counts_only_cases_known_to_pass_in_both() -> None:
    """11 of the 13 known cases on main, 12 on the head; what has no run is in no figure, and is named."""
    sides = []
    for n in range(14):
        base = PASS if n < 11 else FAIL
        head = None if n == 13 else PASS if n < 12 else FAIL
        sides += [_sides(f"{n:02d}", "linen", PASS, PASS), _sides(f"{n:02d}", "nnx", base, head)]
    rows = parity_rows(sides, PARITY_REQUEST)
    assert parity_tally(rows) == ParityTally(
        cases=14, known=13, head=12, head_unknown=1, base=11, base_unknown=0
    )
    fold = parity_fold(report(parity=rows), DETAIL_LEVELS[0])
    assert fold is not None
    assert markdown(fold.summary).endswith("parity 11/13 → 12/13 (13 of 14 cases known): 1 fail → pass")
    assert fold.table is not None
    assert tuple(map(markdown, fold.table.rows[0][:4])) == ("11", "pass", "pass", "fail → pass")


def test_one_run_of_four_cases_shows_no_drop() -> None:
    """Cases that have not run on the head are in no figure of main either."""
    sides = [
        _sides(f"{n}", variant, PASS, PASS if (n, variant) == (0, "nnx") else None)
        for n in range(4)
        for variant in ("linen", "nnx")
    ]
    rows = parity_rows(sides, PARITY_REQUEST)
    assert parity_tally(rows) == ParityTally(
        cases=4, known=0, head=0, head_unknown=4, base=None, base_unknown=0
    )
    fold = parity_fold(report(parity=rows), DETAIL_LEVELS[0])
    assert fold is not None
    assert markdown(fold.summary).endswith("parity: no case is known in both variants yet")


def test_a_side_with_mixed_runs_is_mixed_in_words_and_json() -> None:
    """Main passes and fails, the head passes: neither a pass nor a fail of main, and no news."""
    rows = parity_rows(
        (_sides("a", "linen", PASS, PASS), _sides("a", "nnx", (FAIL, PASS), PASS)), PARITY_REQUEST
    )
    fold = parity_fold(report(parity=rows), DETAIL_LEVELS[0])
    assert fold is not None
    assert markdown(fold.summary).endswith("parity 0/1 and 1 mixed → 1/1")
    document = report_document(report(parity=rows))["parity"]
    assert isinstance(document, list)
    line = document[0]
    assert (line["base_second_passes"], line["base_second_mixed"]) == (None, True)
    assert (line["second_passes"], line["second_mixed"]) == (True, False)


def test_parity_without_runs_of_main_shows_the_head_alone() -> None:
    """No figure of main is made up where nothing ran there."""
    rows = parity_rows((_sides("a", "linen", None, PASS), _sides("a", "nnx", None, FAIL)), PARITY_REQUEST)
    assert parity_tally(rows).base is None
    fold = parity_fold(report(parity=rows), DETAIL_LEVELS[0])
    assert fold is not None
    assert markdown(fold.summary).endswith("parity 0/1")


def test_there_is_no_parity_before_the_first_run_of_the_head() -> None:
    """Fourteen cases that have not run are no parity of zero."""
    assert (
        parity_rows((_sides("a", "linen", PASS, None), _sides("a", "nnx", PASS, None)), PARITY_REQUEST) == ()
    )


def test_variants_of_one_commit_are_compared_whatever_their_run_names() -> None:
    """NNX is slower on the same commit; nothing in the logs says that these are variants."""
    slow = _run(0.170, environment=replace(TPU, run_name=None, commit="a" * 40))
    quick = _run(environment=replace(TPU, run_name=None, commit="a" * 40))
    sides = (_sides("a", "linen", None, quick), _sides("a", "nnx", None, slow))
    (row,) = parity_rows(sides, PARITY_REQUEST)
    assert row.comparison is not None
    assert row.comparison.timing.verdict is TimingVerdict.SLOWER
