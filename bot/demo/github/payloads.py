"""GitHub's JSON objects, built from the state: users, repository, App, pull requests, comments, checks,
commits.

Each has every field that GitHub's OpenAPI description requires; the tests check that.
"""

import base64
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote

from dulwich.objects import Commit

from bot.demo.github.git import ChangedFile, GitFile
from bot.demo.github.state import (
    AccountState,
    GitHubCheck,
    GitHubComment,
    GitHubState,
    LabelState,
    PullState,
    RecordedDelivery,
    StatusState,
)
from bot.domain.repository import Permission

Json = dict[str, object]

# Names of fields, as the description requires them.
_USER_LINKS = """
followers following gists starred subscriptions organizations repos events received_events
"""

_REPOSITORY_LINKS = """
archive assignees blobs branches collaborators comments commits compare contents contributors deployments
downloads events forks git_commits git_refs git_tags hooks issue_comment issue_events issues keys labels
languages merges milestones notifications pulls releases stargazers statuses subscribers subscription tags
teams trees clone git ssh svn
"""

_REPOSITORY_NUMBERS = """
forks forks_count open_issues open_issues_count size stargazers_count watchers watchers_count
network_count subscribers_count
"""

_REPOSITORY_FLAGS = """
has_issues has_projects has_wiki has_pages has_discussions has_downloads fork archived disabled
"""


