"""MaxText's logs since 2022, and those of its sibling programs.

The form of a step line follows from its content, never from its order: a head, then `, name: number` pairs.
"""

import json
import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from bot.logs.facts import CompiledMemory, DeviceMemory, Environment, Mark, MarkKind, Step, StepKind
from bot.logs.prefixes import GLOG
from bot.logs.rules import (
    LINES_BROKEN,
    RECORD_CUT,
    Completed,
    LiteralRule,
    LogWarning,
    Match,
    Quantity,
    QuantityKind,
    Statement,
    StoppedEarly,
    UnfinishedStep,
)
from bot.logs.scanner import BYTES_BEFORE
from bot.logs.steps import StepLayout, parse_number, step_layout

# , TFLOP/s/device: 59.366     , loss 8.174     , live slice count: 2     ,  loss: nan
# Text glued to a number is another record: a date (10.8742026-04-18), a task label (8.1743: completed).
_PAIR = re.compile(
    r",[ \t]{0,4}(?P<name>[A-Za-z][\w./-]{0,60}(?: [a-z]{1,12}){0,2}):?[ \t]{1,4}"
    r"(?P<value>-?(?:nan|inf|\d{1,24}(?:\.\d{1,24}?(?=(?:19|20)\d\d[-/]\d\d[-/]\d\d)|\.\d{3}(?=\d{1,4}: )"
    r"|\.\d{1,24})?(?:e[+-]?\d{1,3})?))",
    re.IGNORECASE,
)

# , live slice count: {0, 1}, TFLOP/s/device: 59.366: a value that is no number hides none behind it
_OTHER_PAIR = re.compile(
    r",[ \t]{0,4}[A-Za-z][\w./-]{0,60}(?: [a-z]{1,12}){0,2}: (?:\{[^{}\n]{0,80}\}|\[[^\[\]\n]{0,80}\]"
    r"|[A-Za-z_]\w{0,40})(?=, [A-Za-z][\w./-]{0,60}(?: [a-z]{1,12}){0,2}: )"
)

_PRINTED_DECIMALS = 3
"""Decimals that MaxText prints. A number with fewer at the end of a log was cut."""


class RecordNumbers(Struct, frozen=True):
    """The numbers of one record, in the order printed. `end` is where its text ends. `whole` is false where
    the end of the text may have cut the last number."""

    pairs: dict[str, float]
    end: int
    whole: bool


