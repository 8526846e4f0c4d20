"""Names of keys, jobs and runs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.runs.naming import MAX_JOB_NAME_LENGTH, RunIdentity, job_name, run_key, run_name, settings_hash

IDENTITY = RunIdentity(code="3cae6df7", case="04_int8", variant="linen", device="v6e-32", settings="image")


def test_a_key_is_the_same_everywhere() -> None:
    """The key of a run depends on what it is and on nothing else, so it is known beforehand."""
    assert run_key(IDENTITY) == "c55474beb5342a77"


@pytest.mark.parametrize(
    "other",
    [
        replace(IDENTITY, code="3cae6df8"),
        replace(IDENTITY, case="04_int"),
        replace(IDENTITY, variant="nnx"),
        replace(IDENTITY, device="v5p-8"),
        replace(IDENTITY, settings="other"),
        replace(IDENTITY, repeat=2),
        replace(IDENTITY, session="feat"),
        replace(IDENTITY, case="04_int8l", variant="inen"),
    ],
)
def test_a_different_run_has_a_different_key(other: RunIdentity) -> None:
    """Whatever makes a run another run makes its key another key."""
    assert run_key(other) != run_key(IDENTITY)


def test_the_order_of_settings_does_not_matter() -> None:
    """The same settings written in another order are the same settings."""
    assert settings_hash({"a": 1, "b": 2}) == settings_hash({"b": 2, "a": 1})


def test_a_job_name_tells_its_case() -> None:
    """A person who lists jobs sees what they are."""
    assert job_name(case="04_int8", key="3f9a0c1d2e4b5a67") == "mv-04-int8-3f9a0c1d2e4b5a67"
    assert job_name(case="04_int8", key="3f9a0c1d2e4b5a67", attempt=2) == "mv-04-int8-3f9a0c1d2e4b5a67-2"


@given(case=st.text(max_size=80), attempt=st.integers(1, 99))
def test_every_job_name_is_one_that_xpk_takes(case: str, attempt: int) -> None:
    """Whatever a case is called: XPK's pattern, its length, and the whole key."""
    name = job_name(case=case, key="3f9a0c1d2e4b5a67", attempt=attempt)
    assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name)
    assert len(name) <= MAX_JOB_NAME_LENGTH
    assert "3f9a0c1d2e4b5a67" in name


def test_attempts_of_a_run_have_their_own_names() -> None:
    """A second attempt never meets the remains of the first."""
    names = {job_name(case="x" * 60, key="3f9a0c1d2e4b5a67", attempt=attempt) for attempt in range(1, 30)}
    assert len(names) == 29


def test_a_run_name_is_a_folder_name() -> None:
    """Slashes and other signs of a branch do not make folders."""
    name = run_name(variant="linen", branch="feat/x y", case="04_int8", key="3f9a")
    assert name == "linen_feat-x-y_3f9a_04_int8"
    assert run_name(variant="", branch="../..", case="a", key="k", attempt=3) == "k.3_a"
