"""A site over a real SQLite database, and a visitor who reads it as a browser does."""

import asyncio
import gzip
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import httpx
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.middleware import Middleware

from bot.artifacts.folder import FolderStore
from bot.domain.run import RunRecord
from bot.ingest.log_keeper import LogKeeper
from bot.report.assess import headline
from bot.report.model import Report
from bot.storage import pull_requests, reports, repositories, runs
from bot.storage.database import Database
from bot.storage.repositories import RepositoryRow
from bot.templating import Renderer
from bot.verdict.judgement import MeasuredRun
from bot.web.addresses import GITHUB_URL
from bot.web.auth.keys import LinkKey
from bot.web.auth.middleware import AuthMiddleware, internal_error_handler
from bot.web.auth.sign_in import IdentityProvider
from bot.web.former_names import FormerNameRedirect, FormerNames
from bot.web.site import WebDeps, build_frontend
from tests.report.samples import BASE, NOW, measured

PUBLIC = "octo/maxtext"

PRIVATE = "octo/secret"

URL = "https://maxview.example"

KEY = LinkKey("a webhook secret")

RENDER = Renderer().render


MEMBER = f"Bearer {'f' * 40}"
"""The `Authorization` of somebody who may read every repository on GitHub."""


class _Members:
    """Knows one token, whose owner reads everything that has a number."""

    async def may_read(self, token: str, repository: str, number: int | None) -> bool:
        return f"Bearer {token}" == MEMBER and bool(repository) and number is not None


@dataclass
class SiteUnderTest:
    """The site; `folder` holds its logs, `numbers` are GitHub's of its public and private repository."""

    folder: Path
    database: Database
    now: float = NOW + 7200.0
    identity_provider: IdentityProvider | None = None
    url: str = URL
    github_url: str = GITHUB_URL
    numbers: tuple[int, int] = (2, 1)
    app: Starlette = field(init=False)

    def __post_init__(self) -> None:
        def now() -> float:
            return self.now

        artifacts = FolderStore(self.folder / "artifacts")
        deps = WebDeps(
            database=self.database,
            render=RENDER,
            public_url=self.url,
            now=now,
            key=KEY,
            secret="a secret of the tests",
            artifacts=artifacts,
            prepare_log=LogKeeper(database=self.database, artifacts=artifacts, now=now).prepare,
            identity_provider=self.identity_provider,
            permission_source=_Members(),
            github_url=self.github_url,
        )
        frontend = build_frontend(deps)
        self.app = Starlette(
            routes=frontend.routes,
            middleware=[
                Middleware(AuthMiddleware, auth=frontend.auth),
                Middleware(FormerNameRedirect, names=FormerNames(database=self.database, now=now)),
            ],
            exception_handlers={Exception: internal_error_handler(frontend.auth)},
        )
        self.add_repository(PUBLIC, private=False, number=self.numbers[0])
        self.add_repository(PRIVATE, private=True, number=self.numbers[1])

    def add_repository(
        self, name: str, *, private: bool, active: bool = True, number: int | None = None
    ) -> None:
        """Add a repository; GitHub has said just now whether it is private."""
        row = RepositoryRow(
            full_name=name,
            installation=1,
            default_branch="main",
            private=private,
            active=active,
            id=number or 1000 + len(self.database.write_now(repositories.list_repositories)),
        )
        closings = self.database.write_now(repositories.closings).get(row.id or 0)
        self.database.write_now(repositories.confirm_repository, row, closings=closings, now=self.now)

    def key(self, repository: str = PRIVATE, number: int = 4270) -> str:
        """A link key of a pull request, as its comment has it now."""
        row = self.database.write_now(repositories.find_repository, repository)
        assert row is not None
        assert row.id is not None
        epoch = self.database.write_now(repositories.link_epoch, row.id) or 0
        made = KEY.key(row.id, number, epoch=epoch, now=self.now)
        assert made is not None
        return made

    def add_pull(self, number: int, repository: str = PUBLIC) -> None:
        """Add a pull request."""
        self.database.write_now(
            pull_requests.enqueue, repository=repository, number=number, installation=1, now=NOW
        )

    def add_report(self, made: Report) -> None:
        """Add a report."""
        self.database.write_now(reports.save, made, headline=headline(made))

    def add_run(
        self,
        name: str,
        text: bytes | None = None,
        *,
        zipped: bool = False,
        measured: MeasuredRun | None = None,
        repository: str = PUBLIC,
        file: str = "a b/the log.txt",
    ) -> RunRecord:
        """Add a run with this log."""
        path = self.folder / name / file
        if text is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress(text) if zipped else text)
        made = RunRecord(
            id=name,
            repository=repository,
            case="03_dropout",
            variant="linen",
            branch="main",
            sha=BASE,
            started=NOW,
            log_uri="file:" + quote(str(path)),
            generation="1",
        )
        self.database.write_now(runs.save, made, now=NOW, measured=measured)
        return made

    def add_main_runs(self, case: str, times: Sequence[float]) -> None:
        """Add a run of main for each of these steady step times, an hour apart, each on its own commit."""
        for n, seconds in enumerate(times):
            made = RunRecord(
                id=f"{case}-{n}",
                repository=PUBLIC,
                case=case,
                variant="linen",
                branch="main",
                sha=f"{n:02x}" * 20,
                started=NOW + 3600.0 * n,
            )
            self.database.write_now(runs.save, made, now=NOW, measured=measured(seconds))

    def update_run(self, record: RunRecord, **values: object) -> None:
        """Save a run with other values."""
        self.database.write_now(runs.save, replace(record, **values), now=NOW)

    def get(self, path: str, method: str = "GET", *, fails: bool = False, **headers: str) -> httpx.Response:
        """The answer to a visitor; unexpected exceptions are raised here, unless it `fails` on purpose."""

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=not fails)
            async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
                named = {name.replace("_", "-"): value for name, value in headers.items()}
                return await client.request(method, path, headers=named)

        return asyncio.run(ask())


class ParsedPage(HTMLParser):
    """A page as a browser parses it: tags with their attributes, and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag."""
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        """Record text."""
        self.text += data

    def values(self, attribute: str) -> list[str]:
        """Every value of an attribute, in the page's order."""
        return [attributes[attribute] for _, attributes in self.tags if attribute in attributes]
