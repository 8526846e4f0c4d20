"""What is installed is what the locks say, file by file."""

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests import audit

ROOT = Path(__file__).parent.parent
LOCKS = sorted((ROOT / "locks").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

RUNTIME = PROJECT["project"]["dependencies"]
EXTRAS = PROJECT["project"]["optional-dependencies"]
WANTED = {
    "runtime": RUNTIME,
    "test": [*RUNTIME, *EXTRAS["test"]],
    "bench": [*RUNTIME, *EXTRAS["test"], *EXTRAS["bench"]],
    "fuzz": [*RUNTIME, *EXTRAS["test"], *EXTRAS["fuzz"]],
    **PROJECT["dependency-groups"],
}

# These end up in one environment, one after the other.
TOGETHER = ("runtime", "build", "test", "bench", "fuzz")


def _entries(lock: Path) -> list[str]:
    """What the lock pins, each with its hashes on one line and without comments."""
    text = re.sub(r"^\s*#.*\n", "", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def _pins(name: str) -> dict[str, set[Version]]:
    """The versions that a lock names of each package; more than one where they differ by Python."""
    pins: dict[str, set[Version]] = {}
    for entry in _entries(ROOT / "locks" / f"{name}.txt"):
        pin = Requirement(entry.partition("--hash")[0].strip())
        (one,) = pin.specifier
        assert one.operator == "=="
        pins.setdefault(canonicalize_name(pin.name), set()).add(Version(one.version))
    return pins


def _installations(file: str) -> list[str]:
    """Every command of the file that calls pip; of the Makefile those that make itself would run."""
    if file == "Makefile":
        made = ["install", "demo", "test", "bench", "fuzz", "verdictbench", "lock", "audit", "sbom"]
        command = ["make", "--dry-run", "--always-make", *made]
        path = {"PATH": os.environ["PATH"]}  # without what make says to a make inside it
        text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, env=path).stdout
    else:
        text = (ROOT / file).read_text(encoding="utf-8")
    parts = re.split(r"\n|&&", text.replace("\\\n", " "))
    return [part.strip() for part in parts if re.search(r"\bpip[\d.]* +(?:install|wheel|download)\b", part)]


def test_there_is_a_lock_for_each_set_of_packages() -> None:
    """No set is left without a lock, and no lock without a set."""
    assert {lock.stem for lock in LOCKS} == WANTED.keys()


@pytest.mark.parametrize("name", WANTED)
def test_every_dependency_is_pinned_within_its_range(name: str) -> None:
    """The lock has each package that pyproject.toml names, in a version that it allows."""
    pins = _pins(name)
    wanted = [Requirement(text) for text in WANTED[name]]

    assert [one.name for one in wanted if canonicalize_name(one.name) not in pins] == []
    assert [
        (one.name, version)
        for one in wanted
        for version in pins[canonicalize_name(one.name)]
        if version not in one.specifier
    ] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_every_pin_has_a_hash(lock: Path) -> None:
    """Each line is a package, one version and SHA-256 hashes."""
    pin = re.compile(r"[\w.-]+(\[[\w,-]+\])?==[\w.+!]+( ; [^#]+?)?( +--hash=sha256:[0-9a-f]{64})+\s*")

    assert [entry[:60] for entry in _entries(lock) if not pin.fullmatch(entry)] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_names_no_host_and_no_folder(lock: Path) -> None:
    """Where packages come from is set by the machine that installs them."""
    text = lock.read_text(encoding="utf-8")

    assert re.findall(r".*(?:://|--index|--extra-index|--find-links|--trusted|file:| /|@).*", text) == []


def test_locks_of_one_environment_agree() -> None:
    """A package has the same version in all locks that are installed into one environment."""
    versions: dict[str, set[frozenset[Version]]] = {}
    for name in TOGETHER:
        for package, pinned in _pins(name).items():
            versions.setdefault(package, set()).add(frozenset(pinned))

    assert [package for package, pinned in versions.items() if len(pinned) > 1] == []


def test_the_build_is_locked() -> None:
    """What builds the wheel is pinned like everything else."""
    assert set(PROJECT["build-system"]["requires"]) <= set(WANTED["build"])


@pytest.mark.parametrize(("file", "locks"), [("Makefile", 6), ("Dockerfile", 3), (".ci/run", 0)])
def test_nothing_is_installed_without_its_hash(file: str, locks: int) -> None:
    """Each installation is of a lock with hashes, or of MaxView alone with what is there already."""
    commands = _installations(file)
    locked = [one for one in commands if re.search(r"( --requirement locks/\w+\.txt)+$", one)]
    ourselves = [one.partition("pip ")[2] for one in commands if one not in locked]

    assert len(locked) == locks
    assert [one for one in commands if "--no-deps" not in one] == []
    assert [one for one in locked if "--require-hashes --only-binary :all:" not in one] == []
    assert set(ourselves) <= {
        "install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .",
        "wheel --no-deps --no-build-isolation --wheel-dir /wheel .",
        "install --no-deps --no-index /wheel/*.whl",
    }


def test_the_image_is_built_from_one_base() -> None:
    """Both stages begin with the base that `make base-digest` holds to its digest."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")

    assert re.findall(r"^FROM (\S+)", text, re.MULTILINE) == ["${BASE}", "build", "${BASE}"]
    assert re.search(r"^ARG BASE=python:3\.\d+-slim(@sha256:[0-9a-f]{64})?$", text, re.MULTILINE)


@pytest.mark.parametrize("before", ["", "@sha256:" + "0" * 64])
def test_the_base_is_held_to_the_digest_that_docker_finds(tmp_path: Path, before: str) -> None:
    """`make base-digest` asks docker for the name and writes its answer into the Dockerfile."""
    digest = "sha256:" + "1" * 64
    docker = tmp_path / "docker"
    docker.write_text(f'#!/bin/sh\n[ "$4" = python:3.12-slim ] && echo {digest}\n', encoding="utf-8")
    docker.chmod(0o755)
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "Dockerfile").write_text(
        f"ARG BASE=python:3.12-slim{before}\nFROM ${{BASE}}\n", encoding="utf-8"
    )

    subprocess.run(
        ["make", "base-digest"], cwd=tmp_path, check=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}
    )

    held = f"ARG BASE=python:3.12-slim@{digest}\nFROM ${{BASE}}\n"
    assert (tmp_path / "Dockerfile").read_text(encoding="utf-8") == held


@pytest.mark.parametrize(
    ("says", "status", "expected_status", "expected"),
    [
        ("No known vulnerabilities found", 0, 0, "No known vulnerabilities found\n"),
        ("Found 1 known vulnerability in 1 package", 1, 1, "Found 1 known vulnerability in 1 package\n"),
        ("requirements.txt: no such file", 1, 1, "requirements.txt: no such file\n"),
        (
            "requests.exceptions.ConnectionError: no route",
            1,
            0,
            "not audited: the vulnerability database did not answer\n",
        ),
        (
            "pip_audit._service.interface.ServiceError",
            1,
            0,
            "not audited: the vulnerability database did not answer\n",
        ),
    ],
)
def test_an_audit_that_did_not_happen_says_so(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    says: str,
    status: int,
    expected_status: int,
    expected: str,
) -> None:
    """Vulnerabilities fail the step; a database that does not answer is neither good nor bad."""
    program = tmp_path / "pip-audit"
    program.write_text(f"#!/bin/sh\necho {shlex.quote(says)} >&2\nexit {status}\n", encoding="utf-8")
    program.chmod(0o755)

    assert expected_status == audit.main(str(program))
    assert expected == capsys.readouterr().out
