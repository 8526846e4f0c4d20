"""Schemas of a comparison's and of a report's JSON."""

import msgspec

from bot.report.model import Novelty, ParityTransition, RowState
from bot.verdict.judgement import (
    CaveatKind,
    CaveatWeight,
    Direction,
    Explanation,
    LossVerdict,
    NoiseSource,
    TimingVerdict,
    Verdict,
)
from bot.web.api.shapes import (
    ANYTHING,
    BOOLEAN,
    INTEGER,
    NUMBER,
    TEXT,
    TIMESTAMP,
    Schema,
    any_of,
    described,
    enum_of,
    list_of,
    nullable,
    object_of,
    reference,
    with_optional,
)


def explanation_shapes() -> dict[str, Schema]:
    """The explanation's own shapes; a figure that is no number is null."""
    _, shapes = msgspec.json.schema_components([Explanation], ref_template="#/components/schemas/{name}")
    return {name: _with_nullable_numbers(shape) for name, shape in shapes.items()}


def _with_nullable_numbers(shape: Schema) -> Schema:
    if shape.get("type") == "number":
        return {"type": ["number", "null"]}
    return {name: _inside(value) for name, value in shape.items() if name != "default"}


def _inside(value: object) -> object:
    if isinstance(value, dict):
        return _with_nullable_numbers(value)
    return [_inside(one) for one in value] if isinstance(value, list) else value


_TIMING = object_of(
    "The decision on steady step time; changes are percent of head against base.",
    verdict=enum_of(TimingVerdict),
    change_percent=nullable(NUMBER),
    band_percent=described(nullable(NUMBER), "From which change on it counts."),
    mde_percent=described(nullable(NUMBER), "The change seen in 4 of 5 such comparisons."),
    se_percent=nullable(NUMBER),
    n=described(list_of(INTEGER), "Runs of base and head."),
    base_seconds=nullable(NUMBER),
    head_seconds=nullable(NUMBER),
    spread=enum_of(NoiseSource, "Where the noise between runs was taken from."),
    degrees_of_freedom=INTEGER,
    history=described(INTEGER, "Runs of main that the noise was measured from."),
    standing=described(TEXT, "What main's runs do beside the base."),
    main_runs=described(INTEGER, "Runs of main that stand beside the base."),
    look=INTEGER,
    comparable_cases=INTEGER,
    more_runs=nullable(INTEGER),
    reason=TEXT,
)

_LOSS = object_of(
    "The decision on the loss curves.",
    verdict=enum_of(LossVerdict),
    first_difference_step=nullable(INTEGER),
    first_outside_step=nullable(INTEGER),
    max_relative=nullable(NUMBER),
    worst_step=nullable(INTEGER),
    allowed_relative=nullable(NUMBER),
    compared_steps=INTEGER,
    digits=TEXT,
    reason=TEXT,
)

_CAVEAT = object_of(
    "Why to doubt the comparison.",
    kind=enum_of(CaveatKind),
    field=TEXT,
    base=nullable(TEXT),
    head=nullable(TEXT),
    weight=enum_of(CaveatWeight),
    text=TEXT,
)

_FIGURE = any_of(NUMBER, TEXT, {"type": "null"})

_METRIC = object_of(
    "One metric on both sides.",
    metric=TEXT,
    base=_FIGURE,
    head=_FIGURE,
    diff=nullable(NUMBER),
    judged=BOOLEAN,
    direction=enum_of(Direction),
)

_VERDICT: dict[str, Schema] = {
    "verdict": enum_of(Verdict),
    "reason": TEXT,
    "timing": reference("Timing"),
    "loss": reference("Loss"),
    "caveats": list_of(reference("Caveat")),
    "rows": list_of(reference("Metric")),
}

_SHIFT = object_of(
    "A change of main's level: the commits after `before` up to `at` did it.",
    change_percent=nullable(NUMBER),
    before=nullable(TEXT),
    at=nullable(TEXT),
    runs_before=INTEGER,
    runs_after=INTEGER,
    started=nullable(TIMESTAMP),
)

