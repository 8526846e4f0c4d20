"""Addresses of this site and of GitHub: one method for each page, so that no template builds one.

Paths are safe inside an HTML attribute.
"""

from urllib.parse import quote, urlencode

from msgspec import Struct

GITHUB_URL = "https://github.com"

API_PREFIX = "/api/v1"
"""The prefix of every path that answers JSON."""


class Links(Struct, frozen=True, kw_only=True):
    """The addresses of the site; `github_url` is GitHub's address for people."""

    github_url: str = GITHUB_URL

    def home(self) -> str:
        """The home page: every public repository."""
        return "/"

    def home_json(self) -> str:
        """The same as JSON."""
        return f"{API_PREFIX}/"

    def openapi(self) -> str:
        """The API description (OpenAPI)."""
        return f"{API_PREFIX}/openapi.json"

    def repository(self, repository: str) -> str:
        """The pull requests of `owner/name`."""
        return self._path("", *repository.split("/"))

    def repository_json(self, repository: str) -> str:
        """The same as JSON."""
        return self._path(API_PREFIX, *repository.split("/"))

    def pull(self, repository: str, number: int, head: str | None = None) -> str:
        """The report of a pull request's newest head, or of `head`."""
        return self._path("", *repository.split("/"), "pull", str(number), head=head)

    def pull_json(self, repository: str, number: int, head: str | None = None) -> str:
        """The same as JSON."""
        return self._path(API_PREFIX, *repository.split("/"), "pull", str(number), head=head)

    def branch(self, repository: str, branch: str, head: str | None = None) -> str:
        """The report of a watched branch without a pull request."""
        return self._with_query(f"{self._repo_path(repository)}/branch/{quote(branch, safe='/')}", head=head)

    def branch_json(self, repository: str, branch: str, head: str | None = None) -> str:
        """The same as JSON."""
        return self._with_query(
            f"{API_PREFIX}{self._repo_path(repository)}/branch/{quote(branch, safe='/')}", head=head
        )

    def compare(
        self, repository: str, base: str, head: str, case: str | None = None, variant: str | None = None
    ) -> str:
        """Two refs case by case, or one case of them."""
        return self._compare("", repository, f"{base}...{head}", case=case, variant=variant)

    def compare_json(
        self, repository: str, base: str, head: str, case: str | None = None, variant: str | None = None
    ) -> str:
        """The same as JSON."""
        return self._compare(API_PREFIX, repository, f"{base}...{head}", case=case, variant=variant)

    def parity(self, repository: str, ref: str, *, above: str = "", form: str | None = None) -> str:
        """Every case in every variant at one ref."""
        path = f"{above}{self._repo_path(repository)}/parity/{quote(ref, safe='/')}"
        return self._with_query(path, format=form)

    def history(
        self,
        repository: str,
        case: str | None = None,
        variant: str | None = None,
        metric: str | None = None,
        *,
        above: str = "",
        form: str | None = None,
    ) -> str:
        """A metric of a case on the default branch over time."""
        path = f"{above}{self._repo_path(repository)}/history"
        return self._with_query(path, case=case, variant=variant, metric=metric, format=form)

    def run(self, run: str) -> str:
        """Everything known of a run."""
        return self._path("", "runs", run)

    def run_json(self, run: str) -> str:
        """The same as JSON."""
        return self._path(API_PREFIX, "runs", run)

    def log(self, run: str, start: int | None = None, anchor: str = "") -> str:
        """The log of a run, from byte `start` on."""
        path = self._path("", "runs", run, "log", at=str(start) if start else None)
        return f"{path}#{quote(anchor, safe='')}" if anchor else path

    def log_lines(self, run: str, first: int, last: int | None = None) -> str:
        """The log of a run with this line, or these lines, highlighted."""
        lines = {"from": str(first), "to": str(last) if last else None}
        anchor = f"L{first}" if last is None else f"L{first}-L{last}"
        return f"{self._path('', 'runs', run, 'log', **lines)}#{anchor}"

    def log_search(self, run: str, *, above: str = "", **query: str | None) -> str:
        """A search in the log of a run: `q` is the text, `at` the byte to continue at."""
        return self._path(above, "runs", run, "log", "search", **query)

    def log_json(self, run: str, start: int) -> str:
        """The text of the log from byte `start` on, for programs."""
        return self._path(API_PREFIX, "runs", run, "log", at=str(start))

    def raw_log(self, run: str) -> str:
        """The whole log as text."""
        return self._path("", "runs", run, "log", "raw")

    def log_file(self, run: str) -> str:
        """The whole log as a download."""
        return self._path("", "runs", run, "log", "raw", download="yes")

    def compare_logs(
        self, repository: str, base: str, head: str, start: int | None = None, *, above: str = ""
    ) -> str:
        """Two logs side by side, from section `start` on."""
        query = {"base": base, "head": head, "section": str(start) if start else None}
        return self._path(above, *repository.split("/"), "compare-logs", **query)

    def pull_on_github(self, repository: str, number: int) -> str:
        """The pull request on GitHub."""
        return f"{self.github_url}/{quote(repository)}/pull/{number}"

    def branch_on_github(self, repository: str, branch: str) -> str:
        """A branch on GitHub."""
        return f"{self.github_url}/{quote(repository)}/tree/{quote(branch, safe='/')}"

    def commit_on_github(self, repository: str, sha: str | None) -> str | None:
        """A commit on GitHub; None without one."""
        return f"{self.github_url}/{quote(repository)}/commit/{quote(sha, safe='')}" if sha else None

    def comparison_on_github(self, repository: str, before: str, after: str) -> str:
        """The commits between two on GitHub."""
        ends = f"{quote(before, safe='')}...{quote(after, safe='')}"
        return f"{self.github_url}/{quote(repository)}/compare/{ends}"

    def _compare(self, above: str, repository: str, ends: str, **query: str | None) -> str:
        return self._with_query(
            f"{above}{self._repo_path(repository)}/compare/{quote(ends, safe='/:')}", **query
        )

    def _repo_path(self, repository: str) -> str:
        return "".join(f"/{quote(part, safe='')}" for part in repository.split("/"))

    def _with_query(self, path: str, **query: str | None) -> str:
        given = {name: value for name, value in query.items() if value}
        return f"{path}?{urlencode(given)}" if given else path

    def _path(self, above: str, *parts: str, **query: str | None) -> str:
        path = above + "".join(f"/{quote(part, safe='')}" for part in parts)
        given = {name: value for name, value in query.items() if value}
        return f"{path}?{urlencode(given)}" if given else path
