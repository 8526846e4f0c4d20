"""Jobs that take more than their share of time, memory, processes, disk or log: the failure is their own."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.clusters.interface import Isolation, Observation
from bot.clusters.local.job_folder import JobFolder
from bot.clusters.local.limits import JobLimits, default_limits
from bot.clusters.local.processes import descendants
from bot.clusters.local.scratch import make_scratch, remove_tree
from tests.clusters.local_bench import LocalBench
from tests.clusters.sandboxing import require_sandbox, running

MB = 10**6

FORK_BOMB = b"""
import os, time
for _ in range(2000):
    try:
        if os.fork() == 0:
            time.sleep(1000)
    except OSError:
        pass
time.sleep(1000)
"""

MEMORY_HOG = b"""
import os, time
kept = b'x' * (60 * 10**6)
for _ in range(4):
    if os.fork() == 0:
        more = b'y' * (60 * 10**6)
        time.sleep(1000)
time.sleep(1000)
"""

SHARING = b"""
import os, sys, time
kept = b'x' * (60 * 10**6)
for _ in range(8):
    if os.fork() == 0:
        time.sleep(2)
        sys.exit()
time.sleep(2.5)
print('shared')
"""

MEMORY_FILES = b"""
import os, time
kept = []
for number in range(8):
    file = os.memfd_create('hog')
    for _ in range(30):
        os.write(file, b'x' * 10**6)
    kept.append(file)
time.sleep(1000)
"""

FILL = b"""
import time
for number in range(1000):
    with open(f'{number}.bin', 'wb') as file:
        file.write(b'x' * 10**6)
time.sleep(1000)
"""

FILL_NAMELESS = b"""
import os, time
kept = []
for number in range(200):
    file = open(f'{number}.bin', 'wb')
    os.unlink(f'{number}.bin')
    file.write(b'x' * 10**6)
    file.flush()
    kept.append(file)
time.sleep(1000)
"""

DEEP = b"""
import os
for number in range(3000):
    os.mkdir('d')
    os.chdir('d')
    if number % 500 == 0:
        open(b'odd \\xff\\n name', 'w').close()
        os.symlink('/etc', 'link')
print('dug')
"""

FILES = {
    "fork_bomb.py": FORK_BOMB,
    "memory_hog.py": MEMORY_HOG,
    "sharing.py": SHARING,
    "memory_files.py": MEMORY_FILES,
    "fill.py": FILL,
    "fill_nameless.py": FILL_NAMELESS,
    "deep.py": DEEP,
}

LIMITS = JobLimits(memory_bytes=200 * MB, processes=200, log_bytes=MB, disk_bytes=50 * MB, seconds=20)

MakeBench = Callable[[JobLimits], LocalBench]


@pytest.fixture(params=list(Isolation), ids=str)
def make_bench(request: pytest.FixtureRequest, tmp_path: Path) -> MakeBench:
    """A cluster whose jobs are limited: with a sandbox, and without."""
    isolation: Isolation = request.param
    if isolation is Isolation.SANDBOXED:
        require_sandbox()
    return lambda limits: LocalBench(tmp_path, isolation, FILES, limits)


def _run(bench: LocalBench, command: str) -> Observation:
    bench.launch("mv-a", command)
    return bench.ended("mv-a")


def _reason(bench: LocalBench) -> str:
    return bench.log("mv-a").splitlines()[-3]


def _wait_until_removed(folder: Path) -> None:
    limit = time.monotonic() + 20
    while folder.exists():
        assert time.monotonic() < limit
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("fork_bomb", "it had more than 200 processes and threads"),
        ("memory_hog", "it used more than 200 MB of memory"),
        ("memory_files", "it kept more than 200 MB of files in memory"),
        ("fill", "its files took more than 50 MB"),
        ("fill_nameless", "its files took more than 50 MB"),
    ],
)
def test_a_job_beyond_a_limit_is_ended_and_says_why(make_bench: MakeBench, program: str, reason: str) -> None:
    """Its log has an end and a reason, its exit code is a killed program's, and nothing of it is left."""
    bench = make_bench(LIMITS)
    mark = f"{program}-{os.getpid()}-{bench.isolation}"
    assert _run(bench, f"python3 {program}.py {mark}").exit_code == 137
    assert _reason(bench) == f"maxview: job ended: {reason}"
    assert running(mark) == []
    _wait_until_removed(JobFolder(bench.root, "mv-a").path / "work")


def test_a_sandboxed_fork_bomb_meets_the_kernels_limit(tmp_path: Path) -> None:
    """Of an ordinary user: the kernel does not count root's processes."""
    require_sandbox()
    if os.getuid() == 0:
        pytest.skip("the kernel limits no process of root; the supervisor does")
    bench = LocalBench(tmp_path, Isolation.SANDBOXED, FILES, LIMITS)
    assert _run(bench, "python3 -c 'import resource as r; print(r.getrlimit(r.RLIMIT_NPROC))'").exit_code == 0
    assert bench.said("mv-a") == ["(200, 200)"]


