"""The shapes of a comparison's and of a report's document.

In:  nothing. Out: `REPORTS`, the schemas by name.
"""

from bot.report.model import Kinship, RowState, Transition
from bot.verdict.judgement import (
    CaveatKind,
    Direction,
    LossVerdict,
    Spread,
    TimingVerdict,
    Verdict,
    Weight,
)
from bot.web.schema.explanation import explanation_shapes
from bot.web.schema.words import (
    ANYTHING,
    MOMENT,
    NUMBER,
    TEXT,
    TRUTH,
    WHOLE,
    Schema,
    either,
    maybe,
    one_of,
    record,
    ref,
    several,
    sometimes,
    told,
)

_TIMING = record(
    "The decision on steady step time; changes are percent of head against base.",
    verdict=one_of(TimingVerdict),
    change_percent=maybe(NUMBER),
    band_percent=told(maybe(NUMBER), "From which change on it counts."),
    mde_percent=told(maybe(NUMBER), "The change seen in 4 of 5 such comparisons."),
    se_percent=maybe(NUMBER),
    n=told(several(WHOLE), "Runs of base and head."),
    base_seconds=maybe(NUMBER),
    head_seconds=maybe(NUMBER),
    spread=one_of(Spread, "Where the noise between runs was taken from."),
    degrees_of_freedom=WHOLE,
    history=told(WHOLE, "Runs of main that the noise was measured from."),
    standing=told(TEXT, "What main's runs do beside the base."),
    main_runs=told(WHOLE, "Runs of main that stand beside the base."),
    look=WHOLE,
    comparable_cases=WHOLE,
    more_runs=maybe(WHOLE),
    reason=TEXT,
)

_LOSS = record(
    "The decision on the loss curves.",
    verdict=one_of(LossVerdict),
    first_difference_step=maybe(WHOLE),
    first_outside_step=maybe(WHOLE),
    max_relative=maybe(NUMBER),
    worst_step=maybe(WHOLE),
    allowed_relative=maybe(NUMBER),
    compared_steps=WHOLE,
    digits=TEXT,
    reason=TEXT,
)

_CAVEAT = record(
    "Why to doubt the comparison.",
    kind=one_of(CaveatKind),
    field=TEXT,
    base=maybe(TEXT),
    head=maybe(TEXT),
    weight=one_of(Weight),
    text=TEXT,
)

_FIGURE = either(NUMBER, TEXT, {"type": "null"})

_METRIC = record(
    "One metric on both sides.",
    metric=TEXT,
    base=_FIGURE,
    head=_FIGURE,
    diff=maybe(NUMBER),
    judged=TRUTH,
    direction=one_of(Direction),
)

_VERDICT: dict[str, Schema] = {
    "verdict": one_of(Verdict),
    "reason": TEXT,
    "timing": ref("Timing"),
    "loss": ref("Loss"),
    "caveats": several(ref("Caveat")),
    "rows": several(ref("Metric")),
}

_SHIFT = record(
    "A change of main's level: the commits after `before` up to `at` did it.",
    change_percent=maybe(NUMBER),
    before=maybe(TEXT),
    at=maybe(TEXT),
    runs_before=WHOLE,
    runs_after=WHOLE,
    started=maybe(MOMENT),
)

_ROW = record(
    "One case in one variant.",
    case=TEXT,
    variant=TEXT,
    state=one_of(RowState),
    note=TEXT,
    baseline=maybe(
        record(
            "The commit compared with.",
            sha=maybe(TEXT),
            why=TEXT,
            distance=maybe(WHOLE),
            newest_started=maybe(MOMENT),
        )
    ),
    history=maybe(
        record(
            "The runs of main that the noise was measured from.",
            runs=WHOLE,
            oldest_started=maybe(MOMENT),
            follows=maybe(ref("Shift")),
        )
    ),
    base_runs=several(ref("RunLine")),
    head_runs=several(ref("RunLine")),
    stale_runs=several(ref("RunLine")),
    progress=maybe(
        record(
            "How far it is.",
            step=maybe(WHOLE),
            steps=maybe(WHOLE),
            runs_done=WHOLE,
            runs_wanted=WHOLE,
            left_seconds=told(maybe(several(NUMBER)), "The least and the most that it may still take."),
            about=told(TEXT, "What of it is awaited."),
        )
    ),
    failure=maybe(
        record(
            "Where its failure is known from.",
            kinship=one_of(Kinship),
            class_=TEXT,
            fault=maybe(TEXT),
            retry=told(ANYTHING, "Whether a retry may help."),
            next_step=maybe(TEXT),
            fingerprint=TEXT,
            pull_requests=several(WHOLE),
            main_sha=maybe(TEXT),
        )
    ),
    acknowledged=maybe(record("Who took note of it.", by=TEXT, reason=TEXT, at=maybe(MOMENT), head=TEXT)),
    carried=told(several(TEXT), "Runs of other commits with the same files, by id."),
    comparison=maybe(ref("Comparison")),
    links=record("Its place.", page=TEXT),
)

