"""Make the demo's git repository, with a branch for each scenario.

Needs no git program. The same machine and folder give the same commits.
"""

import json
import shlex
import sys
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from msgspec import Struct

from bot.clusters.checkout import GitCommit, create_repository, write_commit
from bot.demo.scenarios import Scenario, scenarios

AUTHOR = "Demo Author <demo@example.com>"

CASES = ("01_base", "02_wide")

# A fixed moment in the past (2025-06-02 09:00 UTC): the same files give the same commits every time.
FIRST_COMMIT_TIME = 1_748_854_800

# Files of the package that are outside of `training/` in the repository.
_TOP_LEVEL_FILES = ("requirements.txt", "configs")

_README = """# A small trainer

A next-character network in plain Python that logs what MaxText logs. It stands in for a training framework
in a demonstration of MaxView: its pull requests make it slower, break it, or leave it as it was.
"""


class DemoBranch(Struct, frozen=True, kw_only=True):
    """A scenario with its commit. `files` maps a path to its content, for changed files only."""

    scenario: Scenario
    commit: GitCommit
    files: Mapping[str, bytes]


class DemoRepository(Struct, frozen=True, kw_only=True):
    """A repository on disk. `main` is the newest commit of its default branch, `files` are its files; every
    branch has one commit of its own, on top of `main`."""

    path: Path
    history: tuple[GitCommit, ...]
    files: Mapping[str, bytes]
    branches: tuple[DemoBranch, ...]

    @property
    def main(self) -> GitCommit:
        """The newest commit of the default branch, which is every pull request's merge base."""
        return self.history[-1]


def make_repository(path: Path) -> DemoRepository:
    """Make the repository at `path`, which must not exist yet."""
    create_repository(path)
    first = write_commit(
        path,
        branch="main",
        files={"README.md": _README.encode()},
        message="Say what this is\n",
        author=AUTHOR,
        at=FIRST_COMMIT_TIME,
    )
    content = {"README.md": _README.encode(), ".github/maxview.yml": configuration(path).encode()}
    content |= _program_files()
    main = write_commit(
        path,
        branch="main",
        files=content,
        message="A small trainer, and two cases that measure it\n",
        author=AUTHOR,
        at=FIRST_COMMIT_TIME + 3600,
        parents=[first.sha],
    )
    branches = tuple(
        _branch(path, scenario, main=main, content=content, at=FIRST_COMMIT_TIME + 3600 * (number + 2))
        for number, scenario in enumerate(scenarios())
    )
    return DemoRepository(path=path, history=(first, main), files=content, branches=branches)


def _branch(
    path: Path, scenario: Scenario, *, main: GitCommit, content: Mapping[str, bytes], at: int
) -> DemoBranch:
    changed: dict[str, bytes] = {}
    for edit in scenario.edits:
        before = changed.get(edit.file, content[edit.file]).decode()
        if before.count(edit.old) != 1:
            raise ValueError(f"{edit.file} does not hold the place that {scenario.branch} edits exactly once")
        changed[edit.file] = before.replace(edit.old, edit.new).encode()
    commit = write_commit(
        path,
        branch=scenario.branch,
        files={**content, **changed},
        message=f"{scenario.title}\n\n{scenario.body}\n",
        author=AUTHOR,
        at=at,
        parents=[main.sha],
    )
    return DemoBranch(scenario=scenario, commit=commit, files=changed)


def _program_files() -> dict[str, bytes]:
    """The training program's files by their place in the repository."""
    package = files("bot.demo") / "training"
    found = _files_below(package, "")
    return {
        name if name.startswith(_TOP_LEVEL_FILES) else f"training/{name}": text
        for name, text in found.items()
    }


def _files_below(folder: Traversable, prefix: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            found |= _files_below(entry, f"{prefix}{entry.name}/")
        elif entry.is_file():
            found[f"{prefix}{entry.name}"] = entry.read_bytes()
    return found


def configuration(repository: Path) -> str:
    """The repository's `.github/maxview.yml`. JSON strings are YAML strings, whatever a path holds."""
    commands = {case: _command(case) for case in CASES}
    lines = [f"  {case}: {{command: {json.dumps(command)}}}" for case, command in commands.items()]
    return _CONFIGURATION.format(repository=json.dumps(str(repository)), cases="\n".join(lines))


def _command(case: str) -> str:
    # Not a link in an environment: a sandboxed job sees the Python itself, and not our packages.
    python = str(Path(sys.executable).resolve())
    return f"{shlex.quote(python)} -m training.train configs/{case}.json run_name={{run_name}}"


_CONFIGURATION = """\
version: 1
launch:
  cluster: local
  local: {{repository: {repository}}}
variants: {{default: {{}}}}
cases:
{cases}
checks: off
# The device is simulated by a CPU that other programs share. Its clock counts work, in units of a reference
# that is timed beside it, so that the same program, run again, is 1 to 2 % slower or faster. On a TPU the
# defaults, 1 % and 5 %, are right.
margins: {{practical_percent: 5, equivalence_percent: 10}}
"""
