"""The tests' own writer of MaxText's logs: `maxtext_log(...)`, whose arguments are the fields of
`MaxTextRun`.

The same arguments give the same text. The clock is the one of real runs: a line's timestamp is the moment
the host saw that step's loss. The `seconds` it prints is the interval between two dispatches, two steps
earlier (`clock="dispatch"`), or the interval between two lines (`clock="flush"`).
"""

import math
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import ParamSpec

from msgspec import Struct

from tests.log_writers.megatron import megatron_log


class MaxTextRun(Struct, frozen=True, kw_only=True):
    """One MaxText run under XPK. Seconds throughout; `steps` is a count, or each step's own seconds."""

    steps: int | Sequence[float] = 10
    step_seconds: float = 0.2
    noise: float = 0.002  # relative spread of the step seconds (Gaussian, from `seed`)
    seed: int = 0
    first_step: int = 0
    losses: Sequence[float] | None = None  # default: a falling curve from 10.9
    printed: Sequence[float] | None = None  # the seconds that the lines print, where the clock is not to say
    clock: str = "dispatch"  # or "flush"
    stall: float = 9.0  # what the background save of step 0 costs `stall_step`; 0: none
    stall_step: int = 6
    checkpoints: bool = True  # at the first step and on completion
    save_interval: int = 10000  # on whose grid the last step is not: it shows the number of steps
    blocking: float = 0.6
    final_wait: float = 60.0  # from the wait for the last step to its line
    aot_seconds: float = 14.0
    step0_seconds: float = 14.3
    eval_after: int | None = None  # an evaluation of `eval_seconds` after this step
    eval_seconds: float = 3.0
    start: str = "2026-04-21T10:16:19"
    framed: bool = True  # XPK Start, XPK End and EXIT_CODE
    exit_code: int | None = 0  # None: the log just stops
    failure: str | None = None  # printed after the last step instead of an orderly end
    jax: str = "0.9.2"
    jaxlib: str | None = None  # default: as jax
    libtpu: str = "cl/878335365"
    orbax: str = "0.11.34"
    device_kind: str = "TPU v6 lite"
    devices: int = 32
    mesh: tuple[int, ...] = (1, 1, 1, 32, 1, 1, 1, 1, 1, 1, 1, 1, 1)
    hosts: int = 1  # interleaved in one log; their processes are 0, 1, ...
    process: int = 0  # of the only host
    host_prefix: str = ""  # in front of every line, `{host}` is the process index
    workload: str = "mt-03-dropout-e6fds"
    run_name: str = "linen_xpk_main_20260418_180002_03_dropout"
    bucket: str = "gs://runs/linen_ckpt_xpk_main_20260418_180002"
    commit: str | None = None  # as a BENCH_META line
    config: Sequence[str] = ()  # lines such as "Config param steps: 10"
    parameters_billion: float = 1.104
    tokens_per_device: int = 2048
    tflop_per_step: float = 13.59
    memory_gb: Sequence[float] = (0.44, 0.43, 0.43, 0.43)
    compiled_gb: tuple[float, float, float, float, float] = (1.8, 0.4, 1.4, 0.4, 0.0)
    logger_line: int = 196  # of metric_logger.py
    parameters_line: int = 301
    lm_loss: bool = True  # the fields of lines since April 2026
    absl: bool = True  # timestamps in front of the lines
    flat: bool = False  # pasted as one physical line
    prefix: str = ""  # in front of every line
    crlf: bool = False


__all__ = ["TRACEBACK", "MaxTextRun", "maxtext_log", "megatron_log"]

P = ParamSpec("P")

TRACEBACK = """Traceback (most recent call last):
  File "<frozen runpy>", line 88, in _run_code
  File "/deps/src/maxtext/trainers/pre_train/train.py", line 740, in main
    train_func()
  File "/usr/local/lib/python3.12/site-packages/absl/app.py", line 312, in _run_main
    sys.exit(main(argv))
             ^^^^^^^^^^
  File "/deps/src/maxtext/utils/train_utils.py", line 217, in setup_train_loop
    raise NotImplementedError("Pure NNX support has not been implemented yet.")
NotImplementedError: Pure NNX support has not been implemented yet."""

_SHARDED = (
    "('activation_batch', 'activation_attn_length', 'activation_attn_embed').",
    "('fsdp', None, None).",
)

Record = tuple[float, int, str]  # seconds since the start, host, text


def _durations(run: MaxTextRun) -> list[float]:
    """What each step took on the device, the stall and the catch-up read before it included."""
    if isinstance(run.steps, int):
        dice = random.Random(run.seed)  # noqa: S311 - repeatable noise, no secret
        took = [run.step_seconds * (1 + dice.gauss(0, run.noise)) for _ in range(run.steps)]
    else:
        took = list(run.steps)
    if run.checkpoints and run.stall and len(took) > run.stall_step + 1:
        took[run.stall_step - 1] = 0.006
        took[run.stall_step] += run.stall
    return took


