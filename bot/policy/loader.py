"""The policy of this server, from the file that the setting `POLICY` names."""

import os
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from bot.artifacts.folder import file_address, local_path
from bot.errors import UserError
from bot.policy.grants import Policy, PolicyEntry

KERNEL_PLACES = ("file:/proc", "file:/sys", "file:/dev")
"""What is no run there, but the environment and the memory of processes, this server's too."""

SQLITE_FILES = ("", "-wal", "-shm", "-journal")


def load_policy(path: Path | None, never: Iterable[str] = ()) -> Policy:
    """The policy in the file; the policy of no entries where there is no file. Raises `UserError`.

    `never` are the server's own addresses, which no entry can grant."""
    places = tuple(dict.fromkeys((*KERNEL_PLACES, *never)))
    if path is None:
        return Policy(never=places)
    from bot.policy.models import read_entries  # noqa: PLC0415 - pydantic takes a while to load

    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise UserError(f"POLICY: {path} cannot be read: {reason}") from problem
    except UnicodeDecodeError as problem:
        raise UserError(f"POLICY: {path} is not UTF-8 text; save the file as UTF-8") from problem
    entries = read_entries(text, str(path))
    resolved = None if entries is None else tuple(map(_with_resolved_sources, entries))
    return Policy(entries=resolved, never=(*places, file_address(path)))


def own_places(
    *, data_dir: Path, artifacts_url: str, database_url: str, files: Iterable[Path] = ()
) -> tuple[str, ...]:
    """The addresses of what the server keeps, whoever asks for them."""
    found = [file_address(data_dir)]
    found.append(
        artifacts_url if artifacts_url.startswith("gs://") else file_address(local_path(artifacts_url))
    )
    if database_url.startswith("sqlite"):
        file = database_url.partition("///")[2].partition("?")[0]
        found += [file_address(Path(file + ending)) for ending in SQLITE_FILES if file]
    return (*found, *map(file_address, files))


def _with_resolved_sources(entry: PolicyEntry) -> PolicyEntry:
    """The entry with the links in its folders resolved, once and for all."""
    return replace(entry, sources=tuple(map(_resolved_prefix, entry.sources)))


def _resolved_prefix(prefix: str) -> str:
    if not prefix.startswith("file:"):
        return prefix
    parts = prefix.rstrip("/").split("/")
    fixed = next((number for number, part in enumerate(parts) if "*" in part), len(parts))
    above = os.path.realpath(local_path("/".join(parts[:fixed]) + "/"))
    return "/".join((f"file:{above.rstrip('/')}", *parts[fixed:]))
