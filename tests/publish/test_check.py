"""The check is made when it can be concluded, written when it says something new, and never left pending."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
from msgspec import structs
from msgspec.structs import replace

from bot.config import NO_CHECKS, CheckConfig, CheckKind
from bot.domain.check import Conclusion, RenderedCheck
from bot.domain.published import CheckState, DirtyCheck, PostedCheck, UnknownCheckRun
from bot.domain.repository import Repository
from bot.publish.check import CheckOutput
from bot.publish.lease_fence import Fence, LeaseLost
from bot.publish.publisher import Content, NewReport, NotMeasured, Publication, PullClosed
from bot.publish.rendering import RenderedComment
from bot.report.model import Report, RowState
from bot.storage import pull_requests
from bot.storage.database import Database
from bot.storage.pull_requests import PullRow
from tests.report.samples import case, same, slower
from tests.worker.samples import ACME, HEAD, NOW, row

CHECK = CheckConfig(kind=CheckKind.CHECK)

REPORT = Report(
    repository="acme/maxtext",
    number=7,
    title="A change",
    head_sha=HEAD,
    head_branch="feat/x",
    base_branch="main",
    merge_base=None,
    made_at=NOW,
    rows=(same("a"),),
)

RUNNING = structs.replace(REPORT, rows=(case("a", RowState.RUNNING),))

OTHER = "f" * 40


@dataclass(slots=True, kw_only=True)
class Wall:
    """Where checks are kept: by id, and every write in order."""

    written: list[tuple[str, RenderedCheck, int | None]] = field(default_factory=list)
    statuses: list[RenderedCheck] = field(default_factory=list)

    async def write_check_run(
        self, repository: Repository, head_sha: str, text: RenderedCheck, *, key: str, known_id: int | None
    ) -> int:
        """Keep a check; ids count from 1."""
        assert (repository, key) == (ACME, "pull 7")
        self.written.append((head_sha, text, known_id))
        return known_id or len(self.written)

    async def write_status(self, repository: Repository, head_sha: str, text: RenderedCheck) -> None:
        """Keep a status."""
        assert (repository, head_sha) == (ACME, HEAD)
        self.statuses.append(text)

    @property
    def endings(self) -> list[str | None]:
        """How the checks ended, write by write."""
        return [text.conclusion and text.conclusion.value for _, text, _ in self.written]


@dataclass(slots=True, kw_only=True)
class Scene:
    """A checker over a wall; what it remembers goes into the row."""

    database: Database
    wall: Wall = field(default_factory=Wall)
    row: PullRow = field(default_factory=row)

    def check(self, report: Report, checks: CheckConfig = CHECK) -> None:
        """Say a report, and remember."""
        self._publish(NewReport(report=report, changed_paths=("src/a.py",)), checks)

    def skip(self, head_sha: str, kind: CheckKind = CheckKind.CHECK) -> None:
        """The head is not measured."""
        self._publish(NotMeasured(head_sha=head_sha, reason="Not measured"), CheckConfig(kind=kind))

    def close(self) -> None:
        """The pull request is closed."""
        self._publish(PullClosed())

    def make_dirty(self) -> None:
        """GitHub has reset the check, or a process died while it wrote it."""
        state = self.row.check
        assert isinstance(state, PostedCheck)
        dirty = DirtyCheck(head_sha=state.head_sha, target=state.target, pending=state.pending)
        self.row = replace(self.row, check=dirty)

    def _publish(self, content: Content, checks: CheckConfig = NO_CHECKS, fence: Fence | None = None) -> None:
        async def render(report: Report) -> RenderedComment:
            made = f"<!-- maxview:pull x -->\n## of {report.head_sha}\n"
            return RenderedComment(
                body=made, marker="m", change_digest="d", severity=0, url="http://m/pull/7"
            )

        output = CheckOutput(render=render, checks=self.wall, database=self.database)
        publication = Publication(
            repository=ACME, row=self.row, content=content, fence=fence or _open, checks=checks
        )
        published = asyncio.run(output.publish(publication))
        self.row = replace(self.row, check=cast(CheckState, published.state))


async def _open() -> None:
    """Nobody else has taken the row."""


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Callable[[], Scene]]:
    """Makes scenes over one database."""
    database = Database(f"sqlite:///{tmp_path / 'x.sqlite'}")
    database.migrate()
    yield lambda: Scene(database=database)
    database.close()


def test_nothing_is_written_where_checks_are_off(scene: Callable[[], Scene]) -> None:
    """The comment is enough."""
    one = scene()
    one.check(REPORT, CheckConfig())
    assert [] == one.wall.written


def test_an_awaited_answer_makes_no_check(scene: Callable[[], Scene]) -> None:
    """A check that is not there blocks nobody; it appears concluded, and once."""
    one = scene()
    one.check(RUNNING)
    assert [] == one.wall.written
    one.check(REPORT)
    one.check(REPORT)
    assert ["success"] == one.wall.endings


def test_a_pending_check_is_shown_where_that_is_fine_and_concluded_under_the_same_id(
    scene: Callable[[], Scene],
) -> None:
    """Progress alone is not written; the conclusion goes to the same check run."""
    one, checks = scene(), CheckConfig(kind=CheckKind.CHECK, pending=True)
    one.check(RUNNING, checks)
    one.check(structs.replace(RUNNING, rows=(*RUNNING.rows, same("b"))), checks)
    one.check(REPORT, checks)
    assert [None, "success"] == one.wall.endings
    assert [None, 1] == [known for _, _, known in one.wall.written]


def test_the_pending_check_of_an_older_head_is_concluded(scene: Callable[[], Scene]) -> None:
    """Nobody waits for its answer any more, and a queue of merges must not."""
    one, checks = scene(), CheckConfig(kind=CheckKind.CHECK, pending=True)
    one.check(RUNNING, checks)
    one.check(structs.replace(RUNNING, head_sha=OTHER), checks)
    assert [(HEAD, None), (HEAD, "skipped"), (OTHER, None)] == [
        (sha, text.conclusion and text.conclusion.value) for sha, text, _ in one.wall.written
    ]
    one.close()
    one.close()
    assert [None, "skipped", None, "skipped"] == one.wall.endings


def test_a_head_that_is_not_measured_is_skipped_once(scene: Callable[[], Scene]) -> None:
    """Where the check is required nobody waits in vain; what is pending on an older head is concluded too,
    and a head that is measured after all gets its answer under the same id."""
    one, checks = scene(), CheckConfig(kind=CheckKind.CHECK, pending=True)
    one.check(RUNNING, checks)
    one.skip(OTHER)
    one.skip(OTHER)
    one.check(structs.replace(REPORT, head_sha=OTHER), checks)
    assert [(HEAD, None), (HEAD, "skipped"), (OTHER, "skipped"), (OTHER, "success")] == [
        (sha, text.conclusion and text.conclusion.value) for sha, text, _ in one.wall.written
    ]
    assert [None, 1, None, 3] == [known for _, _, known in one.wall.written]


def test_a_head_that_is_not_measured_gets_a_status_or_nothing_as_configured(
    scene: Callable[[], Scene],
) -> None:
    """A required commit status would be waited for as well."""
    one = scene()
    one.skip(HEAD, CheckKind.OFF)
    assert ([], []) == (one.wall.written, one.wall.statuses)
    one.skip(HEAD, CheckKind.STATUS)
    assert ["Not measured"] == [text.title for text in one.wall.statuses]


def test_turning_checks_off_leaves_none_pending(scene: Callable[[], Scene]) -> None:
    """The one that waits is concluded."""
    one = scene()
    one.check(RUNNING, CheckConfig(kind=CheckKind.CHECK, pending=True))
    one.check(RUNNING, CheckConfig())
    assert [None, "skipped"] == one.wall.endings


def test_a_check_that_github_reset_is_concluded_at_once(scene: Callable[[], Scene]) -> None:
    """Asking for a check again clears its conclusion: while fresh runs are awaited it says `skipped`."""
    one = scene()
    one.check(REPORT)
    one.make_dirty()
    one.check(RUNNING)
    one.check(RUNNING)
    one.check(REPORT)
    assert ["success", "skipped", "success"] == one.wall.endings


def test_a_reset_check_of_a_closed_pull_request_is_concluded(scene: Callable[[], Scene]) -> None:
    """Once, under its id."""
    one = scene()
    one.check(REPORT)
    one.make_dirty()
    one.close()
    one.close()
    assert ["success", "skipped"] == one.wall.endings
    assert [None, 1] == [known for _, _, known in one.wall.written]


def test_a_closed_pull_requests_check_is_concluded_though_the_first_try_died(
    scene: Callable[[], Scene],
) -> None:
    """What it says was forgotten before it was to be written; where it says what it should, nothing is."""
    one = scene()
    one.check(REPORT)
    one.close()
    one.make_dirty()
    one.close()
    one.close()
    assert ["success", "skipped"] == one.wall.endings


def test_a_reset_check_of_an_older_head_is_looked_for_and_concluded(scene: Callable[[], Scene]) -> None:
    """Its id is forgotten; the head's own check is found by its name after that."""
    one = scene()
    one.check(REPORT)
    reset = DirtyCheck(head_sha=OTHER, target=UnknownCheckRun(), pending=True)
    one.row = replace(one.row, check=reset)
    one.check(REPORT)
    assert [(HEAD, "success", None), (OTHER, "skipped", None), (HEAD, "success", None)] == [
        (sha, text.conclusion and text.conclusion.value, known) for sha, text, known in one.wall.written
    ]


