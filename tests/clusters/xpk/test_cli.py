"""How xpk is called, and what is refused before it is called.

Calls of `xpk` and `gcloud`: what they get, and what becomes of them."""

import asyncio
import json
import os
import shlex
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bot.clusters.xpk import cli
from bot.clusters.xpk.cli import (
    Endpoint,
    XpkCli,
    check_name,
    check_place,
    container_command,
    create_arguments,
    delete_arguments,
    workload_labels,
)
from bot.errors import TransientError, UserError
from tests.clusters.xpk.stand_in_cluster import JOB, NAME, PLACE, SHA

IMAGE = "gcr.io/my-project/maxtext@sha256:" + "0" * 64


def made(**changes: Any) -> list[str]:
    """The command line of a job that differs in this."""
    return create_arguments(replace(JOB, **changes), PLACE, image=IMAGE, app="1", project_number="12")


def test_a_workload_is_made_by_one_plain_command_line() -> None:
    """Every option that keeps xpk from asking, downloading, restarting or overwriting."""
    *words, command = made()
    assert words == [
        "workload",
        "create",
        "--cluster=v6e-bench",
        "--project=my-project",
        "--zone=us-east5-b",
        "--skip-validation",
        "--no-dependency-auto-download",
        "--project-number=12",
        f"--workload={NAME}",
        "--device-type=v6e-32",
        f"--docker-image={IMAGE}",
        "--priority=low",
        "--num-slices=1",
        "--max-restarts=0",
        "--ttl-seconds-after-finished=259200",
        "--env=MAXVIEW_APP=1",
    ]
    meta = json.dumps({"sha": SHA, "case": "04_int8", "variant": "linen", "image": IMAGE})
    assert command == (
        f"--command=echo 'BENCH_META {meta}'; exec env PYTHONUNBUFFERED=1 "
        "timeout --verbose --kill-after=30 2700 python3 -m train steps=30 run_name=linen_main_04"
    )


def test_nothing_is_ever_overwritten_and_only_one_workload_deleted() -> None:
    """`--quiet` overwrites what is there; a deletion without a name deletes everything."""
    assert "--quiet" not in made()
    words = delete_arguments(NAME, PLACE)
    assert words[:2] == ["workload", "delete"]
    assert words[-1] == f"--workload={NAME}"
    for name in ("", "-", "A", "a b", "a;b", "--force", "a" * 41, "a-", "ä", "a\n"):
        with pytest.raises(UserError, match="cannot be a workload's name"):
            delete_arguments(name, PLACE)
        with pytest.raises(UserError, match="cannot be a workload's name"):
            made(name=name)
    check_name("a" * 40)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("project", "p;reboot"),
        ("project", "$(id)"),
        ("zone", "us-east5-b --quiet"),
        ("zone", "../x"),
        ("cluster", "c&&id"),
        ("cluster", "c\nid"),
        ("cluster", "--quiet"),
        ("device_type", "v6e 32"),
        ("priority", "highest"),
        ("priority", ""),
    ],
)
def test_a_place_that_a_shell_could_read_is_refused(part: str, value: str) -> None:
    """xpk pastes these into commands that a shell runs."""
    with pytest.raises(UserError, match=rf"launch\.xpk\.{part.replace('_', '-')} is"):
        check_place(replace(PLACE, **{part: value}))


@pytest.mark.parametrize(
    "image", ["", "a b", "a\nb", 'i"', "i'", "-i", "i:{sha}", "i@sha256:0", "i#x", "$i", "i:a\n  x: y"]
)
def test_an_image_that_yaml_could_read_is_refused(image: str) -> None:
    """xpk pastes it into the manifest without quotes."""
    with pytest.raises(UserError, match="no image's name"):
        create_arguments(JOB, PLACE, image=image, app="1", project_number="12")


