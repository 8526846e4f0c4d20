"""The shapes of the other pages' documents: lists, comparisons of names, histories, parity.

In:  nothing. Out: `PAGES`, the schemas by name.
"""

from bot.report.model import RowState, Transition
from bot.runs.records import Origin
from bot.storage.refs import Kind
from bot.verdict.provenance import Across
from bot.web.schema.words import (
    MOMENT,
    NUMBER,
    TEXT,
    TRUTH,
    WHOLE,
    Schema,
    maybe,
    one_of,
    record,
    ref,
    several,
    told,
)

_SCHEMA = told({"const": 1}, "The version of these shapes.")

_POINT = record(
    "One run in a history.",
    run=TEXT,
    sha=maybe(TEXT),
    started=maybe(MOMENT),
    outcome=told(maybe(TEXT), "How its log ended."),
    origin=one_of(Origin, "Runs that were launched where MaxView runs do not count for levels."),
    conditions=told(TEXT, "Devices, mesh and versions."),
    value=maybe(NUMBER),
)

_BRIEF = record(
    "A run in brief.",
    run=TEXT,
    sha=maybe(TEXT),
    started=maybe(MOMENT),
    outcome=maybe(TEXT),
    value=told(maybe(NUMBER), "Its steady step time, seconds."),
)

_CHANGE = record(
    "A change of level, or of what the runs were measured under.",
    change_percent=maybe(NUMBER),
    before=maybe(TEXT),
    at=maybe(TEXT),
    runs_before=WHOLE,
    runs_after=WHOLE,
    started=maybe(MOMENT),
    conditions=told(maybe(several(TEXT)), "From what to what, where those changed."),
    acknowledged=maybe(
        record(
            "Who took note: for certain of this commit, else perhaps.",
            number=WHOLE,
            by=TEXT,
            reason=TEXT,
            made=maybe(MOMENT),
            certain=TRUTH,
        )
    ),
)

_HISTORY = record(
    "One metric of one case on a branch, oldest first.",
    schema=_SCHEMA,
    repository=TEXT,
    branch=TEXT,
    case=TEXT,
    variant=TEXT,
    metric=record("What is shown.", key=TEXT, title=TEXT, unit=TEXT, how=TEXT),
    points=several(ref("Point")),
    levels=several(
        record(
            "A stretch without a change: its median, and half the band most of its runs lie in.",
            first_run=TEXT,
            last_run=TEXT,
            median=maybe(NUMBER),
            half_band=maybe(NUMBER),
        )
    ),
    changes=several(ref("Change")),
)

_END = record(
    "One end of a comparison.",
    name=told(TEXT, "As it was asked for."),
    spelt=told(TEXT, "As addresses spell it."),
    kind=one_of(Kind),
    branch=maybe(TEXT),
    sha=maybe(TEXT),
    number=maybe(WHOLE),
    variant=maybe(TEXT),
)

_CASE: dict[str, Schema] = {"case": TEXT, "base_variant": TEXT, "head_variant": TEXT}

_COMPARED = record(
    "Two names case by case.",
    schema=_SCHEMA,
    repository=TEXT,
    base=ref("End"),
    head=ref("End"),
    across=one_of(Across),
    rows=several(
        record(
            "One case.",
            **_CASE,
            state=one_of(RowState),
            comparison=maybe(ref("Verdict")),
            base_runs=several(ref("RunLine")),
            head_runs=several(ref("RunLine")),
        )
    ),
    chosen=maybe(record("The case that was asked for.", **_CASE, comparison=maybe(ref("Comparison")))),
)

_MATRIX = record(
    "Every case in every variant at one name.",
    schema=_SCHEMA,
    repository=TEXT,
    name=TEXT,
    sha=maybe(TEXT),
    against=told(maybe(TEXT), "The branch that transitions are told against."),
    variants=several(TEXT),
    rows=several(
        record(
            "One case.",
            case=TEXT,
            cells=several(
                record(
                    "One variant.",
                    variant=TEXT,
                    standing=TEXT,
                    on_main=TEXT,
                    transition=one_of(Transition),
                    steady_step_seconds=maybe(NUMBER),
                    change_percent=told(maybe(NUMBER), "Against the first variant; not judged."),
                    runs=WHOLE,
                    error=maybe(TEXT),
                )
            ),
        )
    ),
)


def _listed(what: str, **named: Schema) -> Schema:
    """A line of a repository's lists."""
    return record(
        what,
        **named,
        title=TEXT,
        open=TRUTH,
        headline=TEXT,
        head_sha=maybe(TEXT),
        reported_sha=maybe(TEXT),
        made=maybe(MOMENT),
        url=TEXT,
        page=TEXT,
    )


_PULL = _listed("A pull request with its newest report.", number=WHOLE)
_BRANCH = _listed("A branch that is watched without a pull request, and its newest report.", branch=TEXT)

_REPOSITORY = record(
    "A repository: its pull requests, open ones first, and how main stands.",
    schema=_SCHEMA,
    repository=TEXT,
    pull_requests=several(_PULL),
    branches=several(_BRANCH),
    health=several(
        record(
            "A case on main: its newest run, and its newest good one of those looked at.",
            case=TEXT,
            variant=TEXT,
            newest=ref("Brief"),
            last_good=maybe(ref("Brief")),
            looked_at=WHOLE,
        )
    ),
    main=several(
        record(
            "Where main itself moved.",
            case=TEXT,
            variant=TEXT,
            conditions=TEXT,
            runs=WHOLE,
            shifts=several(ref("Shift")),
        )
    ),
)

PAGES: dict[str, Schema] = {
    "Point": _POINT,
    "Brief": _BRIEF,
    "Change": _CHANGE,
    "End": _END,
    "History": _HISTORY,
    "Histories": record(
        "Every case of a branch with its newest runs.",
        schema=_SCHEMA,
        repository=TEXT,
        branch=TEXT,
        cases=several(
            record("One case.", case=TEXT, variant=TEXT, points=several(ref("Point"))),
        ),
    ),
    "Compared": _COMPARED,
    "Matrix": _MATRIX,
    "Repository": _REPOSITORY,
    "Repositories": record(
        "The public repositories.",
        schema=_SCHEMA,
        repositories=several(record("One of them.", repository=TEXT, url=TEXT)),
    ),
    "Problem": record("What is missing, in one sentence or two.", error=TEXT),
}
