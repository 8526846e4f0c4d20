"""Writes what git holds in GitHub's JSON: commits, branches, files.

In:  what `github_git` read. Out: objects with every field that GitHub's OpenAPI description requires of them.
"""

import base64
import re
from urllib.parse import quote

from dulwich.objects import Commit

from bot.demo.github_git import Changed, File
from bot.demo.github_shapes import Json, at
from bot.demo.github_state import World

# The API gives files up to this size in its JSON.
LONGEST_FILE = 1_000_000


def commit(world: World, made: Commit) -> Json:
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
            "author": _signature(made.author, made.author_time),
            "committer": _signature(made.committer, made.commit_time),
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


def content(world: World, path: str, found: File) -> Json:
    """A file of a commit."""
    url = f"{world.url}/repos/{world.full_name}/contents/{quote(path)}"
    short = len(found.content) <= LONGEST_FILE
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


def changed_file(world: World, changed: Changed) -> Json:
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


def _signature(who: bytes, moment: int) -> Json:
    text = who.decode("utf-8", "replace")
    found = _SIGNATURE.match(text)
    name, email = (found["name"], found["email"]) if found else (text, "")
    return {"name": name, "email": email, "date": at(moment)}
