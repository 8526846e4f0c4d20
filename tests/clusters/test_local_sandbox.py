"""Attacks of a job on the server, each of which succeeds without a sandbox."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.clusters.interface import Isolation, JobState
from bot.clusters.local import sandbox
from bot.clusters.local.cluster import LocalCluster
from bot.clusters.local.job_folder import JobFolder
from bot.clusters.local.sandbox import SandboxView, default_view, is_below
from bot.errors import UserError
from tests.clusters.local_bench import PATIENCE, LocalBench, run_async
from tests.clusters.sandboxing import require_sandbox, running, wait_until_gone

SECRET = "c0ffee-top-secret"

SEARCH = b"""
import os, sys
needle, found, seen = sys.argv[1].encode()[::-1], [], 0
for root in sys.argv[2:]:
    for folder, folders, files in os.walk(root):
        if folder == '/':
            folders[:] = [f for f in folders if f not in {'usr', 'lib', 'lib64', 'bin', 'sbin', 'sys'}]
        if folder == '/proc':
            folders[:] = [f for f in folders if f.isdigit() and f != str(os.getpid())]
            continue
        if folder.startswith('/proc/'):
            folders[:] = []
            files = {'environ', 'cmdline'} & set(files)
        for name in files:
            try:
                if not os.path.isfile(os.path.join(folder, name)):
                    continue
                with open(os.path.join(folder, name), 'rb') as file:
                    if needle in file.read(1 << 20):
                        found.append(os.path.join(folder, name))
                seen += 1
            except OSError:
                pass
print('searched', seen > 5)
print('found', len(found), found[:3])
"""

CALL = b"""
import socket, sys
def reach(family, address):
    try:
        with socket.socket(family) as s:
            s.settimeout(5)
            s.connect(address)
            return 'reached'
    except OSError:
        return 'refused'
print('loopback', reach(socket.AF_INET, ('127.0.0.1', int(sys.argv[1]))))
print('abstract', reach(socket.AF_UNIX, '\\0' + sys.argv[2]))
print('path', reach(socket.AF_UNIX, sys.argv[3]))
"""

WRITE = b"""
import os
written = []
for folder, folders, files in os.walk('/'):
    if folder.startswith(('/proc', '/sys')):
        continue
    try:
        open(os.path.join(folder, 'attack'), 'w').close()
        written.append(folder)
    except OSError:
        pass
for setting in ('/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/proc/sys/vm/drop_caches'):
    try:
        os.close(os.open(setting, os.O_WRONLY))
        written.append(setting)
    except OSError:
        pass
