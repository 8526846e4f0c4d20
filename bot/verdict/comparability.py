"""May two sides be compared: the fields they must share, where their code came from, how their runs ended.

What only one side states is no difference, but is noted where it weakens the check. A failure whose cause is
unknown counts as the change's own. Sides are the same code only where both claim one commit and nothing they
print disagrees: the `file.py:line` in front of a message is a fingerprint of the source that really ran.
"""

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from bot.logs.decoding import GzipDamage
from bot.logs.facts import Failure, OutcomeState, RunLog, Step
from bot.logs.failures import FailureClass, Responsibility, advice
from bot.verdict.hardware import parse_precision
from bot.verdict.judgement import Caveat, CaveatKind, CaveatWeight, MeasuredRun, StepClock
from bot.verdict.loss.curve import prints_nonfinite_loss
from bot.verdict.plausibility import describe_lost_lines, lost_lines_warnings

# linen_xpk_main_20260418_180002_03_dropout
CASE_IN_RUN_NAME = re.compile(r"_\d{8}_\d{6}_(?P<case>\w+)$")

FieldReader = Callable[[MeasuredRun], object]


class ComparedField(Struct, frozen=True, kw_only=True):
    """A field that both sides must, or should, have in common.

    `way_out` completes the caveat. `needed`: a caveat says where one side does not state it;
    `needed_on_both`: also where neither does.
    """

    name: str
    title: str
    kind: CaveatKind
    weight: CaveatWeight
    read: FieldReader
    way_out: str = ""
    needed: bool = False
    needed_on_both: bool = False


def _case_of_run(run: MeasuredRun) -> str | None:
    match = CASE_IN_RUN_NAME.search(run.log.environment.run_name or "")
    return match["case"] if match else None


USE_SAME_DEVICES = "run both sides on the same devices"

USE_SAME_IMAGE = "run both sides on the same image"

USE_SAME_WORKLOAD = "compare runs of the same case and configuration"