def number_spans(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """The names and spans of the numbers that `read_numbers` finds."""
    for name in read_numbers(text, start).pairs:
        while not _PAIR.match(text, start) and (skipped := _OTHER_PAIR.match(text, start)):
            start = skipped.end()
        if found := _PAIR.match(text, start):
            yield name, found.start("value"), found.end("value")
            start = found.end()


def read_numbers(text: str, start: int) -> RecordNumbers:
    """The `, name: number` pairs of `text` from `start` on, as far as they follow each other."""
    pairs: dict[str, float] = {}
    end, cut = start, False
    while found := _PAIR.match(text, end) or _OTHER_PAIR.match(text, end):
        if "value" not in found.groupdict():
            end = found.end()
            continue
        if found["name"] in pairs:
            break
        value = found["value"]
        pairs[found["name"]] = parse_number(value)
        end = found.end()
        cut = end >= len(text) and len(value.partition(".")[2]) < _PRINTED_DECIMALS
    return RecordNumbers(pairs=pairs, end=end, whole=not cut)


STEP_NUMBER_TOO_LONG = (
    "A step line whose step number has more than 12 digits was left out: no training has as many steps."
)

# completed step: 3, seconds: 0.414, TFLOP/s/device: 32.831, Tokens/s/device: 4948.713, loss: 9.728
_STEP_HEAD = re.compile(r"ompleted step: (?P<step>\d{1,12})(?=,|\s)")

_TOO_LONG = re.compile(r"ompleted step: \d{13}")

# completed profiler activation/deactivation step: 5, total_weights: 4096, loss: 7.924
_PROFILER = re.compile(r"completed profiler [\w/]{1,40} step: (?P<step>\d{1,12})(?=,)")

# step 12 | step_time=1.23s | TFLOPs/s/device: 45.60 (student=30.00, teacher=15.60)
_DISTILLATION = re.compile(
    r"\| step_time=(?P<seconds>\d{1,9}\.\d+)s \| TFLOPs/s/device: (?P<tflops>\d{1,9}\.\d+)"
)

_DISTILLATION_HEAD = re.compile(r"step (?P<step>\d{1,12}) \Z")

# completed 5, per-step metrics {'learning/loss': 9.35, 'perf/step_time_seconds': 3.47}
_PER_STEP_HEAD = re.compile(r"completed (?P<step>\d{1,12})\Z")

_PER_STEP_PAIR = re.compile(
    r"'(?P<name>[\w/]{1,60})': \D{0,12}?(?P<value>-?(?:\d[\d.]*(?:e[+-]?\d+)?|nan|inf))\b"
)

# completed step: 3, seconds: 0.4 | 14, TFLOP/s/device: 32.831, where | is a line end
_CUT_NUMBER = re.compile(r"\.?\r?\n[\d.]{1,24}, [A-Za-z][\w./ ]{0,60}:")

# seconds: 0.414 | , TFLOP    seconds: 0.414, | TFLOP/s: 3    seconds: 0.414, TF | LOP/s: 3    , TFLOP/s: | 3
_BROKEN_LINE = re.compile(
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

_CONTINUATIONS = frozenset({"", ",", ".", "e", "-"})
"""Characters behind the last number of a record after which the record may be cut."""

_NOT_GIVEN_WHEN_ZERO = frozenset({"lm_loss", "perplexity", "learning/perplexity", "learning/lm_loss"})

_TFLOP_KEY = "perf/per_device_tflops"


def _step(match: Match, number: int, pairs: Mapping[str, float], kind: StepKind = StepKind.PLAIN) -> Step:
    """The step of these pairs. Numbers without a field of their own become extras."""
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
        time=match.time,
        kind=kind,
        offset=match.offset,
        extras=tuple(extras),
    )


def _completed_step(match: Match) -> Iterator[Statement]:
    if head := _STEP_HEAD.match(match.text):
        ramp = match.front.rstrip("cC, :").endswith("[Rampup Batch Size Phase]")
        yield from _step_record(match, head, StepKind.RAMP_UP if ramp else StepKind.PLAIN)
    elif _TOO_LONG.match(match.text):
        yield LogWarning(text=STEP_NUMBER_TOO_LONG)


def _layout(text: str) -> StepLayout | None:
    """The layout of step lines like this one."""
    head = _STEP_HEAD.match(text)
    if head is None:
        return None
    return step_layout(text, head.span("step"), number_spans(text, head.end()), _FIELDS, _NOT_GIVEN_WHEN_ZERO)


def _profiled_step(match: Match) -> Iterator[Statement]:
    if head := _PROFILER.match(match.text):
        yield from _step_record(match, head, StepKind.PROFILED)


def _step_record(match: Match, head: re.Match[str], kind: StepKind) -> Iterator[Statement]:
    """The step that begins with `head`. A step that the end of the log cuts gives a warning only."""
    numbers = read_numbers(match.text, head.end())
    rest = match.text[numbers.end :]
    if match.at_end and (
        not numbers.whole or (rest[:1] in _CONTINUATIONS and "\n" not in rest and len(rest) < 80)
    ):
        if rest or not numbers.whole or not numbers.pairs:
            yield LogWarning(text=RECORD_CUT)
        else:
            yield UnfinishedStep(step=_step(match, int(head["step"]), numbers.pairs, kind))
            yield from match.call_sites
        return
    cut = _CUT_NUMBER.match(rest)
    if cut and numbers.pairs:
        numbers.pairs.popitem()  # its last digits are on the next line
    if numbers.pairs:
        yield _step(match, int(head["step"]), numbers.pairs, kind)
        yield from match.call_sites
    if cut or _BROKEN_LINE.match(rest):
        yield LogWarning(text=LINES_BROKEN)


def _distillation_step(match: Match) -> Iterator[Statement]:
    head, body = _DISTILLATION_HEAD.search(match.front), _DISTILLATION.match(match.text)
    if head and body:
        yield _step(
            match, int(head["step"]), {"seconds": float(body["seconds"]), "tflops": float(body["tflops"])}
        )


def _per_step_metrics(match: Match) -> Iterator[Statement]:
    head = _PER_STEP_HEAD.search(match.front)
    body = match.text.partition("}")[0]
    pairs = {found["name"]: float(found["value"]) for found in _PER_STEP_PAIR.finditer(body)}
    if head and pairs:
        yield from _metrics_step(match, int(head["step"]), pairs, {})


def _metrics_json(match: Match) -> Iterator[Statement]:
    """One object of a metrics file. Its values are never objects, so the nearest braces enclose it."""
    front, text = match.before(4096), match.after(4096)
    start, end = front.rfind("{"), text.find("}")
    if start < 0:
        return
    if end < 0:
        if match.at_end:
            yield LogWarning(text=RECORD_CUT)
        return
    try:
        record = json.loads(front[start:] + text[: end + 1])
    except (ValueError, RecursionError):
        return
    numbers = {
        name: float(value)
        for name, value in record.items()
        if isinstance(value, int | float) and (-1e300 < value < 1e300 or isinstance(value, float))
    }
    step = numbers.pop("step", None)
    if step is not None and 0 <= step < 1e12:  # and no NaN
        yield from _metrics_step(match, int(step), numbers, record)


def _metrics_step(
    match: Match, number: int, pairs: dict[str, float], record: Mapping[str, object]
) -> Iterator[Statement]:
    tflop, name = pairs.pop(_TFLOP_KEY, None), record.get("run_name")
    yield _step(match, number, pairs)
    if tflop is not None:
        yield Quantity(kind=QuantityKind.TFLOP_PER_STEP, value=tflop)
    if isinstance(name, str) and name:
        yield Environment(run_name=name[:200])


_RAMP_UP = r"(?:\[Rampup Batch Size Phase\][:,]? )?"

_STEP_LINES = (
    LiteralRule(
        literal=b"ompleted step: ",
        read=_completed_step,
        lead=_RAMP_UP + "[cC]",
        distinctive=True,
        message="step",
        layout=_layout,
    ),
    LiteralRule(
        literal=b"completed profiler ", read=_profiled_step, lead=_RAMP_UP, distinctive=True, message="step"
    ),
    LiteralRule(literal=b"| step_time=", read=_distillation_step, lead=r"step \d{1,12} ", distinctive=True),
    LiteralRule(literal=b", per-step ", read=_per_step_metrics, lead=r"completed \d{1,12}", distinctive=True),
    LiteralRule(literal=b'"perf/step_time_seconds"', read=_metrics_json, distinctive=True),
)

# System Information: Jax Version: 0.9.2
_VERSION = re.compile(r"System Information: (?P<what>Jax|Jaxlib) Version: (?P<version>\d[\w.+-]{0,60})")

# Jax Backend: PJRT C API TFRT TPU v6 lite Built on Mar 4 2026 11:32:08 (1772652728) cl/878335365
_BACKEND = re.compile(r"System Information: Jax Backend: (?P<what>[^\0]{0,240})")

_DEVICE_KIND = re.compile(
    r"TFRT (?P<device>TPU ?v?\d\w{0,2}(?: lite)?|[A-Za-z][\w. ()-]{0,40}?(?=\s*[\r\n]|\s+Built on))"
)

_BUILD = re.compile(r"\bcl/\d{4,12}")

_OTHER_DEVICE_KIND = re.compile(r"(?P<device>NVIDIA [\w .-]{1,40}|AMD [\w .-]{1,40}|\A\s*cpu\b)")

# Num_devices: 32, shape (1, 1, 1, 32, 1)
_DEVICES = re.compile(r"Num_devices: (?P<count>\d{1,9})(?:, shape \((?P<shape>[\d, ]{1,200})\))?")

# orbax-checkpoint version: 0.11.34
_ORBAX = re.compile(r"orbax-checkpoint version: (?P<version>\d[\w.+-]{0,60})")

# Connecting to JAX distributed service on mt-04-int8-wddlh-slice-job-0-0.mt-04-int8-wddlh:8482
_SERVICE = re.compile(
    r"Connecting to JAX distributed service on (?P<host>[\w-]{1,120})(?:\.(?P<set>[\w-]{1,80}))?"
)

_POD = re.compile(r"(?P<workload>[a-z][\w-]*?)-(?:slice-job|job|worker|pathways-head)-\d+-\d+\Z")

# [process=4]
_PROCESS = re.compile(r"\[process=(?P<process>\d{1,6})\]")

# gs://bucket/linen_ckpt_xpk_main_20260417_235819/linen_xpk_main_20260417_235819_03_dropout/checkpoints
_RUN_PATH = re.compile(r"(?:gs://|/)\S{0,300}/(?P<run>[\w.-]{1,200})")

_PATH_ENDS = re.compile(r"[\s'\"=(`,]")

_LIBRARY_PATH = re.compile(r"/(?:site|dist)-packages$|/python[\d.]*\Z")

# run_name=nnx_test      Config param run_name: nnx_test     "run_name": "nnx_test"
_RUN_NAME = re.compile(r"run_name[\"']?\s?[:=]\s?[\"']?(?P<name>[A-Za-z0-9][\w.-]{1,200})")

# steps=10
_STEPS_SETTING = re.compile(r"steps=(?P<count>\d{1,9})(?![\w.])")

_NOT_A_NAME_BEFORE = re.compile(r"[\w.-]\Z")

# Config param dtype: bfloat16      quantization=int8
_SETTING = re.compile(
    r"(?P<name>steps|log_period|run_name|dtype|quantization)[\"']?(?:=|: )[\"']?(?P<value>[\w.-]{0,200})"
)

MAX_STEPS = 10**9 - 1
"""Largest number of steps in a configuration: no run takes more."""

_UNSET_VALUES = frozenset({"", "None", "none", "null"})

_SHORT_DTYPES = {"bfloat16": "bf16", "float32": "f32", "float16": "f16"}


def _system_information(match: Match) -> Iterator[Statement]:
    if found := _VERSION.match(match.text):
        version = found["version"].rstrip(".")
        yield Environment(jax=version) if found["what"] == "Jax" else Environment(jaxlib=version)
    elif found := _BACKEND.match(match.text):
        backend = found["what"]
        device = _DEVICE_KIND.search(backend) or _OTHER_DEVICE_KIND.search(backend)
        build = _BUILD.search(backend)
        kind = " ".join(device["device"].split()) if device else None
        yield Environment(device_kind=kind, libtpu=build[0] if build else None)


def _devices(match: Match) -> Iterator[Statement]:
    if found := _DEVICES.match(match.text):
        sizes = re.findall(r"\d{1,9}", found["shape"] or "")
        yield Environment(devices=int(found["count"]), mesh=tuple(map(int, sizes)) or None)


def _orbax(match: Match) -> Iterator[Statement]:
    if found := _ORBAX.match(match.text):
        yield Environment(orbax=found["version"].rstrip("."))


def _distributed_service(match: Match) -> Iterator[Statement]:
    if found := _SERVICE.match(match.text):
        pod = _POD.match(found["host"])
        name = pod["workload"] if pod else found["set"]
        if name:
            yield Environment(workload=name)


def _process(match: Match) -> Iterator[Statement]:
    if found := _PROCESS.match(match.text):
        yield Environment(process=int(found["process"]))


def _run_path(match: Match) -> Iterator[Statement]:
    path = _PATH_ENDS.split(match.front)[-1]
    found = _RUN_PATH.fullmatch(path)
    if found and not _LIBRARY_PATH.search(path):
        yield Environment(run_name=found["run"])


def _run_name(match: Match) -> Iterator[Statement]:
    found = _RUN_NAME.match(match.text)
    if found and found["name"] != "None" and not _NOT_A_NAME_BEFORE.search(match.front):
        yield Environment(run_name=found["name"])


def _steps_setting(match: Match) -> Iterator[Statement]:
    found = _STEPS_SETTING.match(match.text)
    if found and int(found["count"]) > 0 and not _NOT_A_NAME_BEFORE.search(match.front):
        yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(found["count"]))


