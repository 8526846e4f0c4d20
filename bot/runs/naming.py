"""The key, job name and run name of a run, derived from what it is, so that a repeated launch has the same
name.

The same run has the same names in every process and after every restart.
"""

import hashlib
import json
import re

from msgspec import Struct

from bot.clusters.interface import JOB_PREFIX

KEY_DIGITS = 16

# XPK's limit for a workload's name; Kubernetes would allow 63.
MAX_JOB_NAME_LENGTH = 40

# mv-04-int8-3f9a0c1d2e4b5a67, mv-04-int8-3f9a0c1d2e4b5a67-2
_JOB_NAME = re.compile(rf"{JOB_PREFIX}(?:.*-)?(?P<key>[0-9a-f]{{{KEY_DIGITS}}})(?:-[0-9]+)?")

_NOT_IN_A_JOB_NAME = re.compile(r"[^a-z0-9]+")

_NOT_IN_A_RUN_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


class RunIdentity(Struct, frozen=True, kw_only=True):
    """The values that two launches of the same run share.

    `code` is the tree's hash where it is known, so that a rebased commit with the same files needs no new
    run, else the commit's. `settings` is a hash or text of everything else that goes into the run: image,
    command, limits. `repeat` counts from 1. `session` is empty for a run that anyone may share; where the
    device's speed drifts, it names the comparison that the run is paired with.
    """

    code: str
    case: str
    variant: str
    device: str = ""
    settings: str = ""
    repeat: int = 1
    session: str = ""


def run_key(identity: RunIdentity) -> str:
    """The run's key: 16 hexadecimal digits of a SHA-256 over its identity."""
    parts = [
        identity.code,
        identity.case,
        identity.variant,
        identity.device,
        identity.settings,
        identity.repeat,
        identity.session,
    ]
    # JSON keeps ("ab", "c") and ("a", "bc") apart.
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:KEY_DIGITS]


def settings_hash(*parts: object) -> str:
    """A hash of everything else that goes into a run, for `RunIdentity.settings`; of JSON values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:KEY_DIGITS]


def job_name(*, case: str, key: str, attempt: int = 1) -> str:
    """The name on the cluster: letters, digits and `-`, at most 40 of them; the case is there for people.

    `mv-04-int8-3f9a0c1d2e4b5a67`, and for a second attempt `mv-04-int8-3f9a0c1d2e4b5a67-2`.
    """
    ending = f"-{key}" if attempt == 1 else f"-{key}-{attempt}"
    room = MAX_JOB_NAME_LENGTH - len(JOB_PREFIX) - len(ending)
    words = _NOT_IN_A_JOB_NAME.sub("-", case.lower()).strip("-")[: max(0, room)].strip("-")
    return f"{JOB_PREFIX}{words}{ending}" if words else f"{JOB_PREFIX[:-1]}{ending}"


def attempt_job_name(first: str, attempt: int) -> str:
    """The job name of a later attempt, by the name of the first one.

    `mv-04-int8-3f9a0c1d2e4b5a67` and 2 give `mv-04-int8-3f9a0c1d2e4b5a67-2`, as `job_name` would.
    """
    case, _, key = first.removeprefix(JOB_PREFIX).rpartition("-")
    return job_name(case=case, key=key, attempt=attempt)


def key_of_job(name: str) -> str | None:
    """The key in a job's name; None where the name is not ours."""
    found = _JOB_NAME.fullmatch(name)
    return found["key"] if found else None


def run_name(*, variant: str, branch: str, case: str, key: str, attempt: int = 1) -> str:
    """The run's name inside the training program, and its folder's: `linen_feat-x_3f9a…_04_int8`."""
    tag = key if attempt == 1 else f"{key}.{attempt}"
    parts = [_NOT_IN_A_RUN_NAME.sub("-", part).strip("-.") for part in (variant, branch, tag, case)]
    return "_".join(part for part in parts if part)
