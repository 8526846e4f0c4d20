"""Writes what the stand-in remembers in GitHub's JSON: pull requests, comments, reactions.

In:  the state. Out: objects with every field that GitHub's OpenAPI description requires of them.
"""

from bot.demo.github_shapes import Json, app, at, repository, user
from bot.demo.github_state import Account, CommentState, LabelState, PullState, World
from bot.intake.pull import Permission


def pull_in_list(world: World, state: PullState, base_sha: str) -> Json:
    """A pull request as lists hold it."""
    links = _links(world, state)
    page = links["html"]
    return {
        "id": state.id,
        "node_id": f"PR_{state.id}",
        "number": state.number,
        "state": "open" if state.closed_at is None else "closed",
        "title": state.title,
        "body": None,
        "user": user(world, state.author),
        "draft": state.draft,
        "locked": state.locked,
        "head": _side(world, state.head_branch, state.head_sha, state.fork),
        "base": _side(world, state.base_branch, base_sha),
        "url": links["self"],
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        **{f"{name}_url": link for name, link in links.items() if name != "self"},
        "_links": {name: {"href": link} for name, link in links.items()},
        "created_at": at(state.created_at),
        "updated_at": at(state.updated_at),
        "closed_at": None if state.closed_at is None else at(state.closed_at),
        "merged_at": None if state.merged_at is None else at(state.merged_at),
        "merge_commit_sha": None,
        **dict.fromkeys(("assignee", "milestone", "auto_merge")),
        **{name: [] for name in ("assignees", "requested_reviewers", "requested_teams")},
        "labels": [label(world, world.label(name)) for name in state.labels],
        "author_association": _association(world, state.author),
    }


def pull(world: World, state: PullState, base_sha: str, changed_files: int) -> Json:
    """A pull request on its own."""
    return {
        **pull_in_list(world, state, base_sha),
        "merged": state.merged_at is not None,
        "mergeable": True,
        "mergeable_state": "clean",
        "merged_by": None,
        "maintainer_can_modify": False,
        "comments": len(world.comments_of(state.number)),
        "changed_files": changed_files,
        **dict.fromkeys(("review_comments", "commits", "additions", "deletions"), 0),
    }


def issue(world: World, state: PullState) -> Json:
    """The issue side of a pull request, as comment events carry it (a part of it)."""
    url = f"{world.url}/repos/{world.full_name}/issues/{state.number}"
    return {
        "id": state.id,
        "node_id": f"PR_{state.id}",
        "number": state.number,
        "title": state.title,
        "state": "open" if state.closed_at is None else "closed",
        "user": user(world, state.author),
        "url": url,
        "pull_request": {"url": f"{world.url}/repos/{world.full_name}/pulls/{state.number}"},
        "created_at": at(state.created_at),
        "updated_at": at(state.updated_at),
    }


def comment(world: World, state: CommentState) -> Json:
    """A comment of an issue or pull request."""
    repo = f"{world.url}/repos/{world.full_name}"
    page = f"{world.url}/{world.full_name}/pull/{state.number}"
    return {
        "id": state.id,
        "node_id": f"IC_{state.id}",
        "url": f"{repo}/issues/comments/{state.id}",
        "html_url": f"{page}#issuecomment-{state.id}",
        "issue_url": f"{repo}/issues/{state.number}",
        "user": user(world, state.author),
        "body": state.body,
        "created_at": at(state.created_at),
        "updated_at": at(state.updated_at),
        "author_association": _association(world, state.author),
        "performed_via_github_app": app(world) if state.by_app else None,
    }


def reaction(world: World, number: int, who: Account, content: str) -> Json:
    """A reaction to a comment."""
    return {
        "id": number,
        "node_id": f"REA_{number}",
        "user": user(world, who),
        "content": content,
        "created_at": at(world.now()),
    }


def _links(world: World, state: PullState) -> dict[str, str]:
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


def label(world: World, state: LabelState) -> Json:
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


def _side(world: World, name: str, sha: str, fork: str | None = None) -> Json:
    owner = (fork or world.full_name).partition("/")[0]
    elsewhere = {"full_name": fork, "fork": True, "id": 77} if fork else {}
    return {
        "label": f"{owner}:{name}",
        "ref": name,
        "sha": sha,
        "user": user(world, world.account(owner)),
        "repo": {**repository(world), **elsewhere},
    }


def _association(world: World, account: Account) -> str:
    if account.login == world.owner:
        return "OWNER"
    return "COLLABORATOR" if account.permission in {Permission.WRITE, Permission.ADMIN} else "NONE"
