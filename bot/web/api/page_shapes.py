"""Schemas of the JSON of runs, logs, lists, comparisons, histories and parity."""

from bot.domain.run import RunOrigin, RunState
from bot.logs.facts import OutcomeState, StepKind
from bot.report.model import ParityTransition, RowState
from bot.storage.refs import RefKind
from bot.verdict.comparability import ComparisonAxis
from bot.verdict.judgement import ImplausibleReason, SecondsDialect, StepClock
from bot.web.api.shapes import (
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
    mapping_of,
    nullable,
    object_of,
    reference,
    with_optional,
)
from bot.web.log_viewer.comparison import RowKind

_SCHEMA = described({"const": 1}, "The version of these shapes.")

_OUTCOME = object_of(
    "How the run ended.",
    state=enum_of(OutcomeState),
    exit_code=nullable(INTEGER),
    class_=described(nullable(TEXT), "The class of its failure."),
    error=nullable(TEXT),
    where=nullable(TEXT),
    fingerprint=described(nullable(TEXT), "The same for the same failure in another run."),
    last_step=nullable(INTEGER),
    expected_steps=nullable(INTEGER),
)

_STEP_LINE = object_of(
    "One step line, as printed.",
    step=INTEGER,
    seconds=nullable(NUMBER),
    tflops_per_device=nullable(NUMBER),
    tokens_per_device=nullable(NUMBER),
    loss=nullable(NUMBER),
    perplexity=nullable(NUMBER),
    total_weights=nullable(NUMBER),
    time=nullable(TIMESTAMP),
)

_STEP = with_optional(
    _STEP_LINE,
    loss_text=described(TEXT, "`nan` or `inf`, where the loss is no number."),
    kind=enum_of(StepKind),
    extras=mapping_of(nullable(NUMBER), "The other numbers of the line, under the names it prints."),
)

_FIGURES = (
    "parameters_billion",
    "final_loss",
    "steady_step_seconds",
    "steady_se_percent",
    "steady_tokens_per_device",
    "steady_tflops_per_device",
    "mfu_percent",
    "tflop_per_step",
    "tokens_per_step",
    "memory_percent",
    "memory_headroom_gb",
    "memory_growth_gb",
    "max_allocated_mb",
    "compile_seconds",
    "step0_seconds",
    "checkpoint_blocking_seconds",
    "final_checkpoint_wait_seconds",
    "wall_seconds",
    "chip_hours",
)

_COMPILED = ("total", "output", "temp", "argument", "host_temp")

_PAGE = ("avg_step_seconds", "last_tflops_per_device", "last_tokens_per_device")

_MEASUREMENTS = object_of(
    "Everything computed from the log; units are in the names.",
    **{name: nullable(NUMBER) for name in _FIGURES},
    steady_kept=INTEGER,
    steady_candidates=INTEGER,
    steady_clock=nullable(enum_of(StepClock)),
    compiled_memory_gb=nullable(
        object_of("The compiler's own figures.", **{name: nullable(NUMBER) for name in _COMPILED})
    ),
    page=object_of("The figures of the log's own last lines.", **{name: nullable(NUMBER) for name in _PAGE}),
)

_ENVIRONMENT = object_of(
    "What the run ran on and with, as its log states it.",
    **{name: nullable(TEXT) for name in ("jax", "jaxlib", "libtpu", "orbax", "device_kind", "dtype")},
    **{name: nullable(TEXT) for name in ("workload", "run_name", "commit")},
    devices=nullable(INTEGER),
    mesh=nullable(list_of(INTEGER)),
    process=nullable(INTEGER),
    clock_dialect=nullable(enum_of(SecondsDialect)),
    call_sites=mapping_of(list_of(INTEGER), "Lines of the program that printed, by file."),
)

_IMPLAUSIBLE = object_of(
    "A value that cannot be true, and why.",
    step=nullable(INTEGER),
    field=TEXT,
    value=nullable(NUMBER),
    why=enum_of(ImplausibleReason),
    text=TEXT,
)

_RECORD = object_of(
    "The run as it was found or started.",
    id=TEXT,
    repository=TEXT,
    case=TEXT,
    variant=TEXT,
    branch=nullable(TEXT),
    sha=nullable(TEXT),
    started=nullable(TIMESTAMP),
    origin=enum_of(RunOrigin),
    state=enum_of(RunState),
    attempt=INTEGER,
    page=TEXT,
    log=nullable(TEXT),
)

_MEASURED = {
    "source": TEXT,
    "run": INTEGER,
    "attempts": INTEGER,
    "hosts": INTEGER,
    "format": nullable(TEXT),
    "outcome": _OUTCOME,
    "steps": list_of(reference("Step")),
    "steps_seen": INTEGER,
    "measurements": reference("Measurements"),
    "environment": reference("Environment"),
    "ledger": list_of(object_of("A phase of the run's wall time.", phase=TEXT, seconds=nullable(NUMBER))),
    "implausible": list_of(_IMPLAUSIBLE),
    "warnings": list_of(TEXT),
}

