"""Whatever people say, label and push: one comment, and no stranger's code runs unapproved."""

import asyncio
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.storage.database import Database
from tests.worker.whole_conversation import WholeConversation, whole_conversation

PEOPLE = st.sampled_from(["alice", "bob", "mallory", "copybara-service[bot]"])

TEXTS = st.sampled_from(
    [
        "/benchmark",
        "/benchmark rerun a",
        "/benchmark run --fresh",
        "/benchmark cancel",
        "/benchmark cancel b",
        "/benchmark status\n/benchmark help\n/benchmark plan",
        '/benchmark ack a reason="x"',
        "/benchmark rerum",
        "Nice work",
        "/benchmark approve HEAD",
        "/benchmark approve HEAD",
        "/benchmark approve FIRST",
        "/benchmark approve HEAD\n/benchmark run",
    ]
)

ACTS = st.one_of(
    st.tuples(st.just("say"), PEOPLE, TEXTS),
    st.tuples(st.just("label"), PEOPLE, st.sampled_from(["benchmark", "benchmark:a", "bug"])),
    st.tuples(st.just("unlabel"), PEOPLE, st.sampled_from(["benchmark", "benchmark:a"])),
    st.tuples(st.just("push"), st.just("mallory"), st.sampled_from(["A = 1\n", "A = 2\n", "A = 3\n"])),
    st.tuples(st.just("wait"), st.just(""), st.just("")),
    st.tuples(st.just("work"), st.just(""), st.sampled_from(["in order", "backwards", "twice"])),
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all tables, to be copied."""
    path = tmp_path_factory.mktemp("parley") / "tables.sqlite"
    database = Database(f"sqlite:///{path}")
    database.migrate()
    database.close()
    return path


class Talk:
    """Carries out acts, and knows which files a writer has approved at a moment when they were the head's."""

    def __init__(self, conversation: WholeConversation) -> None:
        self._conversation = conversation
        self._files = {self._head: "A = 1\n"}
        self._first = self._head
        self.approved: set[str] = set()

    @property
    def _head(self) -> str:
        return self._conversation.git.head("feat/x")

    async def do(self, act: str, who: str, what: str) -> None:
        """One act of somebody."""
        conversation, github = self._conversation, self._conversation.github
        conversation.clock[0] += 1
        match act:
            case "say":
                if "approve" in what and who in {"alice", "bob"}:
                    self.approved.add(self._files[self._first if "FIRST" in what else self._head])
                text = what.replace("HEAD", self._head).replace("FIRST", self._first[:8])
                await github.comment(1, who, text)
            case "label":
                await github.label(1, what, who)
            case "unlabel":
                if what in github.state.pulls[1].labels:
                    await github.unlabel(1, what, who)
            case "push":
                await self._push(what)
            case "wait":
                conversation.look_again()
            case _:
                await self._work(what)

    async def _push(self, text: str) -> None:
        made = self._conversation.git.write("feat/x", {"src/a.py": text})
        self._files[made] = text
        await self._conversation.github.push("feat/x", "mallory")

    async def _work(self, how: str) -> None:
        self._conversation.collect()
        if how == "backwards":
            self._conversation.told.reverse()
        if how == "twice":
            self._conversation.told += list(self._conversation.told)
        await self._conversation.work()

    def check(self) -> None:
        """What must hold at every moment."""
        assert self._conversation.ours() <= 1
        for sha in self._conversation.planned() & self._files.keys():
            assert self._files[sha] in self.approved


async def _talk(folder: Path, tables: Path, acts: list[tuple[str, str, str]]) -> None:
    shutil.copyfile(tables, folder / "conversation.sqlite")
    database = Database(f"sqlite:///{folder / 'conversation.sqlite'}")
    try:
        async with whole_conversation(folder / "git", database) as conversation:
            talk = Talk(conversation)
            for act in acts:
                await talk.do(*act)
                talk.check()
            for _ in range(2):
                await talk.do("wait", "", "")
                await talk.do("work", "", "in order")
                talk.check()
            assert conversation.ours() == 1
    finally:
        database.close()


@given(acts=st.lists(ACTS, max_size=14))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_one_comment_and_no_unapproved_code(tables: Path, acts: list[tuple[str, str, str]]) -> None:
    """Deliveries late, backwards and twice; people of every kind; pushes between all of it."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_talk(Path(folder), tables, acts))


def test_an_approved_fork_is_planned(tables: Path, tmp_path: Path) -> None:
    """The property above is not kept by planning nothing at all."""

    async def talk() -> set[str]:
        shutil.copyfile(tables, tmp_path / "conversation.sqlite")
        database = Database(f"sqlite:///{tmp_path / 'conversation.sqlite'}")
        async with whole_conversation(tmp_path / "git", database) as conversation:
            one = Talk(conversation)
            for act in (
                ("say", "bob", "/benchmark approve HEAD"),
                ("work", "", "in order"),
                ("wait", "", ""),
            ):
                await one.do(*act)
            await one.do("work", "", "in order")
            planned = conversation.planned()
        database.close()
        return planned - {conversation.git.head("main")}

    assert 1 == len(asyncio.run(talk()))
