"""Calls the `xpk` and `gcloud` programs.

`xpk` pastes what it is given into shell commands and into YAML without quoting, so everything passes a
strict pattern or is refused. A workload is never overwritten (`--quiet` is never given) and never deleted
without its name. The program's own parentheses, comments and quotes cannot reach the lines around it:
it is one quoted word there.

No shell of ours; standard input is closed, so nothing can ask a question. Every call has its own
kubeconfig and temporary folder, a list of environment variables instead of ours, no telemetry, and a
time limit after which its whole process group is killed.
"""

import asyncio
import json
import os
import re
import shlex
import shutil
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from bot.clusters import interface
from bot.clusters.command import argument_list
from bot.clusters.interface import ClusterPlace, Job
from bot.clusters.xpk.workload_status import APP_LABEL, APP_VARIABLE
from bot.errors import TransientError, UserError

# The longest name that xpk takes; its own message says "less than 40".
MAX_NAME_LENGTH = 40

_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")

_PLACE_REGEX = {
    "project": re.compile(interface.PROJECT_REGEX),
    "zone": re.compile(interface.ZONE_REGEX),
    "cluster": re.compile(interface.CLUSTER_REGEX),
    "device_type": re.compile(interface.DEVICE_TYPE_REGEX),
    "priority": re.compile("|".join(interface.PRIORITIES)),
}

_IMAGE = re.compile(interface.IMAGE_REGEX)

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}")

_APP_ID = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")

_NOT_IN_A_LABEL = re.compile(r"[^A-Za-z0-9_.-]+")

# Between SIGTERM and SIGKILL: as long as XPK's own grace period of a pod.
KILL_AFTER_SECONDS = 30

# How long the cluster keeps an ended workload that nobody deletes, with its pods' logs. XPK's default of 12
# hours is less than a bot may be down.
TTL_SECONDS = 3 * 86_400


def check_place(place: ClusterPlace) -> None:
    """Raise `UserError` where a part of the place could mean something else to a shell."""
    for part, form in _PLACE_REGEX.items():
        value: str = getattr(place, part)
        if not form.fullmatch(value):
            key = part.replace("_", "-")
            raise UserError(
                f"launch.xpk.{key} is {value!r}, which XPK cannot take; correct it in maxview.yml."
            )


def check_name(name: str) -> None:
    """Raise `UserError` where `xpk` would refuse the workload's name, or a shell could read it."""
    if len(name) > MAX_NAME_LENGTH or not _NAME.fullmatch(name):
        raise UserError(
            f"{name!r} cannot be a workload's name: a-z, 0-9 and -, at most {MAX_NAME_LENGTH} of them."
        )


def create_arguments(
    job: Job, place: ClusterPlace, *, image: str, app: str, project_number: str
) -> list[str]:
    """`xpk workload create …` for this job; `image` holds the digest where it is known.

    Raises `UserError` where the job cannot be written down safely.
    """
    check_name(job.name)
    check_place(place)
    if not _IMAGE.fullmatch(image):
        raise UserError(f"launch.xpk.docker-image gives {image!r}, which is no image's name.")
    if not _APP_ID.fullmatch(app):
        raise UserError(f"{app!r} cannot be a label of this installation.")
    return [
        *("workload", "create", *_cluster_arguments(place)),
        f"--project-number={project_number}",
        f"--workload={job.name}",
        f"--device-type={place.device_type}",
        f"--docker-image={image}",
        f"--priority={place.priority}",
        f"--num-slices={place.slices:d}",
        "--max-restarts=0",
        f"--ttl-seconds-after-finished={TTL_SECONDS}",
        f"--env={APP_VARIABLE}={app}",
        f"--command={container_command(job, image=image)}",
    ]


def delete_arguments(name: str, place: ClusterPlace) -> list[str]:
    """`xpk workload delete …` for this one name: without a name, xpk would delete every workload."""
    check_name(name)
    check_place(place)
    return ["workload", "delete", *_cluster_arguments(place), f"--workload={name}"]


def workload_labels(job: Job, app: str) -> dict[str, str]:
    """The workload's labels: its installation, and for people what it measures."""
    told = {"maxview/case": job.case, "maxview/variant": job.variant, "maxview/sha": job.sha}
    plain = {name: _NOT_IN_A_LABEL.sub("-", value)[:63] for name, value in (told | dict(job.labels)).items()}
    return {name: value.strip("-_.") for name, value in plain.items()} | {APP_LABEL: app}


