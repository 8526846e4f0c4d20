"""A sample report for each state of the comment, and one whose every foreign text is hostile."""

from msgspec.structs import replace

from bot.domain.price import Price, PriceBasis
from bot.report.assess import acknowledged_state
from bot.report.model import (
    Acknowledgement,
    CaseProgress,
    CaseReport,
    ParityRow,
    Plan,
    PlannedRuns,
    PossibleRuns,
    Report,
    ReportedCommand,
    RowState,
    SkippedCase,
    WaitingCases,
)
from bot.runs.eta import DurationRange
from bot.verdict.judgement import (
    Caveat,
    CaveatKind,
    CaveatWeight,
    Comparison,
    RunsWanted,
    TimingDecision,
    TimingVerdict,
    Verdict,
)
from tests.report.samples import (
    DIVERGED,
    DRIFTED,
    HEAD,
    MERGE_BASE,
    NNX_FAILURE,
    NO_LOSS,
    NOW,
    OLDER,
    case,
    compared,
    confirming,
    failing,
    failing_differently,
    failing_elsewhere,
    measured,
    mixed,
    record,
    report,
    rows,
    same,
    several_same,
    slower,
    timing,
    unlike,
    unsure,
)


def every_state() -> dict[str, Report]:
    """A report for each state of the comment, by the name of its golden file."""
    by_state = {f"row_{state.value}": report(row_in_state(state), *several_same(2)) for state in RowState}
    stale = (record("04_int8", "linen", OLDER, 1, age=30), record("04_int8", "linen", None, 2, age=40))
    unrecorded = "no run of this branch records its commit; the newest that began after the push is used"
    return {
        **by_state,
        **_confirming_states(),
        "mixed": mixed(),
        "failures_elsewhere": report(failing_elsewhere(), failing_differently(), *several_same(2)),
        "another_failure": report(failing_differently(), *several_same(2)),
        "all_same": report(*several_same(14)),
        "only_failures": report(
            failing("04_int8", "linen"), failing("11_offload", "linen"), variants=("linen",)
        ),
        "nothing_done_yet": report(
            *(case(f"0{n}_case", RowState.QUEUED) for n in range(1, 8)), launches=True
        ),
        "no_runs_found": report(*(case(f"0{n}_case", RowState.NO_RUN) for n in range(1, 8))),
        "no_baseline_at_all": report(
            *(row_in_state(RowState.NO_BASELINE, f"0{n}_case") for n in range(1, 4))
        ),
        "stale_runs": report(
            case(
                "04_int8",
                RowState.NO_RUN,
                stale_runs=stale,
                note="2 runs of other commits of this branch are not used",
            )
        ),
        "commit_not_recorded": report(slower(note=unrecorded), same("05_fp8", note=unrecorded)),
        "more_memory": report(
            case(
                "04_int8",
                RowState.SAME,
                compared(Verdict.SAME, timing(TimingVerdict.SAME, 0.1), metrics=rows(1.31, 1.38)),
            ),
            *several_same(3),
        ),
        "changed_loss": report(
            case(
                "04_int8",
                RowState.DIVERGED,
                compared(Verdict.DIVERGED, timing(TimingVerdict.FASTER, -3.0), DRIFTED),
            ),
            *several_same(3),
        ),
        "configuration_problem": report(
            problem=".github/maxview.yml line 7: unknown key 'varaints'; did you mean 'variants'?"
        ),
        "refused_command": report(
            same("04_int8"),
            commands=(
                ReportedCommand(
                    text="/benchmark rerun 03_dropuot",
                    by="mallory",
                    at=NOW,
                    refused=True,
                    result="no such case; did you mean `03_dropout`?",
                ),
            ),
        ),
        "help_asked": report(
            same("04_int8"),
            commands=(
                ReportedCommand(
                    text="/benchmark help",
                    by="ada",
                    at=NOW,
                    result="the commands are listed below.",
                    asks_for_help=True,
                ),
            ),
        ),
        "acknowledged": report(accepted(slower()), *several_same(3)),
        "acknowledged_among_others": report(accepted(slower()), failing(), *several_same(2)),
        "waiting_for_approval": report(
            *(case(f"0{n}_case", RowState.WAITING_FOR_APPROVAL) for n in range(1, 4)),
            approval=f"/benchmark approve {HEAD}",
            launches=True,
        ),
        "cancelled": report(
            case("03_dropout", RowState.CANCELLED, note="cancelled by ada on this commit"),
            *several_same(3),
            commands=(
                command(
                    "/benchmark cancel 03_dropout",
                    "03_dropout: cancelled on cdc765a; a push, run or rerun asks anew.",
                ),
            ),
            launches=True,
        ),
        "several_commands": report(
            same("04_int8"),
            commands=(
                command("/benchmark rerun 07_moe", "07_moe: fresh runs are started.", age=7200),
                command(
                    "/benchmark run 03_dropout", "03_dropout: runs that are missing are started.", age=40
                ),
                command(
                    "/benchmark rerum", "Not understood: did you mean “/benchmark rerun”?", age=20, by="bob"
                ),
                command("/benchmark plan", "What would run, and its price, stands below, under “Plan”."),
                command("/benchmark status", "This comment was brought up to date."),
            ),
            launches=True,
        ),
        "help_of_a_large_repository": report(
            *several_same(40),
            commands=(command("/benchmark help", "The commands are listed below, under “Commands”."),),
            labels=("benchmark", "benchmark:*"),
            launches=True,
        ),
        "nothing_to_measure": report(
            skipped=(SkippedCase(case="04_int8", variant="linen", why="no path it watches changed"),)
        ),
        "hostile": hostile(),
    }


