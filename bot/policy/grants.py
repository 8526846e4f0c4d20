"""What the policy grants to one repository, as values and pure decisions.

An address is `gs://bucket/name` or `file:/path` with every link resolved. Prefixes end at a `/`: `gs://b/runs`
says nothing of `gs://b/runs-private`.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import takewhile
from urllib.parse import unquote

from msgspec import Struct

from bot.clusters.interface import PRIORITIES, ClusterPlace, Isolation

MAX_DECODINGS = 4
"""How often a name is percent-decoded to look for hidden dots and slashes."""

ASK_THE_OPERATOR = "ask its operator"


class LocalJobs(StrEnum):
    """Whether jobs may run on the server's own machine, and how far they are kept from the server."""

    NO = "no"
    SANDBOXED = "sandboxed"
    UNSANDBOXED = "unsandboxed"


class XpkGrant(Struct, frozen=True, kw_only=True):
    """An XPK cluster that may be used: with these device types, slices, priorities and images."""

    project: str
    zone: str
    cluster: str
    device_types: tuple[str, ...]
    images: tuple[str, ...]
    max_slices: int
    max_priority: str

    def is_at(self, place: ClusterPlace) -> bool:
        """Whether it is about the cluster of this place."""
        return (self.project, self.zone, self.cluster) == (place.project, place.zone, place.cluster)


class PolicyEntry(Struct, frozen=True, kw_only=True):
    """One entry of the policy. `match` is `owner/name`, where the name may hold `*`."""

    match: str
    sources: tuple[str, ...] = ()
    xpk: tuple[XpkGrant, ...] = ()
    local: LocalJobs = LocalJobs.NO
    upload: bool = False
    chip_hours_per_day: float | None = None

    @property
    def owner(self) -> str:
        """The owner's login, in small letters: GitHub tells none apart by case."""
        return self.match.partition("/")[0].lower()

    @property
    def key(self) -> str:
        """What its numbers are stored under."""
        return self.match.lower()

    @property
    def name_glob(self) -> str:
        """The name of the repository, or a glob of names, in small letters."""
        return self.match.partition("/")[2].lower()

    @property
    def is_exact(self) -> bool:
        """Whether it is about one repository."""
        return "*" not in self.name_glob

    def names(self, full_name: str) -> bool:
        """Whether a repository of this name is meant."""
        owner, _, name = full_name.lower().partition("/")
        return owner == self.owner and matches_part(self.name_glob, name)


class MatchIds(Struct, frozen=True, kw_only=True):
    """GitHub's numbers of what an entry's `match` named when it was first resolved."""

    owner: int
    repository: int | None = None


class RepositoryIdentity(Struct, frozen=True, kw_only=True):
    """A repository as GitHub names it now, and its numbers."""

    full_name: str
    id: int | None
    owner: int | None


class Policy(Struct, frozen=True, kw_only=True):
    """The whole policy. `entries` None: the account that owns the App may upload, nobody else anything.

    `never` are addresses that no entry can grant: the server's own places.
    """

    entries: tuple[PolicyEntry, ...] | None = None
    never: tuple[str, ...] = ()

    def entries_of(
        self, one: RepositoryIdentity, ids: Mapping[str, MatchIds], app_owner: int | None
    ) -> tuple[PolicyEntry, ...]:
        """The entries that hold for a repository: by its name now, and by the numbers that name had first.

        So a rename or a transfer takes no grant along, and who takes a freed name gets none.
        """
        if one.id is None or one.owner is None:
            return ()
        if self.entries is None:
            return (PolicyEntry(match=one.full_name, upload=True),) if one.owner == app_owner else ()
        return tuple(entry for entry in self.entries if _holds(entry, one, ids.get(entry.key)))

    def unresolved(self, one: RepositoryIdentity, ids: Mapping[str, MatchIds]) -> dict[str, MatchIds]:
        """The numbers of entries that name this repository and have none yet, by the entries' keys."""
        if one.id is None or one.owner is None:
            return {}
        fresh = {}
        for entry in self.entries or ():
            known = ids.get(entry.key, MatchIds(owner=one.owner))
            found = MatchIds(owner=one.owner, repository=one.id if entry.is_exact else None)
            if entry.names(one.full_name) and known == MatchIds(owner=one.owner):
                fresh[entry.key] = found
        return {key: found for key, found in fresh.items() if ids.get(key) != found}

    def knows(self, place: ClusterPlace | None) -> bool:
        """Whether any entry is about this cluster; this machine is always our own."""
        return place is None or any(grant.is_at(place) for entry in self.entries or () for grant in entry.xpk)


