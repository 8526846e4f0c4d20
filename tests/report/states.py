"""A report for each state a comment can be in."""

from dataclasses import replace

from bot.report.model import CaseReport, LastCommand, Report, RowState, Skipped
from bot.verdict.judgement import Caveat, CaveatKind, Comparison, Timing, TimingVerdict, Verdict, Weight
from tests.report.hostile import hostile
from tests.report.parts import DIVERGED, DRIFTED, NO_LOSS, compared, measured, rows, timing
from tests.report.samples import (
    NOW,
    OLDER,
    case,
    failing,
    failing_elsewhere,
    failing_otherwise,
    mixed,
    record,
    report,
    same,
    several_same,
    slower,
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
        "mixed": mixed(),
        "failures_elsewhere": report(failing_elsewhere(), failing_otherwise(), *several_same(2)),
        "another_failure": report(failing_otherwise(), *several_same(2)),
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
            last_command=LastCommand(
                text="/benchmark rerun 03_dropuot",
                by="mallory",
                at=NOW,
                refused=True,
                result="no such case; did you mean `03_dropout`?",
            ),
        ),
        "help_asked": report(
            same("04_int8"),
            last_command=LastCommand(
                text="/benchmark help", by="ada", at=NOW, result="the commands are listed below."
            ),
        ),
        "nothing_to_measure": report(
            skipped=(Skipped(case="04_int8", variant="linen", why="no path it watches changed"),)
        ),
        "hostile": hostile(),
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
        RowState.CARRIED: replace(same(name), state=state),
        RowState.ACKNOWLEDGED: replace(slower(name), state=state),
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
        timing=Timing(verdict=TimingVerdict.WITHHELD, n=(0, 3)),
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
        weight=Weight.NOT_COMPARABLE,
    )
    return compared(
        Verdict.NOT_COMPARABLE,
        timing(TimingVerdict.WITHHELD, None),
        NO_LOSS,
        caveats=(caveat,),
        reason="run both sides on the same kind of device",
    )