_ROW = object_of(
    "One case in one variant.",
    case=TEXT,
    variant=TEXT,
    state=enum_of(RowState),
    note=TEXT,
    baseline=nullable(
        object_of(
            "The commit compared with.",
            sha=nullable(TEXT),
            why=TEXT,
            distance=nullable(INTEGER),
            newest_started=nullable(TIMESTAMP),
        )
    ),
    history=nullable(
        object_of(
            "The runs of main that the noise was measured from.",
            runs=INTEGER,
            oldest_started=nullable(TIMESTAMP),
            follows=nullable(reference("Shift")),
        )
    ),
    base_runs=list_of(reference("RunLine")),
    head_runs=list_of(reference("RunLine")),
    stale_runs=list_of(reference("RunLine")),
    progress=nullable(
        object_of(
            "How far it is.",
            step=nullable(INTEGER),
            steps=nullable(INTEGER),
            runs_done=INTEGER,
            runs_wanted=INTEGER,
            left_seconds=described(
                nullable(list_of(NUMBER)), "The least and the most that it may still take."
            ),
            about=described(TEXT, "What of it is awaited."),
        )
    ),
    failure=nullable(
        object_of(
            "Where its failure is known from.",
            kinship=enum_of(Novelty),
            class_=TEXT,
            fault=nullable(TEXT),
            retry=described(ANYTHING, "Whether a retry may help."),
            next_step=nullable(TEXT),
            fingerprint=TEXT,
            pull_requests=list_of(INTEGER),
            main_sha=nullable(TEXT),
        )
    ),
    acknowledged=nullable(
        object_of("Who took note of it.", by=TEXT, reason=TEXT, at=nullable(TIMESTAMP), head=TEXT)
    ),
    carried=described(list_of(TEXT), "Runs of other commits with the same files, by id."),
    comparison=nullable(reference("Comparison")),
    links=object_of("Its place.", page=TEXT),
)

_PASSES = ("first_passes", "second_passes", "base_first_passes", "base_second_passes")

_MIXES = ("first_mixed", "second_mixed", "base_first_mixed", "base_second_mixed")

_PARITY = object_of(
    "One case in two variants.",
    case=TEXT,
    first_variant=TEXT,
    second_variant=TEXT,
    **{name: nullable(BOOLEAN) for name in _PASSES},
    **dict.fromkeys(_MIXES, BOOLEAN),
    first_transition=enum_of(ParityTransition),
    second_transition=enum_of(ParityTransition),
    comparison=nullable(reference("Comparison")),
)

_COUNTS = ("cases", "known", "head", "head_unknown", "head_mixed", "base_unknown", "base_mixed")

_COMMAND = object_of(
    "A command and what came of it.", text=TEXT, by=TEXT, at=nullable(TIMESTAMP), result=TEXT, refused=BOOLEAN
)

_REPORT = object_of(
    "Everything said about one head commit: what the comment says, and what it rests on.",
    schema=described({"const": 1}, "The version of these shapes."),
    repository=TEXT,
    number=described(nullable(INTEGER), "The pull request's; null for a branch that is watched without one."),
    title=TEXT,
    headline=TEXT,
    severity=INTEGER,
    green=BOOLEAN,
    settled=described(BOOLEAN, "Whether nothing more is awaited."),
    head=object_of("The head.", sha=TEXT, branch=TEXT),
    base=object_of("The base.", branch=TEXT, merge_base=nullable(TEXT)),
    made_at=nullable(TIMESTAMP),
    problem=nullable(TEXT),
    rows=list_of(reference("Row")),
    parity=list_of(reference("Parity")),
    parity_tally=nullable(
        object_of(
            "How many cases pass in both variants.", **dict.fromkeys(_COUNTS, INTEGER), base=nullable(INTEGER)
        )
    ),
    skipped=list_of(object_of("A case that was not run.", case=TEXT, variant=TEXT, why=TEXT)),
    last_command=nullable(reference("Command")),
    commands=list_of(reference("Command")),
    approval=nullable(TEXT),
    variants=list_of(TEXT),
    launches=BOOLEAN,
    chip_hours=object_of("What it cost.", used=nullable(NUMBER), saved=nullable(NUMBER)),
    plan=described(nullable(ANYTHING), "What is to come, its price, what is reused and what waits."),
    margins=object_of("What verdicts are held to.", practical_percent=NUMBER, equivalence_percent=NUMBER),
    links=object_of("Its places.", page=TEXT, json=TEXT),
)

REPORTS: dict[str, Schema] = {
    "Timing": _TIMING,
    "Loss": _LOSS,
    "Caveat": _CAVEAT,
    "Metric": _METRIC,
    "Shift": _SHIFT,
    "Verdict": object_of("The verdict on one case and its figures.", **_VERDICT),
    "Comparison": with_optional(
        object_of(
            "One case, base against head, with the first run of each side; all where they are several.",
            schema=described({"const": 1}, "The version of these shapes."),
            **_VERDICT,
            base=nullable(reference("MeasuredRun")),
            head=nullable(reference("MeasuredRun")),
        ),
        explanation=reference("Explanation"),
        base_runs=list_of(reference("MeasuredRun")),
        head_runs=list_of(reference("MeasuredRun")),
    ),
    "Row": _ROW,
    "Parity": _PARITY,
    "Command": _COMMAND,
    "Report": _REPORT,
    **explanation_shapes(),
}
