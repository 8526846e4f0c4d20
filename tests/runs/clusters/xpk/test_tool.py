"""Calls of `xpk` and `gcloud`: what they get, and what becomes of them."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from bot.errors import Told, TryLater
from bot.runs.clusters.xpk import tool
from bot.runs.clusters.xpk.tool import Endpoint, Tool
from tests.runs.clusters.xpk.stage import PLACE


def program(folder: Path, name: str, script: str) -> Path:
    """An executable of this name."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def call(folder: Path, script: str) -> None:
    """Call an `xpk` that does this."""
    xpk = program(folder / "a place with spaces", "xpk", script)
    asyncio.run(Tool(xpk=[str(xpk)], folder=folder / "tool").call_xpk(["workload", "create"]))


def test_a_call_gets_a_kubeconfig_of_its_own_and_none_of_our_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two calls would else rewrite each other's; standard input is closed; telemetry is off."""
    monkeypatch.setenv("GITHUB_WEBHOOK_SECRET", "secret")
    monkeypatch.setenv("DATABASE_URL", "postgresql://secret")
    monkeypatch.setenv("CLOUDSDK_CONFIG", "/somewhere")
    seen = tmp_path / "seen"
    for _ in range(2):
        call(tmp_path, f"env >> '{seen}'; read line || echo 'closed=1' >> '{seen}'")
    lines = seen.read_text().splitlines()
    environment = [line.partition("=") for line in lines]
    names = {name for name, _, _ in environment}
    assert {"GITHUB_WEBHOOK_SECRET", "DATABASE_URL"} & names == set()
    assert {"PATH", "HOME", "CLOUDSDK_CONFIG"} <= names
    assert len({value for name, _, value in environment if name == "KUBECONFIG"}) == 2
    assert lines.count("TELEMETRY_ENABLED=false") == 2
    assert lines.count("closed=1") == 2
    assert list((tmp_path / "tool").iterdir()) == []


def test_what_a_killed_call_left_is_cleared_away(tmp_path: Path) -> None:
    """Its folder holds a kubeconfig; the folder of a call that is under way stays."""
    for name, at in (("call-old", 1.0), ("call-new", time.time())):
        (tmp_path / "tool" / name).mkdir(parents=True)
        os.utime(tmp_path / "tool" / name, (at, at))
    call(tmp_path, "true")
    assert [path.name for path in (tmp_path / "tool").iterdir()] == ["call-new"]


def test_a_failed_call_is_told_with_its_last_words(tmp_path: Path) -> None:
    """What xpk says last is the reason; it has ended, so that what it did can be looked up."""
    with pytest.raises(TryLater, match=r"ended with 1: \[XPK\] two / three") as failed:
        call(tmp_path, "echo; echo '[XPK] two'; echo three >&2; exit 1")
    assert not failed.value.may_have_acted
    with pytest.raises(Told, match="xpk does not understand the call"):
        call(tmp_path, "exit 2")


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    """It is for the operator to install it."""
    missing = Tool(xpk=[str(tmp_path / "no xpk")], folder=tmp_path / "tool")
    with pytest.raises(Told, match=r"no xpk cannot be started: .* Install it where MaxView runs"):
        asyncio.run(missing.call_xpk(["workload", "create"]))


def test_a_call_that_hangs_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prompt that nobody answers must not hold a place for ever."""
    monkeypatch.setattr(tool, "CALL_SECONDS", 0.3)
    child = tmp_path / "child"
    with pytest.raises(TryLater, match="did not end") as ended:
        call(tmp_path, f"sleep 100 & echo $! > '{child}'; wait")
    assert ended.value.may_have_acted
    limit = time.monotonic() + 10
    while _lives(int(child.read_text())):
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_a_cancelled_call_leaves_nothing_running(tmp_path: Path) -> None:
    """The bot is asked to end while xpk works."""
    child = tmp_path / "child"

    async def cancelled() -> None:
        xpk = program(tmp_path, "xpk", f"echo $$ > '{child}'; sleep 100")
        task = asyncio.create_task(Tool(xpk=[str(xpk)], folder=tmp_path / "tool").call_xpk(["a", "b"]))
        await asyncio.to_thread(_wait_for, child)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert not _lives(int(child.read_text()))


@pytest.mark.parametrize(
    ("image", "pinned"),
    [
        ("gcr.io/p/i:abc", "gcr.io/p/i@sha256:" + "5e" * 32),
        ("us-docker.pkg.dev/p/r/i", "us-docker.pkg.dev/p/r/i@sha256:" + "5e" * 32),
        ("us-docker.pkg.dev:443/p/r/i", "us-docker.pkg.dev:443/p/r/i@sha256:" + "5e" * 32),
        ("gcr.io/p/i@sha256:" + "0" * 64, "gcr.io/p/i@sha256:" + "0" * 64),
        ("docker.io/library/i:abc", "docker.io/library/i:abc"),
    ],
)
def test_an_image_is_pinned_where_its_registry_can_be_asked(
    image: str, pinned: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tag gives way to the digest; a registry that is not Google's is not asked."""
    program(tmp_path / "bin", "gcloud", f"echo warning >&2; echo sha256:{'5e' * 32}")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    found = asyncio.run(Tool(xpk=["xpk"], folder=tmp_path / "tool").pinned(image, "p"))
    assert pinned == found


def test_a_project_without_the_cluster_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration names a cluster that is not there, or gcloud cannot be asked."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    ours = Tool(xpk=["xpk"], folder=tmp_path / "tool")
    program(tmp_path / "bin", "gcloud", "exit 0")
    with pytest.raises(Told, match="my-project has no cluster v6e-bench"):
        asyncio.run(ours.kubeconfig(PLACE, Endpoint.DNS))
    program(tmp_path / "bin", "gcloud", "echo no credentials >&2; exit 1")
    with pytest.raises(TryLater, match="gcloud clusters list: no credentials"):
        asyncio.run(ours.kubeconfig(PLACE, Endpoint.DNS))


def _wait_for(path: Path) -> None:
    while not path.exists() or not path.read_text().strip():
        time.sleep(0.01)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "zombie" not in Path(f"/proc/{process}/status").read_text()
