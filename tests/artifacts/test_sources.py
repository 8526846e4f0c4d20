"""Sources named on the command line: read in full, or refused in one line."""

import gzip
import io
import os
import sys
from pathlib import Path

import pytest

from bot.artifacts.sources import open_source, source_size
from bot.errors import UserError
from tests.peers.bucket import BucketEmulator
from tests.peers.loopback import HttpAnswer, HttpRequest, scripted_server

LOG = b"completed step: 1, seconds: 0.229\n" * 30_000


def _whole(spec: str) -> bytes:
    with open_source(spec) as pieces:
        return b"".join(pieces)


def test_a_file_is_read_by_path_and_by_address(tmp_path: Path) -> None:
    """Also where its name has signs that addresses escape."""
    path = tmp_path / "run 1 #50%.log"
    path.write_bytes(LOG)
    assert LOG == _whole(str(path))
    assert LOG == _whole(path.as_uri())
    assert len(LOG) == source_size(str(path)) == source_size(path.as_uri())


def test_a_large_file_comes_in_pieces_of_a_megabyte(tmp_path: Path) -> None:
    """Memory does not grow with the log."""
    path = tmp_path / "a.log"
    path.write_bytes(bytes(3 << 20))
    with open_source(str(path)) as pieces:
        assert [1 << 20] * 3 == [len(piece) for piece in pieces]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """`kubectl logs … | maxview parse -` has no size."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(b"log")
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert source_size("-") is None
        assert b"log" == _whole("-")


def test_a_file_as_standard_input_has_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`maxview parse - < a.log` can show how far it is."""
    (tmp_path / "a.log").write_bytes(b"log")
    with (tmp_path / "a.log").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert 3 == source_size("-")


def test_standard_input_without_a_file_behind_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test runner or a notebook puts something else there."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"log")))
    assert (None, b"log") == (source_size("-"), _whole("-"))


def test_a_terminal_as_source_is_a_user_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise nothing happens and nobody knows why."""
    leader, follower = os.openpty()
    with os.fdopen(leader), os.fdopen(follower) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(UserError, match=r"^-: standard input is the terminal; pipe a log into it"):
            _whole("-")


def test_an_object_is_read_from_its_bucket(emulator: BucketEmulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the real library and a real bucket."""
    bucket = emulator.bucket()
    bucket.upload("run/a.log", LOG)
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", emulator.host)
    assert LOG == _whole(f"{bucket.url}/run/a.log")
    assert len(LOG) == source_size(f"{bucket.url}/run/a.log")
    with pytest.raises(UserError, match=r"run/b\.log: no such bucket or object; check the name$"):
        _whole(f"{bucket.url}/run/b.log")
    with pytest.raises(UserError, match=r"no-bucket/a: no such bucket or object; check the name$"):
        _whole("gs://no-bucket/a")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("{tmp}/gone.log", "{tmp}/gone.log: no such file; check the spelling"),
        ("{tmp}", "{tmp}: a directory, not a file; name the file inside it"),
        ("{tmp}/a.log/b", "{tmp}/a.log/b: a part of this path is a file, not a folder; check the spelling"),
        ("gs://runs", "gs://runs: no object named; write gs://bucket/object"),
        ("gs://runs/x/", "gs://runs/x/: no object named; write gs://bucket/object"),
        ("gs://", "gs://: no bucket named; write gs://bucket/object"),
        (
            "s3://runs/a.log",
            "s3://runs/a.log: cannot read s3://; give a path, -, gs://bucket/object or http(s)://…",
        ),
        ("", "no source named; give a path, -, gs://bucket/object or http(s)://…"),
        ("a\0b", "'a\\x00b': not a path (embedded null byte)"),
        ("file://far/a.log", "file://far/a.log: a file of another host cannot be read; write file:/path"),
        ("http://", "http:: not an address"),
        ("http://127.0.0.1:9/a", "http://127.0.0.1:9/a: cannot be reached ([Errno 111] Connection refused)"),
    ],
)
def test_what_cannot_be_opened_is_a_one_line_user_error(spec: str, said: str, tmp_path: Path) -> None:
    """What, where, and what to do."""
    (tmp_path / "a.log").write_bytes(b"log")
    with pytest.raises(UserError) as error:
        _whole(spec.format(tmp=tmp_path))
    assert error.value.text.startswith(said.format(tmp=tmp_path))
    assert "\n" not in error.value.text


def test_an_address_is_read_through_redirects() -> None:
    """As release assets and raw files are served."""

    def answer(request: HttpRequest) -> HttpAnswer:
        if request.path == "/latest":
            return HttpAnswer(status=302, headers={"location": "/a.log"})
        return HttpAnswer(body=LOG)

    with scripted_server(answer) as address:
        assert LOG == _whole(f"{address}/latest")
        assert len(LOG) == source_size(f"{address}/a.log")


