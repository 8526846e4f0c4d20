"""The tests' own writer of failed runs: one realistic log for every known way to fail (`FAILED_LOGS`).

The words are those that XLA, libtpu, JAX, Kubernetes, xpk and MaxText print. `Day` holds what may differ
from one day to the next: host, day, line, process ids, sizes of addresses.
"""

from collections.abc import Callable

from msgspec import Struct

from bot.logs.facts import OutcomeState
from bot.logs.failures import FailureClass
from tests.log_writers.maxtext import maxtext_log

PACKAGES = "/usr/local/lib/python3.12/site-packages"


class RunDetails(Struct, frozen=True, kw_only=True):
    """What is different on another day: when, on which host, and where the lines of the sources stand."""

    start: str = "2026-04-21T10:16:19"
    workload: str = "mt-03-dropout-e6fds"
    run_name: str = "linen_xpk_main_20260418_180002_03_dropout"
    shift: int = 0
    pid: int = 157988
    task: int = 3
    thread: str = "0x7f64cdf7b640"
    address: str = "10.128.0.17"

    @property
    def stamp(self) -> str:
        """The day and time in a log line."""
        return f"{self.start[5:7]}{self.start[8:10]} {self.start[11:]}.032075"


Writer = Callable[[RunDetails], str]


class FailedRun(Struct, frozen=True, kw_only=True):
    """A way to fail: its log on a day, the class, the beginning of its error, the project's frame."""

    log: Writer
    kind: FailureClass
    error: str
    where: str | None = None
    state: OutcomeState = OutcomeState.FAILED


def traceback(
    day: RunDetails, error: str, *, where: str = "trainers/pre_train/train.py:541:train_step"
) -> str:
    """A Python traceback through the project's `where` (file, line, function) into JAX."""
    path, line, name = where.split(":")
    return f"""Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "/deps/src/maxtext/trainers/pre_train/train.py", line {740 + day.shift}, in main
    train_func()
  File "/deps/src/maxtext/{path}", line {int(line) + day.shift}, in {name}
    compiled = jitted.lower(*shaped).compile()
  File "{PACKAGES}/jax/_src/stages.py", line 893, in compile
    self._lowering.compile(**kw),
{error}"""


def _log(
    day: RunDetails, failure: str | None, *, steps: int = 0, exit_code: int | None = 1, **more: object
) -> str:
    given = {"start": day.start, "workload": day.workload, "run_name": day.run_name, **more}
    return maxtext_log(steps=steps, exit_code=exit_code, failure=failure, **given)  # type: ignore[arg-type]


def _raised(error: str, where: str = "trainers/pre_train/train.py:541:train_step", **more: int) -> Writer:
    """A run that a Python exception ended; `{…}` in the error is filled from the day."""

    def write(day: RunDetails) -> str:
        return _log(day, traceback(day, error.format(day=day), where=where), **more)

    return write


def _said(text: str, *, steps: int = 0, exit_code: int | None = 1, **more: object) -> Writer:
    """A run that ended with these words."""

    def write(day: RunDetails) -> str:
        return _log(day, text.format(day=day), steps=steps, exit_code=exit_code, **more)

    return write


def _bare(text: str) -> Writer:
    """What xpk or Kubernetes say where no program ever ran."""
    return lambda day: text.format(day=day)


ECHO = (
    "F{day.stamp} {day.pid} client.h:77] Terminating process because the JAX distributed service "
    "detected fatal "
    "errors. This most likely indicates that another task died; see the other task logs for more details. "
    "Disable Python buffering, i.e. `python -u`, to be sure to see all the previous output. absl::Status: "
    "UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n"
    "/job:jax_worker/replica:0/task:{day.task}\n"
    "The tasks have crashed. Check the task logs for an earlier error, or scheduler events (e.g. preemption, "
    "eviction) to debug further."
)

HBM = (
    "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. "
    "Used 63.80G of 30.75G hbm. Exceeded hbm capacity by 33.05G.\n\nTotal hbm usage >= 64.30G:\n"
    "    reserved        528.00M\n    program          63.80G"
)

