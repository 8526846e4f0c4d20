"""One comparison explained: its golden texts."""

import json
from collections.abc import Sequence

from msgspec.structs import replace

from bot.report.documents import comparison_response, json_text
from bot.report.explain import explanation_sections, history_words, step_spans_words
from bot.storage.reports import slim
from bot.verdict.compare import compare
from bot.verdict.judgement import Comparison, ExplainedHistory, MeasuredRun
from bot.verdict.measure import measure
from tests.conftest import Accept
from tests.report import samples
from tests.verdict.made_runs import apart, failed, repeats, run
from tests.verdict.real_runs import DROPOUT_BRANCH, DROPOUT_MAIN


def _text(found: Comparison) -> str:
    """The sections as lines."""
    return "\n".join(
        line
        for section in explanation_sections(found)
        for line in (section.title, *(f"  {line}" for line in section.lines))
    )


def _compared(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun], history: Sequence[float]) -> str:
    return _text(compare(base, head, history=history, comparable_cases=12, look=2)) + "\n"


def test_seed_002_reads_as_its_golden_explanation(accept: Accept) -> None:
    """Figures of two real runs on different JAX versions: calculated, then withheld."""
    accept(
        "explanation/seed_002.txt", _text(compare([measure(DROPOUT_MAIN)], [measure(DROPOUT_BRANCH)])) + "\n"
    )


def test_repeats_with_a_history_read_as_their_golden_explanation(accept: Accept) -> None:
    """A second look at three runs against two, with twenty runs of main behind them."""
    history = [one.measurements.steady.seconds or 0 for one in repeats(24, sd=0.003, seed=7)]
    heads = apart(repeats(3, sd=0.003, seed=9, seconds=0.151))
    accept("explanation/repeats.txt", _compared(apart(repeats(2, sd=0.003, seed=8)), heads, history))


def test_a_failure_reads_as_its_golden_explanation(accept: Accept) -> None:
    """No arithmetic, and no figure made up for the side that has none."""
    accept("explanation/new_failure.txt", _text(compare([run()], [failed()])) + "\n")


def test_a_comparison_without_an_explanation_has_nothing_to_say() -> None:
    """Reports that were kept before explanations existed still open."""
    assert explanation_sections(samples.mixed().rows[0].comparison or compare([], [])) == ()


def test_long_lists_of_step_ranges_are_counted() -> None:
    """A line stays a line; the JSON has all."""
    assert step_spans_words(((3, 3), (6, 8))) == "3, 6–8"
    assert step_spans_words(tuple((n, n) for n in range(0, 40, 2))).endswith("20, 22 and 8 more stretches")


def test_the_use_of_the_history_is_explained() -> None:
    """Given, used, cut, too old, glitches."""
    assert history_words(ExplainedHistory(given=0)) == "no runs of main were given"
    assert history_words(ExplainedHistory(given=9)) == (
        "none of 9 main runs used: 15 since the last change of level are needed"
    )
    assert history_words(ExplainedHistory(given=33, used=19, before_change=8, older=5, glitches=(0.16,))) == (
        "19 of 33 main runs used; 8 before the last change of level; 5 older than the newest 30; "
        "dropped as a glitch, Grubbs' test at 0.1 %: 0.1600 s"
    )


def test_a_stored_report_still_explains_itself_in_json() -> None:
    """The slim form has no step lines, and every reason."""
    found = compare([measure(DROPOUT_MAIN)], [measure(DROPOUT_BRANCH)])
    report = samples.report(samples.same("03_dropout"))
    row = report.rows[0]
    kept = slim(replace(report, rows=(replace(row, comparison=found),))).rows[0].comparison
    assert kept is not None
    assert kept.explanation == found.explanation
    document = json.loads(json_text(comparison_response(kept)))
    assert document["explanation"]["base"][0]["dropped"][0] == {"reason": "warm_up", "steps": [[0, 2]]}
