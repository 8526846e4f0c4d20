"""Reads MaxText's step lines, all forms since 2022, and those of its sibling programs.

In:  sightings of the literals in `STEPS`.
Out: `Step`s.

Which form a line has is told by what stands in it, never by its order: a head, then `, name: number` pairs.
"""

import json
import re
from collections.abc import Iterator, Mapping

from bot.logs.facts import Environment, Step, StepKind
from bot.logs.layout import Layout, layout_of
from bot.logs.number import places, read_numbers
from bot.logs.sighting import Needle, Sighting
from bot.logs.statement import BROKEN, CUT, Doubt, Figure, Quantity, Statement, Unsure

NO_STEP = "A step line whose step number has more than 12 digits was left out: no training has as many steps."

# completed step: 3, seconds: 0.414, TFLOP/s/device: 32.831, Tokens/s/device: 4948.713, loss: 9.728
_HEAD = re.compile(r"ompleted step: (?P<step>\d{1,12})(?=,|\s)")
_TOO_LONG = re.compile(r"ompleted step: \d{13}")
# completed profiler activation/deactivation step: 5, total_weights: 4096, loss: 7.924
_PROFILER = re.compile(r"completed profiler [\w/]{1,40} step: (?P<step>\d{1,12})(?=,)")
# step 12 | step_time=1.23s | TFLOPs/s/device: 45.60 (student=30.00, teacher=15.60)
_DISTILLATION = re.compile(
    r"\| step_time=(?P<seconds>\d{1,9}\.\d+)s \| TFLOPs/s/device: (?P<tflops>\d{1,9}\.\d+)"
)
_DISTILLATION_HEAD = re.compile(r"step (?P<step>\d{1,12}) \Z")
# completed 5, per-step metrics {'learning/loss': 9.35, 'perf/step_time_seconds': 3.47}
_FIRST_HEAD = re.compile(r"completed (?P<step>\d{1,12})\Z")
_FIRST_PAIR = re.compile(
    r"'(?P<name>[\w/]{1,60})': \D{0,12}?(?P<value>-?(?:\d[\d.]*(?:e[+-]?\d+)?|nan|inf))\b"
)

# completed step: 3, seconds: 0.4 | 14, TFLOP/s/device: 32.831, where | is the end of a line
_CUT_NUMBER = re.compile(r"\.?\r?\n[\d.]{1,24}, [A-Za-z][\w./ ]{0,60}:")
# seconds: 0.414 | , TFLOP    seconds: 0.414, | TFLOP/s: 3    seconds: 0.414, TF | LOP/s: 3    , TFLOP/s: | 3
_BROKEN = re.compile(
    r"\r?\n, [A-Za-z]|,\r?\n ?[A-Za-z][\w./ ]{0,60}: ?-?\d"
    r"|, [A-Za-z][\w./ ]{0,60}(?:\r?\n[\w./ ]{0,60}: ?|:\r?\n ?|: \r?\n)-?\d"
)

_FIELDS = {
    "seconds": "seconds", "step_time": "seconds", "perf/step_time_seconds": "seconds",
    "TFLOP/s/device": "tflops_per_device", "TFLOP/s": "tflops_per_device", "tflops": "tflops_per_device",
    "perf/per_device_tflops_per_sec": "tflops_per_device",
    "Tokens/s/device": "tokens_per_device", "perf/per_device_tokens_per_sec": "tokens_per_device",
    "loss": "loss", "learning/loss": "loss",
    "perplexity": "perplexity", "learning/perplexity": "perplexity",
    "total_weights": "total_weights", "learning/total_weights": "total_weights",
}  # fmt: skip
_GOES_ON = frozenset({"", ",", ".", "e", "-"})
"""How a text goes on behind the last whole number of a record that may be cut."""
_NOT_GIVEN_WHEN_ZERO = frozenset({"lm_loss", "perplexity", "learning/perplexity", "learning/lm_loss"})
_TFLOP = "perf/per_device_tflops"


def _step(seen: Sighting, number: int, pairs: Mapping[str, float], kind: StepKind = StepKind.PLAIN) -> Step:
    """The step of these pairs; numbers without a field of their own become extras."""
    known: dict[str, float] = {}
    extras = []
    for name, value in pairs.items():
        if value == 0 and name in _NOT_GIVEN_WHEN_ZERO:
            continue
        if field := _FIELDS.get(name):
            known[field] = value
        else:
            extras.append((name, value))
    return Step(
        step=number,
        seconds=known.get("seconds"),
        tflops_per_device=known.get("tflops_per_device"),
        tokens_per_device=known.get("tokens_per_device"),
        loss=known.get("loss"),
        perplexity=known.get("perplexity"),
        total_weights=known.get("total_weights"),
        time=seen.time,
        kind=kind,
        offset=seen.offset,
        extras=tuple(extras),
    )


