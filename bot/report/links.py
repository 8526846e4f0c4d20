"""The paths and addresses that comment, check, page and JSON share, every part quoted."""

import re
from urllib.parse import quote

from bot.domain.case_key import CaseKey
from bot.redaction.redact import redact
from bot.report.model import Report


def absolute(public_url: str, path: str) -> str:
    """`path` at the public address of this server; a query of that address (the key of a private
    repository) is kept in every link, before the fragment."""
    address, question, query = public_url.partition("?")
    place, number_sign, fragment = path.partition("#")
    return f"{address.rstrip('/')}{place}{question}{query}{number_sign}{fragment}"


def page_path(report: Report) -> str:
    """The page of the pull request, or of the branch that is watched without one."""
    if report.is_branch:
        return f"/{_quoted_part(report.repository)}/branch/{_quoted_part(report.head_branch)}"
    return pull_path(report.repository, report.number)


def pull_path(repository: str, number: int) -> str:
    """The page of a pull request."""
    return f"/{_quoted_part(repository)}/pull/{number}"


def json_path(report: Report) -> str:
    """The same report as JSON."""
    return "/api/v1" + page_path(report)


def case_path(report: Report, key: CaseKey) -> str:
    """The row of one case on the pull request's page."""
    return f"{page_path(report)}#{case_anchor(key)}"


def log_path(run_id: str) -> str:
    """The full log of a run."""
    return f"/runs/{_quoted_part(run_id)}/log"


def case_anchor(key: CaseKey) -> str:
    """The HTML id of a row: letters, digits, dots and underscores, joined by dashes."""
    return "-".join(part for part in (_anchor_part(key.case), _anchor_part(key.variant)) if part) or "case"


def _quoted_part(value: str) -> str:
    return quote(value, safe="/", errors="replace")


def _anchor_part(value: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", redact(value))[:80].strip("-")
