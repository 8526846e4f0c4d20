"""Hurries a server along that looks at a far cluster four times a minute: too seldom for a test.

In:  a server with SQLite. Out: whatever it put off is due, twice a second.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

from tests.end_to_end.server import Server


@contextmanager
def hurrying(server: Server) -> Iterator[None]:
    """Nothing changes but when the server looks at its runs."""
    enough, path = threading.Event(), server.folder / "data" / "maxview.sqlite"

    def hurry() -> None:
        while not enough.wait(0.5):
            with closing(sqlite3.connect(path, timeout=20)) as file, file:
                file.execute("UPDATE run SET due = 0 WHERE due IS NOT NULL")

    thread = threading.Thread(target=hurry)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()
