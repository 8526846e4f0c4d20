"""Deliveries as an App gets them, with the fields that are read and little else."""

from typing import Any

Json = dict[str, Any]

ALICE: Json = {"login": "alice", "id": 7, "type": "User"}

COPYBARA: Json = {"login": "copybara-service[bot]", "id": 56741989, "type": "Bot"}

REPOSITORY: Json = {"id": 1, "full_name": "acme/maxtext", "private": True, "default_branch": "main"}

HEAD = "1" * 40

BASE = "2" * 40


def pull_request(action: str, **more: Any) -> Json:
    """A pull_request delivery."""
    return {
        "action": action,
        "installation": {"id": 100},
        "repository": REPOSITORY,
        "sender": ALICE,
        "pull_request": {
            "number": 3,
            "draft": False,
            "merged": False,
            "head": {"sha": HEAD, "ref": "feat/x", "repo": {"full_name": "acme/maxtext"}},
            "base": {"sha": BASE, "ref": "main"},
        },
        **more,
    }


def issue_comment(body: str | None, action: str = "created", **more: Any) -> Json:
    """An issue_comment delivery on a pull request."""
    return {
        "action": action,
        "installation": {"id": 100},
        "repository": REPOSITORY,
        "sender": ALICE,
        "issue": {"number": 3, "pull_request": {"url": "…"}},
        "comment": {"id": 9, "user": ALICE, "body": body, "created_at": "2026-11-21T06:00:00Z"},
        **more,
    }


def push(ref: str, **more: Any) -> Json:
    """A push delivery."""
    return {
        "ref": ref,
        "before": BASE,
        "after": HEAD,
        "deleted": False,
        "installation": {"id": 100},
        "repository": {**REPOSITORY, "pushed_at": 1795240800},
        "sender": COPYBARA,
        **more,
    }