print(sorted(written))
"""

DAEMON = b"""
import os, subprocess, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.environ.clear()
        null = os.open('/dev/null', os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        os.closerange(3, 100)
        os.execv('/bin/sh', ['/bin/sh', '-c', 'while true; do sleep 0.1; done', sys.argv[1]])
    os._exit(0)
os.wait()
print('left', flush=True)
"""

BREAK_OUT = b"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def refused(result):
    return 'refused' if result < 0 else 'done'
print('namespace', refused(libc.unshare(0x10000000)))
print('mount', refused(libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)))
print('unmount', refused(libc.umount2(b'/proc/sys', 2)))
print('root', os.getuid() == 0)
print('capabilities', [l.split()[1] for l in open('/proc/self/status') if l.startswith(('CapEff', 'CapPrm'))])
print('variables of the first process', open('/proc/1/environ').read())
"""

FILES = {
    "search.py": SEARCH,
    "call.py": CALL,
    "write.py": WRITE,
    "daemon.py": DAEMON,
    "break_out.py": BREAK_OUT,
}

MakeBench = Callable[[Isolation], LocalBench]


@pytest.fixture
def make_bench(tmp_path: Path) -> MakeBench:
    """A cluster with the attacks in its repository; the test is skipped where no sandbox can be had."""
    require_sandbox()

    def make(isolation: Isolation) -> LocalBench:
        return LocalBench(tmp_path / isolation.value, isolation, FILES)

    return make


@pytest.fixture
def sealed(make_bench: MakeBench) -> LocalBench:
    """A cluster of one's own, whose jobs are sandboxed."""
    return make_bench(Isolation.SANDBOXED)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has a secret in its environment and in its memory."""
    with subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(1000)"], env={"KEY": SECRET}
    ) as process:
        yield process
        process.kill()


def _lines(bench: LocalBench, command: str) -> list[str]:
    bench.launch("mv-a", command)
    bench.ended("mv-a")
    return bench.said("mv-a")


def test_no_file_and_no_process_gives_a_secret_away(
    make_bench: MakeBench, server: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    """Key, database, artifacts and other jobs' files, and the environment of the server; a job without a
    sandbox finds them all."""
    found: dict[Isolation, str] = {}
    roots = {Isolation.SANDBOXED: "/", Isolation.UNSANDBOXED: f"'{tmp_path}' /proc"}
    for isolation in Isolation:
        bench = make_bench(isolation)
        data = bench.root.parent
        for name in (
            "key.pem",
            "maxview.sqlite",
            "artifacts/runs/1/log.txt",
            "cluster/jobs/.gone-mv-b/scratch/x",
        ):
            (data / name).parent.mkdir(parents=True, exist_ok=True)
            (data / name).write_text(f"xx{SECRET}xx")
        first, last = _lines(bench, f"python3 search.py {SECRET[::-1]} {roots[isolation]}")
        assert first == "searched True"
        found[isolation] = last
    assert found[Isolation.SANDBOXED] == "found 0 []"
    assert int(found[Isolation.UNSANDBOXED].split()[1]) >= 5


def test_what_is_hidden_stays_hidden_in_a_visible_folder(sealed: LocalBench, tmp_path: Path) -> None:
    """An operator's data may lie below a folder that jobs see, and the key is then no file but nothing."""
    tools = tmp_path / "tools"
    for name in ("data/maxview.sqlite", "key.pem", "tool.txt"):
        (tools / name).parent.mkdir(parents=True, exist_ok=True)
        (tools / name).write_text(name)
    view = SandboxView(visible=(str(tools),), hidden=(str(tools / "data"), str(tools / "key.pem")))
    sealed.cluster = LocalCluster(sealed.root, view=view)
    lines = _lines(sealed, f"cd '{tools}'; cat tool.txt; echo; ls data; cat key.pem; echo x > new")
    assert lines[0] == "tool.txt"
    assert [line.rpartition(": ")[2] for line in lines[1:]] == ["Permission denied", "Read-only file system"]


def test_a_job_sees_a_python_that_is_not_the_systems(sealed: LocalBench) -> None:
    """The one that runs us, without our packages."""
    sealed.cluster = LocalCluster(sealed.root, view=default_view(sealed.root))
    python = Path(sys.base_prefix) / "bin" / "python3"
    assert _lines(sealed, f"'{python}' -c 'import json; import msgspec'")[-1].startswith(
        "ModuleNotFoundError"
    )
    assert default_view(python).visible == default_view(Path(sys.base_prefix).parent).visible == ()
    assert is_below(sealed.root / "..", sealed.root.parent)


def test_nothing_listens_to_a_job(make_bench: MakeBench, tmp_path: Path) -> None:
    """Not the server on loopback, no abstract socket, no socket in a folder."""
    answers: dict[Isolation, list[str]] = {}
    for isolation in Isolation:
        name = f"maxview-test-{os.getpid()}-{isolation}"
        path = str(tmp_path / isolation / "s")
        bench = make_bench(isolation)
        with socket.create_server(("127.0.0.1", 0)) as loopback, socket.socket(socket.AF_UNIX) as abstract:
            abstract.bind("\0" + name)
            abstract.listen()
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(path)
                bound.listen()
                port = loopback.getsockname()[1]
                answers[isolation] = _lines(bench, f"python3 call.py {port} {name} '{path}'")
    assert answers[Isolation.SANDBOXED] == ["loopback refused", "abstract refused", "path refused"]
    assert answers[Isolation.UNSANDBOXED] == ["loopback reached", "abstract reached", "path reached"]


def test_a_job_writes_to_its_own_folders_only(sealed: LocalBench) -> None:
    """Its checkout, home, temporary folder and shared memory; no setting of the kernel, which root could."""
    [written] = _lines(sealed, "python3 write.py")
    own = ("/job/work", "/job/home", "/tmp", "/dev/shm")  # noqa: S108 - of the sandbox
    outside = [path for path in eval(written) if not path.startswith(own)]  # noqa: S307
    assert outside == []
    assert "/job/work" in written


def test_a_job_cannot_leave_its_namespaces(sealed: LocalBench) -> None:
    """It has no capability, can make no namespace in which it had some, and mounts nothing."""
    assert _lines(sealed, "python3 break_out.py") == [
        "namespace refused",
        "mount refused",
        "unmount refused",
        "root False",
        f"capabilities {['0' * 16, '0' * 16]}",
        "variables of the first process ",
    ]


def test_a_job_cannot_signal_or_trace_the_server(
    make_bench: MakeBench, server: subprocess.Popen[bytes]
) -> None:
    """To it the server's process does not exist."""
    assert _lines(make_bench(Isolation.SANDBOXED), f"kill -0 {server.pid}; ls /proc/{server.pid}; true")[
        -1
    ].endswith("No such file or directory")
    assert _lines(make_bench(Isolation.UNSANDBOXED), f"kill -9 {server.pid}; true") == []
    assert server.wait(PATIENCE) == -signal.SIGKILL


@pytest.mark.parametrize("isolation", list(Isolation))
def test_a_daemon_does_not_outlive_its_job(make_bench: MakeBench, isolation: Isolation) -> None:
    """A session of its own, two forks, no environment, no file of ours open: it is ended all the same."""
    mark = f"daemon-{isolation}-{os.getpid()}"
    bench = make_bench(isolation)
    assert _lines(bench, f"python3 daemon.py {mark}; sleep 0.3") == ["left"]
    assert running(mark) == []


@pytest.mark.parametrize("isolation", list(Isolation))
def test_a_daemon_does_not_outlive_a_deleted_job(make_bench: MakeBench, isolation: Isolation) -> None:
    """The job is deleted while it runs."""
    mark = f"daemon-{isolation}-{os.getpid()}"
    bench = make_bench(isolation)
    bench.launch("mv-a", f"python3 daemon.py {mark}; sleep 100")
    bench.until_logged("mv-a", "left")
    run_async(bench.cluster.delete("mv-a"))
    wait_until_gone(mark)
    assert bench.log("mv-a").endswith("EXIT_CODE=143\n")


def test_a_sandbox_ends_with_its_supervisor(sealed: LocalBench) -> None:
    """The supervisor is killed, which it cannot see coming; even a daemon ends."""
    mark = f"daemon-{os.getpid()}"
    sealed.launch("mv-a", f"python3 daemon.py {mark}; sleep 100")
    sealed.until_logged("mv-a", "left")
    assert running(mark) != []
    supervisor = JobFolder(sealed.root, "mv-a").read("supervisor")
    assert supervisor is not None
    os.kill(supervisor, signal.SIGKILL)
    wait_until_gone(mark)
    assert sealed.ended("mv-a").exit_code is None


def test_a_killed_supervisor_leaves_no_session_behind(tmp_path: Path) -> None:
    """Without a sandbox what the job left is found by its environment, in whatever session it is."""
    bench = LocalBench(tmp_path)
    mark = f"left-{os.getpid()}"
    bench.launch("mv-a", f"setsid sh -c 'while true; do sleep 0.1; done' {mark} & echo up; sleep 100")
    bench.until_logged("mv-a", "up")
    while not running(mark):
        time.sleep(0.01)
    supervisor = JobFolder(bench.root, "mv-a").read("supervisor")
    assert supervisor is not None
    os.kill(supervisor, signal.SIGKILL)
    bench.ended("mv-a")
    wait_until_gone(mark)


def test_exit_codes_are_a_shells(sealed: LocalBench) -> None:
    """The program's own, 128 and the signal, 127 where it is missing, 124 and 137 where its time is over."""
    deaf = "trap '' TERM; echo deaf; sleep 100 & wait; sleep 100"
    sealed.launch("mv-a", "sh -c 'exit 3'")
    sealed.launch("mv-b", "kill -SEGV $$")
    sealed.launch("mv-c", "no-such-program")
    sealed.launch("mv-d", "sleep 100", timeout=0.5)
    sealed.launch("mv-e", deaf, timeout=0.5)
    sealed.launch("mv-f", "python3 -c 'bytearray(900 * 2**20)'", memory_mb=400)
    codes = [sealed.ended(f"mv-{letter}").exit_code for letter in "abcdef"]
    assert codes == [3, 139, 127, 124, 137, 1]


def test_a_program_in_a_sandbox_is_asked_before_it_is_killed(sealed: LocalBench) -> None:
    """It may write its last line."""
    sealed.launch("mv-a", "trap 'echo bye; exit 5' TERM; echo up; while true; do sleep 0.05; done")
    sealed.until_logged("mv-a", "up")
    run_async(sealed.cluster.delete("mv-a"))
    assert "bye" in sealed.said("mv-a")


def test_no_sandbox_no_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it cannot be had, a sandboxed job is refused with what to install, and nothing is run."""
    monkeypatch.setattr(sandbox._SandboxSupport, "bubblewrap", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    bench = LocalBench(tmp_path, Isolation.SANDBOXED)
    with pytest.raises(UserError, match=r"cannot sandbox jobs\..*apt-get install bubblewrap"):
        bench.launch("mv-a", "true")
    assert run_async(bench.cluster.names()) == frozenset()


def test_a_sandbox_that_does_not_work_is_refused_with_what_to_enable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is really tried: bubblewrap alone proves nothing."""
    monkeypatch.setattr(sandbox._SandboxSupport, "bubblewrap", "")
    (tmp_path / "bwrap").write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n"
    )
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert "No permissions to create new namespace" in sandbox.sandbox_problem()
    assert "user.max_user_namespaces" in sandbox.sandbox_problem()


