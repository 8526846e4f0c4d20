"""Figures, times, run status and caveats about the data in words."""

import pytest
from msgspec.structs import replace

from bot.domain.run import RunState
from bot.errors import InternalError, TransientError, UserError
from bot.report.cells import progress_words
from bot.report.comment import action_line, comment_body
from bot.report.model import CaseProgress, ProblemKind, Report
from bot.report.text.pieces import markdown
from bot.report.wording import (
    duration_words,
    implausible_lines_words,
    implausible_words,
    run_status_words,
    significant,
    time_span_words,
    unreadable_runs_words,
)
from bot.runs.eta import DurationRange
from bot.runs.run_status import PastAttempt, RunStatus
from bot.templating import Renderer
from bot.verdict.judgement import ImplausibleReason, ImplausibleValue
from tests.report import samples
from tests.report.samples import report, same


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (9.996, 3, "10.0"),
        (0.0009996, 2, "0.0010"),
        (0.001, 2, "0.0010"),
        (-99.96, 3, "-100"),
        (0.22943, 3, "0.229"),
        (0, 3, "0"),
        (9.996e-7, 3, "0.00000100"),
        (1.5e-9, 3, "1.50e-09"),
        (None, 3, "–"),
        (float("nan"), 3, "nan"),
    ],
)
def test_a_figure_that_rounds_up_to_a_power_of_ten_gains_no_digit(
    value: float | None, digits: int, shown: str
) -> None:
    """The digits are counted in what is shown."""
    assert shown == significant(value, digits)


def test_two_durations_of_one_size_are_shown_alike() -> None:
    """So that a difference is one, and not one of notation."""
    assert duration_words(0.0009996) == duration_words(0.001) == "0.0010 s"


NOW = 1_000_000.0

RUN = RunStatus(name="mv-a", timeout_seconds=600)

PAST = (PastAttempt(number=1, name="mv-a", ended=NOW, why="it was preempted", note="by <b>prod</b>"),)

WORDS = [
    ({}, ""),
    ({"why": "4 of 4 runs on the cluster"}, "waits: 4 of 4 runs on the cluster"),
    ({"state": RunState.QUEUED, "queue_position": 1}, "next in the queue"),
    ({"state": RunState.QUEUED, "queue_position": 4}, "3 others before it in the queue"),
    ({"state": RunState.QUEUED, "past": PAST, "attempt": 2}, "attempt 2, since it was preempted"),
    ({"state": RunState.RUNNING}, ""),
    ({"state": RunState.RUNNING, "last_step": 6}, "step 6"),
    ({"state": RunState.RUNNING, "last_step": 6, "expected_steps": 10}, "step 6 of 10"),
    (
        {"state": RunState.RUNNING, "last_step": 6, "expected_steps": 10, "last_output": NOW - 840},
        "silent for 14 min, last step 6 of 10",
    ),
    ({"state": RunState.RUNNING, "last_output": NOW - 840}, "silent for 14 min"),
    ({"state": RunState.LOST, "why": "it was ended at its time limit of 45 min"},
     "it was ended at its time limit of 45 min"),
    ({"state": RunState.ENDED, "last_step": 9}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "words"), WORDS, ids=[words or "nothing" for _, words in WORDS])
def test_one_clause_states_the_status_of_a_run(changes: dict[str, object], words: str) -> None:
    """Every state, as the comment, the page and the terminal say it."""
    assert run_status_words(replace(RUN, **changes), NOW) == words


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (10, 50, "less than a minute"),
        (0, 60, "0–1 min"),
        (430, 655, "7–11 min"),
        (419, 420, "6–7 min"),
        (420, 420, "7 min"),
        (3600, 7100, "60–119 min"),
        (3700, 9000, "1–3 h"),
    ],
)
def test_a_time_is_a_range_to_the_minute(low: float, high: float, words: str) -> None:
    """Rounded outwards, so that it promises nothing."""
    assert time_span_words(DurationRange(low=low, high=high)) == words


def test_an_unknown_time_is_empty() -> None:
    """Nothing is said where nothing is known."""
    assert time_span_words(None) == ""


CELLS = [
    (CaseProgress(), "queued"),
    (CaseProgress(runs_done=2, runs_wanted=6), "2 of 6 runs"),
    (CaseProgress(step=6, steps=10), "step 6 of 10"),
    (CaseProgress(step=6, steps=10, runs_wanted=1, words="step 6 of 10"), "step 6 of 10"),
    (
        CaseProgress(step=6, steps=10, runs_done=2, runs_wanted=6, words="step 6 of 10"),
        "step 6 of 10 (2 of 6 runs)",
    ),
    (CaseProgress(words="next in the queue"), "queued, next in the queue"),
    (
        CaseProgress(words="attempt 2, since a node failed", retrying=True),
        "retrying, attempt 2, since a node failed",
    ),
    (CaseProgress(words="waits: [x](http://evil)"), "queued, waits: \\[x\\](http:&#8203;//evil)"),
]  # fmt: skip