# File metrics_step_000000_to_step_000009.txt moved successfully!
_METRICS_FILE = re.compile(r"metrics_step_\d{1,12}_to_step_(?P<last>\d{1,12})\.txt moved successfully")


def _metrics_file(match: Match) -> Iterator[Statement]:
    """A file of metrics was written: at the end of every period, and at the last step."""
    if found := _METRICS_FILE.match(match.text):
        yield Quantity(kind=QuantityKind.METRICS_WRITTEN_TO, value=float(found["last"]))


def _config_param(match: Match) -> Iterator[Statement]:
    found = _SETTING.match(match.text, len("Config param "))
    if found is None:
        return
    match found["name"], found["value"]:
        case "steps", value if value.isdecimal() and 0 < int(value) <= MAX_STEPS:
            yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(value))
        case "log_period", value if value.isdecimal() and 0 < int(value) <= MAX_STEPS:
            yield Quantity(kind=QuantityKind.LOG_PERIOD, value=float(value))
        case "run_name", value if value not in _UNSET_VALUES:
            yield Environment(run_name=value)
        case "dtype", value if value:
            yield Environment(dtype=_SHORT_DTYPES.get(value, value))
        case "quantization", value if value not in _UNSET_VALUES:
            yield Environment(dtype=f"quantization={value}")
        case _:
            pass


