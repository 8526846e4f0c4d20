"""The real xpk takes every command line that we build, and makes of it the JobSet that we meant."""

import asyncio
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from bot.clusters.interface import ClusterPlace, Job, JobState
from bot.clusters.xpk import workload_status
from bot.clusters.xpk.cli import container_command, create_arguments, delete_arguments
from bot.runs.naming import job_name
from tests.clusters.xpk.stand_in_cluster import JOB, NAME, PLACE, SHA, started_cluster
from tests.peers.kubernetes import JOBSETS
from tests.peers.xpk import xpk

IMAGE = "gcr.io/my-project/maxtext@sha256:" + "5e" * 32

SHOW = "python3 -c 'import json, os, sys; print(json.dumps([sys.argv[1:], os.environ.get(\"A\")]))'"

# What is given to the program, and the words that must arrive there.
COMMANDS: dict[str, tuple[str, list[str]]] = {
    "plain": (f"{SHOW} a run_name={{run_name}}", ["a", "run_name=linen_main_04"]),
    "quotes": (f"""{SHOW} "it's" 'say "hi"' a\\ b""", ["it's", 'say "hi"', "a b"]),
    "dollars": (f"{SHOW} '$HOME' '$(id)' '`id`' '$$' '${{A}}'", ["$HOME", "$(id)", "`id`", "$$", "${A}"]),
    "braces": (f"{SHOW} '{{args.workload}}' '{{}}' '{{0}}' '%s'", ["{args.workload}", "{}", "{0}", "%s"]),
    "yaml": (f"{SHOW} ': - #' '|' '>-' '&a' '*a' '!x' '---'", [": - #", "|", ">-", "&a", "*a", "!x", "---"]),
    "shell": (f"cd / && (X=b; false || {SHOW} $X 2>&1 | cat); exit", ["b"]),
    "comment": (f"{SHOW} d # ) & exit 7", ["d"]),
    "unicode": (f"{SHOW} 'Grüße →'", ["Grüße →"]),
}


def ran(words: list[str], folder: Path, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """A finished program."""
    return subprocess.run(
        words,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def manifest_of(job: Job, folder: Path, place: ClusterPlace = PLACE) -> dict[str, Any]:
    """What the real program makes of a job, by `--dry-run`."""
    path = folder / "manifest.yaml"
    words = create_arguments(job, place, image=IMAGE, app="1", project_number="1")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TELEMETRY_ENABLED": "false"}
    said = ran([str(xpk()), *words, "--dry-run", f"--output-manifest-file={path}"], folder, environment)
    assert said.returncode == 0, said.stdout + said.stderr
    manifest: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return manifest


@pytest.mark.parametrize("name", COMMANDS)
def test_the_manifest_is_the_jobset_we_meant_and_runs_the_command(name: str, tmp_path: Path) -> None:
    """Name, queue, priority, image, mark, no restarts; and run here, the words arrive in XPK's frame."""
    command, words = COMMANDS[name]
    workload = job_name(case=f"04_{name} Ünicode; $(x)", key="3f9a0c1d2e4b5a67", attempt=12)
    job = replace(JOB, name=workload, command=command, environment=(("A", f"1 '\"$x {name}"),))
    manifest = manifest_of(job, tmp_path)
    found = workload_status.read_jobset(manifest)
    assert (found.name, found.app, found.image) == (job.name, "1", IMAGE)
    assert len(job.name) <= 40
    assert found.labels["kueue.x-k8s.io/queue-name"] == "multislice-queue"
    assert container_command(job, image=IMAGE) in found.command
    (slices,) = manifest["spec"]["replicatedJobs"]
    assert manifest["spec"]["failurePolicy"]["maxRestarts"] == 0
    assert (slices["replicas"], slices["template"]["spec"]["completions"]) == (1, 8)
    pod = slices["template"]["spec"]["template"]["spec"]
    assert pod["priorityClassName"] == "low"
    (container,) = pod["containers"]
    assert container["name"] == "jax-tpu"
    assert printed_by(container["command"], tmp_path) == [[words, f"1 '\"$x {name}"]]


def test_several_slices_are_one_workload(tmp_path: Path) -> None:
    """Each of its own eight hosts, and all of them ended together: none is started again alone."""
    manifest = manifest_of(JOB, tmp_path, replace(PLACE, slices=2))
    (slices,) = manifest["spec"]["replicatedJobs"]
    assert (slices["replicas"], slices["template"]["spec"]["completions"]) == (2, 8)
    assert manifest["spec"]["failurePolicy"]["maxRestarts"] == 0


def printed_by(command: list[str], folder: Path) -> list[Any]:
    """What the container's own command prints between the lines of its frame, run here."""
    # XPK looks every five seconds whether the command has ended.
    (folder / "sleep").write_text("#!/bin/sh\nexec /bin/sleep 0.02\n")
    (folder / "sleep").chmod(0o755)
    said = ran(command, folder, {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"})
    first, meta, *printed, last, code = said.stdout.splitlines()
    assert re.match(r"XPK Start: \w{3} ", first)
    assert re.match(r"XPK End: \w{3} ", last)
    assert (code, said.returncode) == ("EXIT_CODE=0", 0), said.stderr
    recorded = json.loads(meta.removeprefix("BENCH_META "))
    assert (recorded["sha"], recorded["case"], recorded["image"]) == (SHA, "04_int8", IMAGE)
    return [json.loads(line) for line in printed]


def test_the_real_program_makes_finds_and_deletes_a_workload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a dry run: against a stand-in cluster, without our secrets, in a kubeconfig of its own."""
    monkeypatch.setenv("GITHUB_PRIVATE_KEY", "secret")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "an operator's own"))

    async def life() -> None:
        async with started_cluster(tmp_path, monkeypatch, xpk=str(xpk())) as stage:
            await stage.xpk_cluster.launch(JOB)
            await stage.xpk_cluster.launch(JOB)
            assert (await stage.xpk_cluster.observe(NAME)).state is JobState.QUEUED
            made = workload_status.read_jobset(stage.cluster.named(JOBSETS)[NAME])
            assert (made.app, made.labels["maxview/pull"]) == ("1", "7")
            await stage.xpk_cluster.delete(NAME)
            assert stage.cluster.named(JOBSETS) == {}

    asyncio.run(life())
    calls = [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]
    assert sum(call["words"][:2] == ["kubectl", "apply"] for call in calls) == 1
    assert not any("GITHUB_PRIVATE_KEY" in call["environment"] for call in calls)
    assert not (tmp_path / "an operator's own").exists()
    assert list((tmp_path / "tool").glob("call-*")) == []


def test_a_deletion_is_understood(tmp_path: Path) -> None:
    """The dry run names the one workload, and nothing else."""
    call = [str(xpk()), *delete_arguments(NAME, PLACE), "--dry-run"]
    said = ran(call, tmp_path, {"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    assert said.returncode == 0, said.stdout
    assert re.findall(r"kubectl delete \w+ (\S+)", said.stdout) == [NAME]


def test_an_unknown_call_is_refused_by_the_real_program(tmp_path: Path) -> None:
    """What these tests would show if a release renamed an option."""
    call = [
        str(xpk()),
        *create_arguments(JOB, PLACE, image=IMAGE, app="1", project_number="1"),
        "--no-such-option",
    ]
    said = ran(call, tmp_path, {"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    assert said.returncode == 2
