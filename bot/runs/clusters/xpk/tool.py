"""Calls the `xpk` and `gcloud` programs.

In:  argument lists. Out: what a call printed, or an error with its last words.
Promises: no shell of ours; standard input is closed, so nothing can ask a question; every call has its own
kubeconfig and temporary folder, a list of environment variables instead of ours, no telemetry, and a time
limit after which its whole process group is gone.
"""

import asyncio
import os
import re
import shutil
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.errors import Told, TryLater
from bot.runs.clusters.port import Place
from bot.runs.clusters.xpk.order import check_place

CALL_SECONDS = 300.0
"""xpk takes 10 to 60 s for a workload; a deletion waits for the pods' grace."""

CALLS_AT_ONCE = 4

AGAIN_SECONDS = 60.0
"""After a call that failed for a reason which may pass."""

IMAGE_AGAIN_SECONDS = 120.0
"""An image that is not there is probably still being built."""

_TAIL_BYTES = 4096

# What the programs need of our environment: where programs and credentials are, language, proxies.
_PASSED_ON = re.compile(
    r"PATH|HOME|LANG|LC_ALL|TZ|LD_LIBRARY_PATH|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CLOUDSDK_\w+"
    r"|GOOGLE_APPLICATION_CREDENTIALS|GOOGLE_CLOUD_PROJECT|GCE_METADATA_\w+|(?i:https?_proxy|no_proxy)"
)

# Registries that xpk asks gcloud about before it makes a workload.
_GOOGLE_REGISTRIES = ("gcr.io", "docker.pkg.dev")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class Endpoint(StrEnum):
    """By which address of its control plane a cluster is reached; xpk tries them in this order too."""

    DNS = "dns"
    ADDRESS = "address"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ended:
    """`out` is the end of what it printed, `said` its last words for people."""

    code: int
    out: str
    said: str


class Tool:
    """The programs of one installation; `xpk` are the words that call it, `folder` is ours to write in."""

    def __init__(self, *, xpk: Sequence[str], folder: Path) -> None:
        self._xpk = tuple(xpk)
        self._folder = folder
        self._numbers: dict[str, str] = {}
        self._turns = asyncio.Semaphore(CALLS_AT_ONCE)

    async def call_xpk(self, words: Sequence[str]) -> None:
        """Call `xpk`; raises `Told` or `TryLater` with its last words where it fails. Where it ended itself,
        whatever it did is there to be seen; else something may still be on its way."""
        ended = await self._call((*self._xpk, *words))
        if ended.code == 2:
            raise Told(f"xpk does not understand the call; MaxView needs xpk 1.16. It said: {ended.said}")
        if ended.code:
            said = f"xpk {words[0]} {words[1]} ended with {ended.code}: {ended.said}"
            raise TryLater(said, after=AGAIN_SECONDS)

    async def kubeconfig(self, place: Place, endpoint: Endpoint) -> Path:
        """Have gcloud write the credentials of a cluster into a file, and name it."""
        check_place(place)
        location = await self._location(place)
        path = self._folder / f"{place.project}_{place.zone}_{place.cluster}.{endpoint}".replace(":", "_")
        dns = ("--dns-endpoint",) if endpoint is Endpoint.DNS else ()
        words = ("container", "clusters", "get-credentials", place.cluster, f"--location={location}")
        await self._gcloud((*words, *dns, f"--project={place.project}"), kubeconfig=path)
        return path

    async def pinned(self, image: str, project: str) -> str:
        """The image by its digest, or as it is where its registry is not Google's and cannot be asked.

        Raises `TryLater` where Google's registry has no such image: xpk would refuse it too.
        """
        if "@sha256:" in image or not any(host in image for host in _GOOGLE_REGISTRIES):
            return image
        words = ("container", "images", "describe", image, f"--project={project}")
        try:
            said = await self._gcloud((*words, "--format=value(image_summary.digest)"))
        except TryLater as problem:
            raise TryLater(
                f"The image {image} is not there yet: {problem}", after=IMAGE_AGAIN_SECONDS
            ) from None
        digest = _DIGEST.search(said)
        name, _, tag = image.rpartition(":")
        return f"{name if name and '/' not in tag else image}@{digest[0]}" if digest else image

    async def project_number(self, project: str) -> str:
        """The project's number, which xpk else asks a further service for with further credentials."""
        if project not in self._numbers:
            words = ("projects", "describe", project, "--format=value(projectNumber)")
            said = (await self._gcloud(words)).split()
            if not said or not said[-1].isdecimal():
                raise TryLater(f"gcloud names no number of the project {project}", after=AGAIN_SECONDS)
            self._numbers[project] = said[-1]
        return self._numbers[project]

    async def _location(self, place: Place) -> str:
        """A cluster lies in a zone or in the region around it: xpk finds out, and so do we."""
        words = (
            "container",
            "clusters",
            "list",
            f"--project={place.project}",
            f"--filter=name={place.cluster}",
        )
        said = (await self._gcloud((*words, "--format=value(location)"))).split()
        if not said:
            raise Told(f"The project {place.project} has no cluster {place.cluster}; correct launch.xpk.")
        if not re.fullmatch(r"[a-z0-9-]+", said[-1]):
            raise TryLater(f"gcloud names no location of {place.cluster}", after=AGAIN_SECONDS)
        return said[-1]

    async def _gcloud(self, words: Sequence[str], kubeconfig: Path | None = None) -> str:
        ended = await self._call(("gcloud", *words, "--quiet"), kubeconfig=kubeconfig)
        if ended.code:
            raise TryLater(f"gcloud {words[1]} {words[2]}: {ended.said}", after=AGAIN_SECONDS)
        return ended.out

    async def _call(self, words: Sequence[str], kubeconfig: Path | None = None) -> _Ended:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._forget_old_calls()
        async with self._turns:
            with TemporaryDirectory(prefix="call-", dir=self._folder) as scratch:
                folder = Path(scratch)
                environment = _environment(folder, kubeconfig or folder / "kubeconfig")
                return await _run(words, environment, folder)

    def _forget_old_calls(self) -> None:
        """A process that was killed in the middle of a call leaves the call's folder."""
        for folder in self._folder.glob("call-*"):
            with suppress(FileNotFoundError):
                if time.time() - folder.stat().st_mtime > 2 * CALL_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)


async def _run(words: Sequence[str], environment: dict[str, str], folder: Path) -> _Ended:
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
            raise Told(f"{why} Install it where MaxView runs.") from problem
        try:
            code = await asyncio.wait_for(process.wait(), CALL_SECONDS)
        except TimeoutError:
            raise TryLater(f"{words[0]} did not end", after=AGAIN_SECONDS, may_have_acted=True) from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    said = [_last_words(path) for path in (out, complaints)]
    return _Ended(code=code, out=_tail(out), said=" / ".join(filter(None, said)))


def _environment(folder: Path, kubeconfig: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name)}
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


def _last_words(printed: Path) -> str:
    """The end of what a program printed, as one line: its reasons stand there."""
    lines = [line.strip() for line in _tail(printed).splitlines() if line.strip()]
    return " / ".join(lines[-4:])[-600:]