def _quantization(match: Match) -> Iterator[Statement]:
    found = _SETTING.match(match.text)
    if found and found["value"] not in _UNSET_VALUES and not _NOT_A_NAME_BEFORE.search(match.front):
        yield Environment(dtype=f"quantization={found['value']}")


def _activation_dtype(_: Match) -> Iterator[Statement]:
    yield Environment(dtype="activations=bf16")


def _save_interval(match: Match) -> Iterator[Statement]:
    # save_decision_policy=FixedIntervalPolicy(interval=10)
    if found := re.match(r"FixedIntervalPolicy\(interval=(\d{1,9})\)", match.text):
        yield Quantity(kind=QuantityKind.SAVE_INTERVAL, value=float(found[1]))


_SETUP = (
    LiteralRule(literal=b"System Information: Jax", read=_system_information, distinctive=True),
    LiteralRule(literal=b"Num_devices: ", read=_devices, distinctive=True),
    LiteralRule(literal=b"orbax-checkpoint version: ", read=_orbax),
    LiteralRule(literal=b"Connecting to JAX distributed service on ", read=_distributed_service),
    LiteralRule(literal=b"[process=", read=_process, repeat_bytes=16),
    LiteralRule(literal=b"/checkpoints", read=_run_path, repeat_bytes=12),
    LiteralRule(literal=b"/tensorboard", read=_run_path, repeat_bytes=12),
    LiteralRule(literal=b"run_name", read=_run_name, repeat_bytes=216),
    LiteralRule(literal=b"Config param ", read=_config_param),
    LiteralRule(literal=b"metrics_step_", read=_metrics_file),
    LiteralRule(literal=b"steps=", read=_steps_setting, repeat_bytes=20),
    LiteralRule(literal=b"quantization=", read=_quantization, repeat_bytes=215),
    LiteralRule(literal=b"Logical: bfloat16", read=_activation_dtype, repeat_bytes=17),
    LiteralRule(literal=b"FixedIntervalPolicy(interval=", read=_save_interval),
)

