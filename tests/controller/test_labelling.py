"""What labels mean, and which are made."""

import pytest

from bot.controller.labelling import LONGEST_LABEL, MOST_CASE_LABELS, asked_by, labels_of
from tests.controller.samples import LAUNCHES, suite

ALL = frozenset(f"{case}/{variant}" for case in ("03_dropout", "04_int8") for variant in ("linen", "nnx"))
DROPOUT = frozenset({"03_dropout/linen", "03_dropout/nnx"})
INT8 = ALL - DROPOUT


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("benchmark", ALL),
        ("Benchmark", ALL),
        ("benchmark:03_dropout", DROPOUT),
        ("benchmark:03_*", DROPOUT),
        ("benchmark:*", ALL),
        ("BENCHMARK:04_int8", INT8),
        ("benchmark:99", frozenset()),
        ("benchmark:", frozenset()),
        ("benchmarks", None),
        ("bug", None),
        ("", None),
    ],
)
def test_the_usual_labels(label: str, expected: frozenset[str] | None) -> None:
    """The suite, one case, a glob of cases; what fits nothing means nothing."""
    assert expected == asked_by(label, suite(LAUNCHES))


def test_labels_as_configured() -> None:
    """A case, a glob of cases, all behind a glob; a label that is written out outranks a glob."""
    configured = suite(LAUNCHES, triggers='{labels: {"perf/*": all, "perf/int8": 04_int8, quick: "03_*"}}')

    found = [asked_by(label, configured) for label in ("perf/any", "perf/int8", "quick", "benchmark")]
    assert [ALL, INT8, DROPOUT, None] == found


def test_the_labels_to_make_are_those_people_can_pick() -> None:
    """The one for the suite, and one for each case."""
    made = labels_of(suite(LAUNCHES))

    assert ["benchmark", "benchmark:03_dropout", "benchmark:04_int8"] == [one.name for one in made]
    assert ["MaxView: benchmark every case", "MaxView: benchmark 03_dropout"] == [
        one.description for one in made[:2]
    ]


def test_a_large_suite_does_not_flood_the_list_of_labels() -> None:
    """The rest is put by writing it."""
    cases = "".join(f"  c{n:03}: {{command: x}}\n" for n in range(200)) + f"  {'long' * 20}: {{command: x}}\n"
    text = LAUNCHES.partition("cases:\n")[0] + "cases:\n" + cases
    made = labels_of(suite(text))

    assert 1 + MOST_CASE_LABELS == len(made)
    assert all(len(one.name) <= LONGEST_LABEL for one in made)
