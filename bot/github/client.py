"""GitHub as one App sees it, as our own values.

Every call makes one request, or one for each page. Reading and editing may be repeated freely. Creating a
comment may not: see `create_comment`.
"""

import base64
import binascii
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from itertools import chain

import httpx
from msgspec.structs import replace

from bot.domain.commit import Commit
from bot.domain.pull_request import Comment, PullRequest
from bot.domain.repository import Installation, Permission, Person, Repository
from bot.errors import NotFound, TransientError, UserError
from bot.github.errors import UncertainWrite
from bot.github.limits import UsageExchange
from bot.github.payload import JsonFields, read_person, read_repository
from bot.github.transport import ApiResponse, GitHubTransport, KnownPages, quoted


def read_pull(fields: JsonFields, repository: str) -> PullRequest:
    """Read a pull request, alone or from a list, which states `merged_at` but not `merged`."""
    return PullRequest(
        repository=repository,
        number=fields.number("number"),
        title=fields.text("title"),
        open=fields.text("state") == "open",
        merged=fields.find("merged_at") is not None or fields.flag("merged"),
        draft=fields.flag("draft"),
        head_sha=fields.text("head.sha"),
        head_branch=fields.text("head.ref"),
        head_repository=fields.text_or_none("head.repo.full_name"),
        base_branch=fields.text("base.ref"),
        base_sha=fields.text("base.sha"),
        author=read_person(fields, "user"),
        updated_at=fields.time("updated_at"),
        labels=_read_labels(fields),
    )


def _read_labels(fields: JsonFields) -> tuple[str, ...] | None:
    if fields.find("labels") is None:
        return None
    return tuple(label.text("name") for label in fields.each("labels"))


def read_installation(fields: JsonFields) -> Installation:
    """Read an installation of the App."""
    return Installation(id=fields.number("id"), suspended=bool(fields.find("suspended_at")))


def read_commit(fields: JsonFields) -> Commit:
    """Read a commit of the repository's API (its inner `commit` is git's own)."""
    return Commit(
        sha=fields.text("sha"),
        committed_at=fields.time("commit.committer.date"),
        message=fields.text("commit.message"),
        tree=fields.text_or_none("commit.tree.sha"),
        parents=tuple(parent.text("sha") for parent in fields.each("parents")),
    )


def read_comment(fields: JsonFields) -> Comment:
    """Read a comment of an issue or pull request."""
    return Comment(
        id=fields.number("id"),
        author=read_person(fields, "user"),
        body=fields.text_or_none("body") or "",
        app_id=fields.number_or_none("performed_via_github_app.id"),
        created_at=fields.time("created_at"),
    )


def read_paths(fields: JsonFields) -> tuple[str, ...]:
    """The path of a changed file, and the one it had before where it was renamed."""
    before = fields.text_or_none("previous_filename")
    return (fields.text("filename"), *([before] if before else []))


# Roles as GitHub names them elsewhere, and the permission they amount to.
_ROLE_PERMISSIONS = {
    "push": Permission.WRITE,
    "maintain": Permission.WRITE,
    "pull": Permission.READ,
    "triage": Permission.READ,
}


def read_permission(fields: JsonFields) -> Permission:
    """Read a collaborator's permission; an unknown one counts as none."""
    name = fields.text("permission")
    return Permission(name) if name in set(Permission) else _ROLE_PERMISSIONS.get(name, Permission.NONE)


def read_file(fields: JsonFields, path: str) -> str:
    """The text of a file; `UserError` where it is too long for the API, or not text."""
    if fields.find("encoding") != "base64":
        raise UserError(f"{path} is longer than 1 MB: GitHub does not give it whole")
    try:
        return base64.b64decode(fields.text("content")).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        raise UserError(f"{path} is not text in UTF-8") from None


