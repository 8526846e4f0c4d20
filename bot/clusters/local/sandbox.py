"""Runs a job's program where it sees nothing of the server: no files, no processes, no network.

The sandbox is bubblewrap's: namespaces of its own for users, mounts, processes, network, IPC, host name and
cgroups; the system's programs read-only; the job's checkout and scratch folders; nothing else. The program
ends with the supervisor, and everything it started ends with it. Only bubblewrap is supported: systemd's
units would need the system's manager, which a server in a container does not have.
"""

import os
import platform
import shutil
import struct
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from bot.clusters.local.scratch import SCRATCH_FOLDERS

INSIDE = Path("/job")
"""Where a job's own folders are inside of the sandbox."""

INSIDE_TEMPORARY = Path("/tmp")  # noqa: S108 - nobody else is inside

_NOBODY = "65534"

_NAMESPACES = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--uid",
    _NOBODY,
    "--gid",
    _NOBODY,
    "--hostname",
    "job",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
)

_NO_NESTED_NAMESPACES = "--disable-userns"
"""Not in bubblewrap before 0.8; the system call filter forbids the same."""

_SYSTEM_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")

_SYSTEM_FILES = (
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
)

_KERNEL_SETTINGS = (
    "/proc/acpi",
    "/proc/asound",
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/mtrr",
    "/proc/scsi",
    "/proc/sys",
    "/proc/sysrq-trigger",
)
"""The kernel lets root write to some of these even without any capability: `core_pattern` names a program
that it starts outside of every sandbox."""

_KERNEL_SECRETS = ("/proc/kcore", "/proc/keys", "/proc/kmsg", "/proc/sched_debug", "/proc/timer_list")

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - as above

_PASSWORDS = f"job:x:{_NOBODY}:{_NOBODY}::{INSIDE / 'home'}:/bin/sh\n"

_GROUPS = f"job:x:{_NOBODY}:\n"

_PROBE_SECONDS = 20.0

_INSTALL = "Install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap)."

_ENABLE = (
    "Allow user namespaces: the kernel settings user.max_user_namespaces, kernel.unprivileged_userns_clone "
    "and kernel.apparmor_restrict_unprivileged_userns; in a container also its seccomp profile and what it "
    "masks of /proc."
)


class SandboxView(Struct, frozen=True, kw_only=True):
    """What the operator lets a job see besides the system: `visible` read-only paths, or devices below
    `/dev`; `hidden` stays out of sight even inside of a visible path."""

    visible: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


DEFAULT_VIEW = SandboxView()
"""The system alone."""


class SandboxCommand(Struct, frozen=True):
    """A command line, and the open files that it names by number."""

    words: tuple[str, ...]
    files: tuple[int, ...]

    def close(self) -> None:
        """Close our copies of the files, once the command is started."""
        for descriptor in self.files:
            os.close(descriptor)


class _SandboxSupport:
    """What a real trial said: kept once it worked, repeated while it does not."""

    bubblewrap: str = ""
    options: tuple[str, ...] = ()


def sandbox_problem() -> str:
    """Why no job can be sandboxed here, and what to install or enable; empty where it works."""
    if _SandboxSupport.bubblewrap:
        return ""
    if sys.platform != "linux":
        return "Sandboxed jobs need Linux."
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        return _INSTALL
    problem = ""
    for options in ((_NO_NESTED_NAMESPACES,), ()):
        problem = _try_sandbox(bubblewrap, options)
        if not problem:
            _SandboxSupport.bubblewrap, _SandboxSupport.options = bubblewrap, options
            return ""
    return f"bubblewrap cannot make a sandbox here ({problem}). {_ENABLE}"


