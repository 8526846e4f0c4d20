"""The demonstration's stage: it leaves a real installation alone, and nothing running."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_demo_leaves_nothing_behind(how: signal.Signals, tmp_path: Path) -> None:
    """Its server ends with it, its folder is gone, and the database of the settings is untouched."""
    database, folder = tmp_path / "real.sqlite", tmp_path / "temporary"
    folder.mkdir()
    settings = {"DATABASE_URL": f"sqlite:///{database}", "TMPDIR": str(folder), "LOG_FORMAT": "nonsense"}
    with subprocess.Popen(
        [sys.executable, "-m", "bot", "demo"],
        env={**os.environ, **settings},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as played:
        assert played.stderr is not None
        standing = re.match(r"Server (http://\S+)", played.stderr.readline())
        assert standing is not None
        assert httpx.get(f"{standing[1]}/readyz").status_code == httpx.codes.OK
        played.send_signal(how)
        said = played.stderr.read()
    assert (played.returncode, said.split()) == (0, ["stopped"])
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{standing[1]}/readyz")
    assert list(folder.glob("maxview-demo-*")) == []
    assert not database.exists()