def timestamp(moment: float) -> str:
    """A moment as GitHub writes it."""
    return datetime.fromtimestamp(moment, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def user_json(world: GitHubState, account: AccountState) -> Json:
    """A simple user."""
    login = quote(account.login)
    url = f"{world.url}/users/{login}"
    return {
        "login": account.login,
        "id": account.id,
        "node_id": f"U_{account.id}",
        "avatar_url": f"{world.url}/avatars/{account.id}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{world.url}/{login}",
        "type": "Bot" if account.is_bot else "User",
        "site_admin": False,
        **{f"{name}_url": f"{url}/{name}" for name in _USER_LINKS.split()},
    }


def repository_json(world: GitHubState) -> Json:
    """A full repository, which is a simple and a minimal one too."""
    url, moment = f"{world.url}/repos/{world.full_name}", timestamp(world.now())
    return {
        "id": 1,
        "node_id": "R_1",
        "name": world.full_name.partition("/")[2],
        "full_name": world.full_name,
        "owner": user_json(world, world.account(world.owner)),
        "private": world.private,
        "html_url": f"{world.url}/{world.full_name}",
        "url": url,
        "default_branch": world.default_branch,
        **dict.fromkeys(("description", "homepage", "language", "mirror_url", "license")),
        **dict.fromkeys(("created_at", "updated_at", "pushed_at"), moment),
        **dict.fromkeys(_REPOSITORY_NUMBERS.split(), 0),
        **dict.fromkeys(_REPOSITORY_FLAGS.split(), False),
        "archived": world.archived,
        **{f"{name}_url": f"{url}/{name}" for name in _REPOSITORY_LINKS.split()},
        "permissions": {"admin": False, "push": False, "pull": True},
    }


def app_json(world: GitHubState) -> Json:
    """The App."""
    moment = timestamp(0)
    return {
        "id": world.app_id,
        "slug": world.slug,
        "node_id": f"A_{world.app_id}",
        "owner": user_json(world, world.account(world.owner)),
        "name": world.slug,
        "description": None,
        "external_url": world.url,
        "html_url": f"{world.url}/apps/{world.slug}",
        "created_at": moment,
        "updated_at": moment,
        "permissions": dict(world.permissions),
        "events": ["pull_request", "issue_comment", "push"],
    }


def installation_json(world: GitHubState) -> Json:
    """The App's installation on the owner's account."""
    moment = timestamp(0)
    return {
        "id": world.installation,
        "app_id": world.app_id,
        "app_slug": world.slug,
        "account": user_json(world, world.account(world.owner)),
        "target_id": world.account(world.owner).id,
        "target_type": "Organization",
        "repository_selection": "selected",
        "access_tokens_url": f"{world.url}/app/installations/{world.installation}/access_tokens",
        "repositories_url": f"{world.url}/installation/repositories",
        "html_url": f"{world.url}/settings/installations/{world.installation}",
        "permissions": dict(world.permissions),
        "events": ["pull_request", "issue_comment", "push"],
        "single_file_name": None,
        "suspended_by": None,
        "suspended_at": None if world.suspended_at is None else timestamp(world.suspended_at),
        "created_at": moment,
        "updated_at": moment,
    }


def permission_json(world: GitHubState, account: AccountState) -> Json:
    """What a person may do with the repository."""
    said = account.permission
    return {"permission": said, "role_name": said, "user": {**user_json(world, account), "role_name": said}}


def delivery_json(world: GitHubState, made: RecordedDelivery) -> Json:
    """A delivery as lists hold it."""
    return {
        "id": made.id,
        "guid": made.guid,
        "delivered_at": timestamp(made.delivered_at),
        "redelivery": made.redelivery,
        "duration": made.duration,
        "status": made.status,
        "status_code": made.status_code,
        "event": made.event,
        "action": made.action,
        "installation_id": world.installation,
        "repository_id": 1,
        "throttled_at": None,
    }


def full_delivery_json(world: GitHubState, made: RecordedDelivery) -> Json:
    """A delivery with what was sent."""
    return {
        **delivery_json(world, made),
        "url": world.url,
        "request": {"headers": dict(made.headers), "payload": made.payload},
        "response": {"headers": {}, "payload": ""},
    }


def short_pull_json(world: GitHubState, state: PullState, base_sha: str) -> Json:
    """A pull request as lists hold it."""
    links = _pull_links(world, state)
    page = links["html"]
    return {
        "id": state.id,
        "node_id": f"PR_{state.id}",
        "number": state.number,
        "state": "open" if state.closed_at is None else "closed",
        "title": state.title,
        "body": None,
        "user": user_json(world, state.author),
        "draft": state.draft,
        "locked": state.locked,
        "head": _head_or_base_json(world, state.head_branch, state.head_sha, state.fork),
        "base": _head_or_base_json(world, state.base_branch, base_sha),
        "url": links["self"],
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        **{f"{name}_url": link for name, link in links.items() if name != "self"},
        "_links": {name: {"href": link} for name, link in links.items()},
        "created_at": timestamp(state.created_at),
        "updated_at": timestamp(state.updated_at),
        "closed_at": None if state.closed_at is None else timestamp(state.closed_at),
        "merged_at": None if state.merged_at is None else timestamp(state.merged_at),
        "merge_commit_sha": None,
        **dict.fromkeys(("assignee", "milestone", "auto_merge")),
        **{name: [] for name in ("assignees", "requested_reviewers", "requested_teams")},
        "labels": [label_json(world, world.label(name)) for name in state.labels],
        "author_association": _author_association(world, state.author),
    }


def pull_json(world: GitHubState, state: PullState, base_sha: str, changed_files: int) -> Json:
    """A pull request on its own."""
    return {
        **short_pull_json(world, state, base_sha),
        "merged": state.merged_at is not None,
        "mergeable": True,
        "mergeable_state": "clean",
        "merged_by": None,
        "maintainer_can_modify": False,
        "comments": len(world.comments_of(state.number)),
        "changed_files": changed_files,
        **dict.fromkeys(("review_comments", "commits", "additions", "deletions"), 0),
    }


def issue_json(world: GitHubState, state: PullState) -> Json:
    """The issue side of a pull request, as comment events carry it (a part of it)."""
    url = f"{world.url}/repos/{world.full_name}/issues/{state.number}"
    return {
        "id": state.id,
        "node_id": f"PR_{state.id}",
        "number": state.number,
        "title": state.title,
        "state": "open" if state.closed_at is None else "closed",
        "user": user_json(world, state.author),
        "url": url,
        "pull_request": {"url": f"{world.url}/repos/{world.full_name}/pulls/{state.number}"},
        "created_at": timestamp(state.created_at),
        "updated_at": timestamp(state.updated_at),
    }


def comment_json(world: GitHubState, state: GitHubComment) -> Json:
    """A comment of an issue or pull request."""
    repo = f"{world.url}/repos/{world.full_name}"
    page = f"{world.url}/{world.full_name}/pull/{state.number}"
    return {
        "id": state.id,
        "node_id": f"IC_{state.id}",
        "url": f"{repo}/issues/comments/{state.id}",
        "html_url": f"{page}#issuecomment-{state.id}",
        "issue_url": f"{repo}/issues/{state.number}",
        "user": user_json(world, state.author),
        "body": state.body,
        "created_at": timestamp(state.created_at),
        "updated_at": timestamp(state.updated_at),
        "author_association": _author_association(world, state.author),
        "performed_via_github_app": app_json(world) if state.by_app else None,
    }


def reaction_json(world: GitHubState, number: int, who: AccountState, content: str) -> Json:
    """A reaction to a comment."""
    return {
        "id": number,
        "node_id": f"REA_{number}",
        "user": user_json(world, who),
        "content": content,
        "created_at": timestamp(world.now()),
    }


def _pull_links(world: GitHubState, state: PullState) -> dict[str, str]:
    url = f"{world.url}/repos/{world.full_name}/pulls/{state.number}"
    issue_url = f"{world.url}/repos/{world.full_name}/issues/{state.number}"
    return {
        "self": url,
        "html": f"{world.url}/{world.full_name}/pull/{state.number}",
        "issue": issue_url,
        "comments": f"{issue_url}/comments",
        "commits": f"{url}/commits",
        "review_comments": f"{url}/comments",
        "review_comment": f"{url}/comments/1",
        "statuses": f"{world.url}/repos/{world.full_name}/statuses/{state.head_sha}",
    }


def label_json(world: GitHubState, state: LabelState) -> Json:
    """A label of the repository."""
    return {
        "id": state.id,
        "node_id": f"LA_{state.id}",
        "url": f"{world.url}/repos/{world.full_name}/labels/{state.name}",
        "name": state.name,
        "color": state.colour,
        "description": state.description,
        "default": False,
    }


def _head_or_base_json(world: GitHubState, name: str, sha: str, fork: str | None = None) -> Json:
    owner = (fork or world.full_name).partition("/")[0]
    elsewhere = {"full_name": fork, "fork": True, "id": 77} if fork else {}
    return {
        "label": f"{owner}:{name}",
        "ref": name,
        "sha": sha,
        "user": user_json(world, world.account(owner)),
        "repo": {**repository_json(world), **elsewhere},
    }


def _author_association(world: GitHubState, account: AccountState) -> str:
    if account.login == world.owner:
        return "OWNER"
    return "COLLABORATOR" if account.permission in {Permission.WRITE, Permission.ADMIN} else "NONE"


LONGEST_DESCRIPTION = 140


def check_run_json(world: GitHubState, state: GitHubCheck) -> Json:
    """A check run, in answers and in webhooks."""
    repo = f"{world.url}/repos/{world.full_name}"
    url = f"{repo}/check-runs/{state.id}"
    return {
        "id": state.id,
        "node_id": f"CR_{state.id}",
        "head_sha": state.head_sha,
        "external_id": state.external_id,
        "url": url,
        "html_url": f"{world.url}/{world.full_name}/runs/{state.id}",
        "details_url": state.details_url,
        "status": state.status,
        "conclusion": state.conclusion,
        "started_at": timestamp(state.started_at),
        "completed_at": None if state.completed_at is None else timestamp(state.completed_at),
        "output": {
            "title": state.title,
            "summary": state.summary,
            "text": None,
            "annotations_count": len(state.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "name": state.name,
        "check_suite": {"id": 1},
        "app": app_json(world),
        # As GitHub does for forks: whose pull request it is must be known without this.
        "pull_requests": [],
    }


def annotation_json(world: GitHubState, state: GitHubCheck, said: Mapping[str, object]) -> Json:
    """A remark of a check run."""
    return {
        "path": said["path"],
        "start_line": said["start_line"],
        "end_line": said["end_line"],
        "start_column": None,
        "end_column": None,
        "annotation_level": said["annotation_level"],
        "title": said.get("title"),
        "message": said["message"],
        "raw_details": None,
        "blob_href": f"{world.url}/{world.full_name}/blob/{state.head_sha}/{said['path']}",
    }


def status_json(world: GitHubState, said: StatusState) -> Json:
    """A commit status."""
    moment = timestamp(said.created_at)
    return {
        "id": said.id,
        "node_id": f"SC_{said.id}",
        "url": f"{world.url}/repos/{world.full_name}/statuses/{said.sha}",
        "avatar_url": None,
        "state": said.state,
        "description": said.description,
        "target_url": said.target_url,
        "context": said.context,
        "created_at": moment,
        "updated_at": moment,
        "creator": user_json(world, world.bot()),
    }


# The API gives files up to this size in its JSON.
LONGEST_FILE_CONTENT = 1_000_000


def commit_json(world: GitHubState, made: Commit) -> Json:
    """A commit of the repository's API."""
    sha = made.id.decode()
    url = f"{world.url}/repos/{world.full_name}/commits/{sha}"
    return {
        "sha": sha,
        "node_id": f"C_{sha}",
        "url": url,
        "html_url": f"{world.url}/{world.full_name}/commit/{sha}",
        "comments_url": f"{url}/comments",
        "commit": {
            "url": f"{world.url}/repos/{world.full_name}/git/commits/{sha}",
            "author": _signature_json(made.author, made.author_time),
            "committer": _signature_json(made.committer, made.commit_time),
            "message": made.message.decode("utf-8", "replace").rstrip("\n"),
            "tree": {"sha": made.tree.decode(), "url": f"{world.url}/repos/{world.full_name}/git/trees"},
            "comment_count": 0,
        },
        "author": None,
        "committer": None,
        "parents": [
            {"sha": parent.decode(), "url": f"{url[: -len(sha)]}{parent.decode()}"} for parent in made.parents
        ],
    }


def content_json(world: GitHubState, path: str, found: GitFile) -> Json:
    """A file of a commit."""
    url = f"{world.url}/repos/{world.full_name}/contents/{quote(path)}"
    short = len(found.content) <= LONGEST_FILE_CONTENT
    return {
        "type": "file",
        "name": path.rpartition("/")[2],
        "path": path,
        "sha": found.sha,
        "size": len(found.content),
        "encoding": "base64" if short else "none",
        "content": base64.encodebytes(found.content).decode() if short else "",
        "url": url,
        **dict.fromkeys(("git_url", "html_url", "download_url"), url),
        "_links": {"self": url, "git": url, "html": url},
    }


def changed_file_json(world: GitHubState, changed: ChangedFile) -> Json:
    """A file of a pull request."""
    url = f"{world.url}/repos/{world.full_name}/contents/{quote(changed.path)}"
    return {
        "sha": changed.sha,
        "filename": changed.path,
        "status": changed.status,
        "additions": changed.additions,
        "deletions": changed.deletions,
        "changes": changed.additions + changed.deletions,
        **dict.fromkeys(("blob_url", "raw_url", "contents_url"), url),
        **({"previous_filename": changed.before} if changed.before else {}),
    }


# Ada Lovelace <ada@example.org>
_SIGNATURE = re.compile(r"^(?P<name>.*?) *<(?P<email>[^>]*)>")


def _signature_json(who: bytes, moment: int) -> Json:
    text = who.decode("utf-8", "replace")
    found = _SIGNATURE.match(text)
    name, email = (found["name"], found["email"]) if found else (text, "")
    return {"name": name, "email": email, "date": timestamp(moment)}
