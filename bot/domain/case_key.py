"""The key of one case in one variant, and its text form `case/variant`."""

from collections.abc import Iterable

from msgspec import Struct


class CaseKey(Struct, frozen=True):
    """One case in one variant; `variant` is empty where a run has none. Keys sort as their texts do.

    Stored and shown as `str(key)`. Names of cases and variants hold no slash."""

    case: str
    variant: str

    def __str__(self) -> str:
        """`case/variant`."""
        return f"{self.case}/{self.variant}"

    def __lt__(self, other: "CaseKey") -> bool:
        """The order of the texts."""
        return str(self) < str(other)

    @classmethod
    def parse(cls, text: str) -> "CaseKey":
        """Read the text form."""
        case, _, variant = text.rpartition("/")
        return cls(case, variant)


def combine_keys(cases: Iterable[str], variants: Iterable[str]) -> tuple[CaseKey, ...]:
    """Every case in every variant, case by case."""
    variants = tuple(variants)
    return tuple(CaseKey(case, variant) for case in cases for variant in variants)
