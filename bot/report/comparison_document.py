"""The JSON object of one comparison, as `maxview compare --format json` and the API give it.

In:  a `Comparison`.
Out: a dictionary of JSON values. Changes are percent of head against base; what cannot be had is None.
"""

from bot.report.explanation_document import explanation_document
from bot.report.numbers import number, percent_of_log
from bot.report.run_document import SCHEMA, run_document
from bot.verdict.judgement import Caveat, Comparison, Loss, MeasuredRun, Row, Timing
from bot.verdict.metrics import BY_KEY

DIFFERENCE_DIGITS = 3


def comparison_document(comparison: Comparison) -> dict[str, object]:
    """The verdict, what it rests on, and the documents of the runs of both sides."""
    return {
        "schema": SCHEMA,
        **summary_document(comparison),
        **_why(comparison),
        **_side("base", comparison.base),
        **_side("head", comparison.head),
    }


def summary_document(comparison: Comparison) -> dict[str, object]:
    """The verdict and its figures, without the runs and the explanation."""
    return {
        "verdict": comparison.verdict.value,
        "reason": comparison.reason,
        "timing": _timing(comparison.timing),
        "loss": _loss(comparison.loss),
        "caveats": [_caveat(caveat) for caveat in comparison.caveats],
        "rows": [_row(row) for row in comparison.rows],
    }


def _why(comparison: Comparison) -> dict[str, object]:
    """The explanation, where the comparison carries one."""
    document = explanation_document(comparison.explanation)
    return {} if document is None else {"explanation": document}


def _side(name: str, runs: tuple[MeasuredRun, ...]) -> dict[str, object]:
    """The first run of a side under its name; all of them in addition where there are repeats."""
    documents = [run_document(run) for run in runs]
    side: dict[str, object] = {name: documents[0] if documents else None}
    if len(documents) > 1:
        side[f"{name}_runs"] = documents
    return side


def _timing(timing: Timing) -> dict[str, object]:
    return {
        "verdict": timing.verdict.value,
        "change_percent": percent_of_log(timing.change),
        "band_percent": percent_of_log(timing.band),
        "mde_percent": percent_of_log(timing.mde),
        "se_percent": percent_of_log(timing.se),
        "n": list(timing.n),
        "base_seconds": number(timing.base_seconds, 5),
        "head_seconds": number(timing.head_seconds, 5),
        "spread": timing.spread.value,
        "degrees_of_freedom": timing.degrees_of_freedom,
        "history": timing.history,
        "standing": timing.standing.value,
        "main_runs": timing.main_runs,
        "look": timing.look,
        "comparable_cases": timing.comparable_cases,
        "more_runs": timing.more_runs,
        "reason": timing.reason,
    }


def _loss(loss: Loss) -> dict[str, object]:
    return {
        "verdict": loss.verdict.value,
        "first_difference_step": loss.first_difference_step,
        "first_outside_step": loss.first_outside_step,
        "max_relative": number(loss.max_relative, 8),
        "worst_step": loss.worst_step,
        "allowed_relative": number(loss.allowed_relative, 8),
        "compared_steps": loss.compared_steps,
        "digits": loss.digits,
        "reason": loss.reason,
    }


def _caveat(caveat: Caveat) -> dict[str, object]:
    return {
        "kind": caveat.kind.value,
        "field": caveat.field,
        "base": caveat.base,
        "head": caveat.head,
        "weight": caveat.weight.value,
        "text": caveat.text,
    }


def _row(row: Row) -> dict[str, object]:
    return {
        "metric": row.key,
        "base": _figure(row.key, row.base),
        "head": _figure(row.key, row.head),
        "diff": number(row.diff, _digits(row.key)),
        "judged": row.judged,
        "direction": row.direction.value,
    }


def _figure(key: str, value: float | str | None) -> float | str | None:
    metric = BY_KEY.get(key)
    return value if isinstance(value, str) else number(value, metric.digits if metric else None)


def _digits(key: str) -> int | None:
    """Decimals of a difference: as many as the page that people know shows, or as the figure has."""
    metric = BY_KEY.get(key)
    return max(metric.digits, DIFFERENCE_DIGITS) if metric and metric.digits is not None else None
