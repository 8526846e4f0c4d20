"""How the `xpk` program is called: the words of its command lines, and the command inside the container.

In:  a job with its place. Out: argument lists; what runs in the container, as one line of shell.
Promises: pure. `xpk` pastes what it is given into shell commands and into YAML without quoting, so
everything passes a strict form or is refused. A workload is never overwritten (`--quiet` is never given) and
never deleted without its name. The program's own parentheses, comments and quotes cannot reach the frame
around it: it is one quoted word there.
"""

import json
import re
import shlex

from bot.errors import Told
from bot.runs.clusters import forms
from bot.runs.clusters.command import argument_list
from bot.runs.clusters.port import Job, Place
from bot.runs.clusters.xpk.facts import LABEL, MARK

# The longest name that xpk takes; its own message says "less than 40".
NAME_LENGTH = 40
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")

_FORMS = {
    "project": re.compile(forms.PROJECT),
    "zone": re.compile(forms.ZONE),
    "cluster": re.compile(forms.CLUSTER),
    "device_type": re.compile(forms.DEVICE_TYPE),
    "priority": re.compile("|".join(forms.PRIORITIES)),
}
_IMAGE = re.compile(forms.IMAGE)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}")
_APP = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_NOT_IN_A_LABEL = re.compile(r"[^A-Za-z0-9_.-]+")

# Between the request to end and the end: as long as XPK's own grace for a pod.
KILL_AFTER_SECONDS = 30

# How long the cluster keeps an ended workload that nobody deletes, with its pods' logs: XPK's own 12 hours
# are less than a bot may be away.
KEPT_SECONDS = 3 * 86_400


def check_place(place: Place) -> None:
    """Raise `Told` where a part of the place could mean something else to a shell."""
    for part, form in _FORMS.items():
        value: str = getattr(place, part)
        if not form.fullmatch(value):
            key = part.replace("_", "-")
            raise Told(f"launch.xpk.{key} is {value!r}, which XPK cannot take; correct it in maxview.yml.")


def check_name(name: str) -> None:
    """Raise `Told` where `xpk` would refuse the workload's name, or a shell could read it."""
    if len(name) > NAME_LENGTH or not _NAME.fullmatch(name):
        raise Told(f"{name!r} cannot be a workload's name: a-z, 0-9 and -, at most {NAME_LENGTH} of them.")


def create(job: Job, place: Place, *, image: str, app: str, project_number: str) -> list[str]:
    """`xpk workload create …` for this job; `image` holds the digest where one could be had.

    Raises `Told` where the job cannot be written down safely.
    """
    check_name(job.name)
    check_place(place)
    if not _IMAGE.fullmatch(image):
        raise Told(f"launch.xpk.docker-image gives {image!r}, which is no image's name.")
    if not _APP.fullmatch(app):
        raise Told(f"{app!r} cannot be a label of this installation.")
    return [
        *("workload", "create", *_where(place)),
        f"--project-number={project_number}",
        f"--workload={job.name}",
        f"--device-type={place.device_type}",
        f"--docker-image={image}",
        f"--priority={place.priority}",
        f"--num-slices={place.slices:d}",
        "--max-restarts=0",
        f"--ttl-seconds-after-finished={KEPT_SECONDS}",
        f"--env={MARK}={app}",
        f"--command={inside(job, image=image)}",
    ]


def delete(name: str, place: Place) -> list[str]:
    """`xpk workload delete …` for this one name: without a name, xpk would delete every workload."""
    check_name(name)
    check_place(place)
    return ["workload", "delete", *_where(place), f"--workload={name}"]


def labels(job: Job, app: str) -> dict[str, str]:
    """What is put on the workload: whose it is, and for people what it measures."""
    told = {"maxview/case": job.case, "maxview/variant": job.variant, "maxview/sha": job.sha}
    plain = {name: _NOT_IN_A_LABEL.sub("-", value)[:63] for name, value in (told | dict(job.labels)).items()}
    return {name: value.strip("-_.") for name, value in plain.items()} | {LABEL: app}


def inside(job: Job, *, image: str) -> str:
    """What runs in the container between XPK's first and last line: one line of shell.

    It says which commit is measured, then becomes GNU `timeout`, so that XPK's signal to end reaches the
    program's whole process group.
    """
    try:
        words = argument_list(job, interpreter="bash")
    except ValueError as problem:
        raise Told(f"The case {job.case} cannot be started: {problem}.") from problem
    for name, _ in job.environment:
        if not _VARIABLE.fullmatch(name):
            raise Told(f"The case {job.case} cannot be started: {name!r} is no variable's name.")
    meta = {"sha": job.sha, "case": job.case, "variant": job.variant, "image": image}
    variables = [f"{name}={value}" for name, value in (("PYTHONUNBUFFERED", "1"), *job.environment)]
    limit = ("timeout", "--verbose", f"--kill-after={KILL_AFTER_SECONDS}", f"{job.timeout_seconds:.0f}")
    said = shlex.quote(f"BENCH_META {json.dumps(meta)}")
    line = f"echo {said}; exec {shlex.join(['env', *variables, *limit, *words])}"
    if not (job.command + line).isprintable():
        # A line end breaks the manifest while xpk reports success; YAML knows more of them than a shell.
        raise Told(
            f"The case {job.case} cannot be started: a line end or control character is in its command."
        )
    return line


def _where(place: Place) -> tuple[str, ...]:
    return (
        f"--cluster={place.cluster}",
        f"--project={place.project}",
        f"--zone={place.zone}",
        "--skip-validation",
        "--no-dependency-auto-download",
    )
