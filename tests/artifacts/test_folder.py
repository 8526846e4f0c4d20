"""What a folder must promise beyond other stores: nothing leads out of it."""

import os
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.artifacts.folder import TEMPORARY_PREFIX, FolderStore, local_path
from bot.errors import InternalError, NotGranted, UserError


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    """A folder beside a file that must not be reached from it."""
    (tmp_path / "secret.pem").write_text("secret")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.log").write_text("log")
    return FolderStore(tmp_path / "runs")


@pytest.mark.parametrize(
    "name", ["../secret.pem", "x/../../secret.pem", "/etc/passwd", "", ".", "a//b", "a\0b"]
)
def test_no_name_leads_out(store: FolderStore, name: str) -> None:
    """Names come from logs' addresses and from requests: none is trusted."""
    with pytest.raises(UserError, match="not a name inside"):
        store.describe(name)
    with pytest.raises(UserError, match="not a name inside"):
        store.read_range(name, 0, 9)
    with pytest.raises(UserError, match="not a name inside"), store.open(name):
        pass
    with pytest.raises(UserError, match="not a name inside"):
        store.write(name, [b"x"], "text/plain")
    assert store.read_small(name) is None


@given(st.lists(st.sampled_from(["..", ".", "", "a", "secret.pem", "*", "runs"]), min_size=1, max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
def test_no_glob_leads_out(store: FolderStore, parts: list[str]) -> None:
    """Whatever a pattern says, only what lies below the root is found."""
    assert all(not {"..", "secret.pem"} & set(f.name.split("/")) for f in store.find("/".join(parts)))


def test_a_link_out_is_neither_found_nor_read(store: FolderStore, tmp_path: Path) -> None:
    """A run can plant a link to the server's key; it is as if it were not there."""
    (tmp_path / "runs" / "b.log").symlink_to(tmp_path / "secret.pem")
    (tmp_path / "runs" / "out").symlink_to(tmp_path)
    assert ["a.log"] == [file.name for file in store.find("*")]
    assert [] == list(store.find("*/*.pem"))
    with pytest.raises(UserError, match="leads out of"):
        store.read_range("b.log", 0, 9)
    assert store.read_small("out/secret.pem") is None


def test_a_link_inside_is_followed(store: FolderStore, tmp_path: Path) -> None:
    """`latest -> 20260418` is how people keep runs."""
    (tmp_path / "runs" / "b.log").symlink_to("a.log")
    assert ["a.log", "b.log"] == [file.name for file in store.find("*.log")]
    assert b"log" == store.read_small("b.log")


def test_a_pipe_is_not_a_log(store: FolderStore, tmp_path: Path) -> None:
    """Opening one would wait for ever."""
    os.mkfifo(tmp_path / "runs" / "pipe.log")
    assert ["a.log"] == [file.name for file in store.find("*.log")]
    with pytest.raises(UserError, match="not a regular file"):
        store.describe("pipe.log")


def test_a_file_that_changed_since_it_was_found_is_a_user_error(store: FolderStore, tmp_path: Path) -> None:
    """What was listed is read, or nothing."""
    (found,) = store.find("a.log")
    (tmp_path / "runs" / "a.log").write_text("another log")
    with pytest.raises(UserError, match="changed since it was found"), store.open("a.log", found.generation):
        pass


def test_a_file_that_shrinks_while_it_is_read_is_a_user_error(store: FolderStore, tmp_path: Path) -> None:
    """A cut log is never passed off as a whole one."""
    with store.open("a.log") as pieces:
        os.truncate(tmp_path / "runs" / "a.log", 1)
        with pytest.raises(UserError, match="became 2 bytes shorter"):
            list(pieces)


def test_a_growing_log_is_read_as_far_as_it_was(store: FolderStore, tmp_path: Path) -> None:
    """One look at a log has one length."""
    with store.open("a.log") as pieces:
        with (tmp_path / "runs" / "a.log").open("a") as file:
            file.write(" and more")
        assert b"log" == b"".join(pieces)


def test_a_file_being_written_is_not_found(store: FolderStore, tmp_path: Path) -> None:
    """Another process's half file has a name that no glob matches."""
    (tmp_path / "runs" / f"{TEMPORARY_PREFIX}abc").write_text("ha")
    assert ["a.log"] == [file.name for file in store.find("*")]


def test_readers_see_the_old_or_the_new_file(store: FolderStore) -> None:
    """A write in the middle of reads is never seen in half."""
    seen: set[bytes | None] = set()
    store.write("page.json", [b"old" * 1000], "application/json")

    def look() -> None:
        seen.update(store.read_small("page.json") for _ in range(200))

    reader = threading.Thread(target=look)
    reader.start()
    for content in (b"new", b"old") * 20:
        store.write("page.json", [content * 500] * 2, "application/json")
    reader.join()
    assert seen <= {b"old" * 1000, b"new" * 1000}


def test_the_message_for_a_missing_root_says_what_to_do(tmp_path: Path) -> None:
    """Both by looking and by asking."""
    store = FolderStore(tmp_path / "gone")
    expected = f"^{tmp_path}/gone: no such folder; create it, or name another$"
    with pytest.raises(UserError, match=expected):
        store.check()
    with pytest.raises(UserError, match=expected):
        list(store.find("*"))


def test_what_cannot_be_written_is_an_internal_error(tmp_path: Path) -> None:
    """Nobody who reads the comment can mend our disk."""
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(InternalError, match="cannot be written"):
        FolderStore(tmp_path / "file").write("a.txt", [b"x"], "text/plain")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("file:/a/b", "/a/b"),
        ("file:///a/b%20c", "/a/b c"),
        ("file://localhost/a", "/a"),
        ("file:/a b/100%25", "/a b/100%"),
        ("runs/here", "runs/here"),
        ("/a%20b", "/a%20b"),
    ],
)
def test_a_url_names_a_path(url: str, expected: str) -> None:
    """Addresses are percent-encoded, plain paths are not."""
    assert Path(expected) == local_path(url)


