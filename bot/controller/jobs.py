"""What a wanted run is made of: its names, its command, where it is executed, what it may cost.

In:  a `Wanted`, the suite, the pull request's branches.
Out: `Planned`s. Pure; the same wish gives the same job in every process.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from bot.config import Suite
from bot.config.suite import Cluster, Launch, Local, Xpk
from bot.runs import naming
from bot.runs.clusters.port import Job, Place
from bot.runs.pattern import slug
from bot.runs.plan import Side, Wanted
from bot.runs.price import Price, chips_of, is_quiet
from bot.runs.records import Origin, RunRecord, RunState
from bot.runs.standing import RunStanding
from bot.storage.runs import Planned

THIS_MACHINE = "cpu"
SHA = "{sha}"
"""What the exact commit stands for in the name of an image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """What runs are executed on.

    Where `keeps_pace`, a run may be compared with one of another day, so that anybody's run of the same files
    does; elsewhere the speed drifts within minutes, and only runs that took turns are compared. `quiet` says
    that the noise is known to be small. `settings` is what of it goes into a run's key.
    """

    name: str
    keeps_pace: bool
    quiet: bool
    chips: int | None
    timeout_seconds: float
    settings: tuple[object, ...]
    repository: str = ""
    memory_mb: int | None = None
    image: str = ""
    place: Place | None = None


def device_of(launch: Launch) -> Device | None:
    """The device that a configuration launches on; None where the part that describes it is not there."""
    match launch.cluster:
        case Cluster.LOCAL:
            return _here(launch.local) if launch.local else None
        case Cluster.XPK:
            return _there(launch.xpk) if launch.xpk else None
        case _:
            assert_never(launch.cluster)


def marked(device: Device, installation: str) -> Device:
    """The device as one installation uses it: the keys of its runs, and so the names of its jobs, are its own
    also where another installation measures the same on the same cluster."""
    return replace(device, settings=(*device.settings, installation))


def _here(local: Local) -> Device:
    return Device(
        name=THIS_MACHINE,
        keeps_pace=False,
        quiet=False,
        chips=1,
        timeout_seconds=local.timeout_seconds,
        settings=(local.repository, local.timeout_seconds, local.memory_mb),
        repository=local.repository,
        memory_mb=local.memory_mb,
    )


def _there(xpk: Xpk) -> Device:
    return Device(
        name=xpk.device_type if xpk.slices == 1 else f"{xpk.slices} × {xpk.device_type}",
        keeps_pace=True,
        # Between slices is a network that others use too.
        quiet=is_quiet(xpk.device_type) and xpk.slices == 1,
        chips=chips_of(xpk.device_type, xpk.slices),
        timeout_seconds=xpk.timeout_seconds,
        settings=(xpk.docker_image, xpk.timeout_seconds),
        image=xpk.docker_image,
        place=Place(
            project=xpk.project,
            zone=xpk.zone,
            cluster=xpk.cluster,
            device_type=xpk.device_type,
            priority=xpk.priority,
            slices=xpk.slices,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What all runs of one plan have in common. `session` names the comparison that they are made for,
    `charged_to` by `case/variant` who asked, `prices` what one run costs."""

    repository: str
    suite: Suite
    device: Device
    base_branch: str
    head_branch: str
    session: str
    prices: Mapping[str, Price | None]
    charged_to: Mapping[str, str]


def planned(one: Wanted, order: Order) -> Planned:
    """The run as a row and a job."""
    device, key = order.device, run_key(one, order)
    branch = slug(order.base_branch if one.commit.side is Side.BASELINE else order.head_branch)
    record = RunRecord(
        id=key,
        repository=order.repository,
        case=one.case,
        variant=one.variant,
        branch=branch,
        sha=one.commit.sha,
        origin=Origin.LAUNCHED,
        state=RunState.PLANNED,
        key=key,
        tree=one.commit.tree,
        place=device.place.name if device.place else None,
    )
    job = Job(
        name=naming.job_name(case=one.case, key=key),
        repository=device.repository,
        sha=one.commit.sha,
        case=one.case,
        variant=one.variant,
        command=_command(one, order.suite),
        run_name=naming.run_name(variant=one.variant, branch=branch, case=one.case, key=key),
        timeout_seconds=device.timeout_seconds,
        memory_mb=device.memory_mb,
        place=device.place,
        image=device.image.replace(SHA, one.commit.sha),
    )
    name = f"{one.case}/{one.variant}"
    price = order.prices.get(name)
    return Planned(
        record=record,
        job=job,
        price=price.most if price else None,
        charged_to=order.charged_to.get(name, ""),
    )


def job_of_attempt(first: Job, record: RunRecord, run: RunStanding) -> Job:
    """The job of the attempt that counts. A later one has a run name of its own too, so that it does not
    go on from the checkpoints of the one before."""
    if run.attempt == 1:
        return first
    run_name = naming.run_name(
        variant=record.variant,
        branch=record.branch or "",
        case=record.case,
        key=record.key or record.id,
        attempt=run.attempt,
    )
    return replace(first, name=run.name, run_name=run_name)


def run_key(one: Wanted, order: Order) -> str:
    """What makes two wishes the same run: the files, the case, the variant, the device, image and command.

    On a device that keeps its pace that is all, so that one run serves every pull request and commit with the
    same files; a fresh measurement is of one comparison. Elsewhere every run is.
    """
    device = order.device
    fresh = f"{order.session}-{one.fresh}" if one.fresh else ""
    return naming.run_key(
        naming.Identity(
            code=one.commit.code,
            case=one.case,
            variant=one.variant,
            device=device.name,
            settings=naming.settings_hash(order.repository, _command(one, order.suite), *device.settings),
            repeat=one.repeat,
            session=fresh if device.keeps_pace else order.session,
        )
    )


def _command(one: Wanted, suite: Suite) -> str:
    return f"{suite.cases[one.case].command or ''} {suite.variants[one.variant].args}".strip()
