"""Pull requests, heads, rows and suites as values, for the tests of the worker."""

from typing import Any

from msgspec import structs
from msgspec.structs import replace

from bot.config import Suite, read_suite
from bot.domain.commit import Commit
from bot.domain.head import HeadFacts
from bot.domain.pull_request import Branch, PullRequest, SubjectKind
from bot.domain.repository import Permission, Person, Repository
from bot.storage.pull_requests import PullRow

ACME = Repository(full_name="acme/maxtext", installation=1, default_branch="main")

ALICE = Person(login="alice", id=7)

BASE, HEAD = "b" * 40, "a" * 40

NOW = 1_795_000_000.0

PULL = PullRequest(
    repository="acme/maxtext",
    number=7,
    title="A change",
    open=True,
    merged=False,
    draft=False,
    head_sha=HEAD,
    head_branch="feat/x",
    head_repository="acme/maxtext",
    base_branch="main",
    base_sha=BASE,
    author=ALICE,
    updated_at=NOW,
)

BRANCH = Branch(
    repository="acme/maxtext",
    row_number=-1,
    title="A commit",
    open=True,
    head_sha=HEAD,
    head_branch="feat/x",
    base_branch="main",
    updated_at=NOW,
)

ROW = PullRow(
    repository="acme/maxtext",
    number=7,
    installation=1,
    open=True,
    title="A change",
    head_sha=HEAD,
    head_branch="feat/x",
    head_seen=NOW,
    wanted=1,
    kind=SubjectKind.PULL_REQUEST,
    attempts=0,
)

FACTS = HeadFacts(
    merge_base=Commit(sha=BASE, committed_at=NOW - 3600, message="Base"),
    ancestors=(BASE, "c" * 40),
    changed_paths=("src/a.py",),
    committed_at=NOW - 60,
)

FETCHES = """\
version: 1
runs: {source: "file:/runs", pattern: "{variant}_{slug}_{date}_{time}/{case}/*.log"}
variants: {linen: {}, nnx: {args: "pure_nnx=true"}}
cases: {03_dropout: {}, 04_int8: {}, 11_offload: {}}
"""

LAUNCHES = """\
version: 1
launch: {cluster: local, local: {repository: /code, timeout: 5m}}
variants: {linen: {}, nnx: {args: "pure_nnx=true"}}
cases:
  03_dropout: {command: "python3 train.py run_name={run_name} dropout_rate=0.1"}
  04_int8: {command: "python3 train.py run_name={run_name} quantization=int8"}
"""


def suite(text: str = FETCHES, **more: str) -> Suite:
    """A suite of this configuration with further lines."""
    return read_suite(text + "".join(f"{key}: {value}\n" for key, value in more.items()))


def row(**changed: Any) -> PullRow:
    """The row with these changes."""
    return replace(ROW, **changed)


def pull(**changed: Any) -> PullRequest:
    """The pull request with these changes."""
    return structs.replace(PULL, **changed)


WRITE, READ = Permission.WRITE, Permission.READ
