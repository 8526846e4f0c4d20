"""What a repository may read and launch, attacked with every spelling that leads elsewhere."""

import pytest
from msgspec.structs import replace

from bot.clusters.interface import PRIORITIES, ClusterPlace, Isolation, Job
from bot.policy.grants import Grants, LocalJobs, Policy, PolicyEntry, Refusal, is_image_below
from tests.policy.samples import ENTRY, SHA, XPK, grants, local_job, xpk_job

GRANTED = Grants(entries=(ENTRY,), never=("file:/srv/data", "gs://ours/artifacts"))


def _refused(granted: Grants, job: Job) -> Refusal | None:
    return granted.launch_refusal(job.place, image=job.image, address=f"file:{job.repository}")


def _may_read(granted: Grants, source: str) -> bool:
    return granted.source_refusal(source, source) is None


@pytest.mark.parametrize(
    "source",
    [
        "gs://maxtext-bench/runs",
        "gs://maxtext-bench/runs/",
        "gs://maxtext-bench/runs/a/b c",
        "gs://Maxtext-Bench/runs",
    ],
)
def test_what_lies_below_a_prefix_may_be_read(source: str) -> None:
    """A prefix grants itself and everything below, however the bucket's case is written."""
    assert _may_read(GRANTED, source)


@pytest.mark.parametrize(
    "source",
    [
        "gs://another-bucket/runs",
        "gs://maxtext-bench",
        "gs://maxtext-bench/",
        "gs://maxtext-bench/runs-private",
        "gs://maxtext-bench/Runs",
        "gs://maxtext-bench/run",
        "gs://maxtext-bench-private/runs",
        "gs://maxtext-bench/runs/../private",
        "gs://maxtext-bench/runs/..",
        "gs://maxtext-bench/./runs",
        "gs://maxtext-bench//runs",
        "gs://maxtext-bench/runs//x",
        "gs:///maxtext-bench/runs",
        "gs://maxtext-bench/runs/%2e%2e/private",
        "gs://maxtext-bench/runs/%252e%252e/private",
        "gs://maxtext-bench/runs/%25252e%25252e/private",
        "gs://maxtext-bench/runs%2Fx",
        "gs://maxtext-bench/runs/x%2f..%2f..%2fprivate",
        "gs://maxtext-bench/runs/..\\private",
        "gs://maxtext-bench/*",
        "gs://*/runs",
        "file:/srv/runs",
        "file:/",
        "file:/maxtext-bench/runs",
        "",
        "gs:",
        "gs://",
    ],
)
def test_no_other_spelling_reaches_what_is_not_granted(source: str) -> None:
    """Another bucket, a sibling of the prefix, dots, doubled and encoded slashes are refused, in one line."""
    refusal = GRANTED.source_refusal(source, source)

    assert refusal is not None
    assert refusal.text == f"this server may not read {source}: ask its operator"


def test_a_star_stands_within_one_level() -> None:
    """`team-*` says nothing of what lies above or of another level."""
    granted = grants("gs://b/team-*/runs")

    assert _may_read(granted, "gs://b/team-a/runs/x")
    assert not _may_read(granted, "gs://b/team-a")
    assert not _may_read(granted, "gs://b/team-a/private/runs")
    assert not _may_read(granted, "gs://b/other/runs")


def test_the_servers_own_places_cannot_be_granted() -> None:
    """Not even an entry that grants everything opens the server's data."""
    granted = grants("file:/*", "gs://ours/*", never=("file:/srv/data", "gs://ours/artifacts"))

    assert granted.allows("file:/srv/runs/log")
    assert granted.allows("gs://ours/runs/log")
    assert not granted.allows("file:/srv/data")
    assert not granted.allows("file:/srv/data/maxview.sqlite")
    assert not granted.allows("gs://ours/artifacts/runs/1/log.txt")
    assert _refused(replace(granted, entries=(ENTRY,)), local_job("/srv/data/x.git")) is not None


def test_a_refusal_names_nothing_of_other_tenants() -> None:
    """What is said depends on the repository's own words alone: not on what others have."""
    crowded = replace(
        GRANTED, entries=(ENTRY, PolicyEntry(match="acme/*", sources=("gs://secret-bucket/*",)))
    )
    source = "gs://elsewhere/x"

    assert crowded.source_refusal(source, source) == Grants().source_refusal(source, source)


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (xpk_job(project="another"), "launch on another/us-east5-b/v6e-32-bench"),
        (xpk_job(zone="us-east5-a"), "launch on my-project/us-east5-a/v6e-32-bench"),
        (xpk_job(cluster="production"), "launch on my-project/us-east5-b/production"),
        (xpk_job(device_type="v5p-128"), "launch on v5p-128 of my-project/us-east5-b/v6e-32-bench"),
        (xpk_job(slices=3), "launch on 3 slices of my-project/us-east5-b/v6e-32-bench"),
        (xpk_job(priority="high"), "launch with priority high on my-project/us-east5-b/v6e-32-bench"),
        (xpk_job(priority="urgent"), "launch with priority urgent on my-project/us-east5-b/v6e-32-bench"),
        (
            xpk_job(image="gcr.io/evil/x"),
            "launch the image gcr.io/evil/x on my-project/us-east5-b/v6e-32-bench",
        ),
        (xpk_job(image=""), "launch the image  on my-project/us-east5-b/v6e-32-bench"),
    ],
)
def test_a_launch_that_goes_beyond_its_grant_is_refused(job: Job, words: str) -> None:
    """Project, zone, cluster, device, slices, priority and image are each held, and the line says which."""
    refusal = _refused(GRANTED, job)

    assert refusal is not None
    assert refusal.text == f"this server may not {words}: ask its operator"


