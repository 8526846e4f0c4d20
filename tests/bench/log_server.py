"""A site with one run, whose log is a large file: `python -m tests.bench.log_server LOG FOLDER PORT`.

In:  a log, an empty folder, a free port. Out: the run's pages at `/runs/big`, until it is ended.
"""

import sys
from pathlib import Path

import uvicorn
from msgspec.structs import replace

from bot.storage.database import Database
from tests.web.site_under_test import SiteUnderTest


def main(log: str, folder: str, port: str) -> None:
    """Serve it."""
    database = Database(f"sqlite:///{folder}/maxview.sqlite")
    database.migrate()
    site = SiteUnderTest(folder=Path(folder), database=database, url=f"http://127.0.0.1:{port}")
    made = site.add_run("big")
    site.update_run(replace(made), log_uri=Path(log).absolute().as_uri())
    uvicorn.run(site.app, host="127.0.0.1", port=int(port), log_config=None, lifespan="off")


if __name__ == "__main__":
    main(*sys.argv[1:4])
