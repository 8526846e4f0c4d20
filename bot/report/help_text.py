"""What `/benchmark help` answers: the commands this repository offers.

In:  the cases and variants of the configuration, and whether runs can be started here.
Out: Markdown; names are shown as code.
"""

from collections.abc import Sequence

from bot.report.figures import listed
from bot.report.quoting import quoted

NAMED = 12  # cases listed; more would hide the commands


def help_text(*, cases: Sequence[str], variants: Sequence[str], launches: bool) -> str:
    """Every command on its line, then what may stand for CASE and VARIANT."""
    example = cases[0] if cases else "CASE"
    starts = "start what is missing" if launches else "look for new runs and read them"
    again = "measure again" if launches else "look for new runs again"
    rerun = quoted(f"/benchmark rerun {example}")
    lines = [
        f"* `/benchmark` or `/benchmark run [CASE…]{' [VARIANT]' if len(variants) > 1 else ''}`: {starts}",
        f"* {rerun}, `/benchmark rerun failed`, `/benchmark rerun all`: {again}",
        "* `/benchmark status`: bring this comment up to date",
        "* `/benchmark help`: this list",
    ]
    return "\n".join([*lines, "", *_names(cases, variants), _WHO])


_WHO = "One command per line, in a new comment, by somebody with write permission. Globs such as `03_*` work."


def _names(cases: Sequence[str], variants: Sequence[str]) -> list[str]:
    lines = []
    if cases:
        lines.append(f"Cases: {listed([quoted(case, 60) for case in cases], NAMED)}.")
    if len(variants) > 1:
        lines.append(f"Variants: {listed([quoted(variant, 60) for variant in variants], NAMED)}.")
    return lines
