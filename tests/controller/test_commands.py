"""What comes of a comment's commands: one plain sentence, and the cases a fresh run is asked for."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.config import Suite
from bot.controller.commands import FAILED, decide
from bot.intake.grammar import read_commands
from bot.intake.intent import Command
from bot.intake.pull import Permission, Person
from bot.storage.pulls import CommandRecord
from tests.controller.samples import ACME, LAUNCHES, NOW, suite

BOB = Person(login="bob", id=8)


def _given(
    text: str, permission: Permission = Permission.WRITE, with_suite: Suite | None = None
) -> CommandRecord:
    intent = Command(
        repository=ACME,
        number=7,
        comment_id=99,
        author=BOB,
        commands=read_commands(text),
        created_at=NOW,
    )
    return decide(intent, permission=permission, suite=with_suite)


def test_a_writer_reruns_a_case_where_runs_are_started() -> None:
    """Each variant of the case is asked for afresh, and the record says by whom and when."""
    record = _given("/benchmark rerun 03_dropout", with_suite=suite(LAUNCHES))
    assert record == CommandRecord(
        comment_id=99,
        text="/benchmark rerun 03_dropout",
        by="bob",
        at=NOW,
        result="03_dropout: fresh runs are started, on this head and on its baseline.",
        fresh=("03_dropout/linen", "03_dropout/nnx"),
    )


def test_a_variant_narrows_the_rerun() -> None:
    """Only the named variant is run again, and the answer says so."""
    record = _given("/benchmark rerun 04_* nnx", with_suite=suite(LAUNCHES))
    assert record.fresh == ("04_int8/nnx",)
    assert record.result.startswith("04_int8 (nnx): ")


def test_failed_cases_are_left_open_until_it_is_known_which_failed() -> None:
    """`rerun failed` marks itself, because the report decides which cases that are."""
    record = _given("/benchmark rerun failed", with_suite=suite(LAUNCHES))
    assert record.fresh[0] == FAILED
    assert record.result.startswith("The cases that failed: ")


def test_a_run_does_not_ask_for_fresh_runs() -> None:
    """`run` starts what is missing and repeats nothing."""
    record = _given("/benchmark", with_suite=suite(LAUNCHES))
    assert (record.fresh, record.result) == ((), "All cases: runs that are missing are started.")


def test_where_nothing_is_started_a_rerun_says_so() -> None:
    """A repository that only fetches looks again, and promises no run."""
    record = _given("/benchmark rerun all", with_suite=suite())
    assert (record.fresh, record.refused) == ((), False)
    assert "starts no runs" in record.result


@pytest.mark.parametrize("permission", [Permission.READ, Permission.NONE])
@pytest.mark.parametrize(
    "text", ["/benchmark", "/benchmark rerun 03_dropout", "/benchmark help", "/benchmark x"]
)
def test_a_stranger_is_refused_whatever_they_ask(permission: Permission, text: str) -> None:
    """Without write permission nothing is done and nothing is asked for; the reason is said."""
    record = _given(text, permission, suite(LAUNCHES))
    assert (record.refused, record.fresh) == (True, ())
    assert record.result.startswith("Refused: bob has ")
    assert "benchmarks need write" in record.result


def test_what_is_misspelt_is_answered_with_the_nearest_spelling() -> None:
    """Verbs and cases alike, and a refusal either way."""
    for text, nearest in (
        ("/benchmark rerum 03_dropout", "/benchmark rerun 03_dropout"),
        ("/benchmark rerun 03_dropuot", "/benchmark rerun 03_dropout"),
    ):
        record = _given(text, with_suite=suite(LAUNCHES))
        assert record.refused
        assert nearest in record.result


def test_without_a_configuration_nothing_can_be_run() -> None:
    """The answer names the file that is missing or invalid; help works even so."""
    assert ".github/maxview.yml" in _given("/benchmark run").result
    assert _given("/benchmark run").refused
    assert not _given("/benchmark help").refused


def test_several_commands_of_one_comment_are_answered_together() -> None:
    """One record: each different sentence once, refused where any of them was."""
    record = _given("/benchmark status\n/benchmark status\n/benchmark cancel", with_suite=suite())
    assert record.text == "/benchmark status · /benchmark status · /benchmark cancel"
    assert record.result.count("brought up to date") == 1
    assert record.refused


def test_a_bot_is_refused() -> None:
    """Only people start runs by comment."""
    intent = Command(
        repository=ACME,
        number=7,
        comment_id=1,
        author=replace(BOB, is_bot=True),
        commands=read_commands("/benchmark"),
        created_at=NOW,
    )
    assert decide(intent, permission=Permission.ADMIN, suite=suite()).refused


@given(text=st.text(max_size=80), permission=st.sampled_from(Permission))
def test_only_writers_are_ever_granted_anything(text: str, permission: Permission) -> None:
    """Whatever stands after `/benchmark`, fresh runs are asked for by writers alone, and of known cases."""
    record = _given(f"/benchmark rerun {text}", permission, suite(LAUNCHES))
    assert record.result
    if record.fresh:
        assert permission.may_write
        known = {f"{case}/{variant}" for case in ("03_dropout", "04_int8") for variant in ("linen", "nnx")}
        assert set(record.fresh) <= {FAILED, *known}