CONFIG_ERROR = "'steps' not in '/deps/src/maxtext/configs/base.yml'"

CONFIG = (
    "================================================================================\n"
    f"MAXTEXT CONFIG ERROR: {CONFIG_ERROR}\n"
    "================================================================================\n"
)

SESSION = (
    "E{day.stamp}    {day.pid} session_master.cc:505] Session is failing with UNAVAILABLE: TPU session "
    "error from "
    "worker {day.address}:8471: Detected failure SLICE_FAILURE_CHIP_DRIVER_ERROR in session "
    "e6c8f1d2a7b94f10, missed 1 health checks"
)

SILENT = (
    "W{day.stamp}    {day.pid} session_master.cc:539] The task with address "
    "{day.workload}-0-{day.task}.svc:8471 missed 1 health checks.The most recent health check failed with "
    "the following error: UNAVAILABLE: failed to connect to all addresses"
)

FATAL = (
    "*** A program or fatal error occurred, all pending programs will fail, and results may be corrupted. "
    "This is likely an XLA compiler bug or your job hit a bad TPU hardware. Program: jit_train_step "
    "Physical location: tpu{day.task}:pe2:2 (chip 0x3f2)"
)

BUSY = (
    "RuntimeError: Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by process "
    "with pid "
    "{day.pid}. Not attempting to load libtpu.so in this process. (set JAX_PLATFORMS='' to automatically "
    "choose an available backend)"
)

JOBSET = (
    "[XPK] Task: `Creating Workload` is implemented by `kubectl apply -f /tmp/tmp{day.pid}`\n"
    'Error from server (BadRequest): error when creating "/tmp/tmp{day.pid}": JobSet in version "v1alpha2" '
    'cannot be handled as a JobSet: strict decoding error: unknown field "spec.ttlSecondsAfterFinished"\n'
    "[XPK] Task: `Creating Workload` terminated with code `1`\n"
)

PODLESS = (
    'Error creating: Job.batch "{day.workload}-slice-job-0" is invalid: '
    "spec.template.spec.restartPolicy: Invalid "
    'value: "OnFailure": only "Never" is supported when podFailurePolicy is specified\n'
)

EVICTED = (
    "Status: Evicted: Preempted to accommodate a workload (UID: "
    "1f0c7f3e-5b7e-4f0e-8e55-0d5f9f3c2a{day.task:02d}) "
    "due to prioritization in the ClusterQueue\n"
)

QUOTA = (
    "Message: couldn't assign flavors to pod set slice-job: insufficient unused quota for google.com/tpu "
    "in flavor "
    "32xv6e-32, 32 more needed\n"
)

BUILD = (
    "#12 41.8 CMake Error at CMakeLists.txt:14 (cmake_minimum_required)\n"
    'ERROR: failed to build: failed to solve: process "/bin/sh -c bash setup.sh MODE=stable" did not '
    "complete "
    "successfully: exit code: 1\n"
)