@pytest.mark.parametrize("url", ["file:", "file://server/share", "file:/a%00b"])
def test_a_url_that_names_no_local_path_is_a_user_error(url: str) -> None:
    """Another host's files cannot be read."""
    with pytest.raises(UserError, match="file:"):
        local_path(url)


def _granted_below(folder: Path) -> FolderStore:
    """The store of `folder`, in which only what lies below it is granted."""
    prefix = f"file:{folder.resolve()}/"
    return FolderStore(folder, lambda address: f"{address}/".startswith(prefix))


def test_a_link_that_appears_later_is_not_followed(tmp_path: Path) -> None:
    """What is granted is asked of the resolved place at every open: swapping a folder changes nothing."""
    folder, secret = tmp_path / "runs", tmp_path / "secret"
    for place in (folder / "a", secret):
        place.mkdir(parents=True)
        (place / "log.txt").write_bytes(b"mine" if place != secret else b"theirs")
    store = _granted_below(folder)
    assert store.read_range("a/log.txt", 0, 10) == b"mine"
    (folder / "a").rename(folder / "was")
    (folder / "a").symlink_to(secret)

    assert [file.name for file in store.find("*/log.txt")] == ["was/log.txt"]
    assert list(store.find("a/log.txt")) == []
    assert store.read_small("a/log.txt") is None
    for read in (store.describe, lambda name: store.read_range(name, 0, 10)):
        with pytest.raises(UserError):
            read("a/log.txt")


def test_a_folder_that_becomes_a_link_is_not_granted(tmp_path: Path) -> None:
    """The source itself is resolved at every use, too; whether the place exists is not said."""
    folder, secret = tmp_path / "runs", tmp_path / "secret"
    secret.mkdir()
    (secret / "log.txt").write_bytes(b"theirs")
    folder.mkdir()
    store = _granted_below(folder)
    folder.rmdir()
    folder.symlink_to(secret)
    with pytest.raises(NotGranted) as there:
        list(store.find("*.txt"))
    folder.unlink()
    folder.symlink_to(tmp_path / "nothing")
    with pytest.raises(NotGranted) as missing:
        list(store.find("*.txt"))

    assert (
        there.value.text == missing.value.text == f"this server may not read file:{folder}: ask its operator"
    )


def test_a_link_put_in_place_between_check_and_opening_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The resolved path is opened level by level without following links."""
    folder, secret = tmp_path / "runs", tmp_path / "secret"
    for place, text in ((folder / "a", b"mine"), (secret, b"theirs")):
        place.mkdir(parents=True)
        (place / "log.txt").write_bytes(text)
    real, resolved_logs = os.path.realpath, []

    def resolve_then_swap(path: str | os.PathLike[str]) -> str:
        resolved = real(path)
        resolved_logs.extend([resolved] if resolved.endswith("a/log.txt") else [])
        if len(resolved_logs) == 2 and not (folder / "a").is_symlink():
            (folder / "a").rename(folder / "was")
            (folder / "a").symlink_to(secret)
        return resolved

    monkeypatch.setattr(os.path, "realpath", resolve_then_swap)
    with pytest.raises(UserError):
        FolderStore(folder).read_range("a/log.txt", 0, 10)


def test_a_pipe_does_not_hold_its_reader(tmp_path: Path) -> None:
    """A run may leave a pipe without a writer where its log should be."""
    os.mkfifo(tmp_path / "log.txt")
    with pytest.raises(UserError, match="not a regular file"):
        FolderStore(tmp_path).read_range("log.txt", 0, 1)
