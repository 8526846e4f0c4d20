"""Reads MaxText's logs: everything but the step lines, which `maxtext_steps` reads.

In:  sightings of the literals in `MAXTEXT`.
Out: statements.
"""

import re
from collections.abc import Iterator

from bot.logs.facts import CompiledMemory, DeviceMemory, Environment, Mark, MarkKind
from bot.logs.maxtext_setup import SETUP
from bot.logs.maxtext_steps import STEPS
from bot.logs.prefix import GLOG
from bot.logs.scan import BEHIND
from bot.logs.sighting import Needle, Sighting
from bot.logs.statement import Figure, Quantity, Quit, Statement

_GIB = 2.0**30
_STAMP = re.compile(GLOG)

# number parameters: 1.104 billion      number parameters 1.104 billion
_PARAMETERS = re.compile(r"number parameters:? (?P<count>\d{1,9}(?:\.\d{1,24})?) billion")
# Total TFLOPs: 13.59       total TFLOPs will be 170.71,       total TFLOPs/device will be 170.71
_TFLOP = re.compile(r"otal TFLOPs(?:/device)?(?:: | will be )(?P<count>\d{1,12}(?:\.\d{1,24})?)")
# Using (GB) 0.44 / 31.25 (1.408000%) on TPU_16(process=4,(0,4,0,0))     ... on cuda:0
_MEMORY = re.compile(
    r"Using \(GB\) (?P<used>\d{1,9}(?:\.\d+)?) / (?P<limit>\d{1,9}(?:\.\d+)?) "
    r"\((?P<percent>\d{1,9}(?:\.\d+)?)%\)"
    r" on (?P<device>[\w:]{1,40}(?:\((?:process=(?P<process>\d{1,6}))?[^()\n]{0,40}(?:\([\d,]{1,40}\))?\))?)"
)
# Output size: 0.4 GB, Temp size: 1.1 GB, Argument size: 0.4 GB, Host temp size: 0.0 GB.
# output size: 0.4 GB, estimated temp size: ... GB.      Output size: 1657041920, temp size: ..., in bytes.
_SIZE = r"(?P<{0}>\d{{1,18}}(?:\.\d+)?)(?: GB)?,?"
_SIZES = re.compile(
    r"utput size: " + _SIZE.format("output") + r" (?:[Ee]stimated )?[Tt]emp size: " + _SIZE.format("temp")
    + r" (?:[Ee]stimated )?[Aa]rgument size: " + _SIZE.format("argument")
    + r"(?: (?:[Ee]stimated )?[Hh]ost temp size: " + _SIZE.format("host") + r")?(?P<bytes> in bytes)?"
)  # fmt: skip
# Total memory size: 1.5 GB, O       Total estimated memory size: 1.5 GB, estimated o
_TOTAL = re.compile(
    r"Total (?:estimated )?memory size: (?P<total>\d{1,9}(?:\.\d+)?) GB, (?:estimated )?[Oo]\Z"
)
# Waited 0.2379 seconds for step 0 to finish before starting checkpointing.
_WAITED = re.compile(r"Waited (?P<seconds>\d{1,9}(?:\.\d+)?(?:e-?\d+)?) seconds for step (?P<step>\d{1,12})")
# asynchronous checkpoint save for step 9      saved a checkpoint at step 0
_SAVE = re.compile(r"(?:asynchronous checkpoint save for|saved a checkpoint at) step (?P<step>\d{1,12})")
# Starting eval after train step 4     Completed eval after train step 4, loss=8.1     Completed eval step: 3
# Completed eval step 0
# eval metrics after step: 4, loss=9.855     average loss after step=4: eval_step_count=10
_EVAL_STEP = re.compile(r"[a-z ]{1,40} step[:=]? ?(?P<step>\d{1,12})")
_FIRST_EVAL_STEP = re.compile(r"ed eval step:? 0(?!\d)")
_OLD_EVAL = re.compile(r"(?:eval metric|average los)\Z")
# restoring from this run's directory step 5      Restoring checkpoint from gs://.../checkpoints/100.
_RESTORE = re.compile(
    r"estoring (?:from this run's directory step (?P<step>\d{1,12})"
    r"|checkpoint from \S{0,400}?/(?P<path>\d{1,12})(?:/items)?[./]?(?:\s|$))"
)
# Training stopped: Job received termination signal (SIGTERM).
_STOPPED = re.compile(r"Training stopped: (?P<reason>[^\r\n]{0,200})")


def _parameters(seen: Sighting) -> Iterator[Statement]:
    if found := _PARAMETERS.match(seen.text):
        yield Quantity(figure=Figure.PARAMETERS_BILLION, value=float(found["count"]))
        yield from seen.site


def _tflop(seen: Sighting) -> Iterator[Statement]:
    if found := _TFLOP.match(seen.text):
        yield Quantity(figure=Figure.TFLOP_PER_STEP, value=float(found["count"]))


def _memory(seen: Sighting) -> Iterator[Statement]:
    if found := _MEMORY.match(seen.text):
        yield DeviceMemory(
            device=found["device"],
            used_gb=float(found["used"]),
            limit_gb=float(found["limit"]),
            percent=float(found["percent"]),
            offset=seen.offset,
        )
        if found["process"]:
            yield Environment(process=int(found["process"]))


