"""The one comment of a pull request, whatever happens in between."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.domain.published import (
    MAX_COMMENT_DELETIONS,
    CommentState,
    DirtyComment,
    NoComment,
    PostedComment,
)
from bot.domain.pull_request import Comment
from bot.domain.repository import Person, Repository
from bot.errors import InternalError, TransientError
from bot.github.errors import UncertainWrite
from bot.publish.comment import CommentAction, CommentGone, WrittenComment, write_comment
from tests.github.conftest import APP_ID, Hub

pytestmark = pytest.mark.anyio

MARKER = "<!-- maxview:report -->"

BOT = Person(login="maxview[bot]", id=1, is_bot=True)

Failing = tuple[str, str] | None
"""A kind of call, and whether it fails before or after it acts."""


def _state(known_id: int | None, *, certain: bool = False, deletions: int = 0) -> CommentState:
    """What we know of our comment; `certain` that it says what we wrote last."""
    if known_id is None:
        return NoComment()
    if not certain:
        return DirtyComment(id=known_id, severity=0, deletions=deletions)
    return PostedComment(
        id=known_id, digest="", severity=0, change_digest="", written_at=0.0, deletions=deletions
    )


async def _hold() -> None:
    """The row is ours."""


async def _write(
    hub: Hub, body: str, state: CommentState, *, notify: bool = False
) -> WrittenComment | CommentGone:
    return await write_comment(
        hub.github,
        hub.repository,
        1,
        body=f"{MARKER}\n{body}",
        marker=MARKER,
        state=state,
        notify=notify,
        fence=_hold,
    )


async def _keep(
    hub: Hub, body: str, known_id: int | None, *, worse: bool = False, certain: bool = False
) -> WrittenComment:
    kept = await _write(hub, body, _state(known_id, certain=certain), notify=worse)
    assert isinstance(kept, WrittenComment)
    return kept


def _texts(hub: Hub) -> list[str]:
    return [one.body.removeprefix(f"{MARKER}\n") for one in hub.stand_in.comments_of(1)]


@pytest.fixture
async def pulled(hub: Hub) -> Hub:
    """The stand-in with one open pull request."""
    await hub.stand_in.open_pull("feat/x#1", "Add a file", "alice")
    return hub


async def test_it_is_created_once_and_then_edited_in_place(pulled: Hub) -> None:
    """The id stays."""
    made = await _keep(pulled, "one", None)
    edited = await _keep(pulled, "two", made.id)
    assert (CommentAction.CREATED, CommentAction.EDITED, made.id) == (made.action, edited.action, edited.id)
    assert ["two"] == _texts(pulled)


async def test_nothing_is_written_when_nothing_changed(pulled: Hub) -> None:
    """One request tells; not even a worse verdict writes the same text again."""
    made = await _keep(pulled, "one", None)
    for worse in (False, True):
        before = len(pulled.stand_in.state.requests)
        kept = await _keep(pulled, "one", made.id, worse=worse, certain=True)
        assert WrittenComment(id=made.id, action=CommentAction.UNCHANGED) == kept
        assert [f"GET /repos/acme/maxtext/issues/comments/{made.id}"] == pulled.asked(before)


async def test_line_ends_do_not_count_as_a_change(pulled: Hub) -> None:
    """GitHub may give a text back with other line ends."""
    made = await _keep(pulled, "one\ntwo", None)
    pulled.stand_in.state.comments[made.id].body = f"{MARKER}\r\none\r\ntwo"
    assert CommentAction.UNCHANGED == (await _keep(pulled, "one\ntwo\n", made.id)).action


async def test_a_worse_verdict_comes_as_a_new_comment(pulled: Hub) -> None:
    """The new one is made before the old one goes, so there is never none."""
    made = await _keep(pulled, "fine", None)
    before = len(pulled.stand_in.state.requests)
    kept = await _keep(pulled, "slower", made.id, worse=True)
    assert CommentAction.RECREATED == kept.action
    assert kept.id > made.id
    assert ["slower"] == _texts(pulled)
    assert ["GET", "GET", "POST", "DELETE"] == [one.partition(" ")[0] for one in pulled.asked(before)]


async def test_a_deleted_comment_is_made_again(pulled: Hub) -> None:
    """Someone may delete it; it comes back with the next report."""
    made = await _keep(pulled, "one", None)
    await pulled.github.delete_comment(pulled.repository, made.id)
    assert CommentAction.CREATED == (await _keep(pulled, "one", made.id)).action
    assert ["one"] == _texts(pulled)


async def test_it_is_found_without_its_id(pulled: Hub) -> None:
    """After the loss of a database the comment that is there is taken over."""
    made = await _keep(pulled, "one", None)
    assert WrittenComment(id=made.id, action=CommentAction.EDITED) == await _keep(
        pulled, "two", None, worse=True
    )
    assert WrittenComment(id=made.id, action=CommentAction.UNCHANGED) == await _keep(pulled, "two", None)


async def test_a_copied_marker_is_not_ours(pulled: Hub) -> None:
    """A person who quotes our comment, marker and all, keeps their own."""
    await pulled.stand_in.comment(1, "mallory", f"{MARKER}\nforged")
    made = await _keep(pulled, "one", None)
    assert CommentAction.CREATED == made.action
    await _keep(pulled, "two", made.id)
    assert ["forged", "two"] == _texts(pulled)


async def test_another_bot_with_our_marker_is_not_ours(pulled: Hub) -> None:
    """An App that copies texts is not this App."""
    await pulled.stand_in.comment(1, "copycat[bot]", f"{MARKER}\ncopied")
    assert CommentAction.CREATED == (await _keep(pulled, "one", None)).action
    assert ["copied", "one"] == _texts(pulled)


async def test_a_stored_id_of_someone_else_is_not_trusted(pulled: Hub) -> None:
    """An id that does not lead to a comment of ours is as good as none."""
    theirs = await pulled.stand_in.comment(1, "mallory", f"{MARKER}\ntheirs")
    assert CommentAction.CREATED == (await _keep(pulled, "one", theirs)).action
    assert ["theirs", "one"] == _texts(pulled)


async def test_our_other_comments_stay(pulled: Hub) -> None:
    """Without the marker a comment of ours is not the report."""
    await pulled.github.create_comment(pulled.repository, 1, "welcome")
    assert CommentAction.CREATED == (await _keep(pulled, "one", None)).action
    assert ["welcome", "one"] == _texts(pulled)


async def test_an_unclear_creation_is_found_the_next_time(pulled: Hub) -> None:
    """A 502 after the write leaves a comment, which is taken over and not made twice."""
    pulled.stand_in.fail_next("POST", "/comments", status=502, after=True)
    with pytest.raises(UncertainWrite):
        await _keep(pulled, "one", None)
    pulled.contract.violations.clear()
    assert CommentAction.UNCHANGED == (await _keep(pulled, "one", None)).action
    assert ["one"] == _texts(pulled)


async def test_a_death_between_creating_and_deleting_leaves_one(pulled: Hub) -> None:
    """The newest wins, whether or not the verdict is still worse."""
    made = await _keep(pulled, "fine", None)
    pulled.stand_in.fail_next("DELETE", f"/{made.id}", status=500)
    with pytest.raises(InternalError):
        await _keep(pulled, "slower", made.id, worse=True)
    pulled.contract.violations.clear()
    assert ["fine", "slower"] == _texts(pulled)
    kept = await _keep(pulled, "slower", made.id, worse=True)
    assert (CommentAction.UNCHANGED, ["slower"]) == (kept.action, _texts(pulled))


async def test_it_is_found_behind_a_hundred_others(pulled: Hub) -> None:
    """The list is read to its end."""
    for at in range(120):
        await pulled.stand_in.comment(1, "alice", f"comment {at}")
    made = await _keep(pulled, "one", None)
    assert WrittenComment(id=made.id, action=CommentAction.EDITED) == await _keep(pulled, "two", None)


class Comments:
    """The comments of one pull request, where the next call of a kind may fail before or after it acts."""

    app_id = APP_ID

    def __init__(self) -> None:
        self.kept: dict[int, Comment] = {}
        self.made = 0
        self.failing: Failing = None

    async def app_slug(self) -> str:
        """Our name."""
        return "maxview"

    async def comment(self, _: Repository, comment_id: int) -> Comment | None:
        """One comment."""
        return self.kept.get(comment_id)

    async def comments(self, _: Repository, __: int) -> AsyncIterator[Comment]:
        """All of them."""
        for comment in tuple(self.kept.values()):
            yield comment

    async def create_comment(self, _: Repository, __: int, body: str) -> Comment:
        """Make one."""
        with self._may_fail("create"):
            self.made += 1
            return self._put(self.made, body)

    async def edit_comment(self, _: Repository, comment_id: int, body: str) -> Comment:
        """Change one."""
        with self._may_fail("edit"):
            return self._put(comment_id, body)

    async def delete_comment(self, _: Repository, comment_id: int) -> None:
        """Remove one."""
        with self._may_fail("delete"):
            self.kept.pop(comment_id, None)

    def _put(self, comment_id: int, body: str) -> Comment:
        comment = Comment(id=comment_id, author=BOT, body=body, app_id=APP_ID, created_at=0.0)
        self.kept[comment_id] = comment
        return comment

    @contextmanager
    def _may_fail(self, what: str) -> Iterator[None]:
        failing, self.failing = self.failing, None
        if failing == (what, "before"):
            raise TransientError("no", after=1)
        yield
        if failing == (what, "after"):
            raise UncertainWrite("lost", after=1, may_have_acted=True)


async def test_ours_is_found_among_thousands(pulled: Hub) -> None:
    """By its id at once; where that is in doubt, on whichever page it stands."""
    made = await _keep(pulled, "one", None)
    world, number = pulled.stand_in.state, 2_500
    (ours,) = pulled.stand_in.comments_of(1)
    others = [
        replace(ours, id=ours.id + n, author=world.account("bob"), by_app=False) for n in range(1, number)
    ]
    last = replace(ours, id=ours.id + number)
    world.comments = {one.id: one for one in (*others, last)}
    before = len(world.requests)
    assert CommentAction.UNCHANGED == (await _keep(pulled, "one", last.id, certain=True)).action
    assert 2 >= len(pulled.asked(before))
    assert last.id == (await _keep(pulled, "two", made.id)).id
    assert ["two"] == [one.removeprefix(f"{MARKER}\n") for one in {last.body}]
    assert number == len(world.comments)
    pulled.contract.violations.clear()


async def test_a_comment_that_somebody_deleted_is_made_again_where_that_is_wanted(pulled: Hub) -> None:
    """The answer says that it was restored; after another deletion nothing is written."""
    made = await _keep(pulled, "one", None)
    await pulled.github.delete_comment(pulled.repository, made.id)
    second = await _keep(pulled, "two", made.id)
    assert (CommentAction.CREATED, True) == (second.action, second.restored)
    await pulled.github.delete_comment(pulled.repository, second.id)
    third = await _write(pulled, "three", _state(second.id, deletions=MAX_COMMENT_DELETIONS - 1))
    assert (CommentGone(), []) == (third, _texts(pulled))
    pulled.contract.violations.clear()


async def test_a_doubtful_writing_is_looked_for_before_the_next(pulled: Hub) -> None:
    """A worse verdict whose writing ended unclear leaves nothing behind when the verdict turns back."""
    known = (await _keep(pulled, "fine", None)).id
    await pulled.github.create_comment(pulled.repository, 1, f"{MARKER}\nslower")
    await _keep(pulled, "fine", known, certain=False)
    assert ["fine"] == _texts(pulled)


async def test_a_known_comment_is_edited_without_a_listing(pulled: Hub) -> None:
    """Where the last writing ended well nothing is looked for, however many comments people wrote."""
    known = (await _keep(pulled, "one", None)).id
    before = len(pulled.stand_in.state.requests)
    kept = await _keep(pulled, "two", known, certain=True)
    comment = f"/repos/acme/maxtext/issues/comments/{known}"
    assert (CommentAction.EDITED, known) == (kept.action, kept.id)
    assert [f"GET {comment}", f"PATCH {comment}"] == pulled.asked(before)


_STEP = st.tuples(
    st.sampled_from(["fine", "slower", "broken"]),
    st.booleans(),
    st.none()
    | st.tuples(st.sampled_from(["create", "edit", "delete"]), st.sampled_from(["before", "after"])),
    st.sampled_from(["store", "forget", "lose the comment"]),
)


@given(st.lists(_STEP, min_size=1, max_size=8))
def test_any_failures_end_in_one_comment(steps: list[tuple[str, bool, Failing, str]]) -> None:
    """Whatever fails, before or after it acts, one undisturbed repetition leaves one true comment."""
    expected = f"{MARKER}\n{steps[-1][0]}"
    assert [expected] == asyncio.run(_through(steps))


async def _through(steps: list[tuple[str, bool, Failing, str]]) -> list[str]:
    comments, known, certain = Comments(), None, False
    repository = Repository(full_name="acme/maxtext", installation=1)
    for verdict, worse, failing, then in (*steps, (steps[-1][0], steps[-1][1], None, "store")):
        comments.failing = failing
        try:
            kept = await write_comment(
                comments,
                repository,
                1,
                body=f"{MARKER}\n{verdict}",
                marker=MARKER,
                state=_state(known, certain=certain),
                notify=worse,
                fence=_hold,
            )
            assert isinstance(kept, WrittenComment)
        except TransientError:
            certain = False
            continue
        known, certain = (kept.id, True) if then == "store" else (known, False)
        if then == "lose the comment":
            comments.kept.pop(kept.id)
    return [comment.body for comment in comments.kept.values()]
