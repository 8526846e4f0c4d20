"""A report in which every text that comes from outside tries to do something."""

from dataclasses import replace

from bot.report.model import LastCommand, ParityRow, Report, RowState, Skipped
from bot.verdict.judgement import Caveat, CaveatKind, TimingVerdict, Verdict, Weight
from tests.report.parts import NNX_FAILURE, NO_LOSS, compared, timing
from tests.report.samples import MERGE_BASE, NOW, case, failing, report, same

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
        weight=Weight.NOT_COMPARABLE,
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
        skipped=(Skipped(case="<b>|", variant="n|x", why=HOSTILE_TEXT),),
        commands=(
            LastCommand(
                text="/benchmark `|@octocat <b>", by="@octocat", at=NOW, result=HOSTILE_TEXT, refused=True
            ),
        ),
    )