# Pre RL Training: corr=3, total=10, accuracy=30.0%, partial_accuracy=40.0%, ..., mean_reward=0.1234
_RL_RESULT = re.compile(r"RL Training: corr=\d")

# Intermediate Eval (step=5): corr=3, total=10, ...
_INTERMEDIATE_EVAL = re.compile(r"Intermediate Eval \(step=(?P<step>\d{1,12})\):")


def _rl_training(match: Match) -> Iterator[Statement]:
    if _RL_RESULT.match(match.text) and match.front.endswith(("Pre ", "Post ")):
        yield Mark(kind=MarkKind.EVAL_ENDED, time=match.time, offset=match.offset)
    elif match.text.startswith("RL Training Completed Successfully!"):
        yield Completed()


def _intermediate_eval(match: Match) -> Iterator[Statement]:
    if found := _INTERMEDIATE_EVAL.match(match.text):
        yield Mark(kind=MarkKind.EVAL_ENDED, time=match.time, step=int(found["step"]), offset=match.offset)


def _distillation_complete(_: Match) -> Iterator[Statement]:
    # Distillation Complete.
    yield Completed()


_POST_TRAINING = (
    LiteralRule(literal=b"RL Training", read=_rl_training, lead="(?:Pre |Post )?", distinctive=True),
    LiteralRule(literal=b"Intermediate Eval (step=", read=_intermediate_eval, distinctive=True),
    LiteralRule(literal=b"Distillation Complete.", read=_distillation_complete),
)