FAILED_RUNS: dict[str, FailedRun] = {
    "code": FailedRun(
        log=_raised(
            "NotImplementedError: Pure NNX support has not been implemented yet.",
            "utils/train_utils.py:217:setup_train_loop",
        ),
        kind=FailureClass.CODE,
        error="NotImplementedError: Pure NNX support",
        where="train_utils.py:217",
    ),
    "config": FailedRun(
        log=lambda day: _log(
            day, CONFIG + traceback(day, f"ValueError: {CONFIG_ERROR}", where="pyconfig.py:88:initialize")
        ),
        kind=FailureClass.CONFIG,
        error="MAXTEXT CONFIG ERROR",
    ),
    "config, checked types": FailedRun(
        log=_raised(
            "pydantic_core._pydantic_core.ValidationError: 1 validation error for MaxTextConfig",
            "configs/pyconfig.py:301:initialize",
        ),
        kind=FailureClass.CONFIG,
        error="pydantic_core._pydantic_core.ValidationError",
        where="pyconfig.py:301",
    ),
    "missing package": FailedRun(
        log=_raised("ModuleNotFoundError: No module named 'tokamax'", "kernels/attention.py:21:<module>"),
        kind=FailureClass.MISSING_PACKAGE,
        error="ModuleNotFoundError: No module named 'tokamax'",
        where="attention.py:21",
    ),
    "missing file": FailedRun(
        log=_raised(
            "FileNotFoundError: [Errno 2] No such file or directory: '/data/{day.run_name}/c4.array_record'",
            "input_pipeline/grain.py:88:open_files",
        ),
        kind=FailureClass.MISSING_FILE,
        error="FileNotFoundError: [Errno 2] No such file",
        where="grain.py:88",
    ),
    "access denied": FailedRun(
        log=_raised(
            "google.api_core.exceptions.Forbidden: 403 GET: bench@my-project does not have "
            "storage.objects.get access to the object",
            "input_pipeline/grain.py:92:open_files",
        ),
        kind=FailureClass.ACCESS_DENIED,
        error="google.api_core.exceptions.Forbidden",
        where="grain.py:92",
    ),
    "disk full": FailedRun(
        log=_raised(
            "OSError: [Errno 28] No space left on device: '/tmp/{day.run_name}/5'",
            "common/checkpointing.py:411:save_checkpoint",
            steps=6,
        ),
        kind=FailureClass.DISK_FULL,
        error="OSError: [Errno 28] No space left on device",
        where="checkpointing.py:411",
    ),
    "network": FailedRun(
        log=_raised(
            "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', port=443): Max "
            "retries exceeded with url: /api/models (Caused by NewConnectionError)",
            "input_pipeline/hf.py:31:tokenizer",
        ),
        kind=FailureClass.NETWORK,
        error="requests.exceptions.ConnectionError",
        where="hf.py:31",
    ),
    "config, arguments": FailedRun(
        log=_said("train.py: error: unrecognized arguments: --stepz=10", exit_code=2),
        kind=FailureClass.CONFIG,
        error="train.py: error: unrecognized arguments: --stepz=10",
    ),
    "limit": FailedRun(
        log=_said(
            "maxview: job ended: its files took more than 20000 MB; No space left on device",
            steps=6,
            exit_code=137,
        ),
        kind=FailureClass.LIMIT,
        error="maxview: job ended: its files took more than 20000 MB",
        state=OutcomeState.KILLED,
    ),
    "hbm_oom, old class": FailedRun(
        log=_raised("jaxlib.xla_extension.XlaRuntimeError: " + HBM),
        kind=FailureClass.HBM_OOM,
        error="jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent",
        where="train.py:541",
    ),
    "hbm_oom, new class": FailedRun(
        log=_raised(
            "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of "
            "memory in "
            "memory space hbm. Used 31.91G of 31.25G hbm. Exceeded hbm capacity by 672.0M."
        ),
        kind=FailureClass.HBM_OOM,
        error="jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error.",
        where="train.py:541",
    ),
    "vmem_oom": FailedRun(
        log=_raised(
            "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem "
            "while allocating "
            "on stack for %splash_mha_fwd.1 = bf16[4,16,2048,128]"
        ),
        kind=FailureClass.VMEM_OOM,
        error="jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem",
        where="train.py:541",
    ),
    "sparse_core_oom": FailedRun(
        log=_raised(
            "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: TPU TensorCore Hbm usage: 34.82G, "
            "SparseCore Hbm usage "
            "174.10G, exceeding available bytes: 95.74G"
        ),
        kind=FailureClass.SPARSE_CORE_OOM,
        error="jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: TPU TensorCore Hbm usage",
        where="train.py:541",
    ),
    "device_oom": FailedRun(
        log=_raised(
            "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2.28TiB.",
            steps=3,
        ),
        kind=FailureClass.DEVICE_OOM,
        error="jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying",
        where="train.py:541",
    ),
    "nan": FailedRun(
        log=lambda day: _log(day, None, steps=10, exit_code=0, losses=[9.0, 8.0, float("nan"), *[8.0] * 7]),
        kind=FailureClass.NOT_FINITE,
        error="loss is nan at step 2",
    ),
    "nan, aborted": FailedRun(
        log=_said("Aborting training due to NaN loss.", steps=6, exit_code=1),
        kind=FailureClass.NOT_FINITE,
        error="Aborting training due to NaN loss.",
    ),
    "stopped, no data": FailedRun(
        log=_said(
            "Training stopped: You may have run out of training data. Received StopIteration.",
            steps=6,
            exit_code=0,
        ),
        kind=FailureClass.STOPPED,
        error="Training stopped: You may have run out of training data.",
        state=OutcomeState.STOPPED,
    ),
    "stopped, told to": FailedRun(
        log=_said("Training stopped: Job received termination signal (SIGTERM).", steps=6, exit_code=0),
        kind=FailureClass.TERMINATED,
        error="Training stopped: Job received termination signal (SIGTERM).",
        state=OutcomeState.STOPPED,
    ),
    "stopped, checkpoint": FailedRun(
        log=_said(
            "Training stopped: Checkpointing failed. ValueError: could not write to {day.run_name}",
            steps=6,
            exit_code=0,
        ),
        kind=FailureClass.CHECKPOINT,
        error="Training stopped: Checkpointing failed.",
        state=OutcomeState.STOPPED,
    ),
    "terminated": FailedRun(
        log=_said("", steps=6, exit_code=143),
        kind=FailureClass.TERMINATED,
        error="",
        state=OutcomeState.KILLED,
    ),
    "preempted": FailedRun(
        log=_said(EVICTED, steps=6, exit_code=143),
        kind=FailureClass.PREEMPTED,
        error="Evicted: Preempted to accommodate a workload",
        state=OutcomeState.KILLED,
    ),
    "preempted, saved": FailedRun(
        log=_said("{{'step': 5, 'event_type': 'save', 'reached_preemption': True}}", steps=6, exit_code=0),
        kind=FailureClass.PREEMPTED,
        error="Training stopped: The checkpoint manager was told of a preemption.",
        state=OutcomeState.STOPPED,
    ),
    "peer_died": FailedRun(
        log=_said(ECHO, steps=6, exit_code=134),
        kind=FailureClass.PEER_DIED,
        error="Terminating process because the JAX distributed service detected fatal errors.",
    ),
    "peer died of memory": FailedRun(
        log=lambda day: _log(
            day,
            ECHO.format(day=day)
            + "\n"
            + traceback(day, "jax.errors.JaxRuntimeError: " + HBM)
            + "\n"
            + ECHO.format(day=day),
            exit_code=134,
            hosts=2,
        ),
        kind=FailureClass.HBM_OOM,
        error="jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED",
        where="train.py:541",
    ),
    "hang": FailedRun(
        log=_said(
            "jax.errors.JaxRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: train_start. This "
            "usually happens "
            "because a task triggered the barrier unexpectedly early or too slow. Barrier result: "
            "DEADLINE_EXCEEDED; # of tasks that reached the barrier: 1/8. The first task at the barrier: "
            "/job:jax_worker/replica:0/task:{day.task}."
        ),
        kind=FailureClass.HANG,
        error="Barrier result: DEADLINE_EXCEEDED; # of tasks that reached the barrier: 1/8.",
    ),
    "bad_hardware": FailedRun(
        log=_said(SESSION, steps=6, exit_code=134),
        kind=FailureClass.BAD_HARDWARE,
        error="Session is failing with",
    ),
    "bad_hardware, silent": FailedRun(
        log=_said(SILENT, steps=6, exit_code=134),
        kind=FailureClass.BAD_HARDWARE,
        error="task with address",
    ),
    "silent after a mistake": FailedRun(
        log=lambda day: _log(
            day,
            SILENT.format(day=day) + "\n" + traceback(day, "ValueError: the mesh has no axis 'expert'"),
            exit_code=134,
        ),
        kind=FailureClass.CODE,
        error="ValueError: the mesh has no axis 'expert'",
        where="train.py:541",
    ),
    "hardware_or_compiler": FailedRun(
        log=_said(FATAL, steps=6, exit_code=134),
        kind=FailureClass.HARDWARE_OR_COMPILER,
        error="A program or fatal error occurred",
    ),
    "tpu_busy": FailedRun(
        log=_raised(BUSY, "utils/max_utils.py:273:maybe_initialize_jax_distributed_system"),
        kind=FailureClass.TPU_BUSY,
        error="RuntimeError: Unable to initialize backend 'tpu'",
        where="max_utils.py:273",
    ),
    "host_oom": FailedRun(
        log=_said("Last State: Terminated\n  Reason: OOMKilled\n  Exit Code: 137", steps=6, exit_code=None),
        kind=FailureClass.HOST_OOM,
        error="Reason: OOMKilled",
        state=OutcomeState.KILLED,
    ),
    "killed, exit code": FailedRun(
        log=_said("", steps=6, exit_code=137),
        kind=FailureClass.TERMINATED,
        error="",
        state=OutcomeState.KILLED,
    ),
    "crash": FailedRun(
        log=_said("Fatal Python error: Segmentation fault\n\nThread {day.thread}:\n", steps=6, exit_code=139),
        kind=FailureClass.CRASH,
        error="Fatal Python error: Segmentation fault",
    ),
    "crash, exit code": FailedRun(log=_said("", steps=6, exit_code=134), kind=FailureClass.CRASH, error=""),
    "timeout": FailedRun(log=_said("", steps=6, exit_code=124), kind=FailureClass.TIMEOUT, error=""),
    "image, pull": FailedRun(
        log=_bare(
            "NAME READY STATUS\n{day.workload}-slice-job-0-0-x7k2p 0/2 ImagePullBackOff\n"
            'Failed to pull image "gcr.io/my-project/maxtext:abc": ErrImagePull\n'
        ),
        kind=FailureClass.IMAGE,
        error="ImagePullBackOff",
    ),
    "image, refused": FailedRun(
        log=_bare(
            "[XPK] Failed to validate your docker image, check that the docker image exists. You may be "
            "able to find "
            "the gcr.io/my-project/maxtext:abc in my-project.\n[XPK] XPK failed, error code 1\n"
        ),
        kind=FailureClass.IMAGE,
        error="Failed to validate your docker image",
    ),
    "image, built": FailedRun(
        log=_bare(BUILD), kind=FailureClass.IMAGE, error="ERROR: failed to build: failed to solve"
    ),
    "submit": FailedRun(log=_bare(JOBSET), kind=FailureClass.SUBMIT, error="Error from server (BadRequest)"),
    "submit, no queues": FailedRun(
        log=_bare("[XPK] b'error: the server doesn\\'t have a resource type \"workloads\"\\n'\n"),
        kind=FailureClass.SUBMIT,
        error="error: the server doesn",
    ),
    "submit, no pods": FailedRun(log=_bare(PODLESS), kind=FailureClass.SUBMIT, error='Job.batch "mt-'),
    "queue": FailedRun(log=_bare(QUOTA), kind=FailureClass.QUEUE, error="couldn't assign flavors to pod set"),
    "checkpoint": FailedRun(
        log=_raised(
            "ValueError: Checkpoint for step 0 already exists in gs://runs/{day.run_name}/checkpoints",
            "common/checkpointing.py:409:save_checkpoint",
        ),
        kind=FailureClass.CHECKPOINT,
        error="ValueError: Checkpoint for step 0 already exists",
        where="checkpointing.py:409",
    ),
    "checkpoint, beyond the end": FailedRun(
        log=_raised(
            "RuntimeError: The checkpoint step 20 is at or beyond config.steps=10: use a new run_name or "
            "raise steps",
            "utils/train_utils.py:301:setup_train_loop",
        ),
        kind=FailureClass.CHECKPOINT,
        error="RuntimeError: The checkpoint step 20",
        where="train_utils.py:301",
    ),
}
