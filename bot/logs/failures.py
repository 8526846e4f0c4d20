"""The documented failure classes: who has to act, whether to retry, what to do next."""

import re
from enum import StrEnum

from msgspec import Struct


class FailureClass(StrEnum):
    """What kind of failure it is."""

    CODE = "code"
    CONFIG = "config"
    MISSING_PACKAGE = "missing_package"
    MISSING_FILE = "missing_file"
    ACCESS_DENIED = "access_denied"
    HBM_OOM = "hbm_oom"
    VMEM_OOM = "vmem_oom"
    SPARSE_CORE_OOM = "sparse_core_oom"
    DEVICE_OOM = "device_oom"
    NOT_FINITE = "loss_not_finite"
    TERMINATED = "terminated"
    PREEMPTED = "preempted"
    STOPPED = "stopped_early"
    PEER_DIED = "peer_died"
    HANG = "hang"
    BAD_HARDWARE = "bad_hardware"
    HARDWARE_OR_COMPILER = "hardware_or_compiler"
    TPU_BUSY = "tpu_busy"
    HOST_OOM = "host_oom"
    DISK_FULL = "disk_full"
    NETWORK = "network"
    CRASH = "crash"
    IMAGE = "image"
    SUBMIT = "submit"
    QUEUE = "queue"
    CHECKPOINT = "checkpoint"
    TIMEOUT = "timeout"
    LIMIT = "limit"
    UNKNOWN = "unknown"


class Responsibility(StrEnum):
    """Who has to act."""

    CHANGE = "change"
    CONFIGURATION = "configuration"
    CLUSTER = "cluster"
    UNKNOWN = "unknown"


class Advice(Struct, frozen=True, kw_only=True):
    """Who has to act on a failure, whether a repeated run may succeed, one sentence on what to do next."""

    responsibility: Responsibility
    retry: bool
    next_step: str


_ADVICE: dict[FailureClass, Advice] = {
    kind: Advice(responsibility=responsibility, retry=retry, next_step=text)
    for kind, responsibility, retry, text in (
        (FailureClass.CODE, Responsibility.CHANGE, False,
         "Read the traceback and fix the code it points at."),
        (FailureClass.CONFIG, Responsibility.CONFIGURATION, False,
         "Correct the setting that the message names."),
        (FailureClass.MISSING_PACKAGE, Responsibility.CONFIGURATION, False,
         "A package that the program imports is not in the image, or of another version: add it there."),
        (FailureClass.MISSING_FILE, Responsibility.CONFIGURATION, False,
         "A file that the run needs is not there: check the path, and that the data is mounted."),
        (FailureClass.ACCESS_DENIED, Responsibility.CONFIGURATION, False,
         "The run may not read or write what the message names: check the account's rights."),
        (FailureClass.HBM_OOM, Responsibility.CHANGE, False,
         ("The program does not fit into device memory: compare the compiler's memory sizes with main, "
         "then shrink the batch or rematerialise more.")),
        (FailureClass.VMEM_OOM, Responsibility.CHANGE, False,
         "A kernel needs too much VMEM: make its blocks smaller."),
        (FailureClass.SPARSE_CORE_OOM, Responsibility.CHANGE, False,
         "Lower what is placed on the SparseCore, or turn its offloading off."),
        (FailureClass.DEVICE_OOM, Responsibility.CHANGE, False,
         "Device memory ran out while running: compare the memory in use with main, then shrink the batch."),
        (FailureClass.NOT_FINITE, Responsibility.CHANGE, False,
         "The loss became NaN or infinite: compare the loss curve with main from the step named on."),
        (FailureClass.TERMINATED, Responsibility.CLUSTER, True,
         "The run was stopped from outside: run it again."),
        (FailureClass.PREEMPTED, Responsibility.CLUSTER, True,
         "A workload of higher priority took the machines: run it again."),
        (FailureClass.STOPPED, Responsibility.CONFIGURATION, False,
         "The program stopped before its last step: see the reason it gives."),
        (FailureClass.PEER_DIED, Responsibility.UNKNOWN, True,
         "Another host failed first: look at the log of the task that the message names."),
        (FailureClass.HANG, Responsibility.UNKNOWN, True,
         "Some hosts did not reach a barrier: run it once more, and look for the host that is missing."),
        (FailureClass.BAD_HARDWARE, Responsibility.CLUSTER, True,
         "A chip or host is broken: run it again on other nodes and report the node."),
        (FailureClass.HARDWARE_OR_COMPILER, Responsibility.UNKNOWN, True,
         "Run it again up to twice; if it fails in the same place, suspect the compiler, else the hardware."),
        (FailureClass.TPU_BUSY, Responsibility.CLUSTER, True,
         "Another process holds the TPU: run it again once that process is gone."),
        (FailureClass.HOST_OOM, Responsibility.CHANGE, False,
         "The container ran out of host memory: compare host memory with main."),
        (FailureClass.DISK_FULL, Responsibility.CLUSTER, False,
         "A disk or quota is full: free some space, then run it again."),
        (FailureClass.NETWORK, Responsibility.CLUSTER, True,
         "A server did not answer: run it again."),
        (FailureClass.CRASH, Responsibility.UNKNOWN, True,
         "The process crashed without a Python error: run it once more, then read its last lines."),
        (FailureClass.IMAGE, Responsibility.CONFIGURATION, False,
         "The container image could not be built or pulled: check its name and the build log."),
        (FailureClass.SUBMIT, Responsibility.CONFIGURATION, False,
         "The cluster refused the job: check that the versions of xpk and of the cluster fit together."),
        (FailureClass.QUEUE, Responsibility.CLUSTER, True,
         "The cluster has no free quota: wait, or ask for less."),
        (FailureClass.CHECKPOINT, Responsibility.CONFIGURATION, False,
         "A checkpoint of another run was found or could not be read: use a new run name."),
        (FailureClass.TIMEOUT, Responsibility.UNKNOWN, True,
         "The time limit ended the run: see which phase took it, or raise the limit."),
        (FailureClass.LIMIT, Responsibility.CHANGE, False,
         "The job reached a limit of its machine: lower what it uses, or ask the operator for more."),
        (FailureClass.UNKNOWN, Responsibility.UNKNOWN, False, "Read the end of the full log."),
    )
}  # fmt: skip