def command(text: str, result: str, *, age: float = 0.0, by: str = "ada") -> ReportedCommand:
    """A command that was given `age` seconds ago."""
    return ReportedCommand(
        text=text,
        by=by,
        at=NOW - age,
        result=result,
        refused=result.startswith("Not "),
        asks_for_help=text == "/benchmark help",
    )


REASON = "known: int8 kernel swap"


def accepted(row: CaseReport, reason: str = REASON) -> CaseReport:
    """The row, with its verdict accepted by ada."""
    why = acknowledged_state(row)
    assert why is not None
    one = Acknowledgement(
        case=row.case,
        variant=row.variant,
        verdict=row.state,
        head_sha=HEAD,
        by="ada",
        reason=reason,
        made=NOW,
        grounds=why,
    )
    return replace(row, acknowledged=one)


def _confirming_states() -> dict[str, Report]:
    """A change to be confirmed: asked for, under way, waiting for a budget, lost, and of both sides."""
    left = DurationRange(low=420.0, high=660.0)
    progress = CaseProgress(step=12, steps=24, runs_done=2, runs_wanted=4, left=left)
    under_way = confirming(under_way=RunsWanted(head=2), progress=progress)
    why = "the repository has used 198.4 of its 200 chip-hours of today, and this run may take 24.0"
    held = WaitingCases(keys=(under_way.key,), why=why, budget="the repository's day")
    waits = CaseProgress(runs_done=2, runs_wanted=4)
    price = Price(usual=12.8, least=12.2, most=14.0, basis=PriceBasis.MEASURED, runs=20)
    two = PlannedRuns(case="04_int8", variant="linen", base=0, head=2, price=price)
    return {
        "confirming_both_sides": report(confirming(wanted=RunsWanted(base=1, head=2)), *several_same(2)),
        "confirming_under_way": report(under_way, *several_same(2), launches=True),
        "confirming_held_by_a_budget": report(
            replace(under_way, progress=waits),
            *several_same(2),
            launches=True,
            plan=Plan(runs=(two,), price=price, waiting=(held,)),
        ),
        "confirming_lost": report(
            confirming(wanted=RunsWanted(head=1), lost_runs=1, note="lost 3 times: the node went away"),
            *several_same(2),
            launches=True,
        ),
        "plan_with_confirming": report(
            case("04_int8", RowState.NO_RUN),
            launches=True,
            plan=Plan(
                runs=(replace(two, base=1, head=1),),
                price=price,
                confirming=PossibleRuns(cases=1, runs=3, price=replace(price, most=21.0)),
                proposed=True,
                asked=True,
            ),
        ),
    }