def test_a_launch_within_its_grant_is_not_refused() -> None:
    """The largest that is granted may be launched."""
    assert _refused(GRANTED, xpk_job(slices=2, priority="medium")) is None


def test_two_grants_of_a_cluster_are_not_added_up() -> None:
    """What one grant allows in devices and another in images is not allowed together."""
    other = replace(XPK, device_types=("v5p-128",), images=("gcr.io/other/",))
    granted = Grants(entries=(replace(ENTRY, xpk=(XPK, other)),))

    assert _refused(granted, xpk_job(device_type="v5p-128", image="gcr.io/other/x")) is None
    assert _refused(granted, xpk_job(device_type="v5p-128")) is not None


@pytest.mark.parametrize("most", PRIORITIES)
def test_priorities_have_xpks_order(most: str) -> None:
    """A grant of a priority is one of every lower one, and of none above."""
    granted = Grants(entries=(replace(ENTRY, xpk=(replace(XPK, max_priority=most),)),))
    allowed = [one for one in PRIORITIES if _refused(granted, xpk_job(priority=one)) is None]

    assert allowed == ["very-low", "low", "medium", "high", "very-high"][: PRIORITIES.index(most) + 1]


@pytest.mark.parametrize(
    ("image", "prefix"),
    [
        (f"gcr.io/my-project/maxtext:{SHA}", "gcr.io/my-project/"),
        ("gcr.io/my-project/a/b@sha256:" + "0" * 64, "gcr.io/my-project"),
        ("GCR.io/my-project/maxtext", "gcr.io/my-project/"),
        ("us-docker.pkg.dev/p/r/i:t@sha256:" + "0" * 64, "us-docker.pkg.dev/p/r/i"),
        ("localhost:5000/p/i:t", "localhost:5000/p/"),
        ("acme/trainer:1", "docker.io/acme/"),
        ("python", "docker.io/library/python"),
        ("index.docker.io/acme/x", "docker.io/acme/"),
    ],
)
def test_an_image_below_its_prefix_may_run(image: str, prefix: str) -> None:
    """Tag and digest say nothing; names without a registry are Docker Hub's."""
    assert is_image_below(image, [prefix])


@pytest.mark.parametrize(
    "image",
    [
        "gcr.io/my-project-evil/maxtext",
        "gcr.io/my-project:x/maxtext",
        "gcr.io/My-Project/maxtext",
        "gcr.io/my-project/../evil/x",
        "gcr.io/my-project//../evil",
        "gcr.io/./my-project/x",
        "gcr.io/evil/gcr.io/my-project/x",
        "evil.io/gcr.io/my-project/x",
        "gcr.io.evil.com/my-project/x",
        "gcr.io:443/my-project/x",
        "gcr.io@sha256:" + "0" * 64,
        "my-project/x",
        "maxtext",
        f"{SHA}/my-project/x",
        "",
    ],
)
def test_no_other_image_passes_for_one_of_the_prefix(image: str) -> None:
    """Siblings, other registries and dots are not below `gcr.io/my-project/`."""
    assert not is_image_below(image, ["gcr.io/my-project/"])


def test_local_jobs_need_a_word_of_their_own() -> None:
    """No is the default; the widest word of the entries holds, and unsandboxed must be said."""
    plain = PolicyEntry(match="acme/*")
    sandboxed, unsandboxed = (
        replace(plain, local=LocalJobs.SANDBOXED),
        replace(plain, local=LocalJobs.UNSANDBOXED),
    )
    refusal = _refused(Grants(entries=(plain,)), local_job())

    assert refusal is not None
    assert refusal.text == "this server may not run jobs on its own machine: ask its operator"
    assert Grants(entries=(plain, sandboxed)).isolation is Isolation.SANDBOXED
    assert _refused(Grants(entries=(plain, sandboxed)), local_job()) is None
    assert Grants(entries=(sandboxed, unsandboxed)).isolation is Isolation.UNSANDBOXED
    assert Grants().isolation is Isolation.SANDBOXED


def test_an_entry_names_repositories_by_a_glob_of_their_names() -> None:
    """`*` stands in the name alone, never across the owner."""
    entry = PolicyEntry(match="Acme/Max*")

    assert entry.names("acme/maxtext")
    assert not entry.names("acme/other")
    assert not entry.names("acme-evil/maxtext")
    assert not entry.names("acme/x/maxtext")
    assert not entry.is_exact
    assert PolicyEntry(match="acme/maxtext").is_exact


def test_only_clusters_of_the_policy_are_known() -> None:
    """A cluster that only a repository names is never asked anything."""
    here = ClusterPlace(
        project="my-project", zone="us-east5-b", cluster="v6e-32-bench", device_type="x", priority="low"
    )

    assert Policy(entries=(ENTRY,)).knows(here)
    assert Policy(entries=(ENTRY,)).knows(None)
    assert not Policy(entries=(ENTRY,)).knows(replace(here, project="another"))
    assert not Policy().knows(here)


def test_uploads_are_granted_by_their_own_key() -> None:
    """The refusal is one line."""
    refusal = grants("gs://b/*").upload_refusal()

    assert GRANTED.upload_refusal() is None
    assert refusal is not None
    assert refusal.text == "this server may not take uploads of this repository: ask its operator"
