"""Every key of `.github/maxview.yml` as pydantic models: what it may hold, what it is for, its default.

The published JSON Schema and the `Suite` come from these models. Conditions across several keys are in
`bot.config.rules`. Import this module only where a configuration is read: pydantic takes a while to load.
"""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Struct
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from bot.clusters import interface
from bot.config import suite
from bot.config.rules import RULES, Json
from bot.domain.globs import GLOB_REGEX
from bot.domain.run_pattern import PATTERN_REGEX, RunPattern
from bot.verdict.judgement import Margins

# Seconds of the units that a timeout is written in.
_TIMEOUT_UNITS = {"s": 1, "m": 60, "h": 3600}

# Mebibytes of the units that a memory size is written in.
_MEMORY_UNITS = {"M": 1, "G": 1024}

T = TypeVar("T")


# --- types of values ----------------------------------------------------------------------------------


class Expected(Struct, frozen=True):
    """What a value must be, in words that complete “must be …”: annotation of a type, shown in messages."""

    words: str


class _NotNull(Struct, frozen=True):
    """Refuses the null of `X | None`, which is for an absent key alone."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        nullable: Any = handler(source)
        inner: CoreSchema = nullable["schema"]
        return inner


OrAbsent = Annotated[T | None, _NotNull()]
"""None where the key is absent; the value itself is never null."""


def text_form(form: str, longest: int) -> FieldInfo:
    """Text the whole of which matches `form`, in syntax that ECMA, Rust and Python share."""
    info: FieldInfo = Field(pattern=f"^(?:{form})$", min_length=1, max_length=longest)
    return info


def explained(text: str) -> PydanticCustomError:
    """An error whose message is shown as it is."""
    return PydanticCustomError("explained", "{text}", {"text": text})


def _one_line(value: object) -> object:
    if isinstance(value, str) and re.search(r"[\n\r]", value.rstrip("\n")):
        raise explained(
            "must be one line (a cluster's manifest breaks on a second); fold it with `>-`, join with &&"
        )
    return value


def _run_pattern(text: str) -> str:
    if re.fullmatch(PATTERN_REGEX, text):
        return text
    try:
        RunPattern(text)
    except ValueError as error:
        raise explained(str(error)) from error
    raise PydanticCustomError("not_a_pattern", "not a pattern")


Flag = Annotated[bool, Expected("true or false")]
Version = Annotated[int, Field(ge=1, le=1), WithJsonSchema({"type": "integer", "const": 1}), Expected("1")]
Name = Annotated[
    str,
    text_form(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", 100),
    Expected("made of letters, digits, _, - and ., not beginning with - or ."),
]
Glob = Annotated[
    str,
    text_form(GLOB_REGEX, 500),
    Expected("a glob such as src/** or test_* (wildcards *, ** and ?; no leading / or !, no brackets)"),
]
Command = Annotated[
    str,
    text_form(r"[^\n\r]*[^\n\r\x00-\x20][^\n\r]*\n*", 20_000),
    BeforeValidator(_one_line),
    Expected("the command that runs the case"),
]
Arguments = Annotated[str, text_form(r"[^\n\r\x00]+", 8000), Expected("arguments on one line")]
Source = Annotated[
    str,
    text_form(r"gs://[a-z0-9][a-z0-9._-]*[a-z0-9](?:/[^\x00-\x20]*)?|file:[^\x00-\x1f]+", 1000),
    Expected("a bucket (gs://bucket/prefix) or a folder (file:/path)"),
]
Pattern = Annotated[
    str,
    Field(min_length=1, max_length=1000),
    AfterValidator(_run_pattern),  # pydantic's own regular expressions cannot look ahead
    WithJsonSchema(
        {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": f"^(?:{PATTERN_REGEX})$"}
    ),
    Expected("a pattern of file names"),
]
XpkClusterName = Annotated[
    str, text_form(interface.CLUSTER_REGEX, 63), Expected("a name of small letters, digits and -")
]
Project = Annotated[
    str, text_form(interface.PROJECT_REGEX, 100), Expected("a project of small letters, digits and -")
]
Zone = Annotated[str, text_form(interface.ZONE_REGEX, 41), Expected("a zone such as us-east5-b")]
DeviceType = Annotated[
    str, text_form(interface.DEVICE_TYPE_REGEX, 41), Expected("a device type such as v6e-32")
]
Slices = Annotated[int, Field(ge=1, le=1000), Expected("a whole number from 1 to 1000")]
Image = Annotated[
    str, text_form(interface.IMAGE_TEMPLATE_REGEX, 500), Expected("an image such as gcr.io/p/maxtext:{sha}")
]
Priority = Literal["very-low", "low", "medium", "high", "very-high"]
Memory = Annotated[str, text_form(r"[1-9][0-9]{0,5}[MG]", 7), Expected("a size such as 800M or 8G")]
Timeout = Annotated[str, text_form(r"[1-9][0-9]{0,5}[smh]", 7), Expected("a time such as 90s, 45m or 2h")]
RepositoryPath = Annotated[str, text_form(r"[^\x00-\x1f]+", 1000), Expected("the path of a git repository")]
Label = Annotated[str, text_form(r"[^\x00-\x1f]+", 100), Expected("a label")]
LabelCases = Annotated[
    str,
    text_form(r"\{case\}|[A-Za-z0-9_.*?-]+", 100),
    Expected("all, {case} (what the label's * stands for), or a case or glob of cases"),
]
ChipHours = Annotated[float, Field(ge=0, le=10_000_000), Expected("0 or more")]
ConcurrentRuns = Annotated[int, Field(ge=1, le=10_000), Expected("a whole number from 1")]
TimeOfDay = Annotated[
    str, text_form(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]", 5), Expected('a time of day in UTC such as "03:00"')
]
Days = Annotated[float, Field(gt=0, le=3650), Expected("above 0")]
Percent = Annotated[float, Field(gt=0, le=100), Expected("above 0 and at most 100")]
BotLogin = Annotated[
    str, text_form(r"[A-Za-z0-9_-]+\[bot\]", 100), Expected("a bot's login such as copybara-service[bot]")
]
AccountId = Annotated[int, Field(ge=1, le=10_000_000_000), Expected("the account's number")]
Team = Annotated[
    str,
    text_form(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_.-]+", 200),
    Expected("a team such as my-org/performance"),
]


# --- keys ---------------------------------------------------------------------------------------------


class MissingHint(Struct, frozen=True):
    """What to write where a required key is missing; kept where pydantic lets a field keep something."""

    text: str

    def __call__(self, schema: Json) -> None:
        """Add nothing to the key's JSON Schema."""


