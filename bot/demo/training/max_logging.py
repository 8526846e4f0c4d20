"""Log lines with absl's prefix: severity and date, time, thread, and the line of code that spoke.

In:  a message. Out: one line on standard error, with the moment on the simulated accelerator's clock.
"""

import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

from .device_clock import CLOCK


def log(message: str) -> None:
    """Say something. The file and line in the prefix are the caller's own."""
    caller = sys._getframe(1)  # noqa: SLF001 - logging libraries find their caller in no other way
    site = f"{Path(caller.f_code.co_filename).name}:{caller.f_lineno}"
    now = datetime.fromtimestamp(CLOCK.now(), UTC)
    sys.stderr.write(f"I{now:%m%d %H:%M:%S.%f} {threading.get_ident()} {site}] {message}\n")
    sys.stderr.flush()
