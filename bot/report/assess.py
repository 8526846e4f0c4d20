"""What rows and reports amount to: states, news, severity, headline, failure novelty, acknowledgements.

Headline, table, check and page ask the same functions, so they cannot disagree. The headline's symbol is
that of the worst row; a report is green only where every row is.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from bot.domain.case_key import CaseKey
from bot.domain.commit import same_commit
from bot.domain.price import exhausted_budget
from bot.domain.run import RunRecord
from bot.logs.facts import Failure, OutcomeState, RunOutcome
from bot.logs.failures import FailureClass, Responsibility, advice
from bot.report.model import (
    AcknowledgedState,
    Acknowledgement,
    CaseReport,
    CaseSides,
    FailureNovelty,
    Novelty,
    ParityRow,
    ProblemKind,
    Report,
    ReportRequest,
    RowState,
)
from bot.report.text.escape import plain_name
from bot.report.text.pieces import Line, code, foreign, joined, line
from bot.report.wording import RUNS_UNREADABLE, counted, listed, percent_ceiling
from bot.verdict.comparability import (
    COMPARED_FIELDS,
    OutcomeClass,
    SideOutcome,
    classify_outcome,
    side_outcome,
)
from bot.verdict.judgement import (
    Caveat,
    CaveatWeight,
    Comparison,
    Direction,
    LossVerdict,
    MeasuredRun,
    MetricRow,
    RunsWanted,
)
from bot.verdict.metrics import METRICS_BY_KEY, Better, Judging
from bot.verdict.statistics import normal_quantile
from bot.verdict.thresholds import EQUIVALENCE_ALPHA, as_percent, look_alpha

WARNING = "⚠️"  # news that the state of a row does not show


class Severity(IntEnum):
    """How bad news is; the comment is posted again only when the worst severity rises."""

    QUIET = 0
    UNSETTLED = 1
    UNFAIR = 2
    RED = 3


class StateWords(Struct, frozen=True, kw_only=True):
    """`rank` orders states, worst first when descending; `is_done`: nothing more is awaited; `needs_person`:
    somebody should look at the row."""

    symbol: str
    word: str
    rank: int
    severity: Severity
    is_done: bool
    needs_person: bool


def _state(symbol: str, word: str, rank: int, severity: Severity, *traits: str) -> StateWords:
    return StateWords(
        symbol=symbol,
        word=word,
        rank=rank,
        severity=severity,
        is_done="done" in traits,
        needs_person="person" in traits,
    )


STATES: dict[RowState, StateWords] = {
    RowState.DIVERGED: _state("🔴", "diverged", 95, Severity.RED, "done", "person"),
    RowState.SLOWER: _state("🔴", "slower", 90, Severity.RED, "done", "person"),
    RowState.NEW_FAILURE: _state("❌", "new failure", 85, Severity.RED, "done", "person"),
    RowState.NOT_COMPARABLE: _state("⚠️", "not comparable", 70, Severity.UNFAIR, "done", "person"),
    RowState.NOT_LIKE_FOR_LIKE: _state("⚠️", "not like for like", 65, Severity.UNFAIR, "done", "person"),
    RowState.CONFIRMING: _state("🟠", "confirming", 62, Severity.UNSETTLED, "done", "person"),
    RowState.INCONCLUSIVE: _state("🟡", "inconclusive", 60, Severity.UNSETTLED, "done", "person"),
    RowState.LOST: _state("🔁", "lost by the cluster", 55, Severity.UNSETTLED, "person"),
    RowState.NO_BASELINE: _state("⚪", "no baseline", 50, Severity.UNSETTLED, "done", "person"),
    RowState.NO_RUN: _state("⚪", "no run", 48, Severity.QUIET, "person"),
    RowState.WAITING_FOR_APPROVAL: _state("⛔", "waiting for approval", 47, Severity.QUIET, "person"),
    RowState.CANCELLED: _state("🚫", "cancelled", 46, Severity.QUIET, "person"),
    RowState.SUPERSEDED: _state("🗑", "superseded", 44, Severity.QUIET),
    RowState.RETRYING: _state("🔁", "retrying, the cluster's fault", 40, Severity.QUIET, "person"),
    RowState.RUNNING: _state("⏳", "running", 38, Severity.QUIET, "person"),
    RowState.QUEUED: _state("🕓", "queued", 36, Severity.QUIET),
    RowState.FAILS_ON_BOTH: _state("🟤", "fails on main too", 30, Severity.QUIET, "done"),
    RowState.FIXED: _state("🩹", "fixed", 16, Severity.QUIET, "done"),
    RowState.FASTER: _state("🟢", "faster", 14, Severity.QUIET, "done"),
    RowState.CARRIED: _state("↩️", "carried", 12, Severity.QUIET, "done"),
    RowState.SAME: _state("✅", "same", 10, Severity.QUIET, "done"),
}

GREEN_STATES = frozenset({RowState.SAME, RowState.FASTER, RowState.FIXED, RowState.CARRIED})

PENDING_STATES = frozenset(
    {RowState.QUEUED, RowState.RUNNING, RowState.RETRYING, RowState.WAITING_FOR_APPROVAL}
)


def is_done(row: CaseReport) -> bool:
    """Whether nothing more is awaited of a row by itself."""
    return STATES[row.state].is_done and not row.under_way.any


def is_awaited(row: CaseReport) -> bool:
    """Whether launched runs of a row, or an approval, are awaited."""
    return row.state in PENDING_STATES or row.under_way.any


def state_word(state: RowState, base_branch: str = "main") -> str:
    """The state in words, with the base branch by its name."""
    words = STATES[state].word
    if state is RowState.FAILS_ON_BOTH and base_branch != "main":
        return f"fails on {plain_name(base_branch, 'the base branch')} too"
    return words


def change_bound_percent(comparison: Comparison | None) -> float | None:
    """The largest change, in percent, that these runs leave possible (equivalence test)."""
    timing = comparison.timing if comparison else None
    if timing is None or timing.change is None or timing.se is None:
        return None
    limit = abs(timing.change) + normal_quantile(1 - look_alpha(EQUIVALENCE_ALPHA, timing.look)) * timing.se
    return as_percent(limit) if limit < 100 else None


def unsuccessful_outcome(runs: tuple[MeasuredRun, ...]) -> RunOutcome | None:
    """How the first run that did not succeed ended, the cluster's failures last; None where all succeeded."""
    runs = tuple(sorted(runs, key=lambda run: classify_outcome(run.log) is not OutcomeClass.FAILED))
    ends = [run.log.outcome for run in runs if run.log.outcome.state is not OutcomeState.SUCCEEDED]
    return next((end for end in ends if end.failure), ends[0] if ends else None)