def test_gzip_of_the_transport_arrives_as_gzip() -> None:
    """The log reader inflates by content, so the bytes must be what they are."""
    packed = gzip.compress(LOG)
    with scripted_server(lambda _: HttpAnswer(body=packed, headers={"content-encoding": "gzip"})) as address:
        assert packed == _whole(f"{address}/a.log")


def test_a_length_that_is_not_announced_is_no_size() -> None:
    """A server that streams; or that refuses to be asked."""
    with scripted_server(lambda _: HttpAnswer(body=LOG, announce_length="no")) as address:
        assert source_size(f"{address}/a.log") is None
        assert LOG == _whole(f"{address}/a.log")
    with scripted_server(lambda _: HttpAnswer(status=405)) as address:
        assert source_size(f"{address}/a.log") is None
    assert source_size("http://127.0.0.1:9/a.log") is None


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (404, "the server answered 404 Not Found; check the address"),
        (403, "the server answered 403 Forbidden; this address needs a permission"),
        (429, "the server answered 429 Too Many Requests; try again later"),
        (503, "the server answered 503 Service Unavailable; the fault is the server's: try again later"),
        (418, "the server answered 418"),
    ],
)
def test_messages_leave_out_the_signature(status: int, said: str) -> None:
    """A signed address is a secret; messages end in logs and comments."""
    with (
        scripted_server(lambda _: HttpAnswer(status=status, body=b"<html>")) as address,
        pytest.raises(UserError) as error,
    ):
        _whole(f"{address.replace('//', '//user:pass@')}/a.log?X-Goog-Signature=secret")
    assert error.value.text.startswith(f"{address}/a.log: {said}")


def test_an_encoding_that_was_not_requested_is_a_user_error() -> None:
    """Its bytes would look like a binary file."""
    with (
        scripted_server(lambda _: HttpAnswer(body=b"x", headers={"content-encoding": "br"})) as address,
        pytest.raises(UserError, match="came as br"),
    ):
        _whole(address)


def _resuming(cuts: list[int], asked: list[HttpRequest], request: HttpRequest) -> HttpAnswer:
    """A store that serves ranges, and breaks off where it is set to."""
    asked.append(request)
    start = int(request.headers.get("range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
    headers = {"accept-ranges": "bytes", "etag": '"v1"'}
    if start:
        headers["content-range"] = f"bytes {start}-{len(LOG) - 1}/{len(LOG)}"
    return HttpAnswer(
        status=206 if start else 200,
        headers=headers,
        body=LOG[start:],
        cut=cuts.pop(0) if cuts else None,
    )


def test_a_broken_download_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every byte once, and only of the version it began with."""
    monkeypatch.setattr("bot.artifacts.download.RESUME_PAUSE_SECONDS", 0)
    asked: list[HttpRequest] = []
    cuts = [400_000, 300_000]
    with scripted_server(lambda request: _resuming(cuts, asked, request)) as address:
        assert LOG == _whole(f"{address}/a.log")
    assert [None, '"v1"', '"v1"'] == [request.headers.get("if-range") for request in asked]


def test_a_download_without_progress_is_a_user_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three attempts without a byte are enough."""
    monkeypatch.setattr("bot.artifacts.download.RESUME_PAUSE_SECONDS", 0)
    asked: list[HttpRequest] = []
    with (
        scripted_server(lambda request: _resuming([0], asked, request)) as address,
        pytest.raises(UserError, match=rf"/a\.log: broke off after 0 of {len(LOG)} bytes; try again$"),
    ):
        _whole(f"{address}/a.log")
    assert 3 == len(asked)


def test_a_cut_download_that_cannot_be_resumed_is_a_user_error() -> None:
    """A part is never passed off as the whole."""
    with (
        scripted_server(lambda _: HttpAnswer(body=LOG, cut=1000)) as address,
        pytest.raises(UserError, match=rf"broke off after 1000 of {len(LOG)} bytes; try again$"),
    ):
        _whole(f"{address}/a.log")


def test_a_file_that_changes_during_the_download_is_a_user_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rest belongs to another log."""
    monkeypatch.setattr("bot.artifacts.download.RESUME_PAUSE_SECONDS", 0)

    def answer(request: HttpRequest) -> HttpAnswer:
        first = "range" not in request.headers
        return HttpAnswer(
            body=LOG if first else LOG[::-1],
            headers={"accept-ranges": "bytes", "etag": '"v1"'},
            cut=1000 if first else None,
        )

    with (
        scripted_server(answer) as address,
        pytest.raises(UserError, match="broke off after 1000 bytes and cannot be taken up"),
    ):
        _whole(address)
