"""Policies, places and jobs of the tests."""

from bot.clusters.interface import ClusterPlace, Job
from bot.policy.grants import Grants, LocalJobs, PolicyEntry, XpkGrant

CONTRACT = """\
version: 1
repositories:
  - match: AI-Hypercomputer/*
    sources: ["gs://maxtext-bench/runs/*"]
    launch:
      xpk:
        - {project: my-project, zone: us-east5-b, cluster: v6e-32-bench, device-types: [v6e-32],
           max-slices: 2, max-priority: medium, images: ["gcr.io/my-project/"]}
      local: sandboxed
    upload: true
    budget: {chip_hours_per_day: 500}
"""

XPK = XpkGrant(
    project="my-project",
    zone="us-east5-b",
    cluster="v6e-32-bench",
    device_types=("v6e-32",),
    images=("gcr.io/my-project/",),
    max_slices=2,
    max_priority="medium",
)

ENTRY = PolicyEntry(
    match="AI-Hypercomputer/*",
    sources=("gs://maxtext-bench/runs/*",),
    xpk=(XPK,),
    local=LocalJobs.SANDBOXED,
    upload=True,
    chip_hours_per_day=500.0,
)

SHA = "0123456789abcdef0123456789abcdef01234567"


def grants(*sources: str, never: tuple[str, ...] = ()) -> Grants:
    """Grants of these sources alone."""
    return Grants(entries=(PolicyEntry(match="acme/*", sources=sources),), never=never)


def xpk_job(
    *,
    project: str = "my-project",
    zone: str = "us-east5-b",
    cluster: str = "v6e-32-bench",
    device_type: str = "v6e-32",
    priority: str = "low",
    slices: int = 1,
    image: str = f"gcr.io/my-project/maxtext:{SHA}",
) -> Job:
    """A job on the cluster of `XPK`."""
    place = ClusterPlace(
        project=project, zone=zone, cluster=cluster, device_type=device_type, priority=priority, slices=slices
    )
    return local_job(place=place, image=image)


def local_job(
    repository: str = "/srv/maxtext.git", place: ClusterPlace | None = None, image: str = ""
) -> Job:
    """A job on this machine, or at a place."""
    return Job(
        name="mv-job",
        repository=repository,
        sha=SHA,
        case="int8",
        variant="nnx",
        command="python3 train.py",
        run_name="run",
        timeout_seconds=60.0,
        place=place,
        image=image,
    )