def advice(kind: FailureClass) -> Advice:
    """What to do about a failure of this class."""
    return _ADVICE[kind]


class FailureSignature(Struct, frozen=True, kw_only=True):
    """How a failure class shows in a message. `echo`: the message reports a failure elsewhere."""

    kind: FailureClass
    pattern: re.Pattern[str]
    echo: bool = False


_ECHO_CLASSES = frozenset({FailureClass.HANG, FailureClass.PEER_DIED, FailureClass.TERMINATED})

_OUT_OF_MEMORY = (
    r"RESOURCE_EXHAUSTED|CUDA out of memory|HIP out of memory|OutOfMemoryError|CUDA error: out of memory"
    r"|CUDNN_STATUS_ALLOC_FAILED|CUBLAS_STATUS_ALLOC_FAILED"
)

# train.py: error: argument --fp16: Truthy value expected: got s but expected one of yes/no
_USAGE_ERROR = r"error: (?:argument -|unrecognized arguments: |the following arguments are required: )"

# RuntimeError: CUDA error: uncorrectable ECC error encountered      RuntimeError: No CUDA GPUs are available
_HARDWARE = (
    r"SLICE_FAILURE_\w+|Session is failing with|TPU session error|uncorrectable (?:NVLink|ECC) error"
    r"|GPU has fallen off the bus|No CUDA GPUs are available|no CUDA-capable device|CUDA driver error"
    r"|NCCL error.{0,80}unhandled system error|CUDA error: unspecified launch failure"
)

# ModuleNotFoundError: No module named 'flash_attn'      ImportError: libcudnn.so.9: cannot open shared object
# PackageNotFoundError      undefined symbol: _ZN3c1015
_MISSING_PACKAGE = (
    r"^ModuleNotFoundError|PackageNotFoundError|VersionConflict|is required for a normal functioning"
    r"|^ImportError.{0,300}(?:cannot open shared object|undefined symbol|requires the .{1,80} library)"
)

# OSError: [Errno 28] No space left on device      OSError: [Errno 122] Disk quota exceeded: '/home/x'
# RuntimeError: basic_ios::clear: iostream error: torch.save could not write
_DISK_FULL = (
    r"basic_ios::clear: iostream error|file write failed"
    r"|No space left on device|Disk quota exceeded|File too large|low on resource: ephemeral"
)