def head_failure(row: CaseReport) -> Failure | None:
    """The first cause of the head's failure."""
    end = unsuccessful_outcome(row.comparison.head) if row.comparison else None
    return end.failure if end else None


def fails_differently(row: CaseReport) -> bool:
    """Whether the head fails in another way than the base, which the state does not show."""
    return row.failure is not None and row.failure.novelty is Novelty.OTHER_ON_BASE


class FailedRuns(Struct, frozen=True):
    """How many runs of a side failed, of those that either passed or failed."""

    failed: int
    conclusive: int

    def __str__(self) -> str:
        """`1 of 3 runs`."""
        return f"{self.failed} of {counted(self.conclusive, 'run')}"


def _failed_runs(runs: tuple[MeasuredRun, ...], fingerprint: str | None = None) -> FailedRuns:
    """The runs of a side that failed, with this fingerprint where one is given."""
    conclusive = [
        run.log.outcome
        for run in runs
        if classify_outcome(run.log) in {OutcomeClass.PASSED, OutcomeClass.FAILED}
    ]
    fingerprints = [
        end.failure.fingerprint if end.failure else "" for end in conclusive if end.state in _FAILED_STATES
    ]
    return FailedRuns(sum(fingerprint in {None, one} for one in fingerprints), len(conclusive))