COMPARED_FIELDS: tuple[ComparedField, ...] = (
    ComparedField(
        name="device_kind",
        title="device kind",
        kind=CaveatKind.ENVIRONMENT,
        weight=CaveatWeight.NOT_COMPARABLE,
        read=lambda run: run.log.environment.device_kind,
        way_out=USE_SAME_DEVICES,
        needed=True,
        needed_on_both=True,
    ),
    ComparedField(
        name="devices",
        title="device count",
        kind=CaveatKind.ENVIRONMENT,
        weight=CaveatWeight.NOT_COMPARABLE,
        read=lambda run: run.log.environment.devices,
        way_out=USE_SAME_DEVICES,
        needed=True,
    ),
    ComparedField(
        name="mesh",
        title="mesh",
        kind=CaveatKind.ENVIRONMENT,
        weight=CaveatWeight.NOT_COMPARABLE,
        read=lambda run: run.log.environment.mesh,
        way_out="run both sides on the same mesh",
    ),
    ComparedField(
        name="format",
        title="log format",
        kind=CaveatKind.WORKLOAD,
        weight=CaveatWeight.NOT_COMPARABLE,
        read=lambda run: run.log.format,
        way_out="compare runs of the same trainer",
    ),
    ComparedField(
        name="case",
        title="case",
        kind=CaveatKind.WORKLOAD,
        weight=CaveatWeight.NOT_COMPARABLE,
        read=_case_of_run,
        way_out=USE_SAME_WORKLOAD,
    ),
    ComparedField(
        name="dtype",
        title="number format",
        kind=CaveatKind.WORKLOAD,
        weight=CaveatWeight.NOT_COMPARABLE,
        read=lambda run: parse_precision(run.log.environment.dtype),
        way_out=USE_SAME_WORKLOAD,
    ),
    ComparedField(
        name="parameters_billion",
        title="parameter count (billion)",
        kind=CaveatKind.WORKLOAD,
        weight=CaveatWeight.NOT_COMPARABLE,
        read=lambda run: run.log.parameters_billion,
        way_out="a model of another size is another case",
    ),
    ComparedField(
        name="jax",
        title="JAX",
        kind=CaveatKind.ENVIRONMENT,
        weight=CaveatWeight.NOT_LIKE_FOR_LIKE,
        read=lambda run: run.log.environment.jax,
        way_out=USE_SAME_IMAGE,
        needed=True,
    ),
    ComparedField(
        name="jaxlib",
        title="jaxlib",
        kind=CaveatKind.ENVIRONMENT,
        weight=CaveatWeight.NOT_LIKE_FOR_LIKE,
        read=lambda run: run.log.environment.jaxlib,
        way_out=USE_SAME_IMAGE,
    ),
    ComparedField(
        name="libtpu",
        title="libtpu build",
        kind=CaveatKind.ENVIRONMENT,
        weight=CaveatWeight.NOT_LIKE_FOR_LIKE,
        read=lambda run: run.log.environment.libtpu,
        way_out=USE_SAME_IMAGE,
        needed=True,
    ),
    ComparedField(
        name="orbax",
        title="orbax",
        kind=CaveatKind.ENVIRONMENT,
        weight=CaveatWeight.NOTED,
        read=lambda run: run.log.environment.orbax,
    ),
    ComparedField(
        name="process",
        title="process index",
        kind=CaveatKind.PROCESS,
        weight=CaveatWeight.NOTED,
        read=lambda run: run.log.environment.process,
        way_out="take the log of process 0 on both sides",
    ),
    ComparedField(
        name="last_step",
        title="last step",
        kind=CaveatKind.STEPS,
        weight=CaveatWeight.NOTED,
        read=lambda run: run.log.outcome.last_step,
    ),
    ComparedField(
        name="clock_dialect",
        title="meaning of the printed seconds",
        kind=CaveatKind.CLOCK,
        weight=CaveatWeight.NOTED,
        read=lambda run: run.measurements.dialect,
        way_out="the printed seconds do not compare; the steady step time does",
    ),
)

CONDITION_FIELDS = ("device_kind", "devices", "mesh", "jax", "jaxlib", "libtpu")
"""Compared fields that move the level of step times; case and variant are stored separately."""

UNSTATED_CONDITION = "?"

_SEPARATOR = " · "

_CONDITION_READERS = tuple(
    field.read for name in CONDITION_FIELDS for field in COMPARED_FIELDS if field.name == name
)


def conditions_text(run: MeasuredRun) -> str:
    """`TPU v6 lite · 32 · 1x32x1 · 0.9.2 · 0.9.2 · cl/878335365`: device kind and count, mesh, versions."""
    return _SEPARATOR.join(_condition_text(read(run)) for read in _CONDITION_READERS)


def parse_devices(text: str) -> tuple[str | None, int | None]:
    """The device kind and count in a text of `conditions_text`, each None where the log did not state it."""
    kind, _, rest = text.partition(_SEPARATOR)
    count = rest.partition(_SEPARATOR)[0]
    return None if kind == UNSTATED_CONDITION else kind, int(count) if count.isdecimal() else None


def _condition_text(value: object) -> str:
    return UNSTATED_CONDITION if value is None else _value_text(value)


WORK_TOLERANCE = 0.005
"""Relative. Work per step is exact; this is far above print rounding and far below a real change."""

PRINTED_TFLOP_DIGIT = 0.01
"""The log's own TFLOP per step has two decimals, which is coarse for a small model."""


class WorkAmount(Struct, frozen=True, kw_only=True):
    """Work of one step on one device, and how far printing may have rounded it."""

    name: str
    title: str
    read: Callable[[MeasuredRun], float | None]
    rounding: Callable[[MeasuredRun], float]


def _tflop_rounding(run: MeasuredRun) -> float:
    return PRINTED_TFLOP_DIGIT if run.measurements.tflop_per_step == run.log.tflop_per_step else 0.0