_RUN_LINE = object_of(
    "One run of a side.",
    id=TEXT,
    sha=nullable(TEXT),
    started=nullable(TIMESTAMP),
    state=enum_of(RunState),
    origin=enum_of(RunOrigin),
    attempt=INTEGER,
    log=nullable(TEXT),
)

RUNS: dict[str, Schema] = {
    "Step": _STEP,
    "Measurements": with_optional(_MEASUREMENTS, final_loss_text=TEXT),
    "Environment": _ENVIRONMENT,
    "MeasuredRun": object_of("What a log says of a run.", schema=_SCHEMA, **_MEASURED),
    "RunLine": _RUN_LINE,
    "RunRecord": _RECORD,
    "Run": any_of(
        object_of("A measured run.", schema=_SCHEMA, **_MEASURED, record=reference("RunRecord")),
        object_of("A run of which nothing was measured yet.", schema=_SCHEMA, record=reference("RunRecord")),
    ),
}

_RUN = object_of(
    "One of the two runs.", id=TEXT, case=TEXT, variant=TEXT, branch=nullable(TEXT), sha=nullable(TEXT)
)

_SIDE_LINE = object_of(
    "A line of one of the logs.",
    number=INTEGER,
    seconds=described(nullable(NUMBER), "Since the start of the log."),
    text=TEXT,
)

_ROW = object_of(
    "Two lines beside each other, or one alone; or so many that are the same and are not shown.",
    kind=enum_of(RowKind),
    base=nullable(reference("SideLine")),
    head=nullable(reference("SideLine")),
    lines_same=described(INTEGER, "How many lines the row stands for where it shows none, else 0."),
)

LOGS: dict[str, Schema] = {
    "LogLine": object_of(
        "A line of a log, or a piece of a long one.", number=INTEGER, offset=INTEGER, text=TEXT
    ),
    "SideLine": _SIDE_LINE,
    "Found": object_of(
        "What was found in a stretch of a log. Text that strangers may not read is never a hit.",
        schema=_SCHEMA,
        run=TEXT,
        words=TEXT,
        cased=BOOLEAN,
        regular=described(BOOLEAN, "Whether the words were a regular expression."),
        **{"from": INTEGER, "to": INTEGER},
        size=described(nullable(INTEGER), "Bytes of the whole log; null where it is stored compressed."),
        hits=list_of(
            object_of(
                "A line that holds the words, and its neighbours.",
                line=reference("LogLine"),
                before=list_of(reference("LogLine")),
                after=list_of(reference("LogLine")),
            )
        ),
        next=described(nullable(TEXT), "Where to go on; null at the log's end."),
    ),
    "LogsCompared": object_of(
        "Two logs, section by section; what belongs to one run alone does not make lines differ.",
        schema=_SCHEMA,
        base=_RUN,
        head=_RUN,
        settings=list_of(
            object_of("A setting that differs.", name=TEXT, base=nullable(TEXT), head=nullable(TEXT)),
            "Given with the first sections.",
        ),
        first=described(INTEGER, "The number of the first section here, from 0."),
        count=described(INTEGER, "Sections of both logs."),
        sections=list_of(
            object_of(
                "What both logs print from one event to the next.",
                name=TEXT,
                only_in=described(nullable(TEXT), "`base` or `head` where the other has no such section."),
                apart=INTEGER,
                figures=described(INTEGER, "Lines with the same words and other figures."),
                same=INTEGER,
                cut=described(BOOLEAN, "Whether the section goes on in the logs."),
                rows=list_of(_ROW),
            )
        ),
        next=described(nullable(TEXT), "The next sections; null at the end."),
    ),
}

_POINT = object_of(
    "One run in a history.",
    run=TEXT,
    sha=nullable(TEXT),
    started=nullable(TIMESTAMP),
    outcome=described(nullable(TEXT), "How its log ended."),
    origin=enum_of(RunOrigin, "Runs that were launched where MaxView runs do not count for levels."),
    conditions=described(TEXT, "Devices, mesh and versions."),
    value=nullable(NUMBER),
)

_BRIEF = object_of(
    "A run in brief.",
    run=TEXT,
    sha=nullable(TEXT),
    started=nullable(TIMESTAMP),
    outcome=nullable(TEXT),
    value=described(nullable(NUMBER), "Its steady step time, seconds."),
)

_CHANGE = object_of(
    "A change of level, or of what the runs were measured under.",
    change_percent=nullable(NUMBER),
    before=nullable(TEXT),
    at=nullable(TEXT),
    runs_before=INTEGER,
    runs_after=INTEGER,
    started=nullable(TIMESTAMP),
    conditions=described(nullable(list_of(TEXT)), "From what to what, where those changed."),
    acknowledged=nullable(
        object_of(
            "Who took note: for certain of this commit, else perhaps.",
            number=INTEGER,
            by=TEXT,
            reason=TEXT,
            made=nullable(TIMESTAMP),
            certain=BOOLEAN,
        )
    ),
)