def _holds(entry: PolicyEntry, one: RepositoryIdentity, ids: MatchIds | None) -> bool:
    if ids is None or not entry.names(one.full_name) or ids.owner != one.owner:
        return False
    return not entry.is_exact or ids.repository == one.id


class Refusal(Struct, frozen=True, kw_only=True):
    """What is not granted, in one line for the comment; `wanted` is what would grant it."""

    text: str
    wanted: PolicyEntry


class Grants(Struct, frozen=True, kw_only=True):
    """The entries that hold for one repository now. `why_none` is why there are none, where that is not the
    policy's doing."""

    repository: str = ""
    entries: tuple[PolicyEntry, ...] = ()
    never: tuple[str, ...] = ()
    why_none: str = ""

    @property
    def local(self) -> LocalJobs:
        """The widest of what the entries say of local jobs."""
        return max((entry.local for entry in self.entries), key=list(LocalJobs).index, default=LocalJobs.NO)

    @property
    def isolation(self) -> Isolation:
        """How a local job runs; sandboxed, unless an entry says otherwise in so many words."""
        unsandboxed = self.local is LocalJobs.UNSANDBOXED
        return Isolation.UNSANDBOXED if unsandboxed else Isolation.SANDBOXED

    def upload_refusal(self) -> Refusal | None:
        """Why the repository may not upload runs."""
        if any(entry.upload for entry in self.entries):
            return None
        return self._refusal("take uploads of this repository", upload=True)

    def allows(self, address: str) -> bool:
        """Whether a resolved address may be read."""
        return not is_below(address, self.never) and any(
            is_below(address, entry.sources) for entry in self.entries
        )

    def source_refusal(self, source: str, address: str) -> Refusal | None:
        """Why `source`, as the repository writes it, may not be read; `address` is what it resolves to."""
        if is_plain_address(source) and self.allows(address):
            return None
        grantable = is_plain_address(source) and not is_below(address, self.never)
        wanted = (f"{source.rstrip('/')}/*",) if grantable else ()
        return self._refusal(f"read {source}", sources=wanted)

    def launch_refusal(
        self, place: ClusterPlace | None, *, image: str = "", address: str = ""
    ) -> Refusal | None:
        """Why a job may not be launched at this place. `image` is as it is pulled, with the commit in it;
        `address` is where the commits of a local job are."""
        if place is None:
            return self._local_refusal(address)
        there = [grant for entry in self.entries for grant in entry.xpk if grant.is_at(place)]
        problems = [_xpk_problem(grant, place, image) for grant in there] or [f"launch on {place.name}"]
        if not all(problems):
            return None
        return self._refusal(min(problems, key=len), xpk=(grant_for(place, image),))

    def _local_refusal(self, address: str) -> Refusal | None:
        if self.local is LocalJobs.NO:
            return self._refusal("run jobs on its own machine", local=LocalJobs.SANDBOXED)
        if is_below(address, self.never):
            # No entry can grant it: the commits must be kept elsewhere.
            return self._refusal("read its own folders for launch.local.repository")
        return None

    def _refusal(
        self,
        what: str,
        *,
        sources: tuple[str, ...] = (),
        xpk: tuple[XpkGrant, ...] = (),
        local: LocalJobs = LocalJobs.NO,
        upload: bool = False,
    ) -> Refusal:
        wanted = PolicyEntry(match=self.repository, sources=sources, xpk=xpk, local=local, upload=upload)
        return Refusal(text=f"this server may not {what}: {self.why_none or ASK_THE_OPERATOR}", wanted=wanted)


def grant_for(place: ClusterPlace, image: str) -> XpkGrant:
    """The least that lets this image run at this place."""
    parts = takewhile(lambda part: "{" not in part, image_parts(image))
    return XpkGrant(
        project=place.project,
        zone=place.zone,
        cluster=place.cluster,
        device_types=(place.device_type,),
        images=("/".join(parts),),
        max_slices=place.slices,
        max_priority=place.priority,
    )