def _losses(run: MaxTextRun, count: int) -> list[float]:
    if run.losses is not None:
        return list(run.losses)
    return [6.9 + 4.0 * math.exp(-n / 4) for n in range(count)]


def _stamp(run: MaxTextRun, at: float, host: int, site: str, text: str) -> str:
    """`I0421 10:17:39.824857 136682829195072 metric_logger.py:196] text`."""
    if not run.absl:
        return text
    moment = datetime.fromisoformat(run.start).replace(tzinfo=UTC) + timedelta(seconds=round(at, 6))
    return f"I{moment:%m%d %H:%M:%S.%f} {136682829195072 + 4096 * host} {site}] {text}"


def _opening(run: MaxTextRun, host: int) -> list[Record]:
    """Versions, mesh, checkpoint manager, compilation."""
    place = f"{run.workload}-slice-job-0-0.{run.workload}:8482"
    path = f"{run.bucket}/{run.run_name}/checkpoints"
    policy = f"save_interval_steps=1, save_decision_policy=FixedIntervalPolicy(interval={run.save_interval})"
    total, output, temp, argument, host_temp = run.compiled_gb
    built = f"TFRT {run.device_kind}\nBuilt on Mar 4 2026 11:32:08 (1772652728) {run.libtpu}"
    sizes = f"Output size: {output} GB, Temp size: {temp} GB, Argument size: {argument} GB,"
    lines = [
        (24.3, "max_utils.py:273", "Attempting to initialize the jax distributed system..."),
        (33.9, "distributed.py:172", f"Connecting to JAX distributed service on {place}"),
        (41.08, "max_utils.py:800", f"System Information: Jax Version: {run.jax}"),
        (41.081, "max_utils.py:801", f"System Information: Jaxlib Version: {run.jaxlib or run.jax}"),
        (41.082, "max_utils.py:802", f"System Information: Jax Backend: PJRT C API\n{built}"),
        (41.9, "maxtext_utils.py:1718", f"Num_devices: {run.devices}, shape {run.mesh}"),
        (46.1, "abstract_checkpointer.py:35", f"orbax-checkpoint version: {run.orbax}"),
        (46.2, "async_checkpointer.py:192", f"[process={host}][thread=MainThread] Using barrier_sync_fn"),
        (46.3, "checkpoint_manager.py:1812", f"Found 0 checkpoint steps in {path}"),
        (46.4, "checkpoint_manager.py:929", f"CheckpointManager created, {policy}, root_directory={path}"),
        (51.9, "attentions.py:1088", f"attentions/inputs_q Logical: bfloat16[32,2048,2048]... {_SHARDED[0]}"),
        (52.0, "linears.py:525", f"linears/x Physical: bfloat16[32,2048,7168]... {_SHARDED[1]}"),
        (
            52.0 + run.aot_seconds,
            "max_utils.py:791",
            f"Total memory size: {total} GB, {sizes} Host temp size: {host_temp} GB.",
        ),
        (
            52.004 + run.aot_seconds,
            f"metric_logger.py:{run.parameters_line}",
            f"number parameters: {run.parameters_billion:.3f} billion",
        ),
    ]
    return [(at, host, _stamp(run, at, host, site, text)) for at, site, text in lines]


def _checkpoint(run: MaxTextRun, host: int, step: int, at: float, blocking: float) -> list[Record]:
    """The wait for a step and the start of its save, `blocking` seconds apart."""
    waited = f"Waited 0.000972747802734375 seconds for step {step} to finish"
    lines = [
        (0.0, "checkpointing.py:794", f"Waiting for step {step} to finish before checkpoint..."),
        (0.001, "checkpointing.py:798", f"{waited} before starting checkpointing."),
        (0.002, "checkpoint_manager.py:1512", f"[process={host}] Saving checkpoint at step {step}"),
        (
            0.001 + blocking,
            "checkpointing.py:409",
            f"Started an asynchronous checkpoint save for step {step}",
        ),
    ]
    return [(at + late, host, _stamp(run, at + late, host, site, text)) for late, site, text in lines]


def _step_line(run: MaxTextRun, step: int, seconds: float, loss: float) -> str:
    """`completed step: 3, seconds: 0.414, TFLOP/s/device: 32.831, ...`."""
    line = (
        f"completed step: {step}, seconds: {seconds:.3f}, "
        f"TFLOP/s/device: {run.tflop_per_step / seconds:.3f}, "
        f"Tokens/s/device: {run.tokens_per_device / seconds:.3f}, "
        f"total_weights: {run.tokens_per_device * run.devices}, loss: {loss:.3f}"
    )
    known = math.exp(loss) if math.isfinite(loss) and loss < 700 else loss
    return f"{line}, lm_loss: {loss:.3f}, perplexity: {known:.3f}" if run.lm_loss else line