_HOST_OOM = (
    r"OOMKilled|^MemoryError|Cannot allocate memory|std::bad_alloc|node running low on memory"
    r"|out of shared memory|DefaultCPUAllocator: can't allocate memory|ArrayMemoryError"
)

_ACCESS = (
    r"^PermissionError|Permission(?:\s|_)?[Dd]enied|40[13] Client Error|403 Forbidden|DefaultCredentialsError"
    r"|GatedRepoError|does not have \S{3,60} access|AccessDenied|Unauthorized"
)

_NETWORK = (
    r"Max retries\b|Temporary failure in name resolution|Name or service not known|Failed to resolve"
    r"|^(?:requests\.\S{1,40})?(?:ConnectionError|ConnectTimeout|ReadTimeout)\b|5\d\d Server Error"
    r"|Connection (?:refused|reset by peer|timed out)|LocalEntryNotFoundError"
)

# torch.distributed.DistBackendError: NCCL error in: ... Connection closed by remote peer node7<41234>
_PEER_DIED = (
    r"another task died|tasks are unhealthy|coordination service|Dist(?:Network|Store)Error"
    r"|(?:Connection closed by|lost connection to) .{0,20}peer|recvValue failed"
)

# subprocess.CalledProcessError: Command '['python', 'train.py']' died with <Signals.SIGKILL: 9>.
_CHILD_KILLED = r"CalledProcessError.{0,400}died with <Signals\.SIG(?:KILL|TERM|HUP)"
_CHILD_CRASHED = r"CalledProcessError.{0,400}died with <Signals|DataLoader worker .{0,40}(?:killed|exited)"
_CHILD_FAILED = r"ChildFailedError|CalledProcessError.{0,400}returned non-zero exit|ProcessRaisedException"

# The task with address mt-04-int8-0-3.svc:8471 missed 1 health checks: it is silent, whatever the cause
_MISSED_HEALTH_CHECKS = r"missed \d+ health checks"

# RuntimeError: The checkpoint step 20 is at or beyond config.steps=10      Checkpointing failed. ...
_CHECKPOINT = (
    r"[Cc]heckpoint.{0,60}(?:exists|not found|corrupt|mismatch)|Checkpointing failed"
    r"|[Cc]heckpoint step.{0,40}(?:beyond|>=|past|greater)"
)

_SUBMIT = r"cannot be handled as a JobSet|error when creating|have a resource type|when podFailurePolicy"

_SIGNATURES = tuple(
    FailureSignature(
        kind=kind, pattern=re.compile(pattern), echo=kind in _ECHO_CLASSES or pattern == _MISSED_HEALTH_CHECKS
    )
    for kind, pattern in (
        # maxview: job ended: it used more than 16000 MB of memory
        (FailureClass.LIMIT, r"^maxview: job ended: "),
        # RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used ...
        (FailureClass.VMEM_OOM, r"memory space (?:vmem|smem)"),
        (FailureClass.HBM_OOM, r"memory space hbm|RESOURCE_EXHAUSTED: XLA:TPU compile permanent error"),
        (FailureClass.DISK_FULL, _DISK_FULL),
        (FailureClass.HOST_OOM, r"ray\.exceptions\.OutOfMemoryError"),
        (FailureClass.SPARSE_CORE_OOM, r"SparseCore Hbm usage"),
        # RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2.28TiB
        (FailureClass.DEVICE_OOM, _OUT_OF_MEMORY),
        (FailureClass.CONFIG, r"MAXTEXT CONFIG ERROR|pydantic\S*ValidationError|" + _USAGE_ERROR),
        (FailureClass.TPU_BUSY, r"TPU is already in use|Unable to initialize backend 'tpu'.{0,80}ABORTED"),
        (
            FailureClass.HANG,
            r"Watchdog caught collective op|Barrier (?:result: |timed out)|DEADLINE_EXCEEDED.{0,40}barrier",
        ),
        (FailureClass.PEER_DIED, _PEER_DIED),
        (FailureClass.BAD_HARDWARE, _HARDWARE),
        (FailureClass.HARDWARE_OR_COMPILER, r"A program or fatal error occurred, all pending programs"),
        (FailureClass.HOST_OOM, _HOST_OOM),
        (FailureClass.IMAGE, r"ErrImagePull|ImagePullBackOff|failed to build: |validate your docker image"),
        (FailureClass.SUBMIT, _SUBMIT),
        (FailureClass.QUEUE, r"insufficient unused quota"),
        (FailureClass.PREEMPTED, r"Preempted to accommodate"),
        (FailureClass.NOT_FINITE, r"due to (?:NaN|Inf) loss|due to NaN|loss is (?:nan|inf)"),
        (FailureClass.TERMINATED, r"got signal: 15|SIGTERM|termination signal"),
        (FailureClass.CHECKPOINT, _CHECKPOINT),
        # torch.distributed.elastic.multiprocessing.errors.ChildFailedError: torchrun tells of a worker's end
        (FailureClass.TERMINATED, _CHILD_KILLED),
        (FailureClass.CRASH, _CHILD_CRASHED),
        (FailureClass.PEER_DIED, _CHILD_FAILED),
        # Process group watchdog thread terminated with exception: CUDA error: an illegal memory access was
        (FailureClass.CRASH, r"Fatal Python error|Segmentation fault|SIGSEGV|SIGABRT|watchdog thread term"),
        (FailureClass.BAD_HARDWARE, _MISSED_HEALTH_CHECKS),
        (FailureClass.MISSING_PACKAGE, _MISSING_PACKAGE),
        (FailureClass.ACCESS_DENIED, _ACCESS),
        (FailureClass.NETWORK, _NETWORK),
        (FailureClass.MISSING_FILE, r"^FileNotFoundError"),
    )
)