def required(about: str, hint: str) -> Any:
    """A required key: what it is for, and what to write where it is missing."""
    return Field(description=about, json_schema_extra=MissingHint(hint))


def optional(about: str, default: object) -> Any:
    """An optional key: what it is for, and what holds where it is absent."""
    return Field(default=default, description=about)


def without_default(about: str) -> Any:
    """An optional key without a default."""
    return Field(default=None, validate_default=False, description=about)


def empty_default(about: str, factory: Callable[[], object] = list) -> Any:
    """An optional list, or an optional section whose keys are all optional."""
    return Field(default_factory=factory, description=about)


class Section(BaseModel):
    """A mapping with known keys. Types are exact: no text stands for a number."""

    model_config = ConfigDict(strict=True, extra="forbid", validate_default=True)


class RunsModel(Section):
    """Where finished runs are."""

    source: Source = required(
        "Where finished runs are found: gs://bucket/prefix or file:/path.", "write source: gs://bucket"
    )
    pattern: Pattern = required(
        "The names of the logs below the source; placeholders are {variant} {slug} {date} {time} "
        "{case} {sha}, and * stands for anything within one level.",
        'write pattern: "{slug}_{date}_{time}/{case}/*.log"',
    )


class XpkModel(Section):
    """How XPK is called."""

    cluster: XpkClusterName = required("The XPK cluster's name.", "write the XPK cluster's name")
    project: Project = required("The Google Cloud project.", "write the Google Cloud project")
    zone: Zone = required("The zone, such as us-east5-b.", "write a zone such as us-east5-b")
    device_type: DeviceType = Field(
        alias="device-type",
        description="The device type, such as v6e-32.",
        json_schema_extra=MissingHint("write a type such as v6e-32"),
    )
    slices: Slices = optional("How many slices of this type one run takes together.", suite.DEFAULT_SLICES)
    docker_image: Image = Field(
        alias="docker-image",
        description="The image that holds the code; {sha} stands for the full commit.",
        json_schema_extra=MissingHint('write an image such as "gcr.io/my-project/maxtext:{sha}"'),
    )
    priority: Priority = optional("The Kueue priority of the workloads.", suite.DEFAULT_PRIORITY)
    timeout: Timeout = optional("After this a run is stopped and counts as lost.", suite.DEFAULT_TIMEOUT)


