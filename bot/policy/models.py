"""Every key of the operator's policy as pydantic models, and the policy in a text.

Import this module only where a policy is read: pydantic takes a while to load.
"""

from typing import Annotated, Literal

from pydantic import Field

from bot.config.document import Problem, parse
from bot.config.models import (
    ChipHours,
    DeviceType,
    Expected,
    Flag,
    MissingHint,
    OrAbsent,
    Priority,
    Project,
    Section,
    Slices,
    Version,
    XpkClusterName,
    Zone,
    empty_default,
    optional,
    required,
    text_form,
    without_default,
)
from bot.config.validation import validate
from bot.errors import UserError
from bot.policy.grants import LocalJobs, PolicyEntry, XpkGrant

Match = Annotated[
    str,
    text_form(r"[A-Za-z0-9](?:[A-Za-z0-9-]|_)*/[A-Za-z0-9_.*-]+", 200),
    Expected("OWNER/REPOSITORY or OWNER/* (* only in the repository's name)"),
]
SourcePrefix = Annotated[
    str,
    text_form(
        r"gs://[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?(?:/[^\x00-\x20/%\\]+)*/?|file:(?://)?(?:/[^\x00-\x1f/]+)+/?",
        1000,
    ),
    Expected("a prefix such as gs://bucket/runs/* or file:/data/runs/* (no * in a bucket's name)"),
]
ImagePrefix = Annotated[
    str,
    text_form(
        r"(?:[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::[0-9]+)?|[a-z0-9-]+:[0-9]+|localhost)(?:/[a-z0-9._-]+)*/?", 400
    ),
    Expected("a registry and path such as gcr.io/my-project/ (without tag; docker.io/OWNER/ for Docker Hub)"),
]


class XpkGrantModel(Section):
    """An XPK cluster that may be used."""

    project: Project = required("The Google Cloud project.", "write the Google Cloud project")
    zone: Zone = required("The zone, such as us-east5-b.", "write a zone such as us-east5-b")
    cluster: XpkClusterName = required("The XPK cluster's name.", "write the XPK cluster's name")
    device_types: Annotated[list[DeviceType], Field(min_length=1)] = Field(
        alias="device-types",
        description="The device types that may be used.",
        json_schema_extra=MissingHint("write device-types: [v6e-32]"),
    )
    images: Annotated[list[ImagePrefix], Field(min_length=1)] = required(
        "Prefixes of the images that may run, as they are once {sha} is filled in.",
        'write images: ["gcr.io/my-project/"]',
    )
    max_slices: Slices = Field(
        alias="max-slices", default=1, description="The most slices that one run may take."
    )
    max_priority: Priority = Field(
        alias="max-priority", default="medium", description="The highest Kueue priority."
    )


class LaunchGrantModel(Section):
    """What may be launched."""

    xpk: list[XpkGrantModel] = empty_default("The XPK clusters that may be used.")
    local: Literal["no", "sandboxed", "unsandboxed"] = optional(
        "Whether jobs may run on the server's own machine.", LocalJobs.NO.value
    )


class PolicyBudgetModel(Section):
    """What launches may cost, whatever the repositories say of themselves."""

    chip_hours_per_day: OrAbsent[ChipHours] = without_default(
        "Chip-hours a day (UTC) of all repositories of the entry together."
    )


class PolicyEntryModel(Section):
    """What some repositories may make the server do."""

    match: Match = required("OWNER/REPOSITORY or OWNER/*.", "write match: OWNER/* or match: OWNER/REPOSITORY")
    sources: list[SourcePrefix] = empty_default("Prefixes below which runs may be read.")
    launch: LaunchGrantModel = empty_default("What may be launched; absent: nothing.", LaunchGrantModel)
    upload: Flag = optional("Whether runs may be uploaded.", default=False)
    budget: PolicyBudgetModel = empty_default("What launches may cost.", PolicyBudgetModel)


class PolicyModel(Section):
    """The whole policy."""

    version: Version = required("The version of this file's format.", "write version: 1")
    repositories: OrAbsent[list[PolicyEntryModel]] = without_default(
        "Who may do what; absent: the account that owns the App may upload, and nobody anything else."
    )


def read_entries(text: str, name: str) -> tuple[PolicyEntry, ...] | None:
    """The entries of the policy in `text`, None where it names none; `name` is its file in messages.

    Raises `UserError` with every problem and its line.
    """
    document = parse(text)
    if isinstance(document, Problem):
        problems: tuple[Problem, ...] = (document,)
        model = None
    else:
        model, problems = validate(document, PolicyModel)
    if model is None:
        raise UserError("\n".join(f"{name}:{problem.line}: {problem.text}" for problem in problems))
    return None if model.repositories is None else tuple(map(_entry, model.repositories))


def _entry(entry: PolicyEntryModel) -> PolicyEntry:
    return PolicyEntry(
        match=entry.match,
        sources=tuple(entry.sources),
        xpk=tuple(map(_xpk_grant, entry.launch.xpk)),
        local=LocalJobs(entry.launch.local),
        upload=entry.upload,
        chip_hours_per_day=entry.budget.chip_hours_per_day,
    )


def _xpk_grant(xpk: XpkGrantModel) -> XpkGrant:
    return XpkGrant(
        project=xpk.project,
        zone=xpk.zone,
        cluster=xpk.cluster,
        device_types=tuple(xpk.device_types),
        images=tuple(xpk.images),
        max_slices=xpk.max_slices,
        max_priority=xpk.max_priority,
    )
