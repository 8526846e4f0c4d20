"""What every store promises, held against a folder and against a bucket alike."""

import gzip
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.artifacts.sources import open_source, open_store, source_size
from bot.artifacts.store import CHUNK_BYTES
from bot.errors import UserError
from tests.artifacts.conftest import Place


def _names(place: Place, glob: str, start_offset: str | None = None) -> list[str]:
    return [file.name for file in place.store.find(glob, start_offset=start_offset)]


def _whole(place: Place, name: str, generation: str | None = None) -> bytes:
    with place.store.open(name, generation) as pieces:
        return b"".join(pieces)


def test_a_star_never_crosses_a_level(place: Place) -> None:
    """A log below checkpoints/ is not found by a glob that ends one level above."""
    place.put("linen_main_1/case/a.log", b"1")
    place.put("linen_main_1/case/checkpoints/b.log", b"2")
    place.put("linen_main_1/c.log", b"3")
    place.put("nnx_main_1/case/a.log", b"4")
    assert ["linen_main_1/case/a.log"] == _names(place, "linen_*/*/*.log")


def test_names_come_in_byte_order(place: Place) -> None:
    """A folder lists as a bucket does, although `-` sorts before `/` and `_` after it."""
    names = ["a-b/x.log", "a/x.log", "a/y.log", "a0/x.log", "a_b/x.log"]
    for name in reversed(names):
        place.put(name, b"x")
    assert names == _names(place, "*/*.log")


def test_names_below_the_start_are_left_out(place: Place) -> None:
    """Only runs of the date asked for and later ones are listed."""
    for date in ("20260101", "20260418", "20260501"):
        place.put(f"linen_main_{date}_000000/case/a.log", b"x")
    assert [
        "linen_main_20260418_000000/case/a.log",
        "linen_main_20260501_000000/case/a.log",
    ] == _names(place, "linen_main_*/*/*.log", "linen_main_20260418")


def test_a_glob_without_wildcards_finds_one_file(place: Place) -> None:
    """A full name is a glob too."""
    place.put("a/b.log", b"x")
    place.put("a/b.log.gz", b"x")
    assert ["a/b.log"] == _names(place, "a/b.log")


@pytest.mark.parametrize("odd", ["a[1]b", "a{x,y}", "a!b", "a^b", "sp ace", "ü→", "per%20cent", "q?mark"])
def test_signs_of_other_glob_languages_stand_for_themselves(place: Place, odd: str) -> None:
    """Only the wildcards we document are wildcards."""
    place.put(f"{odd}/x.log", b"x")
    place.put("ax/x.log", b"x")
    assert [f"{odd}/x.log"] == _names(place, f"{odd}/*.log")
    assert b"x" == _whole(place, f"{odd}/x.log")
    with open_source(place.store.uri(f"{odd}/x.log")) as pieces:
        assert b"x" == b"".join(pieces)


def test_a_folder_is_deleted_and_what_begins_like_it_stays(place: Place) -> None:
    """A run's files at any depth, or one file; what is not there is deleted already."""
    for name in ("runs/a/x.log", "runs/a/b/y.log", "runs/ab/x.log", "runs/a.log"):
        place.put(name, b"x")
    assert [2, 0, 1] == [place.store.delete_below(name) for name in ("runs/a", "runs/a", "runs/a.log")]
    assert ["runs/ab/x.log"] == [*_names(place, "runs/*/*"), *_names(place, "runs/*")]


def test_nothing_found_is_an_empty_list(place: Place) -> None:
    """A branch without runs is no error."""
    place.put("a/b.log", b"x")
    assert [] == _names(place, "nothing/*/here")
    assert [] == _names(place, "a/b.log/*")


def test_a_found_file_says_its_size_and_time(place: Place) -> None:
    """The figures that the collector keeps."""
    place.put("a.log", b"12345")
    (found,) = place.store.find("*.log")
    assert (5, True) == (found.size, found.updated > 1_700_000_000)
    assert 5 == place.store.describe("a.log").size


def test_a_rewritten_file_has_another_generation(place: Place) -> None:
    """The measured content differs from what is there now."""
    place.put("a.log", b"one")
    (before,) = place.store.find("a.log")
    place.put("a.log", b"two, longer")
    (after,) = place.store.find("a.log")
    assert before.generation != after.generation


def test_a_large_file_arrives_whole_in_bounded_pieces(place: Place) -> None:
    """More than one ranged request, and no piece above the limit."""
    content = bytes(range(256)) * 36_000
    place.put("a.log", content)
    (found,) = place.store.find("a.log")
    with place.store.open("a.log", found.generation) as pieces:
        arrived = list(pieces)
    assert content == b"".join(arrived)
    assert max(map(len, arrived)) <= CHUNK_BYTES