@pytest.mark.parametrize("flood", ["yes", "tr '\\0' x < /dev/zero"])
def test_a_log_is_cut_at_its_limit(make_bench: MakeBench, flood: str) -> None:
    """Lines without end, and one line without end."""
    bench = make_bench(LIMITS)
    began = time.monotonic()
    assert _run(bench, f'sh -c "{flood}"').exit_code == 137
    assert time.monotonic() - began < 10
    assert _reason(bench) == f"maxview: job ended: it printed more than {MB} bytes, and its log is cut here"
    assert MB < JobFolder(bench.root, "mv-a").log.stat().st_size < MB + 500


def test_a_log_of_exactly_the_limit_is_whole(make_bench: MakeBench) -> None:
    """Nothing is missing of it, so nothing is wrong with it."""
    bench = make_bench(LIMITS)
    assert _run(bench, f"python3 -c 'print(\"x\" * {MB - 1})'").exit_code == 0
    assert bench.said("mv-a") == ["x" * (MB - 1)]


def test_the_operators_time_limit_holds(make_bench: MakeBench) -> None:
    """However long the repository allows."""
    bench = make_bench(JobLimits(memory_bytes=200 * MB, seconds=0.5))
    assert _run(bench, "sleep 100").exit_code == 124


def test_memory_that_processes_share_counts_once(make_bench: MakeBench) -> None:
    """Nine processes see the same 60 MB."""
    bench = make_bench(JobLimits(memory_bytes=250 * MB))
    assert _run(bench, "python3 sharing.py").exit_code == 0
    assert bench.said("mv-a") == ["shared"]


def test_a_file_beyond_the_limit_cannot_be_written(make_bench: MakeBench) -> None:
    """The kernel refuses it at once; the job's own message stands in its log."""
    bench = make_bench(LIMITS)
    assert _run(bench, "python3 -c \"open('a', 'wb').truncate(10**9)\"").exit_code == 1
    assert "File too large" in bench.log("mv-a")


def test_a_limit_cannot_be_raised_by_the_job(make_bench: MakeBench) -> None:
    """Soft and hard limits are the same, so `ulimit` does not undo them."""
    bench = make_bench(LIMITS)
    bench.launch("mv-a", "python3 -c 'import resource as r; print(r.getrlimit(r.RLIMIT_AS))'", memory_mb=400)
    bench.ended("mv-a")
    assert bench.said("mv-a") == [str((400 * 2**20, 400 * 2**20))]


def test_what_a_job_leaves_is_removed_whatever_it_is(make_bench: MakeBench) -> None:
    """Folders deeper than any path may be long, closed folders, links and odd names."""
    bench = make_bench(default_limits())
    assert (
        _run(
            bench, "python3 deep.py; mkdir -p closed/in; chmod 0 closed/in closed; touch -- -rf '*'"
        ).exit_code
        == 0
    )
    assert bench.said("mv-a") == ["dug"]
    _wait_until_removed(JobFolder(bench.root, "mv-a").path / "work")
    assert Path("/etc/passwd").exists()


def test_a_link_is_removed_and_not_what_it_leads_to(tmp_path: Path) -> None:
    """Also where the folder itself is the link."""
    kept = tmp_path / "kept"
    (kept / "in").mkdir(parents=True)
    (tmp_path / "link").symlink_to(kept)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link").symlink_to(kept)
    for name in ("link", "folder", "missing"):
        remove_tree(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "in").exists()


def test_scratch_is_made_anew(tmp_path: Path) -> None:
    """What a killed supervisor left is not the next run's."""
    (tmp_path / "commit").mkdir()
    (tmp_path / "commit" / "a").touch()
    for _ in range(2):
        make_scratch(tmp_path / "job", tmp_path / "commit")
        (tmp_path / "job" / "home" / "left").touch()
    make_scratch(tmp_path / "job", tmp_path / "commit")
    assert sorted(path.name for path in (tmp_path / "job").rglob("*")) == ["a", "home", "tmp", "work"]


def test_descendants_are_all_below_a_process() -> None:
    """Children of children too, and nobody else."""
    with subprocess.Popen(["/bin/sh", "-c", "sleep 100 & sleep 100 & wait"]) as shell:
        limit = time.monotonic() + 10
        while len(descendants(shell.pid).groups) < 2:
            assert time.monotonic() < limit
        assert descendants(shell.pid).threads == 2
        for process in descendants(shell.pid).groups:
            os.kill(process, 9)
        shell.wait()
    assert descendants(shell.pid).groups == {}