def test_a_job_that_nobody_isolated_is_sandboxed(make_bench: MakeBench) -> None:
    """An order of a version that knew no isolation."""
    bench = make_bench(Isolation.SANDBOXED)
    assert bench.job("mv-a", "true").isolation is Isolation.SANDBOXED
    order = (
        b'{"job": {"name": "mv-a", "repository": "/r.git", "sha": "ab", "case": "01", "variant": "default",'
    )
    order += b' "command": "true", "run_name": "run-a", "timeout_seconds": 20}, "turn": 1, "commit": "/c",'
    folder = JobFolder(bench.root, "mv-a")
    folder.path.mkdir(parents=True)
    (folder.path / "job.json").write_bytes(order + b' "grace_seconds": 5.0}')
    assert folder.read_order().job.isolation is Isolation.SANDBOXED


def test_the_server_may_be_killed(sealed: LocalBench) -> None:
    """The supervisor is nobody's child: a job goes on, is found again, and ends at its limit."""
    code = (
        "import sys; from pathlib import Path; from bot.clusters.interface import Isolation;"
        "from tests.clusters.local_bench import LocalBench; import os, signal;"
        "b = LocalBench(Path(sys.argv[1]), Isolation.SANDBOXED);"
        "b.launch('mv-a', 'echo up; sleep 100', timeout=2.0); b.until_logged('mv-a', 'up');"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    place = sealed.folder / "server"
    killed = subprocess.run([sys.executable, "-c", code, str(place)], check=False)
    assert killed.returncode == -signal.SIGKILL
    sealed.cluster = LocalCluster(place / "a place with spaces" / "cluster")
    assert run_async(sealed.cluster.observe("mv-a")).state is JobState.RUNNING
    assert sealed.ended("mv-a").exit_code == 124


def test_the_log_is_out_of_reach(tmp_path: Path) -> None:
    """A job cannot empty its log, by which it would get rid of the commit that it measures."""
    bench = LocalBench(tmp_path)
    bench.launch(
        "mv-a", "echo one; python3 -c 'import os; os.ftruncate(1, 0)'; : > /proc/self/fd/1; echo two"
    )
    bench.ended("mv-a")
    assert bench.log("mv-a").startswith("XPK Start: ")
    assert {"one", "two"} <= set(bench.said("mv-a"))


@pytest.mark.parametrize(
    "attack", ["ln -sf '{secret}' '{log}'", "rm '{log}'; mkfifo '{log}'", "rm '{log}'; mkdir '{log}'"]
)
def test_a_log_that_is_no_file_is_not_read(tmp_path: Path, attack: str) -> None:
    """A job without a sandbox puts a link to a secret in the place of its log, or a pipe that never ends."""
    bench = LocalBench(tmp_path)
    secret, log = tmp_path / "secret.txt", JobFolder(bench.root, "mv-a").log
    secret.write_text(f"completed step: 7, {SECRET}\n")
    bench.launch("mv-a", attack.format(secret=secret, log=log) + "; touch done; sleep 0.2")
    seen = bench.ended("mv-a")
    assert (seen.log_uri, seen.last_step) == (None, None)
    with pytest.raises(UserError, match="has no log"), bench.cluster.open_log("mv-a"):
        pass


def test_threads_work_in_a_sandbox(sealed: LocalBench) -> None:
    """The system calls that are refused are none that a training program needs."""
    program = (
        "import getpass, multiprocessing as m, ssl, threading;"
        "t = threading.Thread(target=print, args=(1,)); t.start(); t.join();"
        "q = m.Queue(); p = m.Process(target=q.put, args=(2,)); p.start(); print(q.get()); p.join();"
        "print(getpass.getuser())"
    )
    assert _lines(sealed, f'python3 -c "{program}"') == ["1", "2", "job"]