class LocalModel(Section):
    """How local processes are run."""

    repository: RepositoryPath = required(
        "Path of the git repository that commits are checked out of.",
        "write the path of a git repository on this machine",
    )
    timeout: Timeout = optional("After this a run is stopped and counts as lost.", suite.DEFAULT_TIMEOUT)
    memory: OrAbsent[Memory] = without_default("The address space a run may take; absent: what there is.")


class LaunchModel(Section):
    """How runs are started."""

    cluster: Literal["xpk", "local"] = required(
        "What runs the cases: xpk, or local processes.", "write cluster: xpk or cluster: local"
    )
    xpk: OrAbsent[XpkModel] = without_default("How XPK is called.")
    local: OrAbsent[LocalModel] = without_default("How local processes are run.")


class VariantModel(Section):
    """Named settings."""

    args: OrAbsent[Arguments] = without_default("Arguments added to every case's command in this variant.")


class CaseModel(Section):
    """What is measured."""

    command: OrAbsent[Command] = without_default("What runs the case; {run_name} stands for the run's name.")
    paths: list[Glob] = empty_default(
        "By itself only changes that touch one of these run the case; absent: every change.",
    )


class TriggersModel(Section):
    """What starts an answer."""

    pull_request: Flag = optional("Answer on pull requests by themselves.", default=True)
    drafts: Flag = optional("Answer on drafts too.", default=False)
    paths: list[Glob] = empty_default("Only changes that touch one of these; absent: every change.")
    labels: dict[Label, LabelCases] = optional(
        "Labels that start runs, and which cases.", dict(suite.DEFAULT_LABELS)
    )
    branches: list[Glob] = optional(
        "Branches whose pushes start runs without a pull request.", list(suite.COPYBARA_BRANCHES)
    )


def _allow_word_alone(schema: Json) -> None:
    """A word stands for the section that has it as its kind."""
    whole = dict(schema)
    schema.clear()
    schema["anyOf"] = [{"type": "string", "enum": [kind.value for kind in suite.CheckKind]}, whole]


class CheckModel(Section):
    """What is shown beside the comment."""

    model_config = ConfigDict(json_schema_extra=_allow_word_alone)

    kind: Literal["off", "status", "check"] = required(
        "off: comment only; status: a commit status; check: a check run.",
        "write kind: check or kind: status",
    )
    pending: Flag = optional(
        "Show it while runs are awaited; otherwise it is made when there is a conclusion.", default=False
    )
    fail_on_regression: Flag = optional(
        "End it as a failure where a case is slower, diverged or newly fails.", default=False
    )

    @model_validator(mode="before")
    @classmethod
    def _word_as_section(cls, value: object) -> object:
        return value if isinstance(value, dict | list) else {"kind": value}