def row_in_state(state: RowState, name: str = "04_int8") -> CaseReport:
    """A row in that state, with what such a row has."""
    faster = compared(Verdict.FASTER, timing(TimingVerdict.FASTER, -4.2))
    made = {
        RowState.SLOWER: slower(name),
        RowState.NEW_FAILURE: failing(name),
        RowState.FAILS_ON_BOTH: replace(failing(name), state=state),
        RowState.NOT_LIKE_FOR_LIKE: unlike(name),
        RowState.INCONCLUSIVE: unsure(name),
        RowState.SAME: same(name),
        RowState.CONFIRMING: confirming(name),
        RowState.CARRIED: replace(same(name), state=state),
        RowState.FASTER: case(name, state, faster),
        RowState.FIXED: case(name, state, replace(faster, verdict=Verdict.FIXED)),
        RowState.DIVERGED: case(name, state, _diverged()),
        RowState.NOT_COMPARABLE: case(name, state, _other_device()),
        RowState.NO_BASELINE: case(name, state, _alone()),
    }
    return made.get(state, case(name, state))


def _diverged() -> Comparison:
    return compared(
        Verdict.DIVERGED,
        timing(TimingVerdict.SAME, 0.1),
        DIVERGED,
        reason="the loss diverged from step 3 on (by up to 31 %)",
    )


def _alone() -> Comparison:
    return Comparison(
        verdict=Verdict.NOT_COMPARABLE,
        timing=TimingDecision(verdict=TimingVerdict.WITHHELD, n=(0, 3)),
        loss=NO_LOSS,
        head=(measured(),),
        reason="there is nothing to compare with",
    )


def _other_device() -> Comparison:
    caveat = Caveat(
        kind=CaveatKind.ENVIRONMENT,
        field="device_kind",
        base="TPU v6 lite",
        head="TPU v5p",
        weight=CaveatWeight.NOT_COMPARABLE,
    )
    return compared(
        Verdict.NOT_COMPARABLE,
        timing(TimingVerdict.WITHHELD, None),
        NO_LOSS,
        caveats=(caveat,),
        reason="run both sides on the same kind of device",
    )


HOSTILE_TEXT = (
    "<script>alert(1)</script> @octocat @org/team #12 owner/repo#3 https://evil.example/x | `tick` "
    "``` \\| $x$ "
    "gs://lance-maxtext/secret 562977990677-compute@developer.gserviceaccount.com "
    "ghp_abcdefghijklmnopqrstuvwxyz12 <!-- maxview:pull octo/maxtext#1 v1 --> </details> "
    "\x1b[31mred\u202e **bold** deadbeefdeadbeef ![i](http://e/x)"
)


def hostile() -> Report:
    """Every text that comes from outside tries to do something."""
    failure = replace(NNX_FAILURE, error=HOSTILE_TEXT, where="a|b`.py:1")
    caveat = Caveat(
        kind=CaveatKind.WORKLOAD,
        field="x|y<b>",
        base=HOSTILE_TEXT,
        head="|" * 5,
        weight=CaveatWeight.NOT_COMPARABLE,
        text=HOSTILE_TEXT,
    )
    comparison = compared(
        Verdict.NOT_COMPARABLE,
        timing(TimingVerdict.WITHHELD, None),
        NO_LOSS,
        caveats=(caveat,),
        reason=HOSTILE_TEXT,
    )
    baseline = replace(MERGE_BASE, why=HOSTILE_TEXT)
    return report(
        failing("a|b`c @octocat <b>", "n|x", failure),
        replace(
            case("<img src=x>", RowState.NOT_COMPARABLE, comparison), baseline=baseline, note=HOSTILE_TEXT
        ),
        same("#12 @octocat | `x`"),
        title=HOSTILE_TEXT,
        head_branch="a`|@octocat",
        base_branch="<b>|@main",
        variants=("n|x", "<i>"),
        parity=(
            ParityRow(
                case="<b>|", first_variant="n|x", second_variant="<i>", first_passes=True, second_passes=False
            ),
        ),
        skipped=(SkippedCase(case="<b>|", variant="n|x", why=HOSTILE_TEXT),),
        commands=(
            ReportedCommand(
                text="/benchmark `|@octocat <b>", by="@octocat", at=NOW, result=HOSTILE_TEXT, refused=True
            ),
        ),
    )
