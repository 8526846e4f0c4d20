"""The last line of the comment: exactly which commits, why this baseline, what it cost, where the rest is.

In:  a `Report`. Out: one line of Markdown.
"""

from collections import Counter

from bot.report.figures import counted
from bot.report.links import absolute, json_path, page_path
from bot.report.model import Report
from bot.report.plan_fold import hours
from bot.report.quoting import said


def footer_line(report: Report, *, public_url: str) -> str:
    """Parts joined by dots; commits in full, which GitHub turns into links."""
    parts = [
        f"head {report.head_sha}",
        _base(report),
        *spent(report),
        f"[page]({absolute(public_url, page_path(report))})",
        f"[JSON]({absolute(public_url, json_path(report))})",
        "`/benchmark help`",
    ]
    return " · ".join(part for part in parts if part)


def _base(report: Report) -> str:
    counts = Counter(row.baseline for row in report.rows if row.baseline)
    if not counts:
        return f"merge base {report.merge_base}, no runs of it" if report.merge_base else ""
    baseline, _ = counts.most_common(1)[0]
    sha = baseline.sha or "a commit that is not recorded"
    behind = f", {counted(baseline.distance, 'commit')} behind the merge base" if baseline.distance else ""
    return f"base {sha} because it is {said(baseline.why, 160)}{behind}"


def spent(report: Report) -> list[str]:
    """`6.4 chip-hours used`, `0.012 chip-hours saved by reuse`, as far as they are known."""
    known = ((report.chip_hours_used, "used"), (report.chip_hours_saved, "saved by reuse"))
    return [f"{hours(value)} chip-hours {what}" for value, what in known if value is not None]
