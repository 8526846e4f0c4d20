"""REST endpoints of pull requests, files and commits, read from the git repository at that moment."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.demo.github import payloads
from bot.demo.github.git import ChangedFile, GitFile, History
from bot.demo.github.http import REPOSITORY_PATH, HttpError, RestGate
from bot.demo.github.payloads import Json
from bot.demo.github.state import GitHubState, PullState


class CodeRoutes:
    """Routes over the pull requests of the stand-in and its git repository."""

    def __init__(self, github: GitHubState, history: History) -> None:
        self._github = github
        self._gate = RestGate(github)
        self._history = history

    def all(self) -> list[Route]:
        """Every route."""
        route = self._gate.route
        return [
            route("GET", f"{REPOSITORY_PATH}/pulls", self._pulls),
            route("GET", f"{REPOSITORY_PATH}/pulls/{{number:int}}", self._pull),
            route("GET", f"{REPOSITORY_PATH}/pulls/{{number:int}}/files", self._files),
            route("GET", f"{REPOSITORY_PATH}/contents/{{path:path}}", self._content),
            route("GET", f"{REPOSITORY_PATH}/compare/{{basehead:path}}", self._compare),
            route("GET", f"{REPOSITORY_PATH}/commits", self._commits),
        ]

    async def _pulls(self, request: Request) -> Response:
        wanted = request.query_params.get("state", "open")
        newest_first = sorted(self._github.pulls.values(), key=lambda one: -one.number)
        listed = [payloads.short_pull_json(self._github, one, self._base_sha(one)) for one in newest_first]
        return self._gate.page(request, [one for one in listed if wanted in {"all", one["state"]}])

    async def _pull(self, request: Request) -> Response:
        pull = self._named_pull(request)
        changed = len(self._changes(pull))
        return JSONResponse(payloads.pull_json(self._github, pull, self._base_sha(pull), changed))

    async def _files(self, request: Request) -> Response:
        changes = self._changes(self._named_pull(request))
        return self._gate.page(request, [payloads.changed_file_json(self._github, one) for one in changes])

    async def _content(self, request: Request) -> Response:
        path = request.path_params["path"]
        sha = self._resolve(request.query_params.get("ref", self._github.default_branch))
        found = self._history.entry(sha, path)
        match found:
            case None:
                raise HttpError(404, "Not Found")
            case GitFile():
                return JSONResponse(payloads.content_json(self._github, path, found))
            case _:
                inner = ((f"{path}/{name}", self._history.entry(sha, f"{path}/{name}")) for name in found)
                listed = [
                    payloads.content_json(self._github, at, one)
                    for at, one in inner
                    if isinstance(one, GitFile)
                ]
                return JSONResponse(listed)

    async def _compare(self, request: Request) -> Response:
        base, _, head = request.path_params["basehead"].partition("...")
        shas = self._resolve(base), self._resolve(head)
        shared = self._history.merge_base(*shas)
        if shared is None:
            raise HttpError(404, f"No common ancestor between {base} and {head}.")
        ahead, behind = len(self._history.between(*shas)), len(self._history.between(*reversed(shas)))
        changes = self._history.changes(shared, shas[1])
        status = {(False, False): "identical", (True, False): "ahead", (False, True): "behind"}
        url = f"{self._github.url}/compare"
        return JSONResponse(
            {
                **dict.fromkeys(("url", "html_url", "permalink_url", "diff_url", "patch_url"), url),
                "base_commit": self._commit(shas[0]),
                "merge_base_commit": self._commit(shared),
                "status": status.get((ahead > 0, behind > 0), "diverged"),
                "ahead_by": ahead,
                "behind_by": behind,
                "total_commits": ahead,
                "commits": [self._commit(one) for one in self._history.between(*shas)],
                "files": [payloads.changed_file_json(self._github, one) for one in changes],
            }
        )

    async def _commits(self, request: Request) -> Response:
        sha = self._resolve(request.query_params.get("sha", self._github.default_branch))
        return self._gate.page(
            request, [payloads.commit_json(self._github, one) for one in self._history.walk(sha)]
        )

    def _commit(self, sha: str) -> Json:
        return payloads.commit_json(self._github, self._history.commit(sha))

    def _named_pull(self, request: Request) -> PullState:
        pull = self._github.pulls.get(request.path_params["number"])
        if pull is None:
            raise HttpError(404, "Not Found")
        return pull

    def _base_sha(self, pull: PullState) -> str:
        return self._history.heads().get(pull.base_branch, pull.head_sha)

    def _changes(self, pull: PullState) -> list[ChangedFile]:
        shared = self._history.merge_base(self._base_sha(pull), pull.head_sha)
        return [] if shared is None else self._history.changes(shared, pull.head_sha)

    def _resolve(self, ref: str) -> str:
        sha = self._history.resolve(ref)
        if sha is None:
            raise HttpError(404, f"No commit found for the ref {ref}")
        return sha
