"""The lines of a policy that would grant what repositories want, for the operator to sign. Pure."""

import json
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from bot.config import Suite
from bot.planning.jobs import device_of
from bot.policy.grants import LocalJobs, PolicyEntry, XpkGrant, grant_for, is_plain_address

HEAD = "version: 1\nrepositories:"


def entry_line(entry: PolicyEntry) -> str:
    """An entry in one line; empty where it would grant nothing."""
    parts = _parts(entry)
    return f"- {{{', '.join(parts)}}}" if len(parts) > 1 else ""


def policy_text(entries: Iterable[PolicyEntry]) -> str:
    """A whole policy of these entries."""
    lines = [HEAD]
    for entry in entries:
        first, *others = _parts(entry)
        lines += [f"  - {first}", *(f"    {part}" for part in others)]
    return "\n".join(lines if len(lines) > 1 else [f"{HEAD} []"]) + "\n"


def wanted_entry(full_name: str, suite: Suite) -> PolicyEntry:
    """What a repository's configuration needs, and no more; its jobs on this machine sandboxed."""
    device = device_of(suite.launch) if suite.launch else None
    source = suite.runs.source if suite.runs else ""
    return PolicyEntry(
        match=full_name,
        sources=(f"{source.rstrip('/')}/*",) if source and is_plain_address(source) else (),
        xpk=(grant_for(device.place, device.image),) if device and device.place else (),
        local=LocalJobs.SANDBOXED if device and device.place is None else LocalJobs.NO,
    )


def joined(entries: Iterable[PolicyEntry]) -> PolicyEntry:
    """One entry that grants what these grant together; they have the same `match`."""
    first, *others = entries
    for entry in others:
        first = replace(
            first,
            sources=tuple(dict.fromkeys((*first.sources, *entry.sources))),
            xpk=tuple(dict.fromkeys((*first.xpk, *entry.xpk))),
            local=max(first.local, entry.local, key=list(LocalJobs).index),
            upload=first.upload or entry.upload,
        )
    return first


def _parts(entry: PolicyEntry) -> list[str]:
    parts = [f"match: {_quoted(entry.match)}"]
    if entry.sources:
        parts.append(f"sources: {_quoted_list(entry.sources)}")
    launch = [f"xpk: [{', '.join(map(_xpk, entry.xpk))}]"] if entry.xpk else []
    launch += [f"local: {entry.local.value}"] if entry.local is not LocalJobs.NO else []
    if launch:
        parts.append(f"launch: {{{', '.join(launch)}}}")
    return [*parts, "upload: true"] if entry.upload else parts


def _xpk(grant: XpkGrant) -> str:
    return (
        f"{{project: {_quoted(grant.project)}, zone: {_quoted(grant.zone)}, "
        f"cluster: {_quoted(grant.cluster)}, device-types: {_quoted_list(grant.device_types)}, "
        f"max-slices: {grant.max_slices}, max-priority: {grant.max_priority}, "
        f"images: {_quoted_list(grant.images)}}}"
    )


def _quoted(text: str) -> str:
    """JSON's text is YAML's too."""
    return json.dumps(text)


def _quoted_list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, texts))}]"