def _completed(seen: Sighting) -> Iterator[Statement]:
    if head := _HEAD.match(seen.text):
        ramp = seen.front.rstrip("cC, :").endswith("[Rampup Batch Size Phase]")
        yield from _record(seen, head, StepKind.RAMP_UP if ramp else StepKind.PLAIN)
    elif _TOO_LONG.match(seen.text):
        yield Doubt(text=NO_STEP)


def _layout(text: str) -> Layout | None:
    """How the step lines like this one look."""
    head = _HEAD.match(text)
    if head is None:
        return None
    return layout_of(text, head.span("step"), places(text, head.end()), _FIELDS, _NOT_GIVEN_WHEN_ZERO)


def _profiled(seen: Sighting) -> Iterator[Statement]:
    if head := _PROFILER.match(seen.text):
        yield from _record(seen, head, StepKind.PROFILED)


def _record(seen: Sighting, head: re.Match[str], kind: StepKind) -> Iterator[Statement]:
    """The step that begins with `head`; one that is cut off by the end of the log is only mentioned."""
    numbers = read_numbers(seen.text, head.end())
    rest = seen.text[numbers.end :]
    if seen.last and (not numbers.whole or (rest[:1] in _GOES_ON and "\n" not in rest and len(rest) < 80)):
        if rest or not numbers.whole or not numbers.pairs:
            yield Doubt(text=CUT)
        else:
            yield Unsure(step=_step(seen, int(head["step"]), numbers.pairs, kind))
            yield from seen.site
        return
    cut = _CUT_NUMBER.match(rest)
    if cut and numbers.pairs:
        numbers.pairs.popitem()  # its last digits stand on the next line
    if numbers.pairs:
        yield _step(seen, int(head["step"]), numbers.pairs, kind)
        yield from seen.site
    if cut or _BROKEN.match(rest):
        yield Doubt(text=BROKEN)


def _distilled(seen: Sighting) -> Iterator[Statement]:
    head, body = _DISTILLATION_HEAD.search(seen.front), _DISTILLATION.match(seen.text)
    if head and body:
        yield _step(
            seen, int(head["step"]), {"seconds": float(body["seconds"]), "tflops": float(body["tflops"])}
        )


def _first_form(seen: Sighting) -> Iterator[Statement]:
    head = _FIRST_HEAD.search(seen.front)
    body = seen.text.partition("}")[0]
    pairs = {found["name"]: float(found["value"]) for found in _FIRST_PAIR.finditer(body)}
    if head and pairs:
        yield from _structured(seen, int(head["step"]), pairs, {})


def _json_line(seen: Sighting) -> Iterator[Statement]:
    """One object of a metrics file: the braces around the literal, for its values are never objects."""
    front, text = seen.before(4096), seen.after(4096)
    start, end = front.rfind("{"), text.find("}")
    if start < 0:
        return
    if end < 0:
        if seen.last:
            yield Doubt(text=CUT)
        return
    try:
        record = json.loads(front[start:] + text[: end + 1])
    except (ValueError, RecursionError):
        return
    numbers = {
        name: float(value)
        for name, value in record.items()
        if isinstance(value, int | float) and -1e300 < value < 1e300
    }
    step = numbers.pop("step", None)
    if step is not None and 0 <= step < 1e12:
        yield from _structured(seen, int(step), numbers, record)


def _structured(
    seen: Sighting, number: int, pairs: dict[str, float], record: Mapping[str, object]
) -> Iterator[Statement]:
    tflop, name = pairs.pop(_TFLOP, None), record.get("run_name")
    yield _step(seen, number, pairs)
    if tflop is not None:
        yield Quantity(figure=Figure.TFLOP_PER_STEP, value=tflop)
    if isinstance(name, str) and name:
        yield Environment(run_name=name[:200])


_RAMPED = r"(?:\[Rampup Batch Size Phase\][:,]? )?"

STEPS = (
    Needle(
        literal=b"ompleted step: ",
        read=_completed,
        lead=_RAMPED + "[cC]",
        telling=True,
        message="step",
        layout=_layout,
    ),
    Needle(literal=b"completed profiler ", read=_profiled, lead=_RAMPED, telling=True, message="step"),
    Needle(literal=b"| step_time=", read=_distilled, lead=r"step \d{1,12} ", telling=True),
    Needle(literal=b", per-step ", read=_first_form, lead=r"completed \d{1,12}", telling=True),
    Needle(literal=b'"perf/step_time_seconds"', read=_json_line, telling=True),
)
