"""The folded part on what is still to be measured, at what price, and what waits for a budget.

In:  a `Report` with its `Plan`. Out: one `Fold`, or None where nothing is to come and nobody asked; lines
     that are to be read before the verdict.
"""

from bot.report.cells import label
from bot.report.detail import Detail
from bot.report.figures import counted, listed, significant
from bot.report.folds import Fold, Table
from bot.report.model import Report
from bot.report.plan import Plan, PlannedRuns, Waiting
from bot.report.quoting import LONGEST_ERROR, said
from bot.runs.budget import waits_for_a_budget
from bot.runs.price import Basis, Price

UNKNOWN = "not known"


def plan_fold(report: Report, detail: Detail) -> Fold | None:
    """What is to come; opened where the newest command asked for it."""
    plan = report.plan
    if plan is None or not (plan.runs or plan.asked):
        return None
    full = plan.runs[: detail.columns]
    rows = tuple(_cells(report, one, detail) for one in full)
    rest = [said(label(report, one.case, one.variant), detail.name) for one in plan.runs[len(full) :]]
    return Fold(
        summary=f"Plan: {_summary(plan)}",
        table=Table(columns=("Case", "Base runs", "Head runs", "Chip-hours"), align="lrrl", rows=rows)
        if rows
        else None,
        lines=tuple(_lines(report, plan, detail)),
        names=listed(rest, detail.named),
        opened=plan.asked,
    )


def waiting_lines(report: Report) -> list[str]:
    """Runs that a budget keeps from starting: a person may have to act."""
    plan = report.plan
    waiting = [one for one in plan.waiting if waits_for_a_budget(one.why)] if plan else []
    return [
        f"⏸ {counted(len(one.keys), 'case')} {_wait(one)}: {said(one.why, LONGEST_ERROR)}." for one in waiting
    ]


def hours(value: float) -> str:
    """Chip-hours: `6.4`, `0.012`."""
    return f"{value:,.1f}".replace(",", " ") if round(value, 2) >= 1 else significant(value, 2)


def price_words(price: Price | None) -> str:
    """`about 6.4 (6.1 to 7.0)`, `at most 24.0`; what is not known is said to be so."""
    if price is None:
        return UNKNOWN
    if price.basis is Basis.LIMIT:
        return f"at most {hours(price.most)}"
    spread = price.most - price.least > 0.005 * price.most
    return f"about {hours(price.usual)}" + (
        f" ({hours(price.least)} to {hours(price.most)})" if spread else ""
    )


def _summary(plan: Plan) -> str:
    count = sum(one.base + one.head for one in plan.runs)
    runs = counted(count, "run")
    parts = [f"would start {runs}" if plan.proposed else f"{runs} to come" if count else "no runs to start"]
    parts[0] += f", {_total(plan)}" if count else ""
    if plan.reused:
        parts.append(f"{counted(plan.reused, 'run')} reused{_saved(plan)}")
    held = {key for one in plan.waiting if waits_for_a_budget(one.why) for key in one.keys}
    parts += [f"{counted(len(held), 'case')} held by a budget"] if held else []
    return " · ".join(parts)


def _total(plan: Plan) -> str:
    if plan.price is None:
        return f"price {UNKNOWN}"
    more = f" and {counted(plan.unpriced, 'run')} of unknown price" if plan.unpriced else ""
    return f"{price_words(plan.price)} chip-hours{more}"


def _saved(plan: Plan) -> str:
    return f", {hours(plan.saved_chip_hours)} chip-hours saved" if plan.saved_chip_hours else ""


def _cells(report: Report, one: PlannedRuns, detail: Detail) -> tuple[str, ...]:
    name = said(label(report, one.case, one.variant), detail.name)
    return name, str(one.base), str(one.head), price_words(one.price)


def _lines(report: Report, plan: Plan, detail: Detail) -> list[str]:
    lines = [_how_to_start(report)] if plan.proposed else []
    for one in plan.waiting:
        names = [said(_named(report, key), min(detail.name, 40)) for key in one.keys]
        lines.append(f"* {listed(names, 4)} {_wait(one)}: {said(one.why, LONGEST_ERROR)}")
    if any(one.price is not None for one in plan.runs):
        lines.append(
            "* The price of a run is the median of what its case took on the base branch, on as many chips, "
            "with the least and the most; where no such run is known, the chips times the time limit."
        )
    return lines


def _how_to_start(report: Report) -> str:
    if report.approval:
        return "* Nothing of a fork is started before its head is approved."
    return "* Nobody asked for these runs yet: `/benchmark run` starts them."


def _named(report: Report, key: str) -> str:
    case, _, variant = key.rpartition("/")
    return label(report, case, variant)


def _wait(one: Waiting) -> str:
    return "waits" if len(one.keys) == 1 else "wait"