def classify(error: str, default: FailureClass = FailureClass.UNKNOWN) -> tuple[FailureClass, bool]:
    """The class of an error text, and whether it is an echo."""
    for signature in _SIGNATURES:
        if signature.pattern.search(error):
            return signature.kind, signature.echo
    return default, False


def is_usage_error(error: str) -> bool:
    """Whether a program says that it was called wrongly."""
    return re.search(_USAGE_ERROR, error) is not None


# ValueError: 'steps' not in ...
_EXCEPTION = re.compile(r"^(?P<name>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?=:|$)")

_MASKS = tuple(
    (re.compile(pattern), mask)
    for pattern, mask in (
        (r"0x[0-9a-fA-F]+", "<address>"),
        (r"(?:gs|https?|s3|file)://\S+|(?<![\w.])(?:/[\w.@+-]+)+/?", "<path>"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*", "<date>"),
        (r"\b(?:[a-z0-9]+-)+[a-z0-9]*\d[a-z0-9]*(?:\.[\w.-]+)?(?::\d+)?\b", "<host>"),
        (r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b", "<host>"),
        (r"\b[0-9a-f]{12,}\b", "<hash>"),
        (r"\d+(?:\.\d+)?", "<n>"),
        (r"\s+", " "),
    )
)


def masked(message: str) -> str:
    """The message without what differs from one day or host to the next."""
    for pattern, mask in _MASKS:
        message = pattern.sub(mask, message)
    return message.strip()


def fingerprint(kind: str, error: str, place: str) -> str:
    """16 hexadecimal digits, equal for the same failure on another day, host and line.

    `place` is the innermost project frame without its line number: `train_utils.py:setup_train_loop`.
    """
    found = _EXCEPTION.match(error)
    name = found["name"].rpartition(".")[2] if found else ""
    import hashlib  # noqa: PLC0415 - 4 MB of a library that a log without a failure does not need

    content = "\n".join((kind, name, masked(error[:400]), place))
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:16]


def exit_code_class(code: int) -> FailureClass:
    """What an exit code alone says; 128 and more is a signal's number."""
    match code:
        case 124 | 152:  # SIGXCPU
            return FailureClass.TIMEOUT
        case 132 | 134 | 135 | 136 | 139:  # SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV
            return FailureClass.CRASH
        # SIGHUP, SIGINT, SIGKILL, SIGTERM: of want of memory, preemption or deletion none is all they say
        case 129 | 130 | 137 | 143:
            return FailureClass.TERMINATED
        case 153:  # SIGXFSZ
            return FailureClass.DISK_FULL
        case 2:
            return FailureClass.CONFIG
        case _:
            return FailureClass.UNKNOWN
