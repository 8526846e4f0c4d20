"""What must hold for any bytes that are read as a log. The first byte is the size of the chunks."""

from collections.abc import Iterator

from bot.logs.reader import read_log
from bot.report.documents import json_text, run_response
from bot.verdict.compare import compare
from bot.verdict.measure import measure


def check_reader(data: bytes) -> None:
    """Read, measure, write as JSON and compare with itself; in pieces the same must come out as whole."""
    size, content = (data[0] + 1 if data else 1), data[1:]
    whole = read_log([content], "fuzz")
    pieces = read_log(_cut(content, size), "fuzz")
    assert repr(whole) == repr(pieces), f"in pieces of {size} bytes another answer than whole"
    for log in whole:
        run = measure(log)
        json_text(run_response(run))
        found = compare([run], [run])
        assert found.verdict.value not in {"slower", "faster", "new_failure", "fixed"}, found.verdict


def _cut(content: bytes, size: int) -> Iterator[bytes]:
    for at in range(0, len(content), size):
        yield content[at : at + size]
