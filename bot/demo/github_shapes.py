"""Writes what the stand-in remembers in GitHub's JSON: people, the repository, the App, deliveries.

In:  the state. Out: objects with every field that GitHub's OpenAPI description requires of them.

The tests hold these shapes against that description, so they cannot drift from GitHub's own.
"""

from datetime import UTC, datetime
from urllib.parse import quote

from bot.demo.github_state import Account, Delivery, World

Json = dict[str, object]

# Names of fields, as the description requires them.
_LINKS_OF_A_USER = """
followers following gists starred subscriptions organizations repos events received_events
"""
_LINKS_OF_A_REPOSITORY = """
archive assignees blobs branches collaborators comments commits compare contents contributors deployments
downloads events forks git_commits git_refs git_tags hooks issue_comment issue_events issues keys labels
languages merges milestones notifications pulls releases stargazers statuses subscribers subscription tags
teams trees clone git ssh svn
"""
_NUMBERS_OF_A_REPOSITORY = """
forks forks_count open_issues open_issues_count size stargazers_count watchers watchers_count
network_count subscribers_count
"""
_FLAGS_OF_A_REPOSITORY = """
has_issues has_projects has_wiki has_pages has_discussions has_downloads fork archived disabled
"""


def at(moment: float) -> str:
    """A moment as GitHub writes it."""
    return datetime.fromtimestamp(moment, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def user(world: World, account: Account) -> Json:
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
        **{f"{name}_url": f"{url}/{name}" for name in _LINKS_OF_A_USER.split()},
    }


def repository(world: World) -> Json:
    """A full repository, which is a simple and a minimal one too."""
    url, moment = f"{world.url}/repos/{world.full_name}", at(world.now())
    return {
        "id": 1,
        "node_id": "R_1",
        "name": world.full_name.partition("/")[2],
        "full_name": world.full_name,
        "owner": user(world, world.account(world.owner)),
        "private": world.private,
        "html_url": f"{world.url}/{world.full_name}",
        "url": url,
        "default_branch": world.default_branch,
        **dict.fromkeys(("description", "homepage", "language", "mirror_url", "license")),
        **dict.fromkeys(("created_at", "updated_at", "pushed_at"), moment),
        **dict.fromkeys(_NUMBERS_OF_A_REPOSITORY.split(), 0),
        **dict.fromkeys(_FLAGS_OF_A_REPOSITORY.split(), False),
        "archived": world.archived,
        **{f"{name}_url": f"{url}/{name}" for name in _LINKS_OF_A_REPOSITORY.split()},
        "permissions": {"admin": False, "push": False, "pull": True},
    }


def app(world: World) -> Json:
    """The App."""
    moment = at(0)
    return {
        "id": world.app_id,
        "slug": world.slug,
        "node_id": f"A_{world.app_id}",
        "owner": user(world, world.account(world.owner)),
        "name": world.slug,
        "description": None,
        "external_url": world.url,
        "html_url": f"{world.url}/apps/{world.slug}",
        "created_at": moment,
        "updated_at": moment,
        "permissions": dict(world.permissions),
        "events": ["pull_request", "issue_comment", "push"],
    }


def installation(world: World) -> Json:
    """The App's installation on the owner's account."""
    moment = at(0)
    return {
        "id": world.installation,
        "app_id": world.app_id,
        "app_slug": world.slug,
        "account": user(world, world.account(world.owner)),
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
        "suspended_at": None if world.suspended_at is None else at(world.suspended_at),
        "created_at": moment,
        "updated_at": moment,
    }


def permission(world: World, account: Account) -> Json:
    """What a person may do with the repository."""
    said = account.permission
    return {"permission": said, "role_name": said, "user": {**user(world, account), "role_name": said}}


def delivery(world: World, made: Delivery) -> Json:
    """A delivery as lists hold it."""
    return {
        "id": made.id,
        "guid": made.guid,
        "delivered_at": at(made.delivered_at),
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


def whole_delivery(world: World, made: Delivery) -> Json:
    """A delivery with what was sent."""
    return {
        **delivery(world, made),
        "url": world.url,
        "request": {"headers": dict(made.headers), "payload": made.payload},
        "response": {"headers": {}, "payload": ""},
    }
