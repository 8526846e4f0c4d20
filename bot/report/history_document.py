"""The JSON objects of main's past: the runs that tell a noise, and where main moved.

In:  `Past`, `Shift`. Out: dictionaries of JSON values; changes are percent of after against before.
"""

from bot.report.numbers import iso_time, percent_of_log
from bot.verdict.history import Past, Shift


def past_document(past: Past | None) -> dict[str, object] | None:
    """The main runs that a noise was measured from."""
    if past is None:
        return None
    return {
        "runs": past.runs,
        "oldest_started": iso_time(past.oldest_started),
        "follows": shift_document(past.follows) if past.follows else None,
    }


def shift_document(shift: Shift) -> dict[str, object]:
    """One change of main's level, with the commits it lies between."""
    return {
        "change_percent": percent_of_log(shift.change),
        "before": shift.before,
        "at": shift.at,
        "runs_before": shift.runs_before,
        "runs_after": shift.runs_after,
        "started": iso_time(shift.started),
    }
