"""Measured runs that are kept as values, and how values are read back."""

import ast
import subprocess
import sys
from pathlib import Path

import bot
from bot.storage import runs
from bot.storage.runs import DecodeCache
from bot.verdict.judgement import MeasuredRun
from tests.verdict.made_runs import Shape
from tests.verdict.made_runs import run as made

DOCUMENTS = [runs.encode_measured(made(Shape(steps=8, seed=seed))) for seed in range(4)]


class _Counting:
    def __init__(self) -> None:
        self.decoded = 0

    def __call__(self, document: bytes) -> MeasuredRun:
        self.decoded += 1
        return runs.decode_uncached(document)


def test_the_same_content_is_decoded_once() -> None:
    """Whatever it is called: the content is the key, so nothing kept can be outdated."""
    lately, counting = DecodeCache(), _Counting()
    first = lately.get(DOCUMENTS[0], counting)
    assert first is lately.get(bytes(bytearray(DOCUMENTS[0])), counting)
    assert 1 == counting.decoded
    assert first != lately.get(DOCUMENTS[1], counting)


def test_no_more_is_kept_than_was_allowed() -> None:
    """The entry used longest ago is dropped; one larger than the cache is not stored."""
    lately, counting = DecodeCache(kept_bytes=len(DOCUMENTS[0]) + len(DOCUMENTS[1]) + 10), _Counting()
    for place in (0, 1, 0, 2):
        lately.get(DOCUMENTS[place], counting)
    assert 3 == counting.decoded
    lately.get(DOCUMENTS[0], counting)
    assert 3 == counting.decoded
    lately.get(DOCUMENTS[1], counting)
    assert 4 == counting.decoded
    small, again = DecodeCache(kept_bytes=10), _Counting()
    assert small.get(DOCUMENTS[0], again) == small.get(DOCUMENTS[0], again)
    assert 2 == again.decoded


def _late_types() -> list[str]:
    """Where a type is given to a reader while the program works, or a reader is made then."""
    found = []
    for path in sorted(Path(bot.__path__[0]).rglob("*.py")):
        for outer in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
                calls = [one for one in ast.walk(outer) if isinstance(one, ast.Call)]
                found += [f"{path.name}:{one.lineno}" for one in calls if _reads_a_type(one)]
    return found


def _reads_a_type(node: ast.Call) -> bool:
    if not isinstance(node.func, ast.Attribute):
        return False
    name = node.func.attr
    return name == "Decoder" or (name == "decode" and any(one.arg == "type" for one in node.keywords))


def test_types_are_known_before_there_are_threads() -> None:
    """The two that read a type for the first time at once would end the process."""
    assert {"sql.py"} == {place.partition(":")[0] for place in _late_types()}


_RACE = """
import sys, threading, zlib
import msgspec
from bot.storage import reports, runs
from tests.report.samples import mixed

document, start = msgspec.msgpack.encode(mixed()), threading.Barrier(8)
sys.setswitchinterval(1e-6)

def read():
    start.wait()
    for _ in range(5):
        reports._REPORT(document)

threads = [threading.Thread(target=read) for _ in range(8)]
for one in threads: one.start()
for one in threads: one.join()
"""


def test_threads_that_read_the_same_for_the_first_time_end_nothing() -> None:
    """Decoders that are made at the time of need fail here more often than not."""
    subprocess.run([sys.executable, "-c", _RACE], check=True, cwd=Path(bot.__path__[0]).parent)
