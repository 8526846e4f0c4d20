"""What may happen in a MaxText run that the tests write the log of.

In:  nothing; a value with a default for everything.
Out: `MaxText`, the arguments of `maxtext_log`.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class MaxText:
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