def _try_sandbox(bubblewrap: str, options: Sequence[str]) -> str:
    """Start a trivial program in a whole sandbox; returns what went wrong."""
    words = ["/bin/sh", "-c", ":"]
    command = _command(bubblewrap, options, _mounts(SandboxView()), words)
    try:
        tried = subprocess.run(
            command.words,
            pass_fds=command.files,
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    finally:
        command.close()
    if tried.returncode == 0:
        return ""
    said = tried.stderr.decode("utf-8", "replace").strip().splitlines()
    return said[-1] if said else f"exit code {tried.returncode}"


def sandbox_command(
    words: Sequence[str],
    *,
    folder: Path,
    view: SandboxView,
    environment: Mapping[str, str],
    memory_bytes: int,
) -> SandboxCommand:
    """The command that runs `words` in a sandbox, with the scratch folders of `folder`.

    `environment` is the program's whole environment. It is not bubblewrap's: a variable such as LD_PRELOAD
    would act outside of the sandbox. Raises OSError where no sandbox can be made here.
    """
    if problem := sandbox_problem():
        raise OSError(problem)
    scratch = [
        word for name in SCRATCH_FOLDERS for word in ("--bind", str(folder / name), str(_inside(name)))
    ]
    mounts = _mounts(view, memory_bytes=memory_bytes, scratch=scratch)
    variables = [word for name, value in environment.items() for word in ("--setenv", name, value)]
    settings = [*mounts, *variables, "--chdir", str(INSIDE / "work")]
    return _command(_SandboxSupport.bubblewrap, _SandboxSupport.options, settings, words)


def _inside(scratch: str) -> Path:
    """Where a scratch folder is inside of the sandbox."""
    return INSIDE_TEMPORARY if scratch == "tmp" else INSIDE / scratch


def _command(
    bubblewrap: str, options: Sequence[str], settings: Sequence[str], words: Sequence[str]
) -> SandboxCommand:
    """Settings are handed over in a file: every user can see a command line, and its length is limited."""
    files = [_open_text(text) for text in (_PASSWORDS, _GROUPS)]
    accounts = ["--ro-bind-data", str(files[0]), "/etc/passwd", "--ro-bind-data", str(files[1]), "/etc/group"]
    filters: list[str] = []
    if program := _system_call_filter(platform.machine()):
        files.append(_open_bytes(program))
        filters = ["--seccomp", str(files[-1])]
    # Accounts come before the root folder is made read-only, which is the last of the settings.
    text = [*_NAMESPACES, *options, *filters, *accounts, *settings]
    files.append(_open_bytes(b"".join(word.encode("utf-8", "surrogateescape") + b"\0" for word in text)))
    # A shell reports a program that is missing as shells do, with exit code 127.
    shell = ("/bin/sh", "-c", 'exec "$@"', "sh")
    return SandboxCommand((bubblewrap, "--args", str(files[-1]), "--", *shell, *words), tuple(files))


def _mounts(view: SandboxView, *, memory_bytes: int = 2**30, scratch: Sequence[str] = ()) -> list[str]:
    words = ["--ro-bind", "/usr", "/usr"]
    for folder in map(Path, _SYSTEM_FOLDERS):
        if folder.is_symlink():
            words += ["--symlink", str(folder.readlink()), str(folder)]
        elif folder.is_dir():
            words += ["--ro-bind", str(folder), str(folder)]
    for path in _SYSTEM_FILES:
        words += ["--ro-bind-try", path, path]
    words += ["--proc", "/proc"]
    for path in filter(os.path.exists, _KERNEL_SETTINGS):
        words += ["--ro-bind", path, path]
    for path in filter(os.path.exists, _KERNEL_SECRETS):
        words += ["--ro-bind", "/dev/null", path]
    words += ["--dev", "/dev", "--size", str(memory_bytes), "--tmpfs", _SHARED_MEMORY, *scratch]
    for path in view.visible:
        kind = "--dev-bind" if Path(path).is_relative_to("/dev") else "--ro-bind"
        words += [kind, path, path]
    words += [word for path in ("/usr", *view.visible) for word in _masks(path, view.hidden)]
    return [*words, "--remount-ro", "/dev", "--remount-ro", "/"]


def _masks(visible: str, hidden: Collection[str]) -> list[str]:
    """Cover what is hidden inside of a visible folder."""
    words: list[str] = []
    real = Path(visible).resolve()
    for path in (Path(one).resolve() for one in hidden):
        if path != real and path.is_relative_to(real) and path.exists():
            inside = str(Path(visible) / path.relative_to(real))
            cover = ["--tmpfs", inside, "--remount-ro", inside]
            words += cover if path.is_dir() else ["--ro-bind", "/dev/null", inside]
    return words


def default_view(*hidden: Path) -> SandboxView:
    """A job sees the Python that runs us, without our packages, also where it is not the system's."""
    python = Path(sys.base_prefix).resolve()
    own = any(is_below(python, path) or is_below(path, python) for path in hidden)
    visible = () if own or is_below(python, Path("/usr")) else (str(python),)
    return SandboxView(visible=visible, hidden=("/usr/local/etc", *map(str, hidden)))


def is_below(path: Path, folder: Path) -> bool:
    """Whether a path is this folder or in it, links resolved."""
    return path.resolve().is_relative_to(folder.resolve())


def _open_text(text: str) -> int:
    return _open_bytes(text.encode())


def _open_bytes(content: bytes) -> int:
    """A file without a name that holds this content, for a program that we start."""
    descriptor = os.memfd_create("maxview")
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


# The system calls that no job needs and that attacks on kernels begin with, or whose memory nobody counts
# (shmget): numbers by machine. A filter refuses them with ENOSYS, as a kernel without them would.
_REFUSED_CALLS: Mapping[str, tuple[int, int, tuple[int, ...]]] = {
    # Architecture, `clone`, then: shmget add_key request_key keyctl bpf perf_event_open userfaultfd
    # kexec_load kexec_file_load init_module finit_module delete_module mount umount2 pivot_root setns
    # open_by_handle_at acct quotactl swapon swapoff syslog
    "x86_64": (
        0xC000003E,
        56,
        (29, 248, 249, 250, 321, 298, 323, 246, 320, 175, 313, 176, 165, 166, 155, 308, 304,
         163, 179, 167, 168, 103),
    ),
    "aarch64": (
        0xC00000B7,
        220,
        (194, 217, 218, 219, 280, 241, 282, 104, 294, 105, 273, 106, 40, 39, 41, 268, 265,
         89, 60, 224, 225, 116),
    ),
}  # fmt: skip

# The same everywhere: io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen fsconfig
# fsmount fspick clone3 mount_setattr. Of clone3 a filter cannot see the flags; libraries use clone instead.
_REFUSED_EVERYWHERE = (425, 426, 427, 428, 429, 430, 431, 432, 433, 435, 442)

_UNSHARE = {"x86_64": 272, "aarch64": 97}

_CLONE_NEWUSER = 0x10000000

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06

_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 38

_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16

_OTHER_NUMBERING = 0x40000000
"""x32 programs number the same calls from here on."""


def _system_call_filter(machine: str) -> bytes:
    """A seccomp program for this machine; empty where we do not know its numbers."""
    known = _REFUSED_CALLS.get(machine)
    if known is None:
        return b""
    architecture, clone, numbers = known
    refused = (*numbers, *_REFUSED_EVERYWHERE)
    # Both jumps over what follows lead to the last instruction, which refuses.
    tail = [
        (_EQUAL, 1, 0, clone),
        (_EQUAL, 0, 2, _UNSHARE[machine]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_AT),
        (_ANY_BIT, 1, 0, _CLONE_NEWUSER),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    middle: list[tuple[int, int, int, int]] = [
        (_EQUAL, len(refused) - index + len(tail) - 2, 0, number) for index, number in enumerate(refused)
    ]
    to_refusal = len(middle) + len(tail)
    head = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 0, to_refusal + 1, architecture),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_AT_LEAST, to_refusal - 1, 0, _OTHER_NUMBERING),
    ]
    return b"".join(struct.pack("=HBBI", *one) for one in [*head, *middle, *tail])