_GIB = 2.0**30

_STAMP = re.compile(GLOG)

# number parameters: 1.104 billion      number parameters 1.104 billion
_PARAMETERS = re.compile(r"number parameters:? (?P<count>\d{1,9}(?:\.\d{1,24})?) billion")

# Total TFLOPs: 13.59       total TFLOPs will be 170.71,       total TFLOPs/device will be 170.71
_TOTAL_TFLOPS = re.compile(r"otal TFLOPs(?:/device)?(?:: | will be )(?P<count>\d{1,12}(?:\.\d{1,24})?)")

# Using (GB) 0.44 / 31.25 (1.408000%) on TPU_16(process=4,(0,4,0,0))     ... on cuda:0
_MEMORY = re.compile(
    r"Using \(GB\) (?P<used>\d{1,9}(?:\.\d+)?) / (?P<limit>\d{1,9}(?:\.\d+)?) "
    r"\((?P<percent>\d{1,9}(?:\.\d+)?)%\)"
    r" on (?P<device>[\w:]{1,40}(?:\((?:process=(?P<process>\d{1,6}))?[^()\n]{0,40}(?:\([\d,]{1,40}\))?\))?)"
)

# Output size: 0.4 GB, Temp size: 1.1 GB, Argument size: 0.4 GB, Host temp size: 0.0 GB.
# output size: 0.4 GB, estimated temp size: ... GB.      Output size: 1657041920, temp size: ..., in bytes.
_MEMORY_SIZE = r"(?P<{0}>\d{{1,18}}(?:\.\d+)?)(?: GB)?,?"

_COMPILED_SIZES = re.compile(
    r"utput size: " + _MEMORY_SIZE.format("output")
    + r" (?:[Ee]stimated )?[Tt]emp size: " + _MEMORY_SIZE.format("temp")
    + r" (?:[Ee]stimated )?[Aa]rgument size: " + _MEMORY_SIZE.format("argument")
    + r"(?: (?:[Ee]stimated )?[Hh]ost temp size: " + _MEMORY_SIZE.format("host") + r")?(?P<bytes> in bytes)?"
)  # fmt: skip

