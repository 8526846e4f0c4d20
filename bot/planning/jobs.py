"""Turn a wanted run into a job: names, command, device, price. Pure.

The same wanted run gives the same job in every process.
"""

from collections.abc import Mapping
from typing import assert_never

from msgspec import Struct, structs
from msgspec.structs import replace

from bot.clusters.interface import ClusterPlace, Job
from bot.config import ClusterKind, LaunchConfig, LocalConfig, Suite, XpkConfig
from bot.domain.case_key import CaseKey
from bot.domain.price import Price
from bot.domain.pull_request import branch_slug
from bot.domain.run import RunOrigin, RunRecord, RunState
from bot.planning.devices import chip_count, is_quiet_device
from bot.planning.plan import ComparisonSide, PlannedRun, RequiredRun
from bot.runs import naming
from bot.runs.run_status import RunStatus

LOCAL_DEVICE = "cpu"

SHA_PLACEHOLDER = "{sha}"
"""Replaced by the commit in the name of an image."""


class Device(Struct, frozen=True, kw_only=True):
    """What runs execute on.

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
    place: ClusterPlace | None = None


def device_of(launch: LaunchConfig) -> Device | None:
    """The device that a configuration launches on; None if its section is missing."""
    match launch.cluster:
        case ClusterKind.LOCAL:
            return _local_device(launch.local) if launch.local else None
        case ClusterKind.XPK:
            return _xpk_device(launch.xpk) if launch.xpk else None
        case _:
            assert_never(launch.cluster)


def with_installation(device: Device, installation: str) -> Device:
    """The device with an installation's mark, so that run keys and job names differ from those of another
    installation on the same cluster."""
    return replace(device, settings=(*device.settings, installation))


def _local_device(local: LocalConfig) -> Device:
    return Device(
        name=LOCAL_DEVICE,
        keeps_pace=False,
        quiet=False,
        chips=1,
        timeout_seconds=local.timeout_seconds,
        settings=(local.repository, local.timeout_seconds, local.memory_mb),
        repository=local.repository,
        memory_mb=local.memory_mb,
    )


def _xpk_device(xpk: XpkConfig) -> Device:
    return Device(
        name=xpk.device_type if xpk.slices == 1 else f"{xpk.slices} × {xpk.device_type}",
        keeps_pace=True,
        # Between slices is a network that others use too.
        quiet=is_quiet_device(xpk.device_type) and xpk.slices == 1,
        chips=chip_count(xpk.device_type, xpk.slices),
        timeout_seconds=xpk.timeout_seconds,
        settings=(xpk.docker_image, xpk.timeout_seconds),
        image=xpk.docker_image,
        place=ClusterPlace(
            project=xpk.project,
            zone=xpk.zone,
            cluster=xpk.cluster,
            device_type=xpk.device_type,
            priority=xpk.priority,
            slices=xpk.slices,
        ),
    )


class JobContext(Struct, frozen=True, kw_only=True):
    """What all runs of one plan have in common. `session` names the comparison that they are made for,
    `charged_to` who asked, `prices` what one run costs."""

    repository: str
    suite: Suite
    device: Device
    base_branch: str
    head_branch: str
    session: str
    prices: Mapping[CaseKey, Price | None]
    charged_to: Mapping[CaseKey, str]


def make_planned_run(required: RequiredRun, context: JobContext) -> PlannedRun:
    """The row and the job of a run."""
    device, key = context.device, run_key(required, context)
    branch = branch_slug(
        context.base_branch if required.commit.side is ComparisonSide.BASELINE else context.head_branch
    )
    record = RunRecord(
        id=key,
        repository=context.repository,
        case=required.case,
        variant=required.variant,
        branch=branch,
        sha=required.commit.sha,
        origin=RunOrigin.LAUNCHED,
        state=RunState.PLANNED,
        key=key,
        tree=required.commit.tree,
        place=device.place.name if device.place else None,
    )
    job = Job(
        name=naming.job_name(case=required.case, key=key),
        repository=device.repository,
        sha=required.commit.sha,
        case=required.case,
        variant=required.variant,
        command=_command_line(required, context.suite),
        run_name=naming.run_name(variant=required.variant, branch=branch, case=required.case, key=key),
        timeout_seconds=device.timeout_seconds,
        memory_mb=device.memory_mb,
        place=device.place,
        image=device.image.replace(SHA_PLACEHOLDER, required.commit.sha),
    )
    price = context.prices.get(required.case_key)
    return PlannedRun(
        record=record,
        job=job,
        price=price.most if price else None,
        charged_to=context.charged_to.get(required.case_key, ""),
    )


def job_of_attempt(first: Job, record: RunRecord, run: RunStatus) -> Job:
    """The job of the current attempt. A later attempt has its own run name, so that it does not resume from
    the checkpoints of an earlier one."""
    if run.attempt == 1:
        return first
    run_name = naming.run_name(
        variant=record.variant,
        branch=record.branch or "",
        case=record.case,
        key=record.key or record.id,
        attempt=run.attempt,
    )
    return structs.replace(first, name=run.name, run_name=run_name)


def run_key(required: RequiredRun, context: JobContext) -> str:
    """What makes two runs the same: files, case, variant, device, image and command.

    On a device that keeps its pace that is all, so that one run serves every pull request and commit with the
    same files; a fresh measurement is of one comparison. Elsewhere every run is.
    """
    device = context.device
    fresh = f"{context.session}-{required.fresh}" if required.fresh else ""
    return naming.run_key(
        naming.RunIdentity(
            code=required.commit.code,
            case=required.case,
            variant=required.variant,
            device=device.name,
            settings=naming.settings_hash(
                context.repository, _command_line(required, context.suite), *device.settings
            ),
            repeat=required.repeat,
            session=fresh if device.keeps_pace else context.session,
        )
    )


def _command_line(required: RequiredRun, suite: Suite) -> str:
    return f"{suite.cases[required.case].command or ''} {suite.variants[required.variant].args}".strip()