class BotModel(Section):
    """An App's account."""

    login: BotLogin = required(
        "The login, with [bot] at its end.", "write the login, such as copybara-service[bot]"
    )
    id: AccountId = required(
        "The account's number, as api.github.com/users/LOGIN says it.",
        "write the account's number, as api.github.com/users/LOGIN says it",
    )


class TrustModel(Section):
    """Who may start runs."""

    bots: list[BotModel] = optional(
        "Bots whose commands and labels count; both login and id must agree.",
        [{"login": bot.login, "id": bot.id} for bot in suite.DEFAULT_BOTS],
    )
    teams: list[Team] = empty_default(
        "Teams whose members may start runs without write permission on the repository."
    )


class BaselineModel(Section):
    """How main itself is measured."""

    daily_at: OrAbsent[TimeOfDay] = without_default(
        "When main's newest commit is run each day, in UTC; absent: only when it is compared with."
    )
    old_after_days: Days = optional(
        "From this age on the comment says that a case's baseline is old.", suite.DEFAULT_OLD_AFTER_DAYS
    )


class BudgetModel(Section):
    """What launches may cost."""

    chip_hours_per_day: ChipHours = optional(
        "Chip-hours that launches may use in a day.", suite.DEFAULT_CHIP_HOURS_PER_DAY
    )
    concurrent_runs: ConcurrentRuns = optional(
        "Runs on the cluster at one time.", suite.DEFAULT_CONCURRENT_RUNS
    )
    chip_hours_per_person_per_day: OrAbsent[ChipHours] = without_default(
        "Chip-hours that one person's pushes and commands may use in a day."
    )
    chip_hours_per_pull_request: OrAbsent[ChipHours] = without_default(
        "Chip-hours that one pull request may use in all its life."
    )


class MarginsModel(Section):
    """The thresholds of the timing verdict."""

    practical_percent: Percent = optional(
        "The smallest change of step time worth a verdict.", Margins().practical_percent
    )
    equivalence_percent: Percent = optional(
        "The largest change that may hide behind `same`.", Margins().equivalence_percent
    )


class ConfigModel(Section):
    """The whole file."""

    model_config = ConfigDict(
        title="MaxView: .github/maxview.yml", json_schema_extra={"allOf": [rule.schema for rule in RULES]}
    )

    version: Version = required("The version of this file's format.", "write version: 1")
    runs: OrAbsent[RunsModel] = without_default("Where finished runs are found.")
    launch: OrAbsent[LaunchModel] = without_default("How runs are started; absent: they are only found.")
    variants: Annotated[dict[Name, VariantModel | None], Field(min_length=1)] = empty_default(
        "The named settings a case runs in.", lambda: {suite.DEFAULT_VARIANT: None}
    )
    compare: list[Literal["ref", "variant"]] = optional(
        "ref: head against base; variant: the variants against each other on the head.", ["ref"]
    )
    cases: Annotated[dict[Name, CaseModel | None], Field(min_length=1)] = required(
        "What is measured.", "name at least one case under cases:"
    )
    triggers: TriggersModel = empty_default("What starts an answer.", TriggersModel)
    checks: CheckModel = optional(
        "What stands beside the comment; one word stands for its kind alone.", suite.CheckKind.OFF.value
    )
    trust: TrustModel = empty_default("Who may start runs besides people with write permission.", TrustModel)
    baseline: BaselineModel = empty_default("How main itself is kept measured.", BaselineModel)
    budget: BudgetModel = empty_default("What launches may cost.", BudgetModel)
    margins: MarginsModel = empty_default("The thresholds of the timing verdict, in percent.", MarginsModel)


# --- JSON Schema --------------------------------------------------------------------------------------


class SchemaGenerator(GenerateJsonSchema):
    """JSON Schema that is as strict as the models: names of a mapping are checked, absent is not null."""

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """A mapping whose names all match."""
        return {
            "type": "object",
            "propertyNames": self.generate_inner(schema["keys_schema"]),
            "additionalProperties": self.generate_inner(schema["values_schema"]),
            "minProperties": schema.get("min_length", 0),
        }

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """A default, but for keys that are simply absent."""
        json_schema = super().default_schema(schema)
        return {name: value for name, value in json_schema.items() if name != "default" or value is not None}

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        """No titles: they would repeat the names."""
        return False


