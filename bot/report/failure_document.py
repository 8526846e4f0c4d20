"""The JSON object of a failure's news: where it is known from, whose fault its class is, whether to retry.

In:  `FailureNews`. Out: a dictionary of JSON values.
"""

from bot.logs.failure import FailureClass, advice
from bot.report.model import FailureNews


def failure_document(news: FailureNews | None) -> dict[str, object] | None:
    """`kinship` relates it to the baseline; `pull_requests` are other open ones with the same failure."""
    if news is None:
        return None
    known = advice(FailureClass(news.kind)) if news.kind in set(FailureClass) else None
    return {
        "kinship": news.kinship.value,
        "class": news.kind,
        "fault": known.fault.value if known else None,
        "retry": known.retry if known else None,
        "next_step": known.next_step if known else None,
        "fingerprint": news.fingerprint,
        "pull_requests": list(news.pulls),
        "main_sha": news.main_sha,
    }
