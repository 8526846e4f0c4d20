"""GitHub's JSON objects, built from the state: users, repository, App, pull requests, comments, checks,
commits.

Each has every field that GitHub's OpenAPI description requires; the tests check that.
"""

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote

from bot.demo.github.git import ChangedFile, CommitSignature, GitFile, HistoryCommit
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


def user_json(github: GitHubState, account: AccountState) -> Json:
    """A simple user."""
    login = quote(account.login)
    url = f"{github.url}/users/{login}"
    return {
        "login": account.login,
        "id": account.id,
        "node_id": f"U_{account.id}",
        "avatar_url": f"{github.url}/avatars/{account.id}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{github.url}/{login}",
        "type": "Bot" if account.is_bot else "User",
        "site_admin": False,
        **{f"{name}_url": f"{url}/{name}" for name in _USER_LINKS.split()},
    }


def repository_json(github: GitHubState) -> Json:
    """A full repository, which is a simple and a minimal one too."""
    url, moment = f"{github.url}/repos/{github.full_name}", timestamp(github.now())
    return {
        "id": github.repository_id,
        "node_id": f"R_{github.repository_id}",
        "name": github.full_name.partition("/")[2],
        "full_name": github.full_name,
        "owner": user_json(github, github.account(github.owner)),
        "private": github.private,
        "html_url": f"{github.url}/{github.full_name}",
        "url": url,
        "default_branch": github.default_branch,
        **dict.fromkeys(("description", "homepage", "language", "mirror_url", "license")),
        **dict.fromkeys(("created_at", "updated_at", "pushed_at"), moment),
        **dict.fromkeys(_REPOSITORY_NUMBERS.split(), 0),
        **dict.fromkeys(_REPOSITORY_FLAGS.split(), False),
        "archived": github.archived,
        **{f"{name}_url": f"{url}/{name}" for name in _REPOSITORY_LINKS.split()},
        "permissions": {"admin": False, "push": False, "pull": True},
    }


def app_json(github: GitHubState) -> Json:
    """The App."""
    moment = timestamp(0)
    return {
        "id": github.app_id,
        "slug": github.slug,
        "node_id": f"A_{github.app_id}",
        "owner": user_json(github, github.account(github.owner)),
        "name": github.slug,
        "description": None,
        "external_url": github.url,
        "html_url": f"{github.url}/apps/{github.slug}",
        "created_at": moment,
        "updated_at": moment,
        "permissions": dict(github.permissions),
        "events": ["pull_request", "issue_comment", "push"],
    }


def installation_json(github: GitHubState) -> Json:
    """The App's installation on the owner's account."""
    moment = timestamp(0)
    return {
        "id": github.installation,
        "app_id": github.app_id,
        "app_slug": github.slug,
        "account": user_json(github, github.account(github.owner)),
        "target_id": github.account(github.owner).id,
        "target_type": "Organization",
        "repository_selection": "selected",
        "access_tokens_url": f"{github.url}/app/installations/{github.installation}/access_tokens",
        "repositories_url": f"{github.url}/installation/repositories",
        "html_url": f"{github.url}/settings/installations/{github.installation}",
        "permissions": dict(github.permissions),
        "events": ["pull_request", "issue_comment", "push"],
        "single_file_name": None,
        "suspended_by": None,
        "suspended_at": None if github.suspended_at is None else timestamp(github.suspended_at),
        "created_at": moment,
        "updated_at": moment,
    }


def permission_json(github: GitHubState, account: AccountState) -> Json:
    """What a person may do with the repository."""
    said = account.permission
    return {"permission": said, "role_name": said, "user": {**user_json(github, account), "role_name": said}}


def delivery_json(github: GitHubState, delivery: RecordedDelivery) -> Json:
    """A delivery as lists hold it."""
    return {
        "id": delivery.id,
        "guid": delivery.guid,
        "delivered_at": timestamp(delivery.delivered_at),
        "redelivery": delivery.redelivery,
        "duration": delivery.duration,
        "status": delivery.status,
        "status_code": delivery.status_code,
        "event": delivery.event,
        "action": delivery.action,
        "installation_id": github.installation,
        "repository_id": 1,
        "throttled_at": None,
    }


def full_delivery_json(github: GitHubState, delivery: RecordedDelivery) -> Json:
    """A delivery with what was sent."""
    return {
        **delivery_json(github, delivery),
        "url": github.url,
        "request": {"headers": dict(delivery.headers), "payload": delivery.payload},
        "response": {"headers": {}, "payload": ""},
    }