@pytest.mark.parametrize("end", ["\n", "\r", "\x00", "\x85", "\u2028", "\u2029", "\x1b", "\ufeff"])
def test_a_command_of_several_lines_is_refused(end: str) -> None:
    """YAML knows more line ends than a shell does, and xpk reports success for a broken manifest."""
    with pytest.raises(UserError, match="04_int8 cannot be started"):
        made(command=f"train a{end}b")


@pytest.mark.parametrize("field", ["run_name", "case", "variant", "sha"])
def test_names_that_a_shell_could_read_are_refused(field: str) -> None:
    """Cases and branches are other people's words."""
    for value in ("a b", "a;id", "$(id)", "`id`", "a'b", 'a"b', "a\nb", "a|b", "ä"):
        with pytest.raises(UserError, match="cannot stand in a command"):
            made(**{field: value})


def test_a_command_for_a_shell_is_one_word_of_ours() -> None:
    """Its comments and parentheses cannot reach the frame that xpk draws around it."""
    said = container_command(replace(JOB, command="cd /deps; train # ) & exit 0"), image=IMAGE)
    words = shlex.split(said)
    assert words[-3:] == ["bash", "-c", "cd /deps; train # ) & exit 0"]


def test_variables_are_words_of_their_own() -> None:
    """A value may hold anything; a name may not."""
    said = container_command(replace(JOB, environment=(("A", "b c; $d"),)), image=IMAGE)
    assert "A=b c; $d" in shlex.split(said)
    with pytest.raises(UserError, match="no variable's name"):
        container_command(replace(JOB, environment=(("A=B -c", "x"),)), image=IMAGE)


def test_labels_say_whose_a_workload_is_and_what_it_measures() -> None:
    """In the characters that Kubernetes takes, cut to its length."""
    job = replace(JOB, case="x" * 70, variant="-a b/ä.", labels=(("maxview/pull", "7"), ("maxview/app", "9")))
    assert workload_labels(job, "1") == {
        "maxview/app": "1",
        "maxview/case": "x" * 63,
        "maxview/variant": "a-b",
        "maxview/sha": SHA,
        "maxview/pull": "7",
    }


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
    asyncio.run(XpkCli(xpk=[str(xpk)], folder=folder / "tool").call_xpk(["workload", "create"]))


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
    with pytest.raises(TransientError, match=r"ended with 1: \[XPK\] two / three") as failed:
        call(tmp_path, "echo; echo '[XPK] two'; echo three >&2; exit 1")
    assert not failed.value.may_have_acted
    with pytest.raises(UserError, match="xpk does not understand the call"):
        call(tmp_path, "exit 2")


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    """It is for the operator to install it."""
    missing = XpkCli(xpk=[str(tmp_path / "no xpk")], folder=tmp_path / "tool")
    with pytest.raises(UserError, match=r"no xpk cannot be started: .* Install it where MaxView runs"):
        asyncio.run(missing.call_xpk(["workload", "create"]))


def test_a_call_that_hangs_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prompt that nobody answers must not hold a place for ever."""
    monkeypatch.setattr(cli, "CALL_TIMEOUT_SECONDS", 0.3)
    child = tmp_path / "child"
    with pytest.raises(TransientError, match="did not end") as ended:
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
        task = asyncio.create_task(XpkCli(xpk=[str(xpk)], folder=tmp_path / "tool").call_xpk(["a", "b"]))
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
    found = asyncio.run(XpkCli(xpk=["xpk"], folder=tmp_path / "tool").resolve_image(image, "p"))
    assert pinned == found


def test_a_project_without_the_cluster_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration names a cluster that is not there, or gcloud cannot be asked."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    ours = XpkCli(xpk=["xpk"], folder=tmp_path / "tool")
    program(tmp_path / "bin", "gcloud", "exit 0")
    with pytest.raises(UserError, match="my-project has no cluster v6e-bench"):
        asyncio.run(ours.kubeconfig(PLACE, Endpoint.DNS))
    program(tmp_path / "bin", "gcloud", "echo no credentials >&2; exit 1")
    with pytest.raises(TransientError, match="gcloud clusters list: no credentials"):
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
