"""What labels mean, and which are made."""

import asyncio
from pathlib import Path

import pytest

from bot.commands.labels import MAX_CASE_LABELS, MAX_LABEL_LENGTH, LabelMaker, keys_of_label, labels_to_make
from bot.domain.case_key import CaseKey
from bot.storage.database import Database
from tests.github.plain_github import PlainGitHub
from tests.worker.samples import ACME, FETCHES, LAUNCHES, suite

ALL = frozenset(CaseKey(case, variant) for case in ("03_dropout", "04_int8") for variant in ("linen", "nnx"))

DROPOUT = frozenset({CaseKey("03_dropout", "linen"), CaseKey("03_dropout", "nnx")})

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
        ("Benchmark:04_INT8", INT8),
        ("BENCHMARK:03_D*", DROPOUT),
        ("benchmark:99", frozenset()),
        ("benchmark:", frozenset()),
        ("benchmarks", None),
        ("bug", None),
        ("", None),
    ],
)
def test_the_usual_labels(label: str, expected: frozenset[CaseKey] | None) -> None:
    """The suite, one case, a glob of cases; what fits nothing means nothing."""
    assert expected == keys_of_label(label, suite(LAUNCHES))


def test_labels_as_configured() -> None:
    """A case, a glob of cases, all behind a glob; a label that is written out outranks a glob."""
    configured = suite(LAUNCHES, triggers='{labels: {"perf/*": all, "perf/int8": 04_int8, quick: "03_*"}}')

    found = [keys_of_label(label, configured) for label in ("perf/any", "perf/int8", "quick", "benchmark")]
    assert [ALL, INT8, DROPOUT, None] == found


def test_the_labels_to_make_are_those_people_can_pick() -> None:
    """The one for the suite, and one for each case."""
    made = labels_to_make(suite(LAUNCHES))

    assert ["benchmark", "benchmark:03_dropout", "benchmark:04_int8"] == [one.name for one in made]
    assert ["MaxView: benchmark every case", "MaxView: benchmark 03_dropout"] == [
        one.description for one in made[:2]
    ]


def test_a_large_suite_does_not_flood_the_list_of_labels() -> None:
    """The rest is put by writing it."""
    cases = "".join(f"  c{n:03}: {{command: x}}\n" for n in range(200)) + f"  {'long' * 20}: {{command: x}}\n"
    text = LAUNCHES.partition("cases:\n")[0] + "cases:\n" + cases
    made = labels_to_make(suite(text))

    assert 1 + MAX_CASE_LABELS == len(made)
    assert all(len(one.name) <= MAX_LABEL_LENGTH for one in made)


async def _make(database: Database, forge: PlainGitHub, text: str) -> None:
    await LabelMaker(database=database, forge=forge).create(ACME, suite(text))


def test_labels_are_made_once(tmp_path: Path) -> None:
    """What people delete afterwards stays deleted, until the configuration names others."""
    database = Database(f"sqlite:///{tmp_path / 'labels.sqlite'}")
    database.migrate()
    forge = PlainGitHub()
    for _ in range(2):
        asyncio.run(_make(database, forge, LAUNCHES))
    assert 3 == forge.requests.count("POST /repos/acme/maxtext/labels")

    asyncio.run(_make(database, forge, LAUNCHES + "triggers: {labels: {perf: all}}\n"))
    asyncio.run(_make(database, PlainGitHub(), FETCHES))
    made = forge.stand_in.state.labels["perf"]
    assert ("1d76db", "MaxView: benchmark every case") == (made.colour, made.description)
    database.close()


def test_where_labels_may_not_be_made_all_else_goes_on(tmp_path: Path) -> None:
    """The log says why, once."""
    database = Database(f"sqlite:///{tmp_path / 'labels.sqlite'}")
    database.migrate()
    forge = PlainGitHub()
    forge.stand_in.state.permissions["pull_requests"] = "read"
    for _ in range(2):
        asyncio.run(_make(database, forge, LAUNCHES))
    assert 1 == forge.requests.count("POST /repos/acme/maxtext/labels")
    database.close()