def flaky_on_base(row: CaseReport) -> FailedRuns | None:
    """In how many of the baseline's runs the head's failure occurs, where it is some but not all."""
    if row.failure is None or row.failure.novelty is not Novelty.SAME_ON_BASE or row.comparison is None:
        return None
    found = _failed_runs(row.comparison.base, row.failure.fingerprint)
    return found if 0 < found.failed < found.conclusive else None


def partial_failure(row: CaseReport) -> FailedRuns | None:
    """The failed runs of the head of a row that is judged all the same; None where no run failed."""
    if row.state not in JUDGED_STATES or row.comparison is None:
        return None
    found = _failed_runs(row.comparison.head)
    return found if found.failed else None


def outcome_words(end: RunOutcome) -> str:
    """How a run ended, in words: `exit 1 before step 0`."""
    match end.state:
        case OutcomeState.SUCCEEDED:
            how = "succeeded"
        case OutcomeState.FAILED:
            how = "failed" if end.exit_code in {None, 0} else f"exit {end.exit_code}"
        case OutcomeState.STOPPED:
            how = "stopped early, exit 0"
        case OutcomeState.KILLED:
            how = "killed" if end.exit_code is None else f"killed, exit {end.exit_code}"
        case OutcomeState.INCOMPLETE:
            how = "the log has no end"
        case OutcomeState.NOT_A_TRAINING_LOG:
            return "not a training log"
    return f"{how} {_last_step_words(end)}" if end.state is not OutcomeState.SUCCEEDED else how


def _last_step_words(end: RunOutcome) -> str:
    if end.last_step is None:
        return "before the first step" if end.state is OutcomeState.INCOMPLETE else "before step 0"
    return f"after step {end.last_step}"


_FAULT_WORDS = {
    Responsibility.CHANGE: "likely the change",
    Responsibility.CONFIGURATION: "likely the configuration",
    Responsibility.CLUSTER: "likely the cluster",
    Responsibility.UNKNOWN: "unclear whose fault",
}


def next_step(kind: str) -> str:
    """What to do about a failure of a documented class, whose fault it likely is, and whether to retry.

    Empty for any other class.
    """
    if kind not in set(FailureClass):
        return ""
    known = advice(FailureClass(kind))
    retry = "a retry may help" if known.retry else "a retry will not help"
    return f"{known.next_step.removesuffix('.')} ({_FAULT_WORDS[known.responsibility]}; {retry})."


def memory_regressions(comparison: Comparison | None) -> tuple[MetricRow, ...]:
    """The exact metrics that got worse: memory, since sides with other parameters are not compared."""
    rows = comparison.rows if comparison else ()
    return tuple(
        row for row in rows if row.judged and row.direction is Direction.WORSE and is_memory_metric(row)
    )


def is_memory_metric(row: MetricRow) -> bool:
    """Whether a metric is exact and less of it is better: those are the memory metrics."""
    metric = METRICS_BY_KEY.get(row.key)
    return metric is not None and metric.judging is Judging.EXACT and metric.better is Better.LOWER


CAVEAT_TITLES = {field.name: field.title for field in COMPARED_FIELDS}


def deciding_caveats(comparison: Comparison | None) -> tuple[Caveat, ...]:
    """The caveats of the heaviest weight that decided the verdict; all of them where none decided it."""
    caveats = comparison.caveats if comparison else ()
    for weight in (CaveatWeight.NOT_COMPARABLE, CaveatWeight.NOT_LIKE_FOR_LIKE):
        if heavy := tuple(caveat for caveat in caveats if caveat.weight is weight):
            return heavy
    return caveats


def loss_words(comparison: Comparison | None) -> str | None:
    """The loss verdict in words; None where the curves could not be compared."""
    if comparison is None or comparison.loss.verdict is LossVerdict.NOT_COMPARABLE:
        return None
    step = comparison.loss.first_outside_step
    return _LOSS_WORDS[comparison.loss.verdict] + ("" if step is None else f" from step {step}")


def loss_changed(comparison: Comparison | None) -> bool:
    """Whether the loss curve is outside its tolerance."""
    return comparison is not None and comparison.loss.verdict in _CHANGED_LOSS