def test_an_answer_stands_while_runs_are_repeated(scene: Callable[[], Scene]) -> None:
    """A rerun by a command does not take the conclusion away."""
    one = scene()
    one.check(REPORT)
    one.check(RUNNING)
    assert ["success"] == one.wall.endings


def test_a_regression_fails_only_where_that_is_asked_for(scene: Callable[[], Scene]) -> None:
    """Red is opt-in; without it the check says `skipped` and its title says what is slower."""
    for gates, ending in ((True, "failure"), (False, "skipped")):
        one = scene()
        one.check(
            structs.replace(REPORT, rows=(slower("a"),)),
            CheckConfig(kind=CheckKind.CHECK, fail_on_regression=gates),
        )
        assert [ending] == one.wall.endings
        assert "1 slower" in one.wall.written[0][1].title


def test_a_status_is_written_instead(scene: Callable[[], Scene]) -> None:
    """No check run is made; the same rules hold."""
    one = scene()
    one.check(RUNNING, CheckConfig(kind=CheckKind.STATUS))
    one.check(REPORT, CheckConfig(kind=CheckKind.STATUS))
    one.check(REPORT, CheckConfig(kind=CheckKind.STATUS))
    assert [Conclusion.SUCCESS] == [text.conclusion for text in one.wall.statuses]
    assert [] == one.wall.written