def short_pull_json(github: GitHubState, pull: PullState, base_sha: str) -> Json:
    """A pull request as lists hold it."""
    links = _pull_links(github, pull)
    page = links["html"]
    return {
        "id": pull.id,
        "node_id": f"PR_{pull.id}",
        "number": pull.number,
        "state": "open" if pull.closed_at is None else "closed",
        "title": pull.title,
        "body": None,
        "user": user_json(github, pull.author),
        "draft": pull.draft,
        "locked": pull.locked,
        "head": _head_or_base_json(github, pull.head_branch, pull.head_sha, pull.fork),
        "base": _head_or_base_json(github, pull.base_branch, base_sha),
        "url": links["self"],
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        **{f"{name}_url": link for name, link in links.items() if name != "self"},
        "_links": {name: {"href": link} for name, link in links.items()},
        "created_at": timestamp(pull.created_at),
        "updated_at": timestamp(pull.updated_at),
        "closed_at": None if pull.closed_at is None else timestamp(pull.closed_at),
        "merged_at": None if pull.merged_at is None else timestamp(pull.merged_at),
        "merge_commit_sha": None,
        **dict.fromkeys(("assignee", "milestone", "auto_merge")),
        **{name: [] for name in ("assignees", "requested_reviewers", "requested_teams")},
        "labels": [label_json(github, github.label(name)) for name in pull.labels],
        "author_association": _author_association(github, pull.author),
    }


def pull_json(github: GitHubState, pull: PullState, base_sha: str, changed_files: int) -> Json:
    """A pull request on its own."""
    return {
        **short_pull_json(github, pull, base_sha),
        "merged": pull.merged_at is not None,
        "mergeable": True,
        "mergeable_state": "clean",
        "merged_by": None,
        "maintainer_can_modify": False,
        "comments": len(github.comments_of(pull.number)),
        "changed_files": changed_files,
        **dict.fromkeys(("review_comments", "commits", "additions", "deletions"), 0),
    }


def issue_json(github: GitHubState, pull: PullState) -> Json:
    """The issue side of a pull request, as comment events carry it (a part of it)."""
    url = f"{github.url}/repos/{github.full_name}/issues/{pull.number}"
    return {
        "id": pull.id,
        "node_id": f"PR_{pull.id}",
        "number": pull.number,
        "title": pull.title,
        "state": "open" if pull.closed_at is None else "closed",
        "user": user_json(github, pull.author),
        "url": url,
        "pull_request": {"url": f"{github.url}/repos/{github.full_name}/pulls/{pull.number}"},
        "created_at": timestamp(pull.created_at),
        "updated_at": timestamp(pull.updated_at),
    }


def comment_json(github: GitHubState, comment: GitHubComment) -> Json:
    """A comment of an issue or pull request."""
    repo = f"{github.url}/repos/{github.full_name}"
    page = f"{github.url}/{github.full_name}/pull/{comment.number}"
    return {
        "id": comment.id,
        "node_id": f"IC_{comment.id}",
        "url": f"{repo}/issues/comments/{comment.id}",
        "html_url": f"{page}#issuecomment-{comment.id}",
        "issue_url": f"{repo}/issues/{comment.number}",
        "user": user_json(github, comment.author),
        "body": comment.body,
        "created_at": timestamp(comment.created_at),
        "updated_at": timestamp(comment.updated_at),
        "author_association": _author_association(github, comment.author),
        "performed_via_github_app": app_json(github) if comment.by_app else None,
    }


def reaction_json(github: GitHubState, number: int, who: AccountState, content: str) -> Json:
    """A reaction to a comment."""
    return {
        "id": number,
        "node_id": f"REA_{number}",
        "user": user_json(github, who),
        "content": content,
        "created_at": timestamp(github.now()),
    }


def _pull_links(github: GitHubState, pull: PullState) -> dict[str, str]:
    url = f"{github.url}/repos/{github.full_name}/pulls/{pull.number}"
    issue_url = f"{github.url}/repos/{github.full_name}/issues/{pull.number}"
    return {
        "self": url,
        "html": f"{github.url}/{github.full_name}/pull/{pull.number}",
        "issue": issue_url,
        "comments": f"{issue_url}/comments",
        "commits": f"{url}/commits",
        "review_comments": f"{url}/comments",
        "review_comment": f"{url}/comments/1",
        "statuses": f"{github.url}/repos/{github.full_name}/statuses/{pull.head_sha}",
    }


def label_json(github: GitHubState, label: LabelState) -> Json:
    """A label of the repository."""
    return {
        "id": label.id,
        "node_id": f"LA_{label.id}",
        "url": f"{github.url}/repos/{github.full_name}/labels/{label.name}",
        "name": label.name,
        "color": label.colour,
        "description": label.description,
        "default": False,
    }