_PASSES = ("first_passes", "second_passes", "base_first_passes", "base_second_passes")
_MIXES = ("first_mixed", "second_mixed", "base_first_mixed", "base_second_mixed")

_PARITY = record(
    "One case in two variants.",
    case=TEXT,
    first_variant=TEXT,
    second_variant=TEXT,
    **{name: maybe(TRUTH) for name in _PASSES},
    **dict.fromkeys(_MIXES, TRUTH),
    first_transition=one_of(Transition),
    second_transition=one_of(Transition),
    comparison=maybe(ref("Comparison")),
)

_COUNTS = ("cases", "known", "head", "head_unknown", "head_mixed", "base_unknown", "base_mixed")

_COMMAND = record(
    "A command and what came of it.", text=TEXT, by=TEXT, at=maybe(MOMENT), result=TEXT, refused=TRUTH
)

_REPORT = record(
    "Everything said about one head commit: what the comment says, and what it rests on.",
    schema=told({"const": 1}, "The version of these shapes."),
    repository=TEXT,
    number=told(maybe(WHOLE), "The pull request's; null for a branch that is watched without one."),
    title=TEXT,
    headline=TEXT,
    severity=WHOLE,
    green=TRUTH,
    settled=told(TRUTH, "Whether nothing more is awaited."),
    head=record("The head.", sha=TEXT, branch=TEXT),
    base=record("The base.", branch=TEXT, merge_base=maybe(TEXT)),
    made_at=maybe(MOMENT),
    problem=maybe(TEXT),
    rows=several(ref("Row")),
    parity=several(ref("Parity")),
    parity_tally=maybe(
        record("How many cases pass in both variants.", **dict.fromkeys(_COUNTS, WHOLE), base=maybe(WHOLE))
    ),
    skipped=several(record("A case that was not run.", case=TEXT, variant=TEXT, why=TEXT)),
    last_command=maybe(ref("Command")),
    commands=several(ref("Command")),
    approval=maybe(TEXT),
    variants=several(TEXT),
    launches=TRUTH,
    chip_hours=record("What it cost.", used=maybe(NUMBER), saved=maybe(NUMBER)),
    plan=told(maybe(ANYTHING), "What is to come, its price, what is reused and what waits."),
    margins=record("What verdicts are held to.", practical_percent=NUMBER, equivalence_percent=NUMBER),
    links=record("Its places.", page=TEXT, json=TEXT),
)


REPORTS: dict[str, Schema] = {
    "Timing": _TIMING,
    "Loss": _LOSS,
    "Caveat": _CAVEAT,
    "Metric": _METRIC,
    "Shift": _SHIFT,
    "Verdict": record("The verdict on one case and its figures.", **_VERDICT),
    "Comparison": sometimes(
        record(
            "One case, base against head, with the first run of each side; all where they are several.",
            schema=told({"const": 1}, "The version of these shapes."),
            **_VERDICT,
            base=maybe(ref("MeasuredRun")),
            head=maybe(ref("MeasuredRun")),
        ),
        explanation=ref("Explanation"),
        base_runs=several(ref("MeasuredRun")),
        head_runs=several(ref("MeasuredRun")),
    ),
    "Row": _ROW,
    "Parity": _PARITY,
    "Command": _COMMAND,
    "Report": _REPORT,
    **explanation_shapes(),
}