def carried_runs(report: Report, row: CaseReport) -> tuple[RunRecord, ...]:
    """The head's runs that measured another commit with the head's files, newest first."""
    return tuple(run for run in row.head_runs if run.sha and not same_commit(run.sha, report.head_sha))


_FAILED_STATES = frozenset({OutcomeState.FAILED, OutcomeState.KILLED})

_LOSS_WORDS = {
    LossVerdict.IDENTICAL: "identical",
    LossVerdict.WITHIN_TOLERANCE: "within tolerance",
    LossVerdict.DIFFERENT_START: "different start",
    LossVerdict.DRIFTED: "drifted",
    LossVerdict.DIVERGED: "diverged",
}

_CHANGED_LOSS = frozenset({LossVerdict.DIFFERENT_START, LossVerdict.DRIFTED, LossVerdict.DIVERGED})

JUDGED_STATES = frozenset(
    {
        RowState.SAME,
        RowState.FASTER,
        RowState.SLOWER,
        RowState.CONFIRMING,
        RowState.INCONCLUSIVE,
        RowState.FIXED,
    }
)
"""States whose figures may be news; in other states figures are not judged, or the state says it."""

EXTRA_NEWS_RANK = 75  # between the red states and the unfair comparisons


class RowWords(Struct, frozen=True, kw_only=True):
    """A row in words: `word` for the row alone, `one` and `many` behind a count of rows. A larger `rank` is
    worse."""

    symbol: str
    word: str
    one: str
    many: str
    rank: int


def row_words(row: CaseReport, base_branch: str) -> RowWords:
    """`⚠️ same time, more memory`."""
    state = STATES[row.state]
    single, many, alone = _row_word_forms(row, base_branch)
    news = has_extra_news(row)
    return RowWords(
        symbol=WARNING if news and state.severity < Severity.UNFAIR else state.symbol,
        word=alone or single,
        one=single,
        many=many,
        rank=max(state.rank, EXTRA_NEWS_RANK) if news else state.rank,
    )


def has_extra_news(row: CaseReport) -> bool:
    """Whether a row has news that its state does not show.

    It is a failure that differs from the base's or occurs in only some of the base's runs, a failed run
    beside others that passed, a changed loss curve, or more memory.
    """
    if fails_differently(row):
        return True
    if row.state is RowState.FAILS_ON_BOTH:
        return flaky_on_base(row) is not None
    if row.state not in JUDGED_STATES:
        return False
    return (
        partial_failure(row) is not None
        or loss_changed(row.comparison)
        or bool(memory_regressions(row.comparison))
    )


def _row_word_forms(row: CaseReport, base_branch: str) -> tuple[str, str, str]:
    """The words behind the count 1, behind a larger count, and for the row alone where those say more."""
    branch = plain_name(base_branch, "the base branch")
    if fails_differently(row):
        return f"fails otherwise than {branch}", f"fail otherwise than {branch}", ""
    if row.state is RowState.FAILS_ON_BOTH:
        if some := flaky_on_base(row):
            alone = f"also on {branch} ({some})"
            return f"fails as some runs of {branch} do", f"fail as some runs of {branch} do", alone
        return f"fails on {branch} too", f"fail on {branch} too", ""
    single = state_word(row.state, base_branch)
    if failed := partial_failure(row):
        return f"{single}, with a failed run", f"{single}, with failed runs", f"{single}, {failed} failed"
    if has_extra_news(row):
        news = "changed loss curve" if loss_changed(row.comparison) else "more memory"
        text = f"{'same time' if row.state is RowState.SAME else single}, {news}"
        return text, text, ""
    return single, "new failures" if row.state is RowState.NEW_FAILURE else single, ""


RED_STATES = frozenset({RowState.SLOWER, RowState.DIVERGED})


def headline(report: Report) -> str:
    """`🔴 MaxView: 1 slower · 9 same (12 of 14 cases done)`."""
    return f"{_headline_symbol(report)} MaxView: {_headline_words(report)}"


