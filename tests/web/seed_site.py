"""The runs behind two pages that people know, with their logs written anew.

`11_optimizer_offload_false` on Linen and NNX between its two neighbours, and `03_dropout` of main and of a
branch; each log prints the figures of the real one.
"""

from collections.abc import Sequence
from itertools import pairwise
from urllib.parse import quote

from bot.domain.run import RunRecord
from bot.logs.reader import read_log
from bot.storage import runs
from bot.verdict.measure import measure
from tests.log_writers.maxtext import TRACEBACK, maxtext_log
from tests.report.samples import NOW
from tests.verdict.real_runs import BF16_LINEN_LINES, DROPOUT_BRANCH_LINES, DROPOUT_MAIN_LINES, Line
from tests.web.site_under_test import PUBLIC, SiteUnderTest

LINEN, NNX, DROPOUT = "147168c3a" + "0" * 31, "1b5e4eb5a" + "0" * 31, "574ad3fb9" + "0" * 31

BRANCH = "feat/Migrate-Decoder-And-Tests-to-NNX"

OFFLOAD = "11_optimizer_offload_false"

NEIGHBOURS = ("10_shardy_true", "11_optimizer_offload_true")


def written(lines: Sequence[Line], **more: object) -> str:
    """A log whose step lines print these figures, at these moments."""
    moments = [line[1] for line in lines]
    gaps = [after - before for before, after in pairwise(moments)]
    return maxtext_log(
        steps=[14.3, *gaps[:-1], lines[-1][2]],
        printed=[line[2] for line in lines],
        losses=[line[5] for line in lines],
        stall=0.0,
        noise=0.0,
        **more,  # type: ignore[arg-type]
    )


def keep(site: SiteUnderTest, case: str, variant: str, text: str, *, branch: str, sha: str) -> RunRecord:
    """Write the log, read it as any other, and keep what it says."""
    name = f"{variant}-{branch}-{case}"
    path = site.folder / "seeds" / f"{name}.log"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    record = RunRecord(
        id=name,
        repository=PUBLIC,
        case=case,
        variant=variant,
        branch=branch,
        sha=sha,
        started=NOW,
        log_uri="file:" + quote(str(path)),
        generation="1",
    )
    (log,) = read_log([text.encode()], f"file:{name}.log")
    site.database.write_now(runs.save, record, now=NOW, measured=measure(log))
    return record


def linen_and_nnx(site: SiteUnderTest) -> None:
    """Three cases on main in both variants; NNX is not supported in one of them."""
    work = {"tflop_per_step": 13.592, "memory_gb": (0.43,) * 4}
    linen = written(BF16_LINEN_LINES, final_wait=74.8, **work)
    later = written(BF16_LINEN_LINES, final_wait=74.8, start="2026-04-21T11:16:19", **work)
    for case in NEIGHBOURS:
        keep(site, case, "linen", linen, branch="main", sha=LINEN)
        keep(site, case, "nnx", later, branch="main", sha=NNX)
    keep(site, OFFLOAD, "linen", linen, branch="main", sha=LINEN)
    failed = maxtext_log(steps=0, exit_code=1, failure=TRACEBACK)
    keep(site, OFFLOAD, "nnx", failed, branch="main", sha=NNX)


def main_and_branch(site: SiteUnderTest) -> None:
    """One case of main and of a branch that was run with another JAX."""
    work = {"tflop_per_step": 0.805, "tokens_per_device": 128, "memory_gb": (0.41,) * 4}
    main = written(DROPOUT_MAIN_LINES, final_wait=85.94, **work)
    branch = written(
        DROPOUT_BRANCH_LINES,
        final_wait=91.1,
        jax="0.8.1",
        libtpu="cl/831091709",
        orbax="0.11.33",
        logger_line=185,
        lm_loss=False,
        **work,
    )
    keep(site, "03_dropout", "linen", main, branch="main", sha=DROPOUT)
    keep(site, "03_dropout", "linen", branch, branch="feat_Migrate_Decoder_And_Tests_to_NNX", sha=DROPOUT)