def _compiled(seen: Sighting) -> Iterator[Statement]:
    found, total = _SIZES.match(seen.text), _TOTAL.search(seen.front)
    if found is None:
        return
    unit = _GIB if found["bytes"] else 1.0
    host = found["host"]
    yield CompiledMemory(
        total_gb=float(total["total"]) if total else None,
        output_gb=float(found["output"]) / unit,
        temp_gb=float(found["temp"]) / unit,
        argument_gb=float(found["argument"]) / unit,
        host_temp_gb=float(host) / unit if host else None,
    )
    spent = _since_previous_line(seen)
    yield Mark(kind=MarkKind.COMPILED, time=seen.time, seconds=spent, offset=seen.offset)


def _since_previous_line(seen: Sighting) -> float | None:
    """Seconds from the stamped line before this one on the same host: nothing is printed while compiling."""
    now, thread = seen.time, seen.prefix.thread
    if now is None or not thread:
        return None
    stamps = [found for found in _STAMP.finditer(seen.before(BEHIND)) if found["thread"] == thread]
    if len(stamps) < 2:
        return None
    then = seen.almanac.place(stamps[-2]["month"], stamps[-2]["day"], stamps[-2]["clock"])
    return now - then if then is not None and now >= then else None


def _waited(seen: Sighting) -> Iterator[Statement]:
    if found := _WAITED.match(seen.text):
        yield Mark(
            kind=MarkKind.CHECKPOINT_WAITED,
            time=seen.time,
            step=int(found["step"]),
            seconds=float(found["seconds"]),
            offset=seen.offset,
        )


def _save_started(seen: Sighting) -> Iterator[Statement]:
    if found := _SAVE.match(seen.text):
        yield _mark(seen, MarkKind.CHECKPOINT_STARTED, int(found["step"]))


def _saved(seen: Sighting) -> Iterator[Statement]:
    if found := _SAVE.match(seen.text):
        yield _mark(seen, MarkKind.CHECKPOINT_SAVED, int(found["step"]))


def _mark(seen: Sighting, kind: MarkKind, step: int | None) -> Mark:
    return Mark(kind=kind, time=seen.time, step=step, offset=seen.offset)


def _eval_step(seen: Sighting) -> int | None:
    found = _EVAL_STEP.match(seen.text)
    return int(found["step"]) if found else None


def _eval(seen: Sighting) -> Iterator[Statement]:
    """The two ends of an evaluation around a train step."""
    kind = MarkKind.EVAL_STARTED if seen.front.endswith("Starting") else MarkKind.EVAL_ENDED
    yield _mark(seen, kind, _eval_step(seen))


def _eval_steps(seen: Sighting) -> Iterator[Statement]:
    """The first step of an evaluation: older programs do not say that one begins."""
    if _FIRST_EVAL_STEP.match(seen.text):
        yield _mark(seen, MarkKind.EVAL_STARTED, None)


def _old_eval_ended(seen: Sighting) -> Iterator[Statement]:
    if _OLD_EVAL.search(seen.front):
        yield _mark(seen, MarkKind.EVAL_ENDED, _eval_step(seen))


def _restored(seen: Sighting) -> Iterator[Statement]:
    if found := _RESTORE.match(seen.text):
        yield _mark(seen, MarkKind.RESTORED, int(found["step"] or found["path"]))


def _stopped(seen: Sighting) -> Iterator[Statement]:
    if found := _STOPPED.match(seen.text):
        yield Quit(reason=found["reason"].strip())


def _preempted(_: Sighting) -> Iterator[Statement]:
    yield Quit(reason="The checkpoint manager was told of a preemption.")


MAXTEXT = (
    *STEPS,
    *SETUP,
    Needle(literal=b"number parameters", read=_parameters, telling=True, message="parameters", again=80),
    Needle(literal=b"otal TFLOPs", read=_tflop, telling=True, again=80,
           lead=r"[^\n]{0,24}[tT]", lead_most=25),
    Needle(literal=b"Using (GB) ", read=_memory, telling=True),
    Needle(literal=b"utput size: ", read=_compiled, telling=True,
           lead=r"(?:Total (?:estimated )?memory size: [\d.]{1,12} GB, )?(?:estimated )?[oO]"),
    Needle(literal=b"Waited ", read=_waited),
    Needle(literal=b"asynchronous checkpoint save for step ", read=_save_started, lead="Started an "),
    Needle(literal=b"saved a checkpoint at step ", read=_saved),
    Needle(literal=b" eval after train step ", read=_eval, lead="(?:Starting|[cC]ompleted)"),
    Needle(literal=b"ed eval step", read=_eval_steps, lead="[cC]omplet"),
    Needle(literal=b"s after step", read=_old_eval_ended, lead="(?:eval metric|average los)"),
    Needle(literal=b"estoring ", read=_restored, lead="[rR]"),
    Needle(literal=b"Training stopped: ", read=_stopped),
    Needle(literal=b"'reached_preemption': True", read=_preempted),
)  # fmt: skip