def severity(report: Report) -> int:
    """How bad the news is, larger is worse. Pending and acknowledged rows count as no news."""
    rows = [row for row in report.rows if row.acknowledged is None]
    found = [STATES[row.state].severity for row in rows]
    quiet = {*GREEN_STATES, RowState.FAILS_ON_BOTH}
    found += [Severity.UNFAIR for row in rows if has_extra_news(row) and row.state in quiet]
    found += [Severity.UNFAIR] if report.problem else []
    return int(max(found, default=Severity.QUIET))


def is_green(report: Report) -> bool:
    """Whether every case was measured and none is worse. A report without cases is not green."""
    clean = all(row.state in GREEN_STATES and not has_extra_news(row) for row in report.rows)
    return bool(report.rows) and clean and not report.problem


def is_settled(report: Report) -> bool:
    """Whether no row of this head commit is pending."""
    return not any(is_awaited(row) for row in report.rows)


def _headline_symbol(report: Report) -> str:
    """The worst row's symbol; red where any case is slower or diverged."""
    states = {row.state for row in report.rows}
    if states & RED_STATES:
        return STATES[RowState.SLOWER].symbol
    if RowState.NEW_FAILURE in states:
        return STATES[RowState.NEW_FAILURE].symbol
    if report.problem or not report.rows:
        return WARNING if report.problem else "⚪"
    worst = max(states, key=lambda state: STATES[state].rank)
    if STATES[worst].severity < Severity.UNFAIR and any(has_extra_news(row) for row in report.rows):
        return WARNING
    return STATES[worst].symbol


def _headline_words(report: Report) -> str:
    if report.problem and not report.rows:
        return "no verdict"
    if not report.rows:
        return _no_rows_words(report)
    if words := _uniform_words(report, {row.state for row in report.rows}):
        return words
    done = sum(is_done(row) for row in report.rows)
    return f"{_state_counts(report)} ({done} of {counted(len(report.rows), 'case')} done)"


def _no_rows_words(report: Report) -> str:
    if not report.skipped:
        return "nothing measured yet"
    return "nothing asked for" if report.launches else "nothing to measure here"


def _uniform_words(report: Report, states: set[RowState]) -> str | None:
    cases = counted(len(report.rows), "case")
    if states == {RowState.SAME} and is_green(report):
        return _unchanged_words(report)
    if states == {RowState.NO_RUN}:
        return f"no verdict yet, no run of {report.head_sha[:7]} found for {cases}"
    if states == {RowState.NO_BASELINE}:
        return f"no verdict, nothing to compare {cases} with"
    if states <= PENDING_STATES:
        return f"no verdict yet, {_state_counts(report)} (0 of {cases} done)"
    return None


def _state_counts(report: Report) -> str:
    """How many rows have which words, worst first; every row counts once."""
    counts: Counter[tuple[str, str]] = Counter()
    ranks: dict[tuple[str, str], int] = {}
    for row in report.rows:
        words = row_words(row, report.base_branch)
        suffix = ", acknowledged" if row.acknowledged else ""
        forms = words.one + suffix, words.many + suffix
        counts[forms] += 1
        ranks[forms] = max(ranks.get(forms, words.rank), words.rank)
    ordered = sorted(counts.items(), key=lambda item: -ranks[item[0]])
    return " · ".join(f"{count} {one if count == 1 else many}" for (one, many), count in ordered)


def _unchanged_words(report: Report) -> str:
    bounds = [bound for row in report.rows if (bound := change_bound_percent(row.comparison)) is not None]
    cases = counted(len(report.rows), "case")
    if len(bounds) < len(report.rows):
        return f"no significant change in {cases}, {_loss_curves_words(report)}"
    return f"no change > {percent_ceiling(max(bounds))} in {cases}, {_loss_curves_words(report)}"


def _loss_curves_words(report: Report) -> str:
    verdicts = {row.comparison.loss.verdict for row in report.rows if row.comparison}
    if verdicts == {LossVerdict.IDENTICAL}:
        return "loss curves identical"
    if LossVerdict.NOT_COMPARABLE in verdicts or not verdicts:
        return "loss curves not compared everywhere"
    return "loss curves within tolerance"