@pytest.mark.parametrize(("progress", "words"), CELLS, ids=[words for _, words in CELLS])
def test_progress_is_stated_in_a_few_words(progress: CaseProgress, words: str) -> None:
    """Its step, its place in the queue, how many of its runs are done; what is not ours is escaped."""
    assert markdown(progress_words(progress, "queued")) == words


RENDER = Renderer().render

ODD = (
    ImplausibleValue(
        step=7,
        field="tflops_per_device",
        value=2094.2,
        why=ImplausibleReason.ABOVE_PEAK,
        text="2094.2 TFLOP/s",
    ),
    ImplausibleValue(step=8, field="seconds", value=0.0, why=ImplausibleReason.NOT_POSITIVE, text="0 s"),
)


def _report(*odd: ImplausibleValue) -> Report:
    run = samples.measured()
    head = replace(run, measurements=replace(run.measurements, implausible=odd))
    made = samples.report(samples.same("03_dropout"))
    (row,) = made.rows
    assert row.comparison is not None
    return replace(made, rows=(replace(row, comparison=replace(row.comparison, head=(head,))),))


def test_the_method_counts_implausible_values_by_reason() -> None:
    """Below the folds of method and of the page's own figures, in one line each."""
    body = comment_body(_report(*ODD), public_url="https://maxview.example", render=RENDER)
    reasons = "a time or rate that is not above zero (1); TFLOP/s above the device's peak (1)."
    assert f"* 2 implausible values are struck out of every figure but the page's own: {reasons}" in body
    assert f"The step lines hold 2 implausible values: {reasons}" in body
    assert "2094" not in body


def test_plausible_runs_need_no_note() -> None:
    """No line about what did not happen."""
    body = comment_body(_report(), public_url="https://maxview.example", render=RENDER)
    assert "implausible" not in body
    assert (implausible_words([samples.measured()]), implausible_lines_words([samples.measured()])) == (
        "",
        "",
    )


def test_one_implausible_value_is_singular() -> None:
    """Singular."""
    (row,) = _report(ODD[0]).rows
    assert row.comparison is not None
    assert implausible_words(row.comparison.head) == (
        "1 implausible value is struck out of every figure but the page's own: "
        "TFLOP/s above the device's peak (1)."
    )


AWAY = "The runs could not be read because their store could not be reached; MaxView tries again by itself."

WHY = "The runs could not be read, and MaxView tries again by itself:"


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (
            InternalError(
                "gs://b/c: the bucket cannot be reached ([Errno -2] Name or service not known); try again"
            ),
            AWAY,
        ),
        (TransientError("busy", after=3.0), AWAY),
        (
            UserError("/nonexistent/zz: no such folder; create it, or name another"),
            f"{WHY} no such folder; create it, or name another.",
        ),
        (
            UserError("gs://b/c: permission denied; give this account the role Storage Object Viewer"),
            f"{WHY} permission denied; give this account the role Storage Object Viewer.",
        ),
        (
            UserError("runs: [Errno 13] Permission denied: '/srv/maxview/runs/x'"),
            f"{WHY} runs: Permission denied: [path].",
        ),
        (
            UserError("gs://b: no answer in time (timed out); check the address, or try again"),
            f"{WHY} no answer in time; check the address.",
        ),
        (UserError("/srv/x: "), "The runs could not be read; MaxView tries again by itself."),
    ],
)
def test_unreadable_runs_are_one_sentence_without_server_names(
    problem: UserError | InternalError, expected: str
) -> None:
    """No system error, no folder or bucket, no advice to try again that nobody can follow."""
    assert unreadable_runs_words(problem) == expected


def test_the_second_line_shows_the_problem_as_a_sentence() -> None:
    """It ends before the next sentence, and nobody is asked to put right what passes."""
    away = unreadable_runs_words(InternalError("gs://b: away"))
    line = markdown(action_line(report(same("a"), problem=away, problem_kind=ProblemKind.PASSES)))
    assert line.startswith(f"{AWAY} `cdc765a` vs main")
    line = markdown(action_line(report(problem=".github/maxview.yml line 7: no such key")))
    assert line.startswith("**To put right:** .github/maxview.yml line 7: no such key. `cdc765a`")
