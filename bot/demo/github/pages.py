"""Web pages of the stand-in GitHub: the list of pull requests, and a conversation with a comment form."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from urllib.parse import parse_qs

import cmarkgfm
from cmarkgfm.cmark import Options
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from bot.demo.github.state import GitHubComment, GitHubState, PullState
from bot.templating import Renderer

PULL_PATH = "/{owner}/{repo}/pull/{number:int}"

MAX_COMMENT_LENGTH = 65_536
"""GitHub refuses longer comments."""

REACTION_EMOJI = {
    "+1": "👍",
    "-1": "👎",
    "confused": "😕",
    "eyes": "👀",
    "heart": "❤️",
    "hooray": "🎉",
    "laugh": "😄",
    "rocket": "🚀",
}

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
        "img-src http: https: data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
}

PostComment = Callable[[int, str, str], Awaitable[int]]
"""Lets a person (second) comment on a pull request (first)."""


class PageRoutes:
    """Pages of the stand-in; `comment` posts what somebody wrote into the form."""

    def __init__(self, github: GitHubState, comment: PostComment) -> None:
        self._github = github
        self._comment = comment
        self._render = Renderer().render

    def all(self) -> Sequence[Route]:
        """Every page."""
        return (
            Route("/{owner}/{repo}/pulls", self._pulls),
            Route(PULL_PATH, self._pull),
            Route(PULL_PATH, self._post_comment, methods=["POST"]),
            Route(f"{PULL_PATH}/conversation", self._conversation),
        )

    def missing(self, request: Request) -> Response:
        """The page for an address that does not exist."""
        return self._page("demo_missing.html.j2", path=request.url.path, status=404)

    async def _pulls(self, request: Request) -> Response:
        if not self._is_our_repository(request):
            return self.missing(request)
        return self._page("demo_pulls.html.j2", pulls=tuple(self._github.pulls.values()))

    async def _pull(self, request: Request) -> Response:
        pull = self._find_pull(request)
        if pull is None:
            return self.missing(request)
        people = [account for account in self._github.accounts.values() if not account.is_bot]
        return self._page("demo_pull.html.j2", pull=pull, people=people, talk=self._conversation_html(pull))

    async def _conversation(self, request: Request) -> Response:
        pull = self._find_pull(request)
        if pull is None:
            return self.missing(request)
        return HTMLResponse(self._conversation_html(pull), headers=HEADERS)

    async def _post_comment(self, request: Request) -> Response:
        """Post the form's comment; forms of other sites are refused."""
        pull = self._find_pull(request)
        own = f"{request.url.scheme}://{request.url.netloc}"
        if pull is None or request.headers.get("origin", own) != own:
            return self.missing(request)
        form = parse_qs((await request.body()).decode("utf-8", "replace"))
        who, body = (form.get(name, [""])[0] for name in ("who", "body"))
        if who in self._github.accounts and body.strip():
            await self._comment(pull.number, who, body[:MAX_COMMENT_LENGTH])
        return RedirectResponse(f"{request.url.path}#new", status_code=303)

    def _is_our_repository(self, request: Request) -> bool:
        return "{owner}/{repo}".format(**request.path_params) == self._github.full_name

    def _find_pull(self, request: Request) -> PullState | None:
        return (
            self._github.pulls.get(request.path_params["number"])
            if self._is_our_repository(request)
            else None
        )

    def _conversation_html(self, pull: PullState) -> str:
        comments = [one for one in self._github.comments.values() if one.number == pull.number]
        checks = [check for check in self._github.checks.values() if check.head_sha == pull.head_sha]
        values = {"pull": pull, "comments": [*map(_rendered_comment, comments)], "checks": checks}
        return self._render("demo_conversation.html.j2", values)

    def _page(self, template: str, *, status: int = 200, **values: object) -> Response:
        text = self._render(template, {"name": self._github.full_name, **values})
        return HTMLResponse(text, status_code=status, headers=HEADERS)


def _rendered_comment(comment: GitHubComment) -> dict[str, object]:
    """A comment as GitHub's own Markdown makes it; HTML of people is left out, HTML of the App is kept."""
    options = Options.CMARK_OPT_UNSAFE if comment.by_app else 0
    return {
        "author": comment.author,
        "body": cmarkgfm.github_flavored_markdown_to_html(comment.body, options=options),
        "edited": comment.updated_at > comment.created_at,
        "reactions": _reaction_counts(comment.reactions.items()),
    }


def _reaction_counts(given: Iterable[tuple[str, Sequence[object]]]) -> list[tuple[str, int]]:
    return [(REACTION_EMOJI.get(content, content), len(who)) for content, who in given if who]
