"""The JSON object of a plan, as part of a report's.

In:  a `Plan`. Out: a dictionary of JSON values.
"""

from bot.report.numbers import number
from bot.report.plan import Plan
from bot.runs.price import Price


def plan_document(plan: Plan | None) -> dict[str, object] | None:
    """What is to come, its price, what is reused, what waits; None where nothing is started here."""
    if plan is None:
        return None
    return {
        "runs": [
            {
                "case": one.case,
                "variant": one.variant,
                "base": one.base,
                "head": one.head,
                "chip_hours": _price(one.price),
            }
            for one in plan.runs
        ],
        "chip_hours": _price(plan.price),
        "runs_without_a_price": plan.unpriced,
        "reused_runs": plan.reused,
        "waiting": [{"keys": list(one.keys), "why": one.why} for one in plan.waiting],
        "proposed": plan.proposed,
    }


def _price(price: Price | None) -> dict[str, object] | None:
    if price is None:
        return None
    return {
        "usual": number(price.usual, 3),
        "least": number(price.least, 3),
        "most": number(price.most, 3),
        "basis": price.basis.value,
        "runs": price.runs,
    }