def container_command(job: Job, *, image: str) -> str:
    """What runs in the container between XPK's first and last line: one line of shell.

    It says which commit is measured, then becomes GNU `timeout`, so that XPK's signal to end reaches the
    program's whole process group.
    """
    try:
        words = argument_list(job, interpreter="bash")
    except ValueError as problem:
        raise UserError(f"The case {job.case} cannot be started: {problem}.") from problem
    for name, _ in job.environment:
        if not _VARIABLE.fullmatch(name):
            raise UserError(f"The case {job.case} cannot be started: {name!r} is no variable's name.")
    meta = {"sha": job.sha, "case": job.case, "variant": job.variant, "image": image}
    variables = [f"{name}={value}" for name, value in (("PYTHONUNBUFFERED", "1"), *job.environment)]
    limit = ("timeout", "--verbose", f"--kill-after={KILL_AFTER_SECONDS}", f"{job.timeout_seconds:.0f}")
    said = shlex.quote(f"BENCH_META {json.dumps(meta)}")
    line = f"echo {said}; exec {shlex.join(['env', *variables, *limit, *words])}"
    if not (job.command + line).isprintable():
        # A line end breaks the manifest while xpk reports success; YAML knows more of them than a shell.
        raise UserError(
            f"The case {job.case} cannot be started: a line end or control character is in its command."
        )
    return line


def _cluster_arguments(place: ClusterPlace) -> tuple[str, ...]:
    return (
        f"--cluster={place.cluster}",
        f"--project={place.project}",
        f"--zone={place.zone}",
        "--skip-validation",
        "--no-dependency-auto-download",
    )


CALL_TIMEOUT_SECONDS = 300.0
"""xpk takes 10 to 60 s for a workload; a deletion waits for the pods' grace."""

CALLS_AT_ONCE = 4

RETRY_SECONDS = 60.0
"""After a call that failed for a reason that may pass."""

IMAGE_RETRY_SECONDS = 120.0
"""A missing image is probably still being built."""

_TAIL_BYTES = 4096

# What the programs get of our environment: where programs and credentials are, language, proxies.
_PASSED_VARIABLES = re.compile(
    r"PATH|HOME|LANG|LC_ALL|TZ|LD_LIBRARY_PATH|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CLOUDSDK_\w+"
    r"|GOOGLE_APPLICATION_CREDENTIALS|GOOGLE_CLOUD_PROJECT|GCE_METADATA_\w+|(?i:https?_proxy|no_proxy)"
)

# Registries that xpk asks gcloud about before it makes a workload.
_GOOGLE_REGISTRIES = ("gcr.io", "docker.pkg.dev")

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class Endpoint(StrEnum):
    """The endpoints of a control plane, in the order in which xpk tries them."""

    DNS = "dns"
    ADDRESS = "address"


class _CallResult(Struct, frozen=True, kw_only=True):
    """`out` is the end of the output, `message` its last lines for people."""

    code: int
    out: str
    message: str


