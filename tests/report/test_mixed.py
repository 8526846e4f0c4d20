"""Runs of one side that pass beside runs that fail: what the row, its failure and the parity say of them."""

from dataclasses import replace

from bot.logs.facts import Failure, State
from bot.render import Renderer
from bot.report.build import build_report
from bot.report.comment import comment_body
from bot.report.headline import headline
from bot.report.material import CaseRuns, Request
from bot.report.model import Report, RowState, Transition
from bot.runs.baseline import BaselineChoice, HeadChoice
from bot.runs.records import RunRecord
from bot.verdict.judgement import MeasuredRun, Verdict
from bot.verdict.measure import measure
from tests.controller.samples import PULL
from tests.report.samples import report
from tests.report.states import every_state
from tests.verdict.samples import run_log

REQUEST = Request(
    pull=PULL, merge_base="b" * 40, made_at=0.0, variants=("linen", "nnx"), compares_variants=True
)
RENDERER = Renderer()


def _failing(fingerprint: str) -> MeasuredRun:
    log = run_log()
    failure = Failure(
        kind="code", error=f"KeyError: '{fingerprint}'", fingerprint=fingerprint, where="train.py:12"
    )
    outcome = replace(log.outcome, state=State.FAILED, exit_code=1, failure=failure)
    return measure(replace(log, outcome=outcome))


PASS, FAIL = measure(run_log()), _failing("f1")


def _case(variant: str, base: int, head: int) -> CaseRuns:
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


def _report(base: tuple[MeasuredRun, ...], head: tuple[MeasuredRun, ...]) -> Report:
    """Linen passes on both sides; NNX has these runs."""
    measured = {"linen-base-0": PASS, "linen-head-0": PASS}
    measured |= {f"nnx-base-{n}": run for n, run in enumerate(base)}
    measured |= {f"nnx-head-{n}": run for n, run in enumerate(head)}
    cases = (_case("linen", 1, 1), _case("nnx", len(base), len(head)))
    return build_report(REQUEST, cases, measured).report


def _verdict(said: Report) -> Verdict | None:
    """What the comparison, its JSON and the command line say of the second row."""
    comparison = said.rows[1].comparison
    return comparison.verdict if comparison else None


def _body(said: Report) -> str:
    return comment_body(said, public_url="https://maxview.example", render=RENDERER.render)


def test_a_failure_that_some_runs_of_main_have_is_not_new() -> None:
    """Row, quote and parity agree, and the row stays in sight: main fails in half of its runs."""
    said = _report((PASS, FAIL), (FAIL, FAIL))
    assert said.rows[1].state is RowState.FAILS_ON_BOTH
    assert _verdict(said) is Verdict.FAILS_ON_BOTH
    assert said.parity[0].second_transition is Transition.FAILS_THE_SAME
    assert "also on main (1 of 2 runs)" in _body(said)
    assert "new failure" not in _body(said)


def test_another_failure_than_that_of_some_runs_of_main_is_new() -> None:
    """Row and parity agree that it is new."""
    said = _report((PASS, FAIL), (_failing("f2"),))
    assert said.rows[1].state is RowState.NEW_FAILURE
    assert _verdict(said) is Verdict.NEW_FAILURE
    assert said.parity[0].second_transition is Transition.FAILS_NOW


def test_a_case_of_which_a_run_still_fails_is_not_fixed() -> None:
    """Green is refused where one of two runs fails as main does."""
    said = _report((FAIL,), (PASS, FAIL))
    assert said.rows[1].state is RowState.INCONCLUSIVE
    assert _verdict(said) is Verdict.INCONCLUSIVE
    assert said.rows[1].comparison is not None
    assert said.rows[1].comparison.timing.change is None
    assert said.parity[0].second_transition is Transition.MIXED


def test_main_with_mixed_runs_is_no_news_where_the_head_passes() -> None:
    """Nothing went from fail to pass: main's runs are mixed."""
    said = _report((FAIL, PASS), (PASS, PASS))
    assert said.rows[1].state is RowState.SAME
    assert said.parity[0].second_transition is Transition.MIXED
    assert "fail → pass" not in _body(said)


def test_a_failed_run_beside_runs_that_passed_is_told_with_its_log() -> None:
    """Row, quote, link and what to do: the failure is not hidden by the figures of the others."""
    said = _report((PASS, PASS), (PASS, FAIL, PASS))
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
