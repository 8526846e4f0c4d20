"""What Google's library and service do on bad days, played by a bucket of our own."""

import re
from base64 import b64encode

import pytest
from google_crc32c import Checksum

from bot.artifacts.bucket import RANGE_BYTES, BucketStore
from bot.artifacts.sources import open_source
from bot.artifacts.store import split_uri
from bot.errors import InternalError, NotGranted, UserError
from tests.peers.bucket import FaultyBucket


def _store(monkeypatch: pytest.MonkeyPatch, address: str) -> BucketStore:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
    return BucketStore(bucket="runs", retry_seconds=2)


def _read(store: BucketStore, name: str, generation: str | None = None) -> bytes:
    with store.open(name, generation) as pieces:
        return b"".join(pieces)


def test_a_listing_goes_on_to_its_last_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five objects on pages of two, and no request outside the prefix."""
    bucket = FaultyBucket(objects={f"main_{n}/a.log": b"x" for n in range(5)} | {"other/a.log": b"x"})
    with bucket.serving() as address:
        found = list(_store(monkeypatch, address).find("main_*/*.log", start_offset="main_1"))
    assert [f"main_{n}/a.log" for n in range(1, 5)] == [file.name for file in found]
    assert ["", "2"] == [request.query.get("pageToken", "") for request in bucket.asked]
    assert {("main_", "main_*/*.log", "main_1")} == {
        (asked.query["prefix"], asked.query["matchGlob"], asked.query["startOffset"])
        for asked in bucket.asked
    }


def test_a_read_keeps_to_the_generation_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request of a read names the generation, also where none was asked for."""
    bucket = FaultyBucket(objects={"a.log": b"x" * (RANGE_BYTES + 10)})
    with bucket.serving() as address:
        assert RANGE_BYTES + 10 == len(_read(_store(monkeypatch, address), "a.log"))
    assert [None, "7", "7"] == [request.query.get("generation") for request in bucket.asked]


def test_a_generation_that_is_gone_is_a_user_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log rewritten since it was listed is not read as if it were that one."""
    bucket = FaultyBucket(objects={"a.log": b"x"}, generation=8)
    with bucket.serving() as address, pytest.raises(UserError, match="no such bucket or object"):
        _read(_store(monkeypatch, address), "a.log", "7")


def test_a_cut_download_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two broken connections, and still every byte once."""
    content = bytes(range(256)) * 4000
    bucket = FaultyBucket(objects={"a.log": content}, cuts=[100_000, 300_000])
    with bucket.serving() as address:
        assert content == _read(_store(monkeypatch, address), "a.log")
    assert [] == bucket.cuts


def test_a_download_unlike_its_object_is_an_internal_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The stored checksum is compared with what arrived."""
    digest = Checksum(b"what is stored").digest()
    bucket = FaultyBucket(objects={"a.log": b"what arrived"}, crc32c=b64encode(digest).decode())
    with (
        bucket.serving() as address,
        pytest.raises(InternalError, match=r"a\.log: what arrived is not what is stored"),
    ):
        _read(_store(monkeypatch, address), "a.log")


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (400, UserError, "refused by Google"),
        (401, UserError, "gcloud auth application-default login"),
        (403, UserError, "Storage Object Viewer"),
        (404, UserError, "no such bucket or object"),
        (412, UserError, "was rewritten meanwhile"),
        (429, InternalError, "cannot be reached"),
        (503, InternalError, "cannot be reached"),
    ],
)
def test_googles_errors_are_translated(
    monkeypatch: pytest.MonkeyPatch, status: int, kind: type[Exception], said: str
) -> None:
    """Told where a person can act, Broken where only time can, and always which object."""
    with FaultyBucket(refuse=status).serving() as address:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
        store = BucketStore(bucket="runs", retry_seconds=0.3)
        with pytest.raises(kind, match=rf"^gs://runs/x/\*\.log: .*({said})"):
            list(store.find("x/*.log"))
        with pytest.raises(UserError, match=rf"^gs://runs/: .*({said})"):
            store.check()


def test_a_file_that_must_exist_is_not_taken_for_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No permission to read a manifest is no missing manifest."""
    with FaultyBucket(refuse=403).serving() as address, pytest.raises(UserError, match="permission denied"):
        _store(monkeypatch, address).read_small("manifest.txt")


def test_an_unreachable_bucket_is_an_error_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens at the address."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")
    store = BucketStore(bucket="runs", retry_seconds=0.3)
    with pytest.raises(
        UserError, match=r"^gs://runs/: the bucket cannot be reached \(.*refused.*\); try again$"
    ):
        store.check()
    with pytest.raises(InternalError, match="cannot be reached"):
        store.read_small("manifest.txt")


def test_a_source_in_an_unreachable_bucket_is_a_user_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the terminal everything is said to the person who sits there."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")
    monkeypatch.setattr("bot.artifacts.sources.TERMINAL_RETRY_SECONDS", 0.3)
    with (
        pytest.raises(UserError, match=r"^gs://runs/a\.log: the bucket cannot be reached"),
        open_source("gs://runs/a.log"),
    ):
        pass


@pytest.mark.parametrize("uri", ["gs://", "gs:///name"])
def test_an_address_without_a_bucket_is_a_user_error(uri: str) -> None:
    """It could only fail later, and less clearly."""
    with pytest.raises(UserError, match=rf"^{re.escape(uri)}: no bucket named"):
        split_uri(uri)


def test_no_request_leaves_what_is_granted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a listing nor a read of what the policy does not allow reaches the bucket."""
    bucket = FaultyBucket(objects={"mine/a.log": b"x", "ours/a.log": b"secret"})
    with bucket.serving() as address:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
        store = BucketStore(bucket="runs", retry_seconds=2, allows=lambda place: "/ours/" not in place)
        assert [file.name for file in store.find("*/*.log")] == ["mine/a.log"]
        asked = len(bucket.asked)
        for attempt in (
            lambda: store.describe("ours/a.log"),
            lambda: store.read_range("ours/a.log", 0, 1),
            lambda: store.read_small("ours/a.log"),
            lambda: _read(store, "ours/a.log"),
            lambda: list(store.find("ours/*.log")),
        ):
            with pytest.raises(NotGranted):
                attempt()
    assert len(bucket.asked) == asked
