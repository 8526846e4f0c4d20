"""A policy is read exactly: what is not understood is refused with its line."""

import pytest

from bot.errors import UserError
from bot.policy.grants import LocalJobs
from bot.policy.models import read_entries
from tests.policy.samples import CONTRACT, ENTRY

ENTRY_TEXT = "version: 1\nrepositories:\n  - match: acme/*\n"


def _refusal(text: str) -> str:
    with pytest.raises(UserError) as caught:
        read_entries(text, "policy.yml")
    return caught.value.text


def test_the_contracts_policy_is_read() -> None:
    """Every key of the documented policy has its place."""
    assert read_entries(CONTRACT, "policy.yml") == (ENTRY,)


def test_what_is_not_said_is_denied() -> None:
    """An entry that only names repositories grants nothing."""
    (entry,) = read_entries(ENTRY_TEXT, "policy.yml") or ()

    assert (entry.sources, entry.xpk, entry.local, entry.upload) == ((), (), LocalJobs.NO, False)
    assert entry.chip_hours_per_day is None


def test_no_repositories_is_not_an_empty_list() -> None:
    """Absent means the App's owner; an empty list means nobody."""
    assert read_entries("version: 1\n", "policy.yml") is None
    assert read_entries("version: 1\nrepositories: []\n", "policy.yml") == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "policy.yml:1: nothing is written here; begin with version: 1"),
        ("version: 2\n", "policy.yml:1: version: must be 1, not 2"),
        (
            ENTRY_TEXT + "    source: []\n",
            "policy.yml:4: repositories.0.source: unknown key; did you mean sources?",
        ),
        (
            "version: 1\nrepositories:\n  - sources: []\n",
            "policy.yml:3: repositories.0: match is missing; write match: OWNER/* or match: OWNER/REPOSITORY",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, problem: str) -> None:
    """Unknown and missing keys and wrong values, as in the configuration of a repository."""
    assert _refusal(text) == problem


@pytest.mark.parametrize("match", ['"*"', '"*/*"', "acme", "a*/x", "acme/a/b", '"*/maxtext"', "acme/"])
def test_an_owner_is_always_named(match: str) -> None:
    """A star for the owner would grant to everybody."""
    assert "must be OWNER/REPOSITORY or OWNER/*" in _refusal(
        f"version: 1\nrepositories:\n  - match: {match}\n"
    )


@pytest.mark.parametrize(
    "source",
    [
        "gs://*",
        "gs://b*/x",
        "gs://b/a%2fb",
        "gs://b//x",
        "/srv/runs",
        "file:runs",
        "https://x/y",
        "file:/a//b",
    ],
)
def test_a_prefix_that_means_two_things_is_refused(source: str) -> None:
    """No star in a bucket's name, no encoding, no relative path."""
    assert "must be a prefix such as" in _refusal(ENTRY_TEXT + f'    sources: ["{source}"]\n')


@pytest.mark.parametrize("image", ["my-project/", "gcr.io/p:tag", "gcr.io/p@sha256:0", "*", "gcr.io/*", ""])
def test_an_image_prefix_names_its_registry(image: str) -> None:
    """No tag, no star, and Docker Hub by its name."""
    xpk = f"{{project: p, zone: z-a, cluster: c, device-types: [v6e-8], images: ['{image}']}}"

    assert "images" in _refusal(ENTRY_TEXT + f"    launch: {{xpk: [{xpk}]}}\n")