_HISTORY = object_of(
    "One metric of one case on a branch, oldest first.",
    schema=_SCHEMA,
    repository=TEXT,
    branch=TEXT,
    case=TEXT,
    variant=TEXT,
    metric=object_of("What is shown.", key=TEXT, title=TEXT, unit=TEXT, how=TEXT),
    points=list_of(reference("Point")),
    levels=list_of(
        object_of(
            "A stretch without a change: its median, and half the band most of its runs lie in.",
            first_run=TEXT,
            last_run=TEXT,
            median=nullable(NUMBER),
            half_band=nullable(NUMBER),
        )
    ),
    changes=list_of(reference("Change")),
)

_END = object_of(
    "One end of a comparison.",
    name=described(TEXT, "As it was asked for."),
    spelt=described(TEXT, "As addresses spell it."),
    kind=enum_of(RefKind),
    branch=nullable(TEXT),
    sha=nullable(TEXT),
    number=nullable(INTEGER),
    variant=nullable(TEXT),
)

_CASE: dict[str, Schema] = {"case": TEXT, "base_variant": TEXT, "head_variant": TEXT}

_COMPARED = object_of(
    "Two names case by case.",
    schema=_SCHEMA,
    repository=TEXT,
    base=reference("End"),
    head=reference("End"),
    across=enum_of(ComparisonAxis),
    rows=list_of(
        object_of(
            "One case.",
            **_CASE,
            state=enum_of(RowState),
            comparison=nullable(reference("Verdict")),
            base_runs=list_of(reference("RunLine")),
            head_runs=list_of(reference("RunLine")),
        )
    ),
    chosen=nullable(
        object_of("The case that was asked for.", **_CASE, comparison=nullable(reference("Comparison")))
    ),
)

_MATRIX = object_of(
    "Every case in every variant at one name.",
    schema=_SCHEMA,
    repository=TEXT,
    name=TEXT,
    sha=nullable(TEXT),
    against=described(nullable(TEXT), "The branch that transitions are told against."),
    variants=list_of(TEXT),
    rows=list_of(
        object_of(
            "One case.",
            case=TEXT,
            cells=list_of(
                object_of(
                    "One variant.",
                    variant=TEXT,
                    standing=TEXT,
                    on_main=TEXT,
                    transition=enum_of(ParityTransition),
                    steady_step_seconds=nullable(NUMBER),
                    change_percent=described(nullable(NUMBER), "Against the first variant; not judged."),
                    runs=INTEGER,
                    error=nullable(TEXT),
                )
            ),
        )
    ),
)


def _listed(what: str, **named: Schema) -> Schema:
    """A line of a repository's lists."""
    return object_of(
        what,
        **named,
        title=TEXT,
        open=BOOLEAN,
        headline=TEXT,
        head_sha=nullable(TEXT),
        reported_sha=nullable(TEXT),
        made=nullable(TIMESTAMP),
        url=TEXT,
        page=TEXT,
    )


_PULL = _listed("A pull request with its newest report.", number=INTEGER)

_BRANCH = _listed("A branch that is watched without a pull request, and its newest report.", branch=TEXT)

_REPOSITORY = object_of(
    "A repository: its pull requests, open ones first, and how main stands.",
    schema=_SCHEMA,
    repository=TEXT,
    pull_requests=list_of(_PULL),
    branches=list_of(_BRANCH),
    health=list_of(
        object_of(
            "A case on main: its newest run, and its newest good one of those looked at.",
            case=TEXT,
            variant=TEXT,
            newest=reference("Brief"),
            last_good=nullable(reference("Brief")),
            looked_at=INTEGER,
        )
    ),
    main=list_of(
        object_of(
            "Where main itself moved.",
            case=TEXT,
            variant=TEXT,
            conditions=TEXT,
            runs=INTEGER,
            shifts=list_of(reference("Shift")),
        )
    ),
)

PAGES: dict[str, Schema] = {
    "Point": _POINT,
    "Brief": _BRIEF,
    "Change": _CHANGE,
    "End": _END,
    "History": _HISTORY,
    "Histories": object_of(
        "Every case of a branch with its newest runs.",
        schema=_SCHEMA,
        repository=TEXT,
        branch=TEXT,
        cases=list_of(
            object_of("One case.", case=TEXT, variant=TEXT, points=list_of(reference("Point"))),
        ),
    ),
    "Compared": _COMPARED,
    "Matrix": _MATRIX,
    "Repository": _REPOSITORY,
    "Repositories": object_of(
        "The public repositories.",
        schema=_SCHEMA,
        repositories=list_of(object_of("One of them.", repository=TEXT, url=TEXT)),
    ),
    "Problem": object_of("What is missing, in one sentence or two.", error=TEXT),
}