def test_another_kind_is_written_though_it_says_the_same(scene: Callable[[], Scene]) -> None:
    """A repository that turns from one to the other waits for the new one, and the old one stays pending for
    nobody."""
    one, status = scene(), CheckConfig(kind=CheckKind.STATUS, pending=True)
    one.check(RUNNING, CheckConfig(kind=CheckKind.CHECK, pending=True))
    one.check(RUNNING, status)
    assert [None, "skipped"] == one.wall.endings
    one.check(REPORT, status)
    one.check(REPORT)
    assert [None, "skipped", "success"] == one.wall.endings
    assert [None, Conclusion.SUCCESS] == [text.conclusion for text in one.wall.statuses]
    one.check(RUNNING, CheckConfig(kind=CheckKind.CHECK, pending=True))
    one.check(RUNNING, status)
    one.check(RUNNING, CheckConfig(kind=CheckKind.CHECK, pending=True))
    assert [None, Conclusion.SUCCESS, None, Conclusion.SKIPPED] == [
        text.conclusion for text in one.wall.statuses
    ]


def test_a_write_that_ends_unclear_is_written_again(scene: Callable[[], Scene]) -> None:
    """Before it the row forgets what the check says; a death then leaves that behind."""
    one = scene()
    one.database.write_now(
        pull_requests.enqueue, repository="acme/maxtext", number=7, installation=1, now=NOW
    )
    one.check(REPORT)
    kept = one.database.write_now(pull_requests.find_pull, "acme/maxtext", 7)
    assert kept is not None
    assert DirtyCheck(head_sha=HEAD, target=UnknownCheckRun()) == kept.check


def test_who_lost_the_row_writes_no_check(scene: Callable[[], Scene]) -> None:
    """The fence is asked right before the write."""
    one = scene()

    async def shut() -> None:
        raise LeaseLost("lost")

    with pytest.raises(LeaseLost):
        one._publish(NewReport(report=REPORT), CHECK, shut)
    assert [] == one.wall.written