WORK_AMOUNTS: tuple[WorkAmount, ...] = (
    WorkAmount(
        name="tokens_per_step",
        title="tokens per step and device",
        read=lambda run: run.measurements.tokens_per_step,
        rounding=lambda _: 0.0,
    ),
    WorkAmount(
        name="tflop_per_step",
        title="TFLOP per step and device",
        read=lambda run: run.measurements.tflop_per_step,
        rounding=_tflop_rounding,
    ),
)


def find_caveats(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> tuple[Caveat, ...]:
    """Return everything that differs between two sides with runs, in the order of `COMPARED_FIELDS`."""
    found = [_field_caveat(field, base, head) for field in COMPARED_FIELDS]
    found += [_work_caveat(amount, base, head) for amount in WORK_AMOUNTS]
    found += [
        _step_range_caveat(base, head),
        _clock_caveat(base, head),
        _lost_lines_caveat(base, head),
        _restart_caveat(base, head),
    ]
    return tuple(caveat for caveat in found if caveat is not None)


def summarize_caveats(grave: Sequence[Caveat]) -> str:
    """Say in one sentence what differs, and each way out once."""
    known = {field.name: field for field in COMPARED_FIELDS}
    brief = [caveat for caveat in grave if caveat.field in known]
    differences = [f"{known[it.field].title} {it.base} → {it.head}" for it in brief]
    ways_out = dict.fromkeys(known[it.field].way_out for it in brief if known[it.field].way_out)
    longer = [caveat.text for caveat in grave if caveat.field not in known]
    return "; ".join(part for part in (", ".join(differences), *ways_out, *longer) if part)


def _field_caveat(
    field: ComparedField, base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]
) -> Caveat | None:
    first = field.read(base[0])
    if first is not None and all(field.read(run) == first for run in (*base, *head)):
        return None
    one, other = _distinct_values(base, field.read), _distinct_values(head, field.read)
    if not one or not other:
        return _unstated_caveat(field, one, other) if field.needed else None
    if one == other and len(one) == 1:
        return None
    shown = (", ".join(one), ", ".join(other))
    text = f"{field.title}: {shown[0]} on base, {shown[1]} on head"
    return Caveat(
        kind=field.kind,
        field=field.name,
        base=shown[0],
        head=shown[1],
        weight=field.weight,
        text=f"{text}; {field.way_out}" if field.way_out else text,
    )


def _unstated_caveat(field: ComparedField, one: Sequence[str], other: Sequence[str]) -> Caveat | None:
    """Note that a side does not state what the check needs."""
    if not one and not other and not field.needed_on_both:
        return None
    silent = " and ".join(name for name, values in (("base", one), ("head", other)) if not values)
    return Caveat(
        kind=field.kind,
        field=field.name,
        base=", ".join(one) or None,
        head=", ".join(other) or None,
        text=f"{field.title}: not stated on {silent}, so it is not known to be the same",
    )


def _work_caveat(
    amount: WorkAmount, base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]
) -> Caveat | None:
    """Compare the work of a step; only print rounding may make it differ."""
    known = [[value for run in side if (value := amount.read(run)) is not None] for side in (base, head)]
    values = [*known[0], *known[1]]
    rounding = max(map(amount.rounding, (*base, *head)))
    if not all(known) or max(values) - min(values) <= WORK_TOLERANCE * max(values) + rounding:
        return None
    shown = [f"{side[0]:.5g}" for side in known]
    return Caveat(
        kind=CaveatKind.WORKLOAD,
        field=amount.name,
        base=shown[0],
        head=shown[1],
        weight=CaveatWeight.NOT_COMPARABLE,
        text=f"{amount.title}: {shown[0]} on base, {shown[1]} on head; {USE_SAME_WORKLOAD}",
    )


