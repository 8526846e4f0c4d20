"""What `/benchmark help` answers: the commands this repository offers.

In:  the cases, variants and labels of the configuration, and whether runs can be started here.
Out: Markdown; names are shown as code.
"""

from collections.abc import Sequence

from bot.report.figures import counted
from bot.report.quoting import quoted, tagged

NAMED = 12  # cases listed in sight; more would hide the commands
LONGEST_NAMES = 4000  # characters of names, escaped: the comment has an end


def help_text(
    *, cases: Sequence[str], variants: Sequence[str], launches: bool, labels: Sequence[str] = ()
) -> str:
    """Every command on its line, then what may stand for CASE and VARIANT, the labels, and who may."""
    offered = _launching(cases, variants) if launches else _reading(cases)
    lines = [f"* {command}: {what}" for command, what in (*offered, *_ALWAYS)]
    return "\n".join([*lines, "", *_names(cases, variants, labels if launches else ()), _WHO])


_ALWAYS = (
    ("`/benchmark status`", "bring this comment up to date"),
    ('`/benchmark ack CASE reason="…"`', "accept a verdict, and say why: it stays, and asks for nothing"),
    ("`/benchmark help`", "this list"),
)
_WHO = (
    "One command per line, in a new comment, by somebody with write permission. "
    "Globs such as `03_*` work; without CASE a command means all of them."
)


def _launching(cases: Sequence[str], variants: Sequence[str]) -> tuple[tuple[str, str], ...]:
    example = quoted(f"/benchmark rerun {cases[0] if cases else 'CASE'}")
    variant = " [VARIANT]" if len(variants) > 1 else ""
    return (
        (f"`/benchmark` or `/benchmark run [CASE…]{variant} [--fresh]`", "start what is missing"),
        (f"{example}, `/benchmark rerun failed`, `/benchmark rerun all`", "measure again, both sides"),
        ("`/benchmark cancel [CASE…]`", "stop what runs; a push or `/benchmark run` asks anew"),
        ("`/benchmark plan`", "what would run, and its price in chip-hours"),
        ("`/benchmark baseline [REF]`", "measure a commit of the base branch to compare with"),
        ("`/benchmark approve SHA`", "let this very commit of a fork run, after reading it"),
    )


def _reading(cases: Sequence[str]) -> tuple[tuple[str, str], ...]:
    example = quoted(f"/benchmark rerun {cases[0] if cases else 'CASE'}")
    return ((f"`/benchmark`, `/benchmark run` or {example}", "look for new runs and read them"),)


def _names(cases: Sequence[str], variants: Sequence[str], labels: Sequence[str]) -> list[str]:
    lines = [_folded(cases)] if len(cases) > NAMED else []
    lines += [f"Cases: {_listed(cases)}."] if 0 < len(cases) <= NAMED else []
    lines += [f"Variants: {_listed(variants)}."] if len(variants) > 1 else []
    lines += [f"Labels that start runs while they are set: {_listed(labels)}."] if labels else []
    return lines


def _listed(names: Sequence[str]) -> str:
    shown = [quoted(name, 60) for name in names[:NAMED]]
    return ", ".join(shown) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _folded(cases: Sequence[str]) -> str:
    """Many names, out of sight until somebody looks for one."""
    names, shown = "", 0
    for case in cases:
        longer = f"{names} · {tagged(case, 60)}" if names else tagged(case, 60)
        if len(longer) > LONGEST_NAMES:
            break
        names, shown = longer, shown + 1
    more = f" and {len(cases) - shown} more" if shown < len(cases) else ""
    return f"<details><summary>{counted(len(cases), 'case')}</summary>{names}{more}</details>\n"
