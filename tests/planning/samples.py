"""A suite that launches on a TPU, a pull request of it, and its plan, for the tests of planning."""

from collections.abc import Sequence

from msgspec.structs import replace

from bot.commands.active_requests import suite_keys
from bot.domain.run import RunRecord, RunState
from bot.domain.run_request import RequestSource, RunRequest
from bot.planning import run_plan
from bot.planning.jobs import Device, device_of
from bot.planning.plan import PlannedRun
from bot.planning.run_plan import PlanInput
from bot.report.model import CaseReport, RowState
from bot.verdict.judgement import (
    Comparison,
    LossDecision,
    LossVerdict,
    TimingDecision,
    TimingVerdict,
    Verdict,
)
from tests.worker.samples import BASE, FACTS, HEAD, PULL, suite

XPK = """\
version: 1
launch:
  cluster: xpk
  xpk: {cluster: v6e-32-bench, project: my-project, zone: us-east5-b, device-type: v6e-32, \
docker-image: "gcr.io/my-project/maxtext:{sha}", priority: low, timeout: 45m}
variants: {linen: {}, nnx: {args: "pure_nnx=true"}}
cases:
  03_dropout: {command: "python3 train.py run_name={run_name} dropout_rate=0.1"}
  04_int8: {command: "python3 train.py run_name={run_name} quantization=int8"}
"""

SUITE = suite(XPK)

BASE_FILES, HEAD_FILES = "2" * 40, "1" * 40

TREED = replace(FACTS, tree=HEAD_FILES, merge_base=replace(FACTS.merge_base, tree=BASE_FILES))

ALL = suite_keys(SUITE)

PUSHED = RunRequest(source=RequestSource.PUSH, name="push", keys=ALL)

KEYS = [(case, variant) for case in SUITE.case_names for variant in SUITE.variant_names]

OPEN = Comparison(
    verdict=Verdict.INCONCLUSIVE,
    timing=TimingDecision(verdict=TimingVerdict.INCONCLUSIVE, more_runs=2),
    loss=LossDecision(verdict=LossVerdict.IDENTICAL),
)


def device() -> Device:
    """The TPU that the suite launches on."""
    assert SUITE.launch is not None
    made = device_of(SUITE.launch)
    assert made is not None
    return made


SUBJECT = PlanInput(pull=PULL, facts=TREED, suite=SUITE, device=device(), run_requests=(PUSHED,))


def line(case: str, variant: str = "linen", **more: object) -> CaseReport:
    """A row without runs."""
    row = CaseReport(case=case, variant=variant, state=RowState.NO_RUN)
    return replace(row, **more)


LINES = tuple(line(*key) for key in KEYS)


def plan(subject: PlanInput = SUBJECT, lines: Sequence[CaseReport] = LINES) -> tuple[PlannedRun, ...]:
    """The runs to have."""
    return run_plan.plan_pull_request(subject, lines).planned


def plan_lines(planned: Sequence[PlannedRun], case: str = "03_dropout", variant: str = "linen") -> str:
    """The sides of a case's runs, in order: `bh` for one of each."""
    names = {BASE: "b", HEAD: "h"}
    mine = [one.record for one in planned if (one.record.case, one.record.variant) == (case, variant)]
    return "".join(names.get(record.sha or "", "?") for record in mine)


def found(sha: str, number: int = 1, **more: object) -> tuple[RunRecord, ...]:
    """So many found runs of a commit."""
    run = RunRecord(id="f", repository=PULL.repository, case="03_dropout", variant="linen", sha=sha)
    return tuple(replace(run, id=f"f{n}", **more) for n in range(number))


def records(planned: Sequence[PlannedRun], state: RunState) -> tuple[RunRecord, ...]:
    """The records of a plan, in a state."""
    return tuple(replace(one.record, state=state) for one in planned)
