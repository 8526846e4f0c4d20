"""The matrix of two variants: what passes where, what became of it, and how it is counted."""

from dataclasses import replace

import pytest

from bot.logs.facts import Failure, State
from bot.report.detail import LEVELS
from bot.report.material import CaseRuns, Looked, Request, Sides
from bot.report.model import ParityRow, Transition
from bot.report.parity import Tally, parity, tally
from bot.report.parity_fold import parity_fold
from bot.report.report_document import report_document
from bot.runs.baseline import BaselineChoice, HeadChoice
from bot.verdict.judgement import MeasuredRun, TimingVerdict
from bot.verdict.measure import measure
from tests.controller.samples import PULL
from tests.report.samples import report
from tests.verdict.samples import TPU, Shape, run_log

REQUEST = Request(
    pull=PULL, merge_base="b" * 40, made_at=0.0, variants=("linen", "nnx"), compares_variants=True
)


def _run(seconds: float = 0.147, **log: object) -> MeasuredRun:
    made = run_log(Shape(step_seconds=seconds, steps=30))
    return measure(replace(made, **log))  # type: ignore[arg-type]  # single fields of it


def _failing(fingerprint: str, state: State = State.FAILED, kind: str = "code") -> MeasuredRun:
    run = _run()
    failure = Failure(kind=kind, error="KeyError: 'x'", fingerprint=fingerprint)
    outcome = replace(run.log.outcome, state=state, exit_code=1, failure=failure)
    return _run(outcome=outcome, steps=(), steps_seen=0)


PASS, FAIL, OTHER, LOST = _run(), _failing("f1"), _failing("f2"), _failing("f3", State.KILLED, "preempted")


Runs = MeasuredRun | tuple[MeasuredRun, ...] | None


def _runs(given: Runs) -> tuple[MeasuredRun, ...]:
    match given:
        case None:
            return ()
        case MeasuredRun():
            return (given,)
        case _:
            return given


def _sides(case: str, variant: str, base: Runs, head: Runs) -> Sides:
    runs = CaseRuns(
        case=case,
        variant=variant,
        head=HeadChoice(),
        base=BaselineChoice(sha="b" * 40, distance=0, why="the merge base"),
    )
    return Sides(runs, _runs(base), _runs(head), Looked(look=1, runs=""))


def _row(base: Runs, head: Runs) -> ParityRow:
    """The second variant's sides; the first one passes on both."""
    (row,) = parity((_sides("a", "linen", PASS, PASS), _sides("a", "nnx", base, head)), REQUEST)
    return row


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        (PASS, PASS, Transition.STILL_PASSES),
        (FAIL, PASS, Transition.PASSES_NOW),
        (PASS, FAIL, Transition.FAILS_NOW),
        (FAIL, FAIL, Transition.FAILS_THE_SAME),
        (FAIL, OTHER, Transition.FAILS_OTHERWISE),
        (None, FAIL, Transition.UNKNOWN),
        (PASS, None, Transition.UNKNOWN),
        (PASS, LOST, Transition.UNKNOWN),
        ((PASS, FAIL), PASS, Transition.MIXED),
        (PASS, (PASS, FAIL), Transition.MIXED),
        (FAIL, (PASS, FAIL), Transition.MIXED),
        ((PASS, FAIL), FAIL, Transition.FAILS_THE_SAME),
        ((PASS, FAIL), OTHER, Transition.FAILS_NOW),
        ((FAIL, OTHER), OTHER, Transition.FAILS_THE_SAME),
        ((PASS, LOST), PASS, Transition.STILL_PASSES),
    ],
)
def test_a_case_has_become_what_its_sides_say(base: Runs, head: Runs, expected: Transition) -> None:
    """Failures are told apart by their fingerprints; a run that the cluster lost tells nothing."""
    row = _row(base, head)
    assert (row.first_transition, row.second_transition) == (Transition.STILL_PASSES, expected)


def test_parity_counts_only_cases_known_to_pass_in_both() -> None:
    """11 of the 13 known cases on main, 12 on the head; what has no run is in no figure, and is named."""
    sides = []
    for n in range(14):
        base = PASS if n < 11 else FAIL
        head = None if n == 13 else PASS if n < 12 else FAIL
        sides += [_sides(f"{n:02d}", "linen", PASS, PASS), _sides(f"{n:02d}", "nnx", base, head)]
    rows = parity(sides, REQUEST)
    assert tally(rows) == Tally(cases=14, known=13, head=12, head_unknown=1, base=11, base_unknown=0)
    fold = parity_fold(report(parity=rows), LEVELS[0])
    assert fold is not None
    assert fold.summary.endswith("parity 11/13 → 12/13 (13 of 14 cases known): 1 fail → pass")
    assert fold.table is not None
    assert fold.table.rows[0][:4] == ("11", "pass", "pass", "fail → pass")


def test_one_run_of_four_cases_shows_no_drop() -> None:
    """Cases that have not run on the head are in no figure of main either."""
    sides = [
        _sides(f"{n}", variant, PASS, PASS if (n, variant) == (0, "nnx") else None)
        for n in range(4)
        for variant in ("linen", "nnx")
    ]
    rows = parity(sides, REQUEST)
    assert tally(rows) == Tally(cases=4, known=0, head=0, head_unknown=4, base=None, base_unknown=0)
    fold = parity_fold(report(parity=rows), LEVELS[0])
    assert fold is not None
    assert fold.summary.endswith("parity: no case is known in both variants yet")


def test_a_side_with_mixed_runs_is_mixed_in_words_and_json() -> None:
    """Main passes and fails, the head passes: neither a pass nor a fail of main, and no news."""
    rows = parity((_sides("a", "linen", PASS, PASS), _sides("a", "nnx", (FAIL, PASS), PASS)), REQUEST)
    fold = parity_fold(report(parity=rows), LEVELS[0])
    assert fold is not None
    assert fold.summary.endswith("parity 0/1 and 1 mixed → 1/1")
    document = report_document(report(parity=rows))["parity"]
    assert isinstance(document, list)
    line = document[0]
    assert (line["base_second_passes"], line["base_second_mixed"]) == (None, True)
    assert (line["second_passes"], line["second_mixed"]) == (True, False)


def test_without_a_matrix_of_main_the_heads_stands_alone() -> None:
    """No figure of main is made up where nothing ran there."""
    rows = parity((_sides("a", "linen", None, PASS), _sides("a", "nnx", None, FAIL)), REQUEST)
    assert tally(rows).base is None
    fold = parity_fold(report(parity=rows), LEVELS[0])
    assert fold is not None
    assert fold.summary.endswith("parity 0/1")


def test_before_any_run_of_the_head_there_is_no_matrix() -> None:
    """Fourteen cases that have not run are no parity of zero."""
    assert parity((_sides("a", "linen", PASS, None), _sides("a", "nnx", PASS, None)), REQUEST) == ()


def test_variants_of_one_commit_are_judged_whatever_their_run_names() -> None:
    """NNX is slower on the same commit; nothing in the logs says that these are variants."""
    slow = _run(0.170, environment=replace(TPU, run_name=None, commit="a" * 40))
    quick = _run(environment=replace(TPU, run_name=None, commit="a" * 40))
    sides = (_sides("a", "linen", None, quick), _sides("a", "nnx", None, slow))
    (row,) = parity(sides, REQUEST)
    assert row.comparison is not None
    assert row.comparison.timing.verdict is TimingVerdict.SLOWER