class XpkCli:
    """The programs of one installation; `xpk` is the command that calls it, `folder` is ours to write in."""

    def __init__(self, *, xpk: Sequence[str], folder: Path) -> None:
        self._xpk = tuple(xpk)
        self._folder = folder
        self._numbers: dict[str, str] = {}
        self._slots = asyncio.Semaphore(CALLS_AT_ONCE)

    async def call_xpk(self, words: Sequence[str]) -> None:
        """Call `xpk`; raises `UserError` or `TransientError` with its last lines where it fails.

        Where it ended by itself, its effect is visible; where we killed it, an effect may still follow."""
        ended = await self._call((*self._xpk, *words))
        if ended.code == 2:
            raise UserError(
                f"xpk does not understand the call; MaxView needs xpk 1.16. It said: {ended.message}"
            )
        if ended.code:
            said = f"xpk {words[0]} {words[1]} ended with {ended.code}: {ended.message}"
            raise TransientError(said, after=RETRY_SECONDS)

    async def kubeconfig(self, place: ClusterPlace, endpoint: Endpoint) -> Path:
        """Have gcloud write a kubeconfig for the cluster; returns its path."""
        check_place(place)
        location = await self._location(place)
        path = self._folder / f"{place.project}_{place.zone}_{place.cluster}.{endpoint}".replace(":", "_")
        dns = ("--dns-endpoint",) if endpoint is Endpoint.DNS else ()
        words = ("container", "clusters", "get-credentials", place.cluster, f"--location={location}")
        await self._gcloud((*words, *dns, f"--project={place.project}"), kubeconfig=path)
        return path

    async def resolve_image(self, image: str, project: str) -> str:
        """The image by its digest; unchanged where its registry is not Google's and cannot be asked.

        Raises `TransientError` where Google's registry has no such image: xpk would refuse it too.
        """
        if "@sha256:" in image or not any(host in image for host in _GOOGLE_REGISTRIES):
            return image
        words = ("container", "images", "describe", image, f"--project={project}")
        try:
            said = await self._gcloud((*words, "--format=value(image_summary.digest)"))
        except TransientError as problem:
            raise TransientError(
                f"The image {image} is not there yet: {problem}", after=IMAGE_RETRY_SECONDS
            ) from None
        digest = _DIGEST.search(said)
        name, _, tag = image.rpartition(":")
        return f"{name if name and '/' not in tag else image}@{digest[0]}" if digest else image

    async def project_number(self, project: str) -> str:
        """The project's number. Without it xpk asks another service, with other credentials."""
        if project not in self._numbers:
            words = ("projects", "describe", project, "--format=value(projectNumber)")
            said = (await self._gcloud(words)).split()
            if not said or not said[-1].isdecimal():
                raise TransientError(f"gcloud names no number of the project {project}", after=RETRY_SECONDS)
            self._numbers[project] = said[-1]
        return self._numbers[project]

    async def _location(self, place: ClusterPlace) -> str:
        """The zone or region of a cluster; xpk finds it out in the same way."""
        words = (
            "container",
            "clusters",
            "list",
            f"--project={place.project}",
            f"--filter=name={place.cluster}",
        )
        said = (await self._gcloud((*words, "--format=value(location)"))).split()
        if not said:
            raise UserError(
                f"The project {place.project} has no cluster {place.cluster}; correct launch.xpk."
            )
        if not re.fullmatch(r"[a-z0-9-]+", said[-1]):
            raise TransientError(f"gcloud names no location of {place.cluster}", after=RETRY_SECONDS)
        return said[-1]

    async def _gcloud(self, words: Sequence[str], kubeconfig: Path | None = None) -> str:
        ended = await self._call(("gcloud", *words, "--quiet"), kubeconfig=kubeconfig)
        if ended.code:
            raise TransientError(f"gcloud {words[1]} {words[2]}: {ended.message}", after=RETRY_SECONDS)
        return ended.out

    async def _call(self, words: Sequence[str], kubeconfig: Path | None = None) -> _CallResult:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._forget_old_calls()
        async with self._slots:
            with TemporaryDirectory(prefix="call-", dir=self._folder) as scratch:
                folder = Path(scratch)
                environment = _environment(folder, kubeconfig or folder / "kubeconfig")
                return await _run_program(words, environment, folder)

    def _forget_old_calls(self) -> None:
        """Remove the folders that processes left that were killed during a call."""
        for folder in self._folder.glob("call-*"):
            with suppress(FileNotFoundError):
                if time.time() - folder.stat().st_mtime > 2 * CALL_TIMEOUT_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)


async def _run_program(words: Sequence[str], environment: dict[str, str], folder: Path) -> _CallResult:
    out, complaints = folder / "out", folder / "complaints"
    with out.open("wb") as output, complaints.open("wb") as errors:
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        except OSError as problem:
            why = f"The program {words[0]} cannot be started: {problem.strerror}."
            raise UserError(f"{why} Install it where MaxView runs.") from problem
        try:
            code = await asyncio.wait_for(process.wait(), CALL_TIMEOUT_SECONDS)
        except TimeoutError:
            raise TransientError(
                f"{words[0]} did not end", after=RETRY_SECONDS, may_have_acted=True
            ) from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    messages = [_last_lines(path) for path in (out, complaints)]
    return _CallResult(code=code, out=_tail(out), message=" / ".join(filter(None, messages)))


def _environment(folder: Path, kubeconfig: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if _PASSED_VARIABLES.fullmatch(name)}
    return kept | {
        "KUBECONFIG": str(kubeconfig),
        "TMPDIR": str(folder),
        "TELEMETRY_ENABLED": "false",
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "PYTHONUNBUFFERED": "1",
    }


def _tail(path: Path) -> str:
    with path.open("rb") as opened:
        opened.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return opened.read().decode("utf-8", "replace")


def _last_lines(printed: Path) -> str:
    """The end of a program's output, as one line: it names the reason."""
    lines = [line.strip() for line in _tail(printed).splitlines() if line.strip()]
    return " / ".join(lines[-4:])[-600:]
