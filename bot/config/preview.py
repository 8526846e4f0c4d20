"""What a pull request that edits the configuration would change once it is merged.

Plain text, in clauses. The configuration of a pull request takes effect only on the default branch.
"""

from collections.abc import Sequence

from bot.config import Suite

MAX_NAMED = 5  # names listed of a kind; more are counted

_FIGURES = {
    "margins": {
        "practical_percent": "practical margin",
        "equivalence_percent": "equivalence margin",
    },
    "budget": {
        "chip_hours_per_day": "chip-hours a day",
        "concurrent_runs": "concurrent runs",
        "chip_hours_per_person_per_day": "chip-hours a person and day",
        "chip_hours_per_pull_request": "chip-hours a pull request",
    },
}


def describe_changes(before: Suite | None, after: Suite) -> str:
    """`adds the case 12_ring; removes 2 cases (a, b); changes the practical margin from 1 % to 2 %`."""
    if before is None:
        return f"sets up {_counted(len(after.cases), 'case')} in {_counted(len(after.variants), 'variant')}"
    said = [
        *_added_and_removed("case", before.case_names, after.case_names),
        *_added_and_removed("variant", before.variant_names, after.variant_names),
        *_edited(before, after),
        *_changed_figures(before, after),
        *_edited_sections(before, after),
    ]
    return "; ".join(said) or "changes nothing that MaxView reads"


def _added_and_removed(what: str, before: Sequence[str], after: Sequence[str]) -> list[str]:
    added = [name for name in after if name not in before]
    removed = [name for name in before if name not in after]
    said = [f"adds {_listed(what, added)}"] if added else []
    return said + ([f"removes {_listed(what, removed)}"] if removed else [])


def _edited(before: Suite, after: Suite) -> list[str]:
    """Cases and variants that remain with another definition."""
    cases = [name for name, case in after.cases.items() if before.cases.get(name, case) != case]
    variants = [name for name, one in after.variants.items() if before.variants.get(name, one) != one]
    said = [f"edits {_listed('case', cases)}"] if cases else []
    return said + ([f"edits {_listed('variant', variants)}"] if variants else [])


def _changed_figures(before: Suite, after: Suite) -> list[str]:
    return [
        f"changes the {title} from {_figure(old, name)} to {_figure(new, name)}"
        for section, names in _FIGURES.items()
        for name, title in names.items()
        if (old := getattr(getattr(before, section), name)) != (new := getattr(getattr(after, section), name))
    ]


def _edited_sections(before: Suite, after: Suite) -> list[str]:
    """Sections that are more than a figure: named here, and the file shows how they change."""
    parts = ("runs", "launch", "compare", "triggers", "checks", "trust", "baseline")
    edited = [name for name in parts if getattr(before, name) != getattr(after, name)]
    return [f"edits {', '.join(edited)}"] if edited else []


def _figure(value: float | None, name: str) -> str:
    if value is None:
        return "no limit"
    return f"{value:g} %" if name.endswith("percent") else f"{value:g}"


def _listed(what: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"the {what} {names[0]}"
    shown = ", ".join(names[:MAX_NAMED]) + (", …" if len(names) > MAX_NAMED else "")
    return f"{_counted(len(names), what)} ({shown})"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
