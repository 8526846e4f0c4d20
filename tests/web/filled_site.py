"""A site that has something to show on every page.

Runs of main over a month, of a head commit and of two variants; a pull request; an acknowledgement.
"""

from math import exp

from bot.domain.run import RunRecord
from bot.storage import pull_requests, runs
from bot.storage.tables import ACKNOWLEDGEMENT, PULL_REQUEST
from bot.verdict.judgement import MeasuredRun
from tests.report.samples import HEAD, NOW
from tests.verdict.made_runs import Shape, an_hour_later, failed, normals
from tests.verdict.made_runs import run as made
from tests.web.site_under_test import PUBLIC, SiteUnderTest

DAY = 86_400.0

CASES = {"03_dropout": 0.07, "04_int8": 0.229, "11_offload": 0.147}

MAIN_RUNS = 24

NNX_ERROR = "NotImplementedError: Pure NNX support has not been implemented yet."


def sha(number: int) -> str:
    """The commit of main's run of that number."""
    return f"{number + 16:02x}" * 20


def keep(
    site: SiteUnderTest, case: str, variant: str, run: str, measured: MeasuredRun, **values: object
) -> None:
    """Keep a run of that case."""
    record = RunRecord(
        id=f"{case}-{variant}-{run}",
        repository=PUBLIC,
        case=case,
        variant=variant,
        **values,  # type: ignore[arg-type]
    )
    site.database.write_now(runs.save, record, now=NOW, measured=measured)


def fill(site: SiteUnderTest) -> None:
    """`04_int8` of main moved by 3 % in the middle and is 6 % slower on the head; `11_offload` fails on nnx;
    `03_dropout` has had no good run on main for days."""
    for seed, (case, seconds) in enumerate(CASES.items()):
        for variant in ("linen", "nnx"):
            noise = [0.001 * z for z in normals(MAIN_RUNS + 3, seed + 7)]
            for number in range(MAIN_RUNS):
                moved = 1.03 if case == "04_int8" and number >= MAIN_RUNS // 2 else 1.0
                run = _run(case, variant, seconds * moved * exp(noise[number]), number)
                if case == "03_dropout" and number > MAIN_RUNS - 6:
                    run = failed(error="ValueError: dropout", fingerprint="d")
                started = NOW - (MAIN_RUNS - number) * DAY
                keep(site, case, variant, f"m{number}", run, branch="main", sha=sha(number), started=started)
            for number in range(3):
                slower = 1.03 * 1.061 if case == "04_int8" else 1.0
                run = _run(case, variant, seconds * slower * exp(noise[-1 - number]), 50 + number)
                keep(site, case, variant, f"h{number}", run, branch="test_1", sha=HEAD, started=NOW - number)
    site.database.write_now(pull_requests.enqueue, repository=PUBLIC, number=12, installation=1, now=NOW)
    head = PULL_REQUEST.update().where(PULL_REQUEST.c.number == 12).values(head_sha=HEAD)
    site.database.write_now(lambda c: c.execute(head))
    _acknowledge(site)


def _run(case: str, variant: str, seconds: float, seed: int) -> MeasuredRun:
    if (case, variant) == ("11_offload", "nnx"):
        return failed(error=NNX_ERROR, fingerprint="nnx")
    shape = Shape(step_seconds=seconds, steps=14, seed=seed, stalls={8: 9.0})
    return made(shape) if variant == "linen" else an_hour_later(made(shape))


def _acknowledge(site: SiteUnderTest) -> None:
    row = {
        "repository": PUBLIC,
        "number": 7,
        "case": "04_int8",
        "variant": "linen",
        "verdict": "slower",
        "head_sha": sha(MAIN_RUNS // 2),
        "by": "octocat",
        "reason": "the new kernel is worth it",
        "made": NOW - 13 * DAY,
    }
    known = {name: value for name, value in row.items() if name in ACKNOWLEDGEMENT.c}
    more = {column.name: "[]" for column in ACKNOWLEDGEMENT.c if column.name not in known}
    site.database.write_now(lambda c: c.execute(ACKNOWLEDGEMENT.insert().values(**known, **more)))
