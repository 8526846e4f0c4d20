"""The real `xpk` from PyPI, in its own environment: its pins clash with ours.

It is what `locks/xpk.txt` says. The first call needs PyPI and a minute; later ones need nothing.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_LOCK = ROOT / "locks" / "xpk.txt"


@cache
def xpk() -> Path:
    """The program `xpk`."""
    folder = ROOT / ".cache" / "xpk"
    folder.mkdir(parents=True, exist_ok=True)
    locked = hashlib.sha256(_LOCK.read_bytes()).hexdigest()
    stamp, wanted = folder / "installed", f"{locked} {sys.version} {folder}"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.is_file() or stamp.read_text() != wanted:
            shutil.rmtree(folder / "venv", ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
            pip = [str(folder / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            hashed = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--requirement", str(_LOCK)]
            subprocess.run([*pip, "--disable-pip-version-check", *hashed], check=True)
            stamp.write_text(wanted)
    return folder / "venv" / "bin" / "xpk"