def test_an_empty_file_is_no_pieces(place: Place) -> None:
    """A log that was only begun."""
    place.put("a.log", b"")
    assert (b"", 0, b"", b"") == (
        _whole(place, "a.log"),
        place.store.describe("a.log").size,
        place.store.read_small("a.log"),
        place.store.read_range("a.log", 0, 10),
    )


def test_gzip_arrives_as_it_is_stored(place: Place) -> None:
    """Inflating is the log reader's work."""
    stored = gzip.compress(b"step " * 1000)
    place.put("a.log.gz", stored)
    assert stored == _whole(place, "a.log.gz")


def test_small_files_are_inflated_cut_or_absent(place: Place) -> None:
    """A manifest is read whatever its runner did to it."""
    place.put("manifest.txt", gzip.compress(b"git_commit: 574ad3f\n"))
    place.put("long.txt", b"x" * 100)
    place.put("odd.txt", b"\x1f\x8bnot gzip after all")
    assert b"git_commit: 574ad3f\n" == place.store.read_small("manifest.txt")
    assert b"x" * 10 == place.store.read_small("long.txt", limit=10)
    assert b"\x1f\x8bnot gzip after all" == place.store.read_small("odd.txt")
    assert place.store.read_small("summary.json") is None
    assert place.store.read_small("no/such/folder/summary.json") is None


@pytest.mark.parametrize(("start", "length", "expected"), [(0, 3, b"abc"), (4, 10, b"ef"), (6, 5, b"")])
def test_a_range_ends_where_the_file_ends(place: Place, start: int, length: int, expected: bytes) -> None:
    """The log page asks for windows without knowing the end."""
    place.put("a.log", b"abcdef")
    assert expected == place.store.read_range("a.log", start, length)


def test_what_is_written_is_read_and_replaced(place: Place) -> None:
    """A write creates folders, and a second one replaces the first whole."""
    place.put("there.log", b"x")
    place.store.write("new/deep/a.txt", iter([b"one, ", b"two"]), "text/plain")
    assert b"one, two" == _whole(place, "new/deep/a.txt")
    place.store.write("new/deep/a.txt", [b"three"], "text/plain")
    assert b"three" == _whole(place, "new/deep/a.txt")
    assert ["new/deep/a.txt"] == _names(place, "new/deep/*")


def test_a_write_that_fails_leaves_what_was_there(place: Place) -> None:
    """Chunks that stop with an error leave neither a half file nor a trace."""

    def failing() -> "list[bytes]":
        raise RuntimeError("the run went away")

    place.put("a.txt", b"before")
    with pytest.raises(RuntimeError, match="went away"):
        place.store.write("a.txt", (piece for _ in range(1) for piece in failing()), "text/plain")
    assert b"before" == _whole(place, "a.txt")
    assert ["a.txt"] == _names(place, "*")


def test_a_missing_file_is_named_by_its_address(place: Place) -> None:
    """Opening what is not there names it."""
    place.put("a.log", b"x")
    with pytest.raises(UserError, match=re.escape(place.store.uri("b.log"))):
        _whole(place, "b.log")
    with pytest.raises(UserError, match=re.escape(place.store.uri("b.log"))):
        place.store.describe("b.log")


def test_the_uri_of_a_file_opens_it(place: Place) -> None:
    """A link to a log leads to the same bytes."""
    place.put("a b/c#1.log", b"log")
    uri = place.store.uri("a b/c#1.log")
    with open_source(uri) as pieces:
        assert b"log" == b"".join(pieces)
    assert 3 == source_size(uri)


def test_a_store_that_is_there_checks_out(place: Place) -> None:
    """Also when it holds nothing yet."""
    place.store.check()


@given(st.lists(st.sampled_from(["a", "a-b", "a_b", "a.log", "b"]), min_size=1, max_size=3), st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=15)
def test_finding_agrees_with_the_glob(place: Place, parts: list[str], data: st.DataObject) -> None:
    """A file is found exactly when a glob of its own depth matches level by level."""
    place.put("/".join([*parts, "x.log"]), b"x")
    shape = [data.draw(st.sampled_from([part, "*", f"{part[0]}*", "z*"])) for part in parts]
    found = _names(place, "/".join([*shape, "*.log"]))
    expected = all(level in (part, "*", f"{part[0]}*") for level, part in zip(shape, parts, strict=True))
    assert expected == ("/".join([*parts, "x.log"]) in found)


def test_an_unknown_kind_of_store_is_a_user_error() -> None:
    """Only folders and buckets keep runs."""
    with pytest.raises(UserError, match=r"^s3://x: runs are kept in a folder \(file:/path\) or a bucket"):
        open_store("s3://x")