def _head_or_base_json(github: GitHubState, name: str, sha: str, fork: str | None = None) -> Json:
    owner = (fork or github.full_name).partition("/")[0]
    elsewhere = {"full_name": fork, "fork": True, "id": 77} if fork else {}
    return {
        "label": f"{owner}:{name}",
        "ref": name,
        "sha": sha,
        "user": user_json(github, github.account(owner)),
        "repo": {**repository_json(github), **elsewhere},
    }


def _author_association(github: GitHubState, account: AccountState) -> str:
    if account.login == github.owner:
        return "OWNER"
    return "COLLABORATOR" if account.permission in {Permission.WRITE, Permission.ADMIN} else "NONE"


MAX_DESCRIPTION_LENGTH = 140


def check_run_json(github: GitHubState, check: GitHubCheck) -> Json:
    """A check run, in answers and in webhooks."""
    repo = f"{github.url}/repos/{github.full_name}"
    url = f"{repo}/check-runs/{check.id}"
    return {
        "id": check.id,
        "node_id": f"CR_{check.id}",
        "head_sha": check.head_sha,
        "external_id": check.external_id,
        "url": url,
        "html_url": f"{github.url}/{github.full_name}/runs/{check.id}",
        "details_url": check.details_url,
        "status": check.status,
        "conclusion": check.conclusion,
        "started_at": timestamp(check.started_at),
        "completed_at": None if check.completed_at is None else timestamp(check.completed_at),
        "output": {
            "title": check.title,
            "summary": check.summary,
            "text": None,
            "annotations_count": len(check.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "name": check.name,
        "check_suite": {"id": 1},
        "app": app_json(github),
        # As GitHub does for forks: whose pull request it is must be known without this.
        "pull_requests": [],
    }


def annotation_json(github: GitHubState, check: GitHubCheck, annotation: Mapping[str, object]) -> Json:
    """A remark of a check run."""
    return {
        "path": annotation["path"],
        "start_line": annotation["start_line"],
        "end_line": annotation["end_line"],
        "start_column": None,
        "end_column": None,
        "annotation_level": annotation["annotation_level"],
        "title": annotation.get("title"),
        "message": annotation["message"],
        "raw_details": None,
        "blob_href": f"{github.url}/{github.full_name}/blob/{check.head_sha}/{annotation['path']}",
    }


def status_json(github: GitHubState, status: StatusState) -> Json:
    """A commit status."""
    moment = timestamp(status.created_at)
    return {
        "id": status.id,
        "node_id": f"SC_{status.id}",
        "url": f"{github.url}/repos/{github.full_name}/statuses/{status.sha}",
        "avatar_url": None,
        "state": status.state,
        "description": status.description,
        "target_url": status.target_url,
        "context": status.context,
        "created_at": moment,
        "updated_at": moment,
        "creator": user_json(github, github.bot()),
    }


# The API gives files up to this size in its JSON.
MAX_FILE_CONTENT_BYTES = 1_000_000


def commit_json(github: GitHubState, commit: HistoryCommit) -> Json:
    """A commit of the repository's API."""
    sha = commit.sha
    commits = f"{github.url}/repos/{github.full_name}/commits"
    url = f"{commits}/{sha}"
    return {
        "sha": sha,
        "node_id": f"C_{sha}",
        "url": url,
        "html_url": f"{github.url}/{github.full_name}/commit/{sha}",
        "comments_url": f"{url}/comments",
        "commit": {
            "url": f"{github.url}/repos/{github.full_name}/git/commits/{sha}",
            "author": _signature_json(commit.author),
            "committer": _signature_json(commit.committer),
            "message": commit.message.rstrip("\n"),
            "tree": {"sha": commit.tree, "url": f"{github.url}/repos/{github.full_name}/git/trees"},
            "comment_count": 0,
        },
        "author": None,
        "committer": None,
        "parents": [{"sha": parent, "url": f"{commits}/{parent}"} for parent in commit.parents],
    }


def content_json(github: GitHubState, path: str, found: GitFile) -> Json:
    """A file of a commit."""
    url = f"{github.url}/repos/{github.full_name}/contents/{quote(path)}"
    short = len(found.content) <= MAX_FILE_CONTENT_BYTES
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


def changed_file_json(github: GitHubState, changed: ChangedFile) -> Json:
    """A file of a pull request."""
    url = f"{github.url}/repos/{github.full_name}/contents/{quote(changed.path)}"
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


def _signature_json(who: CommitSignature) -> Json:
    return {"name": who.name, "email": who.email, "date": timestamp(who.time)}
