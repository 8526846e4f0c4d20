"""The log reader as a program: `python -m tests.bench.scan_log FILE` prints how many steps it saw."""

import sys
from pathlib import Path

from bot.logs.reader import LogReader

CHUNK = 1 << 20


def main(path: str) -> None:
    """Feed a file to the reader as it is fed anywhere else."""
    reader = LogReader(path)
    with Path(path).open("rb") as opened:
        while chunk := opened.read(CHUNK):
            reader.feed(chunk)
    print(sum(log.steps_seen for log in reader.close()))


if __name__ == "__main__":
    main(sys.argv[1])
