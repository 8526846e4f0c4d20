"""Writes what the stand-in remembers in GitHub's JSON: check runs, their annotations, commit statuses.

In:  the state. Out: objects with every field that GitHub's OpenAPI description requires of them.
"""

from collections.abc import Mapping

from bot.demo.github_shapes import Json, app, at, user
from bot.demo.github_state import CheckState, StatusState, World

LONGEST_DESCRIPTION = 140


def check_run(world: World, state: CheckState) -> Json:
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
        "started_at": at(state.started_at),
        "completed_at": None if state.completed_at is None else at(state.completed_at),
        "output": {
            "title": state.title,
            "summary": state.summary,
            "text": None,
            "annotations_count": len(state.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "name": state.name,
        "check_suite": {"id": 1},
        "app": app(world),
        # As GitHub does for forks: whose pull request it is must be known without this.
        "pull_requests": [],
    }


def annotation(world: World, state: CheckState, said: Mapping[str, object]) -> Json:
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


def status(world: World, said: StatusState) -> Json:
    """A commit status."""
    moment = at(said.created_at)
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
        "creator": user(world, world.bot()),
    }
