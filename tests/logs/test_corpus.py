"""Logs of real trainers: what they printed when they trained, failed and were killed for us."""

from typing import Any

import pytest

from tests.log_corpus import CORPUS, disagreements, stated

MADE = stated("made.toml")


@pytest.mark.parametrize("log", MADE, ids=[log["file"] for log in MADE])
def test_what_a_real_trainer_printed_is_read_right(log: dict[str, Any]) -> None:
    """Every fact that is known of the run: how it was started, what was done to it."""
    assert not list(disagreements(log, (CORPUS / "made" / log["file"]).read_bytes()))


def test_every_log_has_its_facts() -> None:
    """And every row its log."""
    assert {log["file"] for log in MADE} == {path.name for path in (CORPUS / "made").iterdir()}


def test_the_public_logs_are_many_and_of_many_trainers() -> None:
    """Read by `python -m tests.log_corpus`, where their texts are."""
    logs = stated("public.toml")
    assert len(logs) >= 40
    assert len({log["facts"]["format"] for log in logs}) >= 10
    assert all(log["source"] for log in logs)
