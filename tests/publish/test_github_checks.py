"""Check runs and statuses are written once, found again, and never twice."""

import pytest

from bot.domain.check import Annotation, AnnotationLevel, CheckAction, Conclusion, RenderedCheck
from bot.errors import TransientError, UserError
from bot.publish.check import ANNOTATIONS_AT_ONCE, GitHubChecks
from tests.github.conftest import Hub

pytestmark = pytest.mark.anyio

KEY = "pull 7"

TEXT = RenderedCheck(
    conclusion=Conclusion.SUCCESS,
    title="✅ no change > 1 % in 2 cases",
    summary="All is well.",
    url="http://maxview.test/acme/maxtext/pull/7",
    actions=(CheckAction(label="Re-run", description="Measure every case again", identifier="rerun"),),
)


def _text(**changed: object) -> RenderedCheck:
    values = {name: getattr(TEXT, name) for name in RenderedCheck.__struct_fields__}
    return RenderedCheck(**{**values, **changed})


def _remarks(count: int, first: int = 1) -> tuple[Annotation, ...]:
    return tuple(
        Annotation(
            path="src/new.py", line=n, level=AnnotationLevel.FAILURE, title="04_int8", message=f"error {n}"
        )
        for n in range(first, first + count)
    )


async def test_a_check_is_created_once_and_edited_after(hub: Hub) -> None:
    """The second text goes to the same check run; its button and its page are there."""
    checks, head = GitHubChecks(hub.github), hub.git.head("main")
    first = await checks.write_check_run(hub.repository, head, TEXT, key=KEY, known_id=None)
    again = _text(conclusion=Conclusion.FAILURE, title="🔴 1 slower")
    assert first == await checks.write_check_run(hub.repository, head, again, key=KEY, known_id=first)
    (made,) = hub.stand_in.state.checks.values()
    assert (made.status, made.conclusion, made.title) == ("completed", "failure", "🔴 1 slower")
    assert (made.details_url, [one["identifier"] for one in made.actions]) == (TEXT.url, ["rerun"])


async def test_a_check_whose_making_got_no_answer_is_found_again(hub: Hub) -> None:
    """GitHub made it and said 502: the next attempt looks for it by our own name, and edits it."""
    checks, head = GitHubChecks(hub.github), hub.git.head("main")
    hub.stand_in.fail_next("POST", "/check-runs", status=502, after=True)
    with pytest.raises(TransientError):
        await checks.write_check_run(hub.repository, head, TEXT, key=KEY, known_id=None)
    hub.contract.violations.clear()
    found = await checks.write_check_run(hub.repository, head, TEXT, key=KEY, known_id=None)
    assert [found] == list(hub.stand_in.state.checks)


async def test_another_pull_requests_check_on_the_same_commit_is_left_alone(hub: Hub) -> None:
    """Two pull requests may have one head: each has a check run of its own."""
    checks, head = GitHubChecks(hub.github), hub.git.head("main")
    first = await checks.write_check_run(hub.repository, head, TEXT, key="pull 6", known_id=None)
    second = await checks.write_check_run(hub.repository, head, TEXT, key=KEY, known_id=None)
    assert first != second


async def test_a_pending_check_is_concluded_later(hub: Hub) -> None:
    """Without a conclusion it is in progress."""
    checks, head = GitHubChecks(hub.github), hub.git.head("main")
    made = await checks.write_check_run(hub.repository, head, _text(conclusion=None), key=KEY, known_id=None)
    states = [hub.stand_in.state.checks[made].status]
    await checks.write_check_run(hub.repository, head, TEXT, key=KEY, known_id=made)
    assert ["in_progress", "completed"] == [*states, hub.stand_in.state.checks[made].status]


async def test_many_remarks_come_in_fifties_and_each_once(hub: Hub) -> None:
    """GitHub takes 50 a request and adds what it is sent: what stands there is not sent again."""
    checks, head = GitHubChecks(hub.github), hub.git.head("main")
    many = _remarks(2 * ANNOTATIONS_AT_ONCE + 3)
    made = await checks.write_check_run(hub.repository, head, _text(annotations=many), key=KEY, known_id=None)
    more = _text(annotations=(*many, *_remarks(1, first=900)))
    await checks.write_check_run(hub.repository, head, more, key=KEY, known_id=made)
    written = [one["message"] for one in hub.stand_in.state.checks[made].annotations]
    assert [one.message for one in more.annotations] == written


async def test_a_check_that_went_with_its_commit_is_made_anew(hub: Hub) -> None:
    """Its id leads nowhere: a new one is created."""
    checks, head = GitHubChecks(hub.github), hub.git.head("main")
    made = await checks.write_check_run(hub.repository, head, TEXT, key=KEY, known_id=5)
    hub.contract.violations.clear()
    assert [made] == list(hub.stand_in.state.checks)


async def test_a_missing_permission_is_told_with_its_name(hub: Hub) -> None:
    """The operator reads what to grant."""
    hub.stand_in.state.permissions["checks"] = "read"
    with pytest.raises(UserError, match="needs one of these permissions: checks=write"):
        await GitHubChecks(hub.github).write_check_run(
            hub.repository, hub.git.head("main"), TEXT, key=KEY, known_id=None
        )
    hub.contract.violations.clear()


async def test_a_status_is_written_when_it_says_something_new(hub: Hub) -> None:
    """The same text is not posted twice, whoever remembers; `skipped` is a word statuses do not have."""
    checks, head = GitHubChecks(hub.github), hub.git.head("main")
    for conclusion in (None, Conclusion.SKIPPED, Conclusion.SKIPPED, Conclusion.FAILURE):
        await checks.write_status(hub.repository, head, _text(conclusion=conclusion, title="🔴 " + "x" * 200))
    said = hub.stand_in.state.statuses
    assert ["pending", "success", "failure"] == [one.state for one in said]
    assert {("maxview", "x" * 139 + "…", TEXT.url)} == {
        (one.context, one.description, one.target_url) for one in said
    }