MAX_PULLS_NAMED = 5
"""Pull requests that are named; the JSON has all of them."""


def failure_novelty(sides: CaseSides, request: ReportRequest) -> FailureNovelty | None:
    """How new the head's failure is; None where the head did not fail and fixed nothing."""
    head, base = side_outcome("head", sides.head), side_outcome("base", sides.base)
    if head.outcome is OutcomeClass.PASSED and not head.flaky:
        failure = _side_failure(base) if base.outcome is OutcomeClass.FAILED else None
        return _known_failure(Novelty.FIXED, failure) if failure else None
    failure = _side_failure(head)
    if failure is None or (head.outcome is not OutcomeClass.FAILED and not head.flaky):
        return None
    compared_ids = {run.id for run in sides.runs.base.runs}
    others = (one for one in sides.runs.main_failures if one.run not in compared_ids)
    same_failure = next((one for one in others if one.fingerprint == failure.fingerprint), None)
    novelty = _novelty(base, failure)
    known = request.pull_failures.get(failure.fingerprint, ())
    key = CaseKey(sides.runs.case, sides.runs.variant)
    pulls = {one.number for one in known if one.key == key}
    return _known_failure(
        novelty,
        failure,
        pulls=tuple(sorted(pulls)),
        pulls_elsewhere=tuple(sorted({one.number for one in known} - pulls)),
        main_sha=same_failure.sha if same_failure and novelty is not Novelty.SAME_ON_BASE else None,
    )


def head_fingerprints(sides: CaseSides) -> set[str]:
    """The head's failure, to be looked up in the reports of other pull requests."""
    failure = _side_failure(side_outcome("head", sides.head))
    return {failure.fingerprint} if failure and failure.fingerprint else set()


def novelty_words(row: CaseReport, branch: str) -> Line:
    """`new: succeeds on main · also on pull request 12`; empty where no failure is known."""
    news = row.failure
    if news is None:
        return ()
    clause = _novelty_clause(row, news, foreign(branch, 40))
    return joined(" · ", [clause, *_other_pulls_words(news)])


def _novelty(base: SideOutcome, failure: Failure) -> Novelty:
    match base.outcome:
        case OutcomeClass.PASSED | OutcomeClass.FAILED if failure.fingerprint in base.fingerprints:
            return Novelty.SAME_ON_BASE
        case OutcomeClass.PASSED:
            return Novelty.NEW
        case OutcomeClass.FAILED:
            return Novelty.OTHER_ON_BASE
        case _:
            return Novelty.UNKNOWN


def _side_failure(side: SideOutcome) -> Failure | None:
    return side.decisive_run.log.outcome.failure if side.decisive_run else None


def _known_failure(
    novelty: Novelty,
    failure: Failure,
    *,
    pulls: tuple[int, ...] = (),
    pulls_elsewhere: tuple[int, ...] = (),
    main_sha: str | None = None,
) -> FailureNovelty:
    return FailureNovelty(
        novelty=novelty,
        kind=failure.kind,
        fingerprint=failure.fingerprint,
        pulls=pulls,
        pulls_elsewhere=pulls_elsewhere,
        main_sha=main_sha,
    )


def _novelty_clause(row: CaseReport, news: FailureNovelty, branch: Line) -> Line:
    match news.novelty:
        case Novelty.NEW | Novelty.UNKNOWN if news.main_sha:
            return line("not in the baseline, but ", branch, " fails the same at ", code(news.main_sha[:7]))
        case Novelty.NEW:
            return line("new: succeeds on ", branch)
        case Novelty.SAME_ON_BASE:
            some = flaky_on_base(row)
            also = line("also on ", branch, f" ({some})") if some else ()
            return also or line("the same on ", branch)
        case Novelty.OTHER_ON_BASE:
            return line(branch, " fails otherwise", _base_error(row))
        case Novelty.FIXED:
            return line("fixed: fails on ", branch, _base_error(row))
        case Novelty.UNKNOWN:
            return line(branch, " has no run that tells whether it is new")
        case _:
            assert_never(news.novelty)


