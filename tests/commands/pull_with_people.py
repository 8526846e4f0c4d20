"""A place to be heard: a database, a GitHub with plain values, a clock; people who write and put labels.

In:  what people do. Out: what is remembered of it, and the reactions.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from msgspec.structs import replace

from bot.commands import intents
from bot.commands.active_requests import cancellations, requests_in_force
from bot.commands.fork_approval import RunAllowed, check_approval
from bot.commands.grammar import read_commands
from bot.commands.handler import CommandHandler, make_command_handler
from bot.config import Suite, read_suite
from bot.config.loader import SuiteLoader
from bot.domain.case_key import CaseKey
from bot.domain.command import CommentOrigin
from bot.domain.commit import Commit
from bot.domain.head import HeadFacts
from bot.domain.pull_request import PullRequest
from bot.domain.repository import Permission, Person
from bot.storage import pull_requests, requests
from bot.storage.database import Database
from bot.storage.pull_requests import CommandRecord
from bot.webhooks.events import LabelChange
from tests.github.plain_github import PlainGitHub
from tests.worker.samples import ACME, FACTS, HEAD, LAUNCHES, NOW, PULL

PEOPLE = {"alice": Permission.ADMIN, "bob": Permission.WRITE, "eve": Permission.READ}

NUMBERS = {"alice": 7, "bob": 8, "eve": 9, "copybara-service[bot]": 56741989, "maxview[bot]": 42}


@dataclass(slots=True, kw_only=True)
class PullWithPeople:
    """One pull request, and everybody who speaks there."""

    database: Database
    forge: PlainGitHub
    now: float = NOW
    configuration: str = LAUNCHES
    handler: CommandHandler = field(init=False)
    comments: "count[int]" = field(default_factory=lambda: count(101))

    def __post_init__(self) -> None:
        """Open it."""
        for login, permission in PEOPLE.items():
            self.forge.permit(person(login), permission)
        self.forge.history.files[".github/maxview.yml"] = self.configuration
        self.push(HEAD, "1")
        self.open_again()

    def open_again(self) -> None:
        """As another process does, which remembers nothing but what the database holds."""
        suites = SuiteLoader(forge=self.forge, database=self.database, now=lambda: self.now)
        self.handler = make_command_handler(self.database, self.forge, suites, lambda: self.now)

    @property
    def suite(self) -> Suite:
        """What the default branch says."""
        return read_suite(self.configuration)

    @property
    def pull(self) -> PullRequest:
        """The pull request as GitHub has it."""
        return self.forge.pulls[7]

    def push(self, sha: str, tree: str) -> None:
        """A commit with the files of that name becomes the head."""
        self.forge.show(replace(self.forge.pulls.get(7, PULL), head_sha=sha, updated_at=self.now))
        self.forge.history.commits = (Commit(sha=sha, committed_at=self.now, message="x", tree=tree * 40),)

    def from_fork(self) -> None:
        """The head is a stranger's."""
        self.forge.show(replace(self.pull, head_repository="mallory/maxtext"))

    def say(self, text: str, who: str = "bob", **more: Any) -> int:
        """Somebody comments; the comment's number."""
        number = next(self.comments)
        self.forge.add_comment(number)
        self._run(self.handler.handle_command(self.told(text, who, number, **more)))
        return number

    def told(self, text: str, who: str, number: int, **more: Any) -> intents.CommandIntent:
        """What a delivery tells of a comment."""
        commands = read_commands(text)
        made = intents.CommandIntent(
            repository=ACME,
            number=7,
            origin=CommentOrigin(number),
            author=person(who),
            commands=commands,
            created_at=self.now,
        )
        return replace(made, **more)

    def label(self, name: str, who: str = "bob", change: LabelChange = LabelChange.PUT) -> str:
        """Somebody puts a label, or takes it away."""
        before = set(self.pull.labels or ())
        after = before | {name} if change is LabelChange.PUT else before - {name}
        self.forge.show(replace(self.pull, labels=tuple(sorted(after))))
        made = intents.LabelIntent(
            repository=ACME, number=7, label=name, change=change, by=person(who), at=self.now
        )
        return self._run(self.handler.handle_label(made))

    def records(self) -> tuple[CommandRecord, ...]:
        """The lines that the comment will have."""
        row = self.database.write_now(pull_requests.find_pull, "acme/maxtext", 7)
        return row.commands if row else ()

    def asked(self) -> frozenset[CaseKey]:
        """What is to be measured on the head, whoever's code it is."""
        kept = self.database.write_now(requests.run_requests, "acme/maxtext", 7)
        in_force = requests_in_force(kept, self.pull, self.suite, FACTS.changed_paths)
        return frozenset(key for ask in in_force for key in ask.keys)

    def cancelled(self) -> frozenset[CaseKey]:
        """What somebody withdrew."""
        kept = self.database.write_now(requests.run_requests, "acme/maxtext", 7)
        return frozenset(cancellations(kept, self.pull, self.suite, FACTS.changed_paths))

    def facts(self) -> HeadFacts:
        """What GitHub says of the head."""
        return replace(FACTS, tree=self.forge.history.commits[0].tree)

    def may_run(self) -> bool:
        """Whether the head's code may run."""
        approval = self.database.write_now(requests.newest_approval, "acme/maxtext", 7)
        return isinstance(check_approval(self.pull, self.forge.history.commits[0].tree, approval), RunAllowed)

    def _run(self, doing: Coroutine[Any, Any, str]) -> str:
        return asyncio.run(doing)


def person(login: str) -> Person:
    """Somebody by name."""
    return Person(login=login, id=NUMBERS.get(login, 99), is_bot=login.endswith("[bot]"))
