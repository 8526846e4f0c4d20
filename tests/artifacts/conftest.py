"""The two places runs are kept in, filled by tests: a folder and a bucket of a real emulator."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.artifacts.sources import open_store
from bot.artifacts.store import ArtifactStore
from tests.peers.bucket import BucketEmulator, serve_buckets


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A store under test, and a way to put files into it that does not use the store."""

    store: ArtifactStore
    put: Callable[[str, bytes], None]


@pytest.fixture(scope="session")
def emulator() -> Iterator[BucketEmulator]:
    """One emulator for all tests."""
    with serve_buckets() as running:
        yield running


@pytest.fixture(params=["folder", "bucket", "bucket with prefix"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A folder, a bucket, and a part of a bucket: what holds for one holds for all."""
    if request.param == "folder":
        return Place(store=open_store(f"file:{tmp_path}"), put=_putter(tmp_path))
    emulator: BucketEmulator = request.getfixturevalue("emulator")
    bucket = emulator.bucket()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", emulator.host)
    above = "bench/runs/" if request.param == "bucket with prefix" else ""
    bucket.upload("beside/linen_main_20260418/a.log", b"of somebody else")
    return Place(
        store=open_store(f"{bucket.url}/{above}"),
        put=lambda name, content: bucket.upload(above + name, content),
    )


def _putter(root: Path) -> Callable[[str, bytes], None]:
    def put(name: str, content: bytes) -> None:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return put