def _xpk_problem(grant: XpkGrant, place: ClusterPlace, image: str) -> str:
    """What of a launch on the grant's cluster is not granted; empty if all is."""
    if place.device_type not in grant.device_types:
        return f"launch on {place.device_type} of {place.name}"
    if place.slices > grant.max_slices:
        return f"launch on {place.slices} slices of {place.name}"
    if _rank(place.priority) > _rank(grant.max_priority):
        return f"launch with priority {place.priority} on {place.name}"
    if not is_image_below(image, grant.images):
        return f"launch the image {image} on {place.name}"
    return ""


def _rank(priority: str) -> int:
    """The place of a priority in XPK's order; an unknown one is above all."""
    return PRIORITIES.index(priority) if priority in PRIORITIES else len(PRIORITIES)


@lru_cache(maxsize=1024)
def _part_regex(glob: str) -> re.Pattern[str]:
    return re.compile("[^/]*".join(map(re.escape, re.split(r"\*+", glob))), re.DOTALL)


def matches_part(glob: str, part: str) -> bool:
    """Whether one level of a name matches; `*` stands for anything within the level."""
    return _part_regex(glob).fullmatch(part) is not None


def address_parts(address: str) -> tuple[str, ...]:
    """`gs://b/runs/x` as `gs`, `b`, `runs`, `x`; `file:/a/b` as `file`, `a`, `b`. A bucket has no case."""
    scheme, _, rest = address.partition(":")
    parts = rest.lstrip("/").split("/")
    while parts and parts[-1] == "":
        parts.pop()
    if scheme.lower() == "gs":
        parts[:1] = [part.lower() for part in parts[:1]]
    return (scheme.lower(), *parts)


def is_below(address: str, prefixes: Sequence[str]) -> bool:
    """Whether an address is one of the prefixes, or below one."""
    parts = address_parts(address)
    return any(_has_prefix(parts, _prefix_parts(prefix)) for prefix in prefixes)


def _prefix_parts(prefix: str) -> tuple[str, ...]:
    parts = address_parts(prefix)
    return parts[:-1] if parts[-1] == "*" else parts


def _has_prefix(parts: Sequence[str], prefix: Sequence[str]) -> bool:
    return len(parts) >= len(prefix) and all(map(matches_part, prefix, parts))


def is_plain_address(source: str) -> bool:
    """Whether a repository's source means the same to everybody: no dots, doubled or hidden slashes."""
    scheme, _, rest = source.partition(":")
    if scheme.lower() != "gs":
        return True  # a path is resolved by the operating system before it is compared
    name = rest.removeprefix("//").removesuffix("/")
    for _ in range(MAX_DECODINGS):
        if any(part in ("", ".", "..") for part in name.replace("\\", "/").split("/")):
            return False
        decoded = unquote(name)
        if decoded == name:
            return name.isprintable()
        if decoded.count("/") != name.count("/"):
            return False
        name = decoded
    return False


# The registry of an image that names none, and its name for images without an owner.
_DEFAULT_REGISTRY, _DEFAULT_OWNER = "docker.io", "library"


def image_parts(image: str) -> tuple[str, ...]:
    """The registry and the path of an image, without tag and digest: `gcr.io`, `my-project`, `maxtext`."""
    name = image.partition("@")[0]
    above, slash, last = name.rpartition("/")
    first, *rest = (above + slash + last.partition(":")[0]).split("/")
    if not rest or not ("." in first or ":" in first or first == "localhost"):
        rest = [first, *rest]
        first = _DEFAULT_REGISTRY
    if first.lower() in ("index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"):
        first = _DEFAULT_REGISTRY
    if first.lower() == _DEFAULT_REGISTRY and len(rest) == 1:
        rest = [_DEFAULT_OWNER, *rest]
    return (first.lower(), *rest)


def is_image_below(image: str, prefixes: Sequence[str]) -> bool:
    """Whether an image, as it will be pulled, is one of the prefixes or below one."""
    parts = image_parts(image)
    if any(part in ("", ".", "..") for part in parts):
        return False
    return any(parts[: len(prefix)] == prefix for prefix in map(_image_prefix, prefixes))


def _image_prefix(prefix: str) -> tuple[str, ...]:
    """The parts of a granted prefix; it names its registry."""
    first, *rest = prefix.strip("/").split("/")
    return (first.lower(), *rest)
