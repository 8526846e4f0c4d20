"""How a launched run stands, in words."""

from dataclasses import replace

import pytest

from bot.report.life_words import life_words, span_words
from bot.report.model import Progress
from bot.report.progress import progress_words
from bot.runs.eta import Span
from bot.runs.records import RunState
from bot.runs.standing import PastAttempt, RunStanding

NOW = 1_000_000.0
RUN = RunStanding(name="mv-a", timeout_seconds=600)
PAST = (PastAttempt(number=1, name="mv-a", ended=NOW, why="it was preempted", note="by <b>prod</b>"),)

WORDS = [
    ({}, ""),
    ({"why": "4 of 4 runs on the cluster"}, "waits: 4 of 4 runs on the cluster"),
    ({"state": RunState.QUEUED, "queue_place": 1}, "next in the queue"),
    ({"state": RunState.QUEUED, "queue_place": 4}, "3 others before it in the queue"),
    ({"state": RunState.QUEUED, "past": PAST, "attempt": 2}, "attempt 2, since it was preempted"),
    ({"state": RunState.RUNNING}, ""),
    ({"state": RunState.RUNNING, "last_step": 6}, "step 6"),
    ({"state": RunState.RUNNING, "last_step": 6, "expected_steps": 10}, "step 6 of 10"),
    (
        {"state": RunState.RUNNING, "last_step": 6, "expected_steps": 10, "heard": NOW - 840},
        "silent for 14 min, last step 6 of 10",
    ),
    ({"state": RunState.RUNNING, "heard": NOW - 840}, "silent for 14 min"),
    ({"state": RunState.LOST, "why": "it was ended at its time limit of 45 min"},
     "it was ended at its time limit of 45 min"),
    ({"state": RunState.ENDED, "last_step": 9}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "words"), WORDS, ids=[words or "nothing" for _, words in WORDS])
def test_one_clause_says_how_a_run_stands(changes: dict[str, object], words: str) -> None:
    """Every state, as the comment, the page and the terminal say it."""
    assert life_words(replace(RUN, **changes), NOW) == words  # type: ignore[arg-type]


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
    assert span_words(Span(low=low, high=high)) == words


def test_an_unknown_time_is_no_words() -> None:
    """Nothing is said where nothing is known."""
    assert span_words(None) == ""


CELLS = [
    (Progress(), "queued"),
    (Progress(runs_done=2, runs_wanted=6), "2 of 6 runs"),
    (Progress(step=6, steps=10), "step 6 of 10"),
    (Progress(step=6, steps=10, runs_wanted=1, words="step 6 of 10"), "step 6 of 10"),
    (
        Progress(step=6, steps=10, runs_done=2, runs_wanted=6, words="step 6 of 10"),
        "step 6 of 10 (2 of 6 runs)",
    ),
    (Progress(words="next in the queue"), "queued, next in the queue"),
    (
        Progress(words="attempt 2, since a node failed", retrying=True),
        "retrying, attempt 2, since a node failed",
    ),
    (Progress(words="waits: [x](http://evil)"), "queued, waits: \\[x\\](http:&#8203;//evil)"),
]  # fmt: skip


@pytest.mark.parametrize(("progress", "words"), CELLS, ids=[words for _, words in CELLS])
def test_a_cell_says_how_far_a_case_is(progress: Progress, words: str) -> None:
    """Its step, its place in the queue, how many of its runs are done; what is not ours is escaped."""
    assert progress_words(progress, "queued") == words