def json_schema() -> Json:
    """The JSON Schema of `.github/maxview.yml`, published at `/schema/maxview.json`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **ConfigModel.model_json_schema(schema_generator=SchemaGenerator),
    }


# --- the suite ----------------------------------------------------------------------------------------


def to_suite(config: ConfigModel) -> suite.Suite:
    """The configuration as the rest of the program knows it."""
    return suite.Suite(
        cases={name: _case(name, case or CaseModel()) for name, case in config.cases.items()},
        variants={
            name: suite.Variant(name=name, args=variant.args or "" if variant else "")
            for name, variant in config.variants.items()
        },
        triggers=_triggers(config.triggers),
        runs=_run_source(config.runs) if config.runs else None,
        launch=_launch(config.launch) if config.launch else None,
        compare=tuple(dict.fromkeys(map(suite.CompareMode, config.compare))),
        checks=suite.CheckConfig(
            kind=suite.CheckKind(config.checks.kind),
            pending=config.checks.pending,
            fail_on_regression=config.checks.fail_on_regression,
        ),
        trust=suite.TrustedAccounts(
            bots=tuple(suite.TrustedBot(login=bot.login, id=bot.id) for bot in config.trust.bots),
            teams=tuple(config.trust.teams),
        ),
        baseline=_baseline(config.baseline),
        budget=suite.Budget(**config.budget.model_dump()),
        margins=Margins(**config.margins.model_dump()),
    )


def _run_source(runs: RunsModel) -> suite.RunSource:
    return suite.RunSource(source=runs.source, pattern=RunPattern(runs.pattern))


def _case(name: str, case: CaseModel) -> suite.Case:
    command = case.command.strip() if case.command else None
    return suite.Case(name=name, command=command, paths=tuple(case.paths))


def _triggers(triggers: TriggersModel) -> suite.Triggers:
    return suite.Triggers(
        pull_request=triggers.pull_request,
        drafts=triggers.drafts,
        paths=tuple(triggers.paths),
        labels=triggers.labels,
        branches=tuple(triggers.branches),
    )


def _launch(launch: LaunchModel) -> suite.LaunchConfig:
    return suite.LaunchConfig(
        cluster=suite.ClusterKind(launch.cluster),
        xpk=_xpk(launch.xpk) if launch.xpk else None,
        local=_local(launch.local) if launch.local else None,
    )


def _xpk(xpk: XpkModel) -> suite.XpkConfig:
    return suite.XpkConfig(
        cluster=xpk.cluster,
        project=xpk.project,
        zone=xpk.zone,
        device_type=xpk.device_type,
        slices=xpk.slices,
        docker_image=xpk.docker_image,
        priority=xpk.priority,
        timeout_seconds=_scaled(xpk.timeout, _TIMEOUT_UNITS),
    )


def _local(local: LocalModel) -> suite.LocalConfig:
    return suite.LocalConfig(
        repository=local.repository,
        timeout_seconds=_scaled(local.timeout, _TIMEOUT_UNITS),
        memory_mb=_scaled(local.memory, _MEMORY_UNITS) if local.memory else None,
    )


def _scaled(text: str, units: Mapping[str, int]) -> int:
    """The number of `45m` in the smallest unit."""
    return int(text[:-1]) * units[text[-1]]


def _baseline(baseline: BaselineModel) -> suite.BaselineConfig:
    daily_at = None
    if baseline.daily_at is not None:
        hours, minutes = baseline.daily_at.split(":")
        daily_at = int(hours) * 3600 + int(minutes) * 60
    return suite.BaselineConfig(daily_at=daily_at, old_after_days=baseline.old_after_days)
