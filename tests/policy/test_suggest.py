"""The lines that are suggested grant exactly what was refused."""

from msgspec.structs import replace

from bot.policy.grants import Grants, PolicyEntry
from bot.policy.models import read_entries
from bot.policy.suggest import entry_line, joined, policy_text
from tests.policy.samples import ENTRY, SHA, xpk_job


def test_the_text_of_entries_is_read_as_the_same_entries() -> None:
    """What the operator copies means what was wanted; a budget is the operator's own thought."""
    entry = replace(ENTRY, chip_hours_per_day=None)

    assert read_entries(policy_text([entry]), "policy.yml") == (entry,)
    assert read_entries(policy_text([]), "policy.yml") == ()
    assert read_entries(f"version: 1\nrepositories:\n{entry_line(entry)}\n", "policy.yml") == (entry,)


def test_what_was_refused_is_granted_once_its_lines_are_signed() -> None:
    """A source and a launch, joined in one entry; nothing above it."""
    nothing = Grants(repository="acme/x")
    job = xpk_job(slices=2, priority="high")
    read, launch = (
        nothing.source_refusal("gs://b/runs/", "gs://b/runs/"),
        nothing.launch_refusal(job.place, image=job.image),
    )
    assert read is not None
    assert launch is not None
    granted = Grants(entries=read_entries(policy_text([joined([read.wanted, launch.wanted])]), "p") or ())

    assert granted.source_refusal("gs://b/runs/", "gs://b/runs/") is None
    assert granted.launch_refusal(job.place, image=f"gcr.io/my-project/maxtext:{SHA}") is None
    assert granted.launch_refusal(job.place, image="gcr.io/my-project/other") is not None
    assert granted.launch_refusal(xpk_job(slices=3).place, image=job.image) is not None
    assert granted.source_refusal("gs://b", "gs://b") is not None


def test_what_no_entry_can_grant_has_no_lines() -> None:
    """Dots are not granted, and neither are the server's own places."""
    refusal = Grants(never=("file:/srv/data",)).source_refusal("file:/srv/data/x", "file:/srv/data/x")

    assert refusal is not None
    assert entry_line(refusal.wanted) == ""
    assert entry_line(PolicyEntry(match="acme/x")) == ""