def _base_error(row: CaseReport) -> Line:
    end = unsuccessful_outcome(row.comparison.base) if row.comparison else None
    return line(": ", code(end.failure.error, 120)) if end and end.failure and end.failure.error else ()


def _other_pulls_words(news: FailureNovelty) -> list[Line]:
    """`also on pull request 12`, and `the same error in other cases of pull request 15`."""
    words = ((news.pulls, "also on"), (news.pulls_elsewhere, "the same error in other cases of"))
    return [
        line(
            f"{how} pull request{'s' if len(pulls) > 1 else ''} ",
            listed([str(number) for number in pulls], MAX_PULLS_NAMED),
        )
        for pulls, how in words
        if pulls
    ]


MEMORY_SLACK = 0.005
"""Relative: what `Memory %` must change by to be judged at all."""


def acknowledged_state(row: CaseReport) -> AcknowledgedState | None:
    """What an acknowledgement of this row accepts; None where there is nothing to accept."""
    state = STATES[row.state]
    bad = state.is_done and state.needs_person and row.state is not RowState.NO_BASELINE
    if not (bad or has_extra_news(row)):
        return None
    comparison = row.comparison
    return AcknowledgedState(
        word=row_words(row, "main").one,
        change=comparison.timing.change if comparison else None,
        band=comparison.timing.threshold if comparison else None,
        fingerprint=row.failure.fingerprint if row.failure else "",
        loss=str(comparison.loss.verdict) if comparison else "",
        memory=_memory_growth(comparison),
    )


def with_acknowledgements(
    rows: Iterable[CaseReport], acknowledgements: Sequence[Acknowledgement]
) -> tuple[CaseReport, ...]:
    """The rows, each with the newest acknowledgement that holds for it."""
    newest = {one.key: one for one in sorted(acknowledgements, key=lambda one: one.made)}
    return tuple(
        replace(row, acknowledged=found)
        if (found := newest.get(row.key)) and acknowledgement_holds(found, row)
        else row
        for row in rows
    )


def acknowledgement_holds(acknowledgement: Acknowledgement, row: CaseReport) -> bool:
    """Whether the row still has the same words and fingerprint, and no figure got worse."""
    now, then = acknowledged_state(row), acknowledgement.grounds
    if now is None or acknowledgement.verdict is not row.state:
        return False
    same = (now.word, now.fingerprint, now.loss) == (then.word, then.fingerprint, then.loss)
    return same and not _got_slower(row, then, now) and now.memory <= then.memory * (1 + MEMORY_SLACK)


def _got_slower(row: CaseReport, then: AcknowledgedState, now: AcknowledgedState) -> bool:
    """Whether a slower case got slower by more than the threshold that was shown with the first figure."""
    if row.state is not RowState.SLOWER:
        return False
    if now.change is None or then.change is None:
        return True
    return now.change > then.change + (then.band or 0.0)


def _memory_growth(comparison: Comparison | None) -> float:
    """The largest growth of memory that is judged worse, as head over base; 1 where none is."""
    growths = [
        row.head / row.base
        for row in memory_regressions(comparison)
        if isinstance(row.head, float | int) and isinstance(row.base, float | int) and row.base
    ]
    return max(growths, default=1.0)


CLOSED_NOTE = "the pull request was closed before its runs had ended"


def superseded_report(report: Report, head_sha: str) -> Report | None:
    """The report of a head that another head took the place of; None where nothing was pending."""
    note = f"superseded by {head_sha[:7]} before its runs had ended"
    return _without_pending(report, lambda row: _ended_row(row, RowState.SUPERSEDED, note))


def closed_report(report: Report) -> Report | None:
    """The report of a pull request that was closed or merged; None where nothing was pending."""
    return _without_pending(
        report, lambda row: replace(_ended_row(row, RowState.CANCELLED, CLOSED_NOTE), closed=True)
    )


def _without_pending(report: Report, ended: Callable[[CaseReport], CaseReport]) -> Report | None:
    if not any(is_awaited(row) for row in report.rows):
        return None
    rows = tuple(ended(row) if is_awaited(row) else row for row in report.rows)
    return replace(report, rows=rows, plan=None)


