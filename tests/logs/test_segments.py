"""A device's memory may be printed several times: its first reading and its largest later one are kept."""

from bot.logs.reader import read_log
from tests.log_writers.maxtext import maxtext_log


def _readings(*used: float) -> bytes:
    """A log whose first device is read again, as its own line says it, before step 3."""
    text = maxtext_log(steps=5)
    line = next(line for line in text.splitlines() if "Using (GB) 0.44" in line)
    step = next(line for line in text.splitlines() if "completed step: 3," in line)
    more = [line.replace("Using (GB) 0.44", f"Using (GB) {one}") for one in used]
    return text.replace(step, "\n".join((*more, step))).encode()


def test_the_largest_later_reading_is_kept_beside_the_first() -> None:
    """It shows growth anywhere in the run."""
    (run,) = read_log([_readings(0.5, 0.9, 0.7)], "log")
    assert run.memory[0].used_gb == 0.44
    assert [(one.device, one.used_gb) for one in run.memory_most] == [(run.memory[0].device, 0.9)]


def test_one_reading_has_no_later_one() -> None:
    """Nothing is made up where memory was printed once."""
    (run,) = read_log([maxtext_log(steps=5).encode()], "log")
    assert (len(run.memory) > 0, run.memory_most) == (True, ())


def test_a_reading_knows_its_place() -> None:
    """The byte of its line can be linked to."""
    text = _readings(0.9)
    (run,) = read_log([text], "log")
    places = [run.memory[0].offset, run.memory_most[0].offset]
    assert [text[place : place + 10] for place in places] == [b"Using (GB)"] * 2