# Total memory size: 1.5 GB, O       Total estimated memory size: 1.5 GB, estimated o
_COMPILED_TOTAL = re.compile(
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


def _parameter_count(match: Match) -> Iterator[Statement]:
    if found := _PARAMETERS.match(match.text):
        yield Quantity(kind=QuantityKind.PARAMETERS_BILLION, value=float(found["count"]))
        yield from match.call_sites


def _total_tflops(match: Match) -> Iterator[Statement]:
    if found := _TOTAL_TFLOPS.match(match.text):
        yield Quantity(kind=QuantityKind.TFLOP_PER_STEP, value=float(found["count"]))


def _device_memory(match: Match) -> Iterator[Statement]:
    if found := _MEMORY.match(match.text):
        yield DeviceMemory(
            device=found["device"],
            used_gb=float(found["used"]),
            limit_gb=float(found["limit"]),
            percent=float(found["percent"]),
            offset=match.offset,
        )
        if found["process"]:
            yield Environment(process=int(found["process"]))


def _compiled_memory(match: Match) -> Iterator[Statement]:
    found, total = _COMPILED_SIZES.match(match.text), _COMPILED_TOTAL.search(match.front)
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
    spent = _since_previous_line(match)
    yield Mark(kind=MarkKind.COMPILED, time=match.time, seconds=spent, offset=match.offset)


def _since_previous_line(match: Match) -> float | None:
    """Seconds since the host's line before this one: nothing is printed while the program compiles."""
    now, thread = match.time, match.prefix.thread
    if now is None or not thread:
        return None
    stamps = [found for found in _STAMP.finditer(match.before(BYTES_BEFORE)) if found["thread"] == thread]
    if len(stamps) < 2:
        return None
    then = match.dates.resolve(stamps[-2]["month"], stamps[-2]["day"], stamps[-2]["clock"])
    return now - then if then is not None and now >= then else None


def _checkpoint_waited(match: Match) -> Iterator[Statement]:
    if found := _WAITED.match(match.text):
        yield Mark(
            kind=MarkKind.CHECKPOINT_WAITED,
            time=match.time,
            step=int(found["step"]),
            seconds=float(found["seconds"]),
            offset=match.offset,
        )


def _checkpoint_started(match: Match) -> Iterator[Statement]:
    if found := _SAVE.match(match.text):
        yield _mark(match, MarkKind.CHECKPOINT_STARTED, int(found["step"]))


def _checkpoint_saved(match: Match) -> Iterator[Statement]:
    if found := _SAVE.match(match.text):
        yield _mark(match, MarkKind.CHECKPOINT_SAVED, int(found["step"]))


def _mark(match: Match, kind: MarkKind, step: int | None) -> Mark:
    return Mark(kind=kind, time=match.time, step=step, offset=match.offset)


def _eval_step(match: Match) -> int | None:
    found = _EVAL_STEP.match(match.text)
    return int(found["step"]) if found else None


def _eval_around_step(match: Match) -> Iterator[Statement]:
    """The two ends of an evaluation around a train step."""
    kind = MarkKind.EVAL_STARTED if match.front.endswith("Starting") else MarkKind.EVAL_ENDED
    yield _mark(match, kind, _eval_step(match))


def _first_eval_step(match: Match) -> Iterator[Statement]:
    """The first step of an evaluation, since older programs do not print its start."""
    if _FIRST_EVAL_STEP.match(match.text):
        yield _mark(match, MarkKind.EVAL_STARTED, None)


def _old_eval_ended(match: Match) -> Iterator[Statement]:
    if _OLD_EVAL.search(match.front):
        yield _mark(match, MarkKind.EVAL_ENDED, _eval_step(match))


def _restored(match: Match) -> Iterator[Statement]:
    if found := _RESTORE.match(match.text):
        yield _mark(match, MarkKind.RESTORED, int(found["step"] or found["path"]))


def _stopped(match: Match) -> Iterator[Statement]:
    if found := _STOPPED.match(match.text):
        reason = found["reason"].strip()
        yield StoppedEarly(reason=reason, preempted="preemption" in reason)


def _preempted(_: Match) -> Iterator[Statement]:
    yield StoppedEarly(reason="The checkpoint manager was told of a preemption.", preempted=True)


MAXTEXT = (
    *_STEP_LINES,
    *_SETUP,
    LiteralRule(
        literal=b"number parameters",
        read=_parameter_count,
        distinctive=True,
        message="parameters",
        repeat_bytes=80,
    ),
    LiteralRule(
        literal=b"otal TFLOPs",
        read=_total_tflops,
        distinctive=True,
        repeat_bytes=80,
        lead=r"[^\n]{0,24}[tT]",
        lead_limit=25,
    ),
    LiteralRule(literal=b"Using (GB) ", read=_device_memory, distinctive=True),
    LiteralRule(
        literal=b"utput size: ",
        read=_compiled_memory,
        distinctive=True,
        lead=r"(?:Total (?:estimated )?memory size: [\d.]{1,12} GB, )?(?:estimated )?[oO]",
    ),
    LiteralRule(literal=b"Waited ", read=_checkpoint_waited),
    LiteralRule(
        literal=b"asynchronous checkpoint save for step ", read=_checkpoint_started, lead="Started an "
    ),
    LiteralRule(literal=b"saved a checkpoint at step ", read=_checkpoint_saved),
    LiteralRule(literal=b" eval after train step ", read=_eval_around_step, lead="(?:Starting|[cC]ompleted)"),
    LiteralRule(literal=b"ed eval step", read=_first_eval_step, lead="[cC]omplet"),
    LiteralRule(literal=b"s after step", read=_old_eval_ended, lead="(?:eval metric|average los)"),
    LiteralRule(literal=b"estoring ", read=_restored, lead="[rR]"),
    LiteralRule(literal=b"Training stopped: ", read=_stopped),
    LiteralRule(literal=b"'reached_preemption': True", read=_preempted),
    *_POST_TRAINING,
)