def _ended_row(row: CaseReport, state: RowState, note: str) -> CaseReport:
    notes = "; ".join(part for part in (note, row.note) if part)
    return replace(row, state=state, note=notes, progress=None, under_way=RunsWanted())


def with_kinds(report: Report) -> Report:
    """A stored report with the kinds of its problem, rows and waits; older reports have only their texts."""
    rows = tuple(
        replace(row, closed=True)
        if row.state is RowState.CANCELLED and row.note.startswith(CLOSED_NOTE) and not row.closed
        else row
        for row in report.rows
    )
    passes = (report.problem or "").startswith(RUNS_UNREADABLE)
    plan = report.plan
    if plan is not None:
        waiting = tuple(replace(one, budget=one.budget or exhausted_budget(one.why)) for one in plan.waiting)
        plan = replace(plan, waiting=waiting)
    kind = ProblemKind.PASSES if passes else report.problem_kind
    return replace(report, rows=rows, plan=plan, problem_kind=kind)


_REPORTED_AT_ONCE = frozenset({RowState.CANCELLED, RowState.WAITING_FOR_APPROVAL})
"""Pending states that are reported at once: somebody cancelled the row, or somebody has to approve it."""


def change_digest(report: Report) -> str:
    """A digest of what is worth reporting at once: it stays the same while runs only make progress.

    It covers the names, the problem, trouble and refusal, the commands, the rows that are done or to be
    confirmed, and the budgets that hold runs.
    """
    rows = [row for row in report.rows if STATES[row.state].is_done or row.state in _REPORTED_AT_ONCE]
    settled = [(row.case, row.variant, str(row.state), row.acknowledged, row.under_way.any) for row in rows]
    content = (
        report.repository,
        report.head_sha,
        report.problem,
        report.trouble,
        report.refusal,
        report.approval,
        [(command.text, command.at, command.result) for command in report.commands],
        len(report.rows),
        settled,
        # Their names only: how much of a budget is used changes with every run.
        sorted({one.budget for one in report.plan.waiting if one.budget} if report.plan else ()),
    )
    return hashlib.sha256(repr(content).encode()).hexdigest()


class ParityTally(Struct, frozen=True, kw_only=True):
    """How many of the `known` cases pass in both variants on the head and on the baseline.

    Both figures are of the same cases, so that they can be compared: the cases with conclusive runs on both
    sides or, if the baseline has none of the head's (`base` is None), those with conclusive runs on the head.
    `cases` counts all; `head_unknown` and `base_unknown` count cases that lack a conclusive run in a variant;
    `head_mixed` and `base_mixed` count known cases with passing and failing runs.
    """

    cases: int
    known: int
    head: int
    head_unknown: int
    base: int | None
    base_unknown: int
    head_mixed: int = 0
    base_mixed: int = 0


def parity_tally(rows: Sequence[ParityRow]) -> ParityTally:
    """Count the cases that pass in both variants; one that is not known, or mixed, does not pass."""
    head = [row for row in rows if _both_variants_known(row, base=False)]
    both = [row for row in head if _both_variants_known(row, base=True)]
    known = both or head
    return ParityTally(
        cases=len(rows),
        known=len(known),
        head=sum(bool(row.first_passes and row.second_passes) for row in known),
        head_unknown=len(rows) - len(head),
        base=sum(bool(row.base_first_passes and row.base_second_passes) for row in both) if both else None,
        base_unknown=sum(not _both_variants_known(row, base=True) for row in rows),
        head_mixed=sum(row.first_mixed or row.second_mixed for row in known),
        base_mixed=sum(row.base_first_mixed or row.base_second_mixed for row in both),
    )


def _both_variants_known(row: ParityRow, *, base: bool) -> bool:
    """Whether a side has conclusive runs in both variants."""
    if base:
        sides = (row.base_first_passes, row.base_first_mixed), (row.base_second_passes, row.base_second_mixed)
    else:
        sides = (row.first_passes, row.first_mixed), (row.second_passes, row.second_mixed)
    return all(passes is not None or mixed for passes, mixed in sides)
