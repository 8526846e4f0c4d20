"""The real `xpk` from PyPI, in its own environment: its pins clash with ours.

The first call needs PyPI and a minute; later ones need nothing.
"""

import fcntl
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION = "1.16.0"


@cache
def xpk() -> Path:
    """The program `xpk`."""
    folder = ROOT / ".cache" / "xpk"
    folder.mkdir(parents=True, exist_ok=True)
    stamp, wanted = folder / "installed", f"{VERSION} {sys.version} {folder}"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.is_file() or stamp.read_text() != wanted:
            shutil.rmtree(folder / "venv", ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
            pip = [str(folder / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            subprocess.run([*pip, "--disable-pip-version-check", f"xpk=={VERSION}"], check=True)
            stamp.write_text(wanted)
    return folder / "venv" / "bin" / "xpk"