def _memory(run: MaxTextRun, host: int, at: float) -> list[Record]:
    found = [(at, host, _stamp(run, at, host, "max_utils.py:750", "\nMemstats: After params initialized:"))]
    for n, used in enumerate(run.memory_gb):
        device = f"TPU_{len(run.memory_gb) * host + n}(process={host},({n},{host},0,0))"
        text = f"\tUsing (GB) {used} / 31.25 ({used / 31.25:%}) on {device}".replace("%)", "%)")
        found.append((at + 1e-5, host, _stamp(run, at + 1e-5, host, "max_utils.py:756", text)))
    return found


def _training(run: MaxTextRun, host: int, ready: float) -> list[Record]:
    """Every step line with what stands between them; `ready` is when the program was compiled."""
    took, records = _durations(run), []
    printed = [run.step0_seconds, run.blocking + 0.5, 0.032, *took[1:]][: len(took)]
    at = ready + run.step0_seconds
    for n, (step_took, loss) in enumerate(zip(took, _losses(run, len(took)), strict=True)):
        step, last = run.first_step + n, n == len(took) - 1
        before = at
        if n == 0 and run.checkpoints:
            records += _checkpoint(run, host, step, at, run.blocking)
            at += run.blocking + 0.01
        if n == 0:
            records += _memory(run, host, at)
        at += step_took if n else 0.3
        if last and run.checkpoints and run.failure is None and n:
            records += _checkpoint(run, host, step, at, min(run.blocking, run.final_wait))
            at += 0.001 + run.final_wait
        seconds = printed[n] if run.clock == "dispatch" or n == 0 else at - before
        if run.printed is not None:
            seconds = run.printed[n]
        text = _step_line(run, step, max(seconds, 0.001), loss)
        records.append((at, host, _stamp(run, at, host, f"metric_logger.py:{run.logger_line}", text)))
        if step == run.eval_after:
            at = _evaluation(run, host, step, at, records)
    return records


def _evaluation(run: MaxTextRun, host: int, step: int, at: float, records: list[Record]) -> float:
    for late, text in (
        (0.01, f"Starting eval after train step {step}"),
        (run.eval_seconds, f"Completed eval after train step {step}, loss=8.100, perplexity=3294.468"),
    ):
        records.append((at + late, host, _stamp(run, at + late, host, "metric_logger.py:250", text)))
    return at + run.eval_seconds


def _date(run: MaxTextRun, at: float) -> str:
    moment = datetime.fromisoformat(run.start).replace(tzinfo=UTC) + timedelta(seconds=at)
    return f"{moment:%a %b %d %H:%M:%S UTC %Y}"


def _lines(run: MaxTextRun) -> list[str]:
    """All lines of the log, hosts interleaved by time."""
    ready = 52.004 + run.aot_seconds
    hosts = range(run.hosts) if run.hosts > 1 else [run.process]
    records = [r for host in hosts for r in (*_opening(run, host), *_training(run, host, ready))]
    records.sort(key=lambda record: (round(record[0], 6), record[1]))
    lines = [run.host_prefix.format(host=host) + text for _, host, text in records]
    lead = hosts[0]
    first = [f"XPK Start: {_date(run, 0)}"] if run.framed else []
    if run.commit is not None:
        first.append(f'BENCH_META {{"sha": "{run.commit}"}}')
    last = run.failure.split("\n") if run.failure else []
    if run.exit_code is not None and run.failure is None:
        last = [f"Per train step:\n Total TFLOPs: {run.tflop_per_step:.2f} \n split as 93.93% learnable"]
    if run.exit_code is not None and run.framed:
        last += [f"XPK End: {_date(run, records[-1][0] + 10)}", f"EXIT_CODE={run.exit_code}"]
    own = run.host_prefix.format(host=lead)
    return [*(own + line for line in (*first, *run.config)), *lines, *(own + line for line in last)]


def _render(run: MaxTextRun) -> str:
    lines = [run.prefix + piece for line in _lines(run) for piece in line.split("\n")]
    if run.flat:
        return " ".join(" ".join(lines).split())
    return "".join(line + ("\r\n" if run.crlf else "\n") for line in lines)


def _writer(scene: Callable[P, MaxTextRun]) -> Callable[P, str]:
    def write(*args: P.args, **kwargs: P.kwargs) -> str:
        return _render(scene(*args, **kwargs))

    return write


maxtext_log = _writer(MaxTextRun)
"""The text of one MaxText log; its arguments are the fields of `MaxText`, keyword-only."""