class GitHubClient:
    """One App's view of GitHub. Nothing is sent, and githubkit is not imported, before the first call."""

    def __init__(
        self,
        *,
        app_id: int,
        private_key: str,
        api_url: str = "https://api.github.com",
        transport: httpx.AsyncBaseTransport | None = None,
        now: Callable[[], float],
        exchange: UsageExchange | None = None,
    ) -> None:
        """`now` gives Unix seconds; `transport` replaces the connection, as tests do; `exchange` reports to
        other processes of the same App what was sent."""
        self.app_id = app_id
        self.api = GitHubTransport(
            app_id=app_id,
            private_key=private_key,
            api_url=api_url,
            transport=transport,
            now=now,
            exchange=exchange,
        )
        self._slug: str | None = None
        self._listed: defaultdict[int, KnownPages] = defaultdict(KnownPages)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.api.aclose()

    async def app_slug(self) -> str:
        """The App's name in addresses; its comments are written by `slug[bot]`."""
        if self._slug is None:
            response = await self.api.request(None, "GET", "/app")
            self._slug = response.read(lambda fields: fields.text("slug"))
        return self._slug

    async def app_owner(self) -> int | None:
        """The number of the account that owns the App."""
        response = await self.api.request(None, "GET", "/app")
        return response.read(lambda fields: fields.number_or_none("owner.id"))

    async def installed_accounts(self) -> dict[str, int]:
        """The numbers of the accounts that the App is installed on, by login in small letters."""
        found: dict[str, int] = {}
        async for page in self.api.pages(None, "/app/installations"):
            for one in page.read_each(lambda fields: fields):
                login, number = one.text_or_none("account.login"), one.number_or_none("account.id")
                found |= {login.lower(): number} if login and number is not None else {}
        return found

    async def installations(self) -> tuple[Installation, ...]:
        """Every installation of this App, the suspended ones too."""
        found: list[Installation] = []
        async for page in self.api.pages(None, "/app/installations"):
            found += page.read_each(read_installation)
        return tuple(found)

    async def repositories(self, installation: int) -> tuple[Repository, ...]:
        """Every repository that an installation may see. A page that GitHub says is unchanged counts as no
        request, and is taken from the last answer."""
        found: list[Repository] = []
        pages = self.api.known_pages(installation, "/installation/repositories", self._listed[installation])
        async for page in pages:
            reader = partial(read_repository, installation=installation)
            found += page.read_each(reader, within="repositories")
        return tuple(found)

    async def repository_facts(self, repository: Repository) -> Repository:
        """The same repository with all its facts, and the name it has now."""
        response = await self._get(repository, "")
        found = response.read(partial(read_repository, installation=repository.installation))
        return replace(found, owner_id=response.read(lambda fields: fields.number_or_none("owner.id")))

    async def pull(self, repository: Repository, number: int) -> PullRequest:
        """A pull request as it is now."""
        response = await self._get(repository, f"/pulls/{number}")
        return response.read(partial(read_pull, repository=repository.full_name))

    async def open_pulls(self, repository: Repository) -> tuple[PullRequest, ...]:
        """Every open pull request."""
        found: list[PullRequest] = []
        path = f"{repository_path(repository)}/pulls"
        async for page in self.api.pages(repository.installation, path, {"state": "open"}):
            found += page.read_each(partial(read_pull, repository=repository.full_name))
        return tuple(found)

    async def changed_paths(self, repository: Repository, number: int) -> tuple[str, ...]:
        """The paths a pull request changes, old names of renamed files too; of 3000 files at most."""
        found: list[str] = []
        path = f"{repository_path(repository)}/pulls/{number}/files"
        async for page in self.api.pages(repository.installation, path):
            found += chain.from_iterable(page.read_each(read_paths))
        if not found:
            # A pull request without changes is rare, and the emulator lists none for any.
            pull = await self.pull(repository, number)
            found += await self.compared_paths(repository, pull.base_sha, pull.head_sha)
        return tuple(dict.fromkeys(found))

    async def compared_paths(self, repository: Repository, base: str, head: str) -> tuple[str, ...]:
        """The paths that `head` changed since it left `base`, old names too; of GitHub's first 300 files."""
        response = await self._compare(repository, base, head)
        found = chain.from_iterable(response.read_each(read_paths, within="files"))
        return tuple(dict.fromkeys(found))

    async def file(self, repository: Repository, path: str, ref: str) -> str | None:
        """The text of a file at a branch or commit; None where there is no such file or commit."""
        where = "/".join(quoted(part) for part in path.split("/"))
        try:
            response = await self._get(repository, f"/contents/{where}", {"ref": ref})
        except NotFound:
            return None
        if isinstance(response.json, list):
            return None
        found = response.read(lambda fields: fields)
        return read_file(found, path) if found.find("type") == "file" else None

    async def merge_base(self, repository: Repository, base: str, head: str) -> Commit:
        """The newest commit that `base` and `head` share; `NotFound` where they share none."""
        response = await self._compare(repository, base, head)
        return response.read(lambda fields: read_commit(fields.within("merge_base_commit")))

    async def ancestors(self, repository: Repository, sha: str, limit: int = 100) -> tuple[Commit, ...]:
        """`sha` and the commits before it, newest first, at most `limit`; of merges, both sides."""
        found: list[Commit] = []
        query: dict[str, str | int] = {"sha": sha, "per_page": min(limit, 100)}
        async for page in self.api.pages(
            repository.installation, f"{repository_path(repository)}/commits", query
        ):
            found += page.read_each(read_commit)
            if len(found) >= limit:
                break
        return tuple(found[:limit])

    async def permission(self, repository: Repository, person: Person) -> Permission | None:
        """What a person may do with the repository; nothing where GitHub does not know them there. None where
        the login belongs to another account by now: its permission says nothing of the person."""
        try:
            response = await self._get(repository, f"/collaborators/{quoted(person.login)}/permission")
        except NotFound:
            return Permission.NONE
        found = response.read(lambda fields: fields.number_or_none("user.id"))
        return response.read(read_permission) if found in {None, person.id} else None

    async def is_member(self, repository: Repository, team: str, person: Person) -> bool:
        """Whether a person is in a team, `organisation/team`; needs the App's permission to read members."""
        organisation, _, slug = team.partition("/")
        path = f"/orgs/{quoted(organisation)}/teams/{quoted(slug)}/memberships/{quoted(person.login)}"
        try:
            response = await self.api.request(repository.installation, "GET", path)
        except NotFound:
            return False
        return response.read(lambda fields: fields.text("state")) == "active"

    async def make_label(self, repository: Repository, name: str, *, colour: str, description: str) -> None:
        """Make a label, unless one of the name exists; that one stays as it is."""
        try:
            await self._get(repository, f"/labels/{quoted(name)}")
        except NotFound:
            body = {"name": name, "color": colour, "description": description}
            path = f"{repository_path(repository)}/labels"
            await self.api.request(repository.installation, "POST", path, body=body)

    async def comments(self, repository: Repository, number: int) -> AsyncIterator[Comment]:
        """The comments of a pull request, oldest first."""
        path = f"{repository_path(repository)}/issues/{number}/comments"
        async for page in self.api.pages(repository.installation, path):
            for comment in page.read_each(read_comment):
                yield comment

    async def comment(self, repository: Repository, comment_id: int) -> Comment | None:
        """One comment; None where it was deleted."""
        try:
            response = await self._get(repository, f"/issues/comments/{comment_id}")
        except NotFound:
            return None
        return response.read(read_comment)

    async def create_comment(self, repository: Repository, number: int, body: str) -> Comment:
        """Write a new comment.

        Raises `UncertainWrite` where GitHub may have written it without an answer: look for it before trying
        again.
        """
        path = f"{repository_path(repository)}/issues/{number}/comments"
        try:
            response = await self.api.request(repository.installation, "POST", path, body={"body": body})
        except TransientError as later:
            if later.may_have_acted:
                raise UncertainWrite(str(later), after=later.after, may_have_acted=True) from later
            raise
        return response.read(read_comment)

    async def edit_comment(self, repository: Repository, comment_id: int, body: str) -> Comment:
        """Replace the text of a comment; this notifies nobody."""
        path = f"{repository_path(repository)}/issues/comments/{comment_id}"
        response = await self.api.request(repository.installation, "PATCH", path, body={"body": body})
        return response.read(read_comment)

    async def delete_comment(self, repository: Repository, comment_id: int) -> None:
        """Delete a comment; one that is gone already is no error."""
        path = f"{repository_path(repository)}/issues/comments/{comment_id}"
        try:
            await self.api.request(repository.installation, "DELETE", path)
        except NotFound:
            return

    async def react(self, repository: Repository, comment_id: int, content: str) -> None:
        """Put a reaction (`eyes`, `+1`, `confused`, …) on a comment; repeating it changes nothing."""
        path = f"{repository_path(repository)}/issues/comments/{comment_id}/reactions"
        await self.api.request(repository.installation, "POST", path, body={"content": content})

    async def _compare(self, repository: Repository, base: str, head: str) -> ApiResponse:
        # The shortest page: the commits between are not needed, and files come with the first page.
        return await self._get(repository, f"/compare/{quoted(base)}...{quoted(head)}", {"per_page": 1})

    async def _get(
        self, repository: Repository, path: str, query: Mapping[str, str | int] | None = None
    ) -> ApiResponse:
        return await self.api.request(
            repository.installation, "GET", repository_path(repository) + path, query=query
        )


def repository_path(repository: Repository) -> str:
    """The path of a repository's API."""
    return "/repos/" + "/".join(quoted(part) for part in repository.full_name.split("/"))