def _step_range_caveat(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> Caveat | None:
    """Compare which steps were trained: sides without a common step trained different parts of a run."""
    one, other = ({step.step for run in side for step in run.log.steps} for side in (base, head))
    if not one or not other or not one.isdisjoint(other):
        return None
    shown = (f"{min(one)} to {max(one)}", f"{min(other)} to {max(other)}")
    return Caveat(
        kind=CaveatKind.STEPS,
        field="steps",
        base=shown[0],
        head=shown[1],
        weight=CaveatWeight.NOT_COMPARABLE,
        text=f"no common step: {shown[0]} on base, {shown[1]} on head; start both from the same step",
    )


def _clock_caveat(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> Caveat | None:
    """Compare which clock the steady times were read from: a printed interval is not a measured one."""
    one, other = (_distinct_values(side, lambda run: run.measurements.steady.clock) for side in (base, head))
    mixed = bool(one) and bool(other) and not one == other == one[:1]
    if not mixed and StepClock.LOGGER not in one:
        return None
    text = (
        "some logs have no usable timestamps, so their step times come from another clock; "
        "keep the timestamps in front of the lines"
        if mixed
        else "no usable timestamps: step times are as the trainer printed them"
    )
    return Caveat(
        kind=CaveatKind.CLOCK,
        field="steady_clock",
        base=", ".join(one),
        head=", ".join(other),
        weight=CaveatWeight.NOT_COMPARABLE if mixed else CaveatWeight.NOTED,
        text=text,
    )


def _lost_lines_caveat(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> Caveat | None:
    """Note step lines that a log has lost: its figures rest on the remaining ones."""
    shown = [", ".join(dict.fromkeys(describe_lost_lines(run.log) for run in side)) for side in (base, head)]
    warnings = dict.fromkeys(text for run in (*base, *head) for text in lost_lines_warnings(run.log))
    if not warnings:
        return None
    return Caveat(
        kind=CaveatKind.STEPS,
        field="step_lines",
        base=shown[0],
        head=shown[1],
        text=f"step lines: {shown[0]} on base, {shown[1]} on head; {' '.join(warnings)}",
    )


def _restart_caveat(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> Caveat | None:
    attempts = [max(run.log.attempts for run in side) for side in (base, head)]
    if max(attempts) <= 1:
        return None
    return Caveat(
        kind=CaveatKind.OUTCOME,
        field="attempts",
        base=str(attempts[0]),
        head=str(attempts[1]),
        text=f"started {attempts[0]} times on base, {attempts[1]} on head; the last attempt is measured",
    )


def _distinct_values(side: Sequence[MeasuredRun], read: FieldReader) -> list[str]:
    """Return the different stated values of a side as text, sorted."""
    found = {_value_text(value) for run in side if (value := read(run)) is not None}
    return sorted(found)


def _value_text(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


MIN_SHA_DIGITS = 7
"""Git's own abbreviation: fewer digits may belong to two commits."""

MAX_CALL_SITES = 4
"""Call sites shown: one proves it, a few help to find the commit."""

# linen_xpk_main_20260418_180002_03_dropout
VARIANT_IN_RUN_NAME = re.compile(r"^(?P<variant>[A-Za-z0-9]+)_xpk_")


class ComparisonAxis(StrEnum):
    """What sets the two sides of a comparison apart. Two sides of one commit in one variant cannot be a
    regression; two variants of one commit may differ. Where unstated, the run names decide."""

    UNSTATED = "unstated"
    COMMITS = "commits"
    VARIANTS = "variants"


class Provenance(Struct, frozen=True, kw_only=True):
    """Whether both sides claim one commit, whether they are then the same code, and the caveats."""

    same_claim: bool
    same_code: bool
    caveats: tuple[Caveat, ...]


def check_provenance(
    base: Sequence[MeasuredRun],
    head: Sequence[MeasuredRun],
    base_commit: str | None,
    head_commit: str | None,
    *,
    across: ComparisonAxis = ComparisonAxis.UNSTATED,
) -> Provenance:
    """Compare the commits that both sides claim with what their lines show."""
    claims = (base_commit or _claimed_commit(base), head_commit or _claimed_commit(head))
    difference = _code_difference(base, head)
    one_claim = claims[0] is not None and claims[1] is not None and same_commit(claims[0], claims[1])
    same_claim = one_claim and not _are_two_variants(base, head, across)
    caveats = _misfiled_caveats(base, head, base_commit, head_commit)
    if difference is not None and one_claim:
        claimed = f"both sides claim commit {(claims[0] or '')[:12]}"
        caveats.append(_commit_caveat(difference, f"{claimed}, but {difference.text}"))
    elif difference is not None and None in claims:
        text = f"the logs do not record both commits, and {difference.text}"
        caveats.append(_commit_caveat(difference, text))
    return Provenance(
        same_claim=same_claim,
        same_code=same_claim and not caveats,
        caveats=tuple(caveats),
    )


def same_commit(one: str, other: str) -> bool:
    """Tell whether two SHAs name one commit: one is the beginning of the other."""
    shorter, longer = sorted((one.lower(), other.lower()), key=len)
    return len(shorter) >= MIN_SHA_DIGITS and longer.startswith(shorter)


class CodeDifference(Struct, frozen=True, kw_only=True):
    """A sign that different code ran."""

    base: str
    head: str
    text: str


def _commit_caveat(difference: CodeDifference, text: str) -> Caveat:
    return Caveat(
        kind=CaveatKind.PROVENANCE, field="commit", base=difference.base, head=difference.head, text=text
    )


def _code_difference(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> CodeDifference | None:
    """Find a message that both sides print from different places, or fields that only one prints."""
    one, other = _call_sites(base), _call_sites(head)
    moved = [message for message in one if message in other and one[message] != other[message]]
    if moved:
        sites = [_list_sites(sorted({*_sites_of_messages(side, moved)})) for side in (one, other)]
        return CodeDifference(
            base=sites[0],
            head=sites[1],
            text=f"their lines come from different source ({sites[0]} on base, {sites[1]} on head): "
            "they did not run the same code",
        )
    fields = (_step_fields(base), _step_fields(head))
    if fields[0] and fields[1] and fields[0] != fields[1]:
        only = [", ".join(sorted(one - other)) or "none" for one, other in (fields, fields[::-1])]
        return CodeDifference(
            base=only[0],
            head=only[1],
            text="their step lines hold different fields "
            f"(only on base: {only[0]}; only on head: {only[1]}): they did not run the same code",
        )
    return None


def _list_sites(sites: Sequence[str]) -> str:
    more = len(sites) - MAX_CALL_SITES
    return ", ".join(sites[:MAX_CALL_SITES]) + (f" and {more} more" if more > 0 else "")


def _call_sites(side: Sequence[MeasuredRun]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for run in side:
        for site in run.log.environment.call_sites:
            found.setdefault(site.message, set()).add(f"{site.file}:{site.line}")
    return {message: frozenset(sites) for message, sites in found.items()}


def _sites_of_messages(side: dict[str, frozenset[str]], messages: Sequence[str]) -> list[str]:
    return [site for message in messages for site in side[message]]


def _step_fields(side: Sequence[MeasuredRun]) -> frozenset[str]:
    """Return the fields on the last step line of the first run: neither warm-up nor profiler shortens it."""
    steps = side[0].log.steps if side else ()
    return _printed_fields(steps[-1]) if steps else frozenset()


def _printed_fields(step: Step) -> frozenset[str]:
    optional = {
        "TFLOP/s/device": step.tflops_per_device,
        "Tokens/s/device": step.tokens_per_device,
        "total_weights": step.total_weights,
        "loss": step.loss,
        "perplexity": step.perplexity,
    }
    return frozenset({name for name, value in optional.items() if value is not None}) | {
        name for name, _ in step.extras
    }


def _claimed_commit(side: Sequence[MeasuredRun]) -> str | None:
    return next((run.log.environment.commit for run in side if run.log.environment.commit), None)


def _misfiled_caveats(
    base: Sequence[MeasuredRun],
    head: Sequence[MeasuredRun],
    base_commit: str | None,
    head_commit: str | None,
) -> list[Caveat]:
    """Report runs whose log states another commit than the one they are filed under."""
    found = []
    if base_commit and (ran := _contradicting_commit(base, base_commit)):
        text = f"base is filed under commit {base_commit}, but its log says that {ran} ran"
        found.append(Caveat(kind=CaveatKind.PROVENANCE, field="commit", base=ran, text=text))
    if head_commit and (ran := _contradicting_commit(head, head_commit)):
        text = f"head is filed under commit {head_commit}, but its log says that {ran} ran"
        found.append(Caveat(kind=CaveatKind.PROVENANCE, field="commit", head=ran, text=text))
    return found


def _contradicting_commit(side: Sequence[MeasuredRun], commit: str) -> str | None:
    stated = (run.log.environment.commit for run in side)
    return next((sha for sha in stated if sha and not same_commit(sha, commit)), None)


def _are_two_variants(
    base: Sequence[MeasuredRun], head: Sequence[MeasuredRun], across: ComparisonAxis
) -> bool:
    match across:
        case ComparisonAxis.VARIANTS:
            return True
        case ComparisonAxis.COMMITS:
            return False
        case ComparisonAxis.UNSTATED:
            return _run_names_differ_in_variant(base, head)
        case _:
            assert_never(across)


def _run_names_differ_in_variant(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> bool:
    """Tell whether the run names are of two variants, such as Linen and NNX."""
    one, other = _variants_in_run_names(base), _variants_in_run_names(head)
    return bool(one) and bool(other) and one != other


def _variants_in_run_names(side: Sequence[MeasuredRun]) -> set[str]:
    names = (run.log.environment.run_name or "" for run in side)
    return {match["variant"] for name in names if (match := VARIANT_IN_RUN_NAME.match(name)) is not None}


SIGKILL_EXIT = 137
"""128 + 9: the kernel out of memory, an eviction, or a person; the code does not tell which."""

SIGTERM_EXIT = 143
"""128 + 15: the scheduler ended the run; training code does not send itself SIGTERM."""


class OutcomeClass(StrEnum):
    """What one run can be used for, or a side by its best run. Best first."""

    PASSED = "passed"
    FAILED = "failed"
    CLUSTER_FAILED = "cluster_failed"
    UNFINISHED = "unfinished"
    ABSENT = "absent"


class SideOutcome(Struct, frozen=True, kw_only=True):
    """One side of a comparison: its runs, those that can be measured, and the outcome that decides.

    `decisive_run` is the run that the outcome was read from. `flaky` is set where runs of the same code
    passed and failed: the cluster's failures do not count, an unexplained kill does.
    """

    name: str
    runs: Sequence[MeasuredRun]
    usable: Sequence[MeasuredRun]
    outcome: OutcomeClass
    decisive_run: MeasuredRun | None
    flaky: bool
    nonfinite_loss: bool

    @property
    def fingerprints(self) -> frozenset[str]:
        """The fingerprints of all failures of its runs."""
        failures = [run.log.outcome.failure for run in self.runs]
        return frozenset(it.fingerprint for it in failures if it is not None and it.fingerprint)

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of the decisive run's failure."""
        failure = self.decisive_run.log.outcome.failure if self.decisive_run else None
        return failure.fingerprint if failure is not None and failure.fingerprint else None


def side_outcome(name: str, runs: Sequence[MeasuredRun]) -> SideOutcome:
    """Sum up the runs of one side."""
    classes = [classify_outcome(run.log) for run in runs]
    best = next((candidate for candidate in OutcomeClass if candidate in classes), OutcomeClass.ABSENT)
    of_run = list(zip(runs, classes, strict=True))
    passed = [run for run, its in of_run if its is OutcomeClass.PASSED]
    failed = [run for run, its in of_run if its is OutcomeClass.FAILED or killed_without_error(run.log)]
    return SideOutcome(
        name=name,
        runs=runs,
        usable=passed or runs,
        outcome=best,
        decisive_run=failed[0]
        if passed and failed
        else next((run for run, its in of_run if its is best), None),
        flaky=bool(passed) and bool(failed),
        nonfinite_loss=any(has_nonfinite_loss(run.log) for run in runs),
    )


def classify_outcome(log: RunLog) -> OutcomeClass:
    """Return what one run can be used for."""
    outcome = log.outcome
    match outcome.state:
        case OutcomeState.SUCCEEDED:
            return OutcomeClass.PASSED if log.steps else OutcomeClass.UNFINISHED
        case OutcomeState.FAILED | OutcomeState.KILLED:
            excused = is_cluster_fault(outcome.failure) or outcome.exit_code == SIGTERM_EXIT
            return (
                OutcomeClass.CLUSTER_FAILED
                if excused and not has_nonfinite_loss(log)
                else OutcomeClass.FAILED
            )
        case OutcomeState.STOPPED | OutcomeState.INCOMPLETE:
            return (
                OutcomeClass.CLUSTER_FAILED if is_cluster_fault(outcome.failure) else OutcomeClass.UNFINISHED
            )
        case OutcomeState.NOT_A_TRAINING_LOG:
            return OutcomeClass.UNFINISHED
        case _:
            assert_never(outcome.state)


def is_cluster_fault(failure: Failure | None) -> bool:
    """Tell whether the cluster caused a failure, so that a rerun helps."""
    return failure is not None and advice(_failure_class(failure)).responsibility is Responsibility.CLUSTER


def killed_without_error(log: RunLog) -> bool:
    """Tell whether a run was killed and no line of its log says why."""
    failure = log.outcome.failure
    return log.outcome.exit_code == SIGKILL_EXIT and not (failure is not None and failure.error)


def has_nonfinite_loss(log: RunLog) -> bool:
    """Tell whether the loss of a run became NaN or infinite, printed or reported."""
    failure = log.outcome.failure
    return prints_nonfinite_loss(log) or (
        failure is not None and _failure_class(failure) is FailureClass.NOT_FINITE
    )


def _failure_class(failure: Failure) -> FailureClass:
    """Return the class of a failure; one stored by another version of MaxView counts as unknown."""
    return next((kind for kind in FailureClass if kind == failure.kind), FailureClass.UNKNOWN)


def describe_outcome(run: MeasuredRun | None) -> str:
    """Say in one clause how a run ended."""
    if run is None:
        return "has no run"
    outcome = run.log.outcome
    match outcome.state:
        case OutcomeState.SUCCEEDED:
            return "ended well" if run.log.steps else "ended without a step line"
        case OutcomeState.FAILED | OutcomeState.KILLED:
            return _describe_failure(run.log)
        case OutcomeState.STOPPED:
            return f"stopped {_progress_text(run.log)} with exit code 0"
        case OutcomeState.INCOMPLETE:
            return _describe_incomplete(run.log)
        case OutcomeState.NOT_A_TRAINING_LOG:
            return "is not a training log"
        case _:
            assert_never(outcome.state)


def _describe_incomplete(log: RunLog) -> str:
    if log.unread_from is not None:
        return f"has a log that was not read to its end {_progress_text(log)}, since it is too large"
    if damaged := file_damage(log):
        return f"has a damaged log: {damaged} {_progress_text(log)}"
    return f"has no end in its log, which breaks off {_progress_text(log)}"


def file_damage(log: RunLog) -> str | None:
    """Say what is wrong with the file that holds a log, None where nothing is."""
    known = {
        GzipDamage.TRUNCATED: "its gzip data is truncated",
        GzipDamage.CORRUPT: "its gzip data is corrupt",
        GzipDamage.ZSTD_TRUNCATED: "its zstd data is truncated",
        GzipDamage.ZSTD_CORRUPT: "its zstd data is corrupt",
    }
    return next((text for damage, text in known.items() if damage.value in log.warnings), None)


def _describe_failure(log: RunLog) -> str:
    outcome = log.outcome
    verb = "was killed" if outcome.state is OutcomeState.KILLED else "failed"
    code = f" (exit code {outcome.exit_code})" if outcome.exit_code else ""
    if outcome.failure is None:
        return f"{verb} {_progress_text(log)}{code}"
    where = f" at {outcome.failure.where}" if outcome.failure.where else ""
    error = f": {outcome.failure.error}" if outcome.failure.error else ""
    return f"{verb} {_progress_text(log)}{code}{error}{where}"


def _progress_text(log: RunLog) -> str:
    last, expected = log.outcome.last_step, log.outcome.expected_steps
    if last is None:
        return "before the first step"
    return f"after step {last}" if expected is None else f"after step {last} of {expected} steps"


MIN_TELLING_STEPS = 5
"""Step lines without timestamps that must agree in every digit before two logs count as one: two runs whose
lines hold three digits may agree on fewer by chance."""


def deduplicate_runs(
    runs: Sequence[MeasuredRun],
) -> tuple[tuple[MeasuredRun, ...], tuple[tuple[int, int], ...]]:
    """Return the runs without repetitions, and the places `(first, again)` of those left out."""
    kept: list[int] = []
    again: list[tuple[int, int]] = []
    for place, run in enumerate(runs):
        earlier = next((first for first in kept if is_same_evidence(runs[first], run)), None)
        if earlier is None:
            kept.append(place)
        else:
            again.append((earlier, place))
    return tuple(runs[place] for place in kept), tuple(again)


def is_same_evidence(one: MeasuredRun, other: MeasuredRun) -> bool:
    """Tell whether two logs tell of one run: every digit that they printed agrees, and enough was printed.

    A run without step lines says too little: two crashes may read the same. Two launches are two runs,
    whatever they print.
    """
    first, second = one.log.steps, other.log.steps
    if one.launched and other.launched and one.submission != other.submission:
        return False
    if first is second:
        return bool(first)
    if not first or len(first) != len(second) or _ends(first) != _ends(second):
        return False
    if all(step.time is None for step in first) and len(first) < MIN_TELLING_STEPS:
        return False
    return _printed_content(first) == _printed_content(second)


def find_copies(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> tuple[Caveat, ...]:
    """Note a run of head that is also base's, and copies within a side: the same evidence twice is none."""
    both = next(((one, other) for one in base for other in head if is_same_evidence(one, other)), None)
    found = []
    if both is not None:
        found.append(
            Caveat(
                kind=CaveatKind.PROVENANCE,
                field="log",
                weight=CaveatWeight.NOT_COMPARABLE,
                text="base and head are one log, since every digit of their step lines agrees: "
                "compare two runs",
            )
        )
    copies = [len(side) - len(deduplicate_runs(side)[0]) for side in (base, head)]
    if any(copies):
        found.append(
            Caveat(
                kind=CaveatKind.PROVENANCE,
                field="copies",
                base=str(copies[0]),
                head=str(copies[1]),
                text=f"copies of a log count once: {copies[0]} on base, {copies[1]} on head",
            )
        )
    return tuple(found)


def _ends(steps: Sequence[Step]) -> tuple[object, ...]:
    """Return what tells most runs apart at once."""
    return tuple((step.step, step.time, step.seconds, repr(step.loss)) for step in (steps[0], steps[-1]))


def _printed_content(steps: Sequence[Step]) -> str:
    """Return what the step lines print, as text, because NaN does not equal itself."""
    return repr([replace(step, offset=0) for step in steps])
