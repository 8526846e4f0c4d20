"""The folders that a job may write to: made before it starts, removed with whatever it made in them."""

import os
import secrets
import shutil
import stat
from contextlib import suppress
from itertools import count
from pathlib import Path

SCRATCH_FOLDERS = ("work", "home", "tmp")
"""Below a job's folder: the commit's files, the home, and what is temporary."""


def make_scratch(folder: Path, commit: Path) -> None:
    """Make a job's scratch folders, with a copy of the commit's files in the first."""
    for name in SCRATCH_FOLDERS:
        remove_tree(folder / name)
    shutil.copytree(commit, folder / "work", symlinks=True)
    (folder / "home").mkdir()
    (folder / "tmp").mkdir()


def remove_scratch(folder: Path) -> None:
    """Remove a job's scratch folders."""
    for name in SCRATCH_FOLDERS:
        remove_tree(folder / name)


def remove_tree(folder: Path) -> None:
    """Remove a folder with all that is in it. No link is followed, and what cannot be removed stays.

    A job may have made folders of any depth, and closed them: each is opened and moved up before it is
    looked into, so that neither a path nor our own stack grows.
    """
    try:
        if not stat.S_ISDIR(folder.lstat().st_mode):
            folder.unlink()
            return
    except OSError:
        return
    moved = count()
    mark = f".removed-{secrets.token_hex(8)}-"
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        with suppress(OSError):
            current.chmod(0o700)
            for name in _empty(current):
                within = current / name
                # What is in the outermost folder need not be moved up.
                higher = within if current == folder else folder / f"{mark}{next(moved)}"
                with suppress(OSError):
                    within.chmod(0o700)
                    within.rename(higher)
                    waiting.append(higher)
        if current != folder:
            with suppress(OSError):
                current.rmdir()
    with suppress(OSError):
        folder.rmdir()


def _empty(folder: Path) -> list[str]:
    """Remove the files of a folder; returns the names of the folders in it."""
    folders: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                with suppress(OSError):
                    (folder / entry.name).unlink()
    return folders
