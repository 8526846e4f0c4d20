"""The hidden lines by which the program knows its own comment again.

In:  a repository, a pull request number, a head commit, or the body of a comment.
Out: HTML comments nobody sees. A mark alone proves nothing: the author of the comment must be this App too.
"""

import re

_SAFE = re.compile(r"[^A-Za-z0-9._/-]")
_HEAD = re.compile(r"^<!-- maxview:head ([0-9a-f]{7,64}) -->$", re.MULTILINE)


def pull_mark(repository: str, number: int) -> str:
    """`<!-- maxview:pull OWNER/REPO#N v1 -->`: the first line of the comment on that pull request."""
    return f"<!-- maxview:pull {_SAFE.sub('', repository)}#{number} v1 -->"


def head_mark(sha: str) -> str:
    """`<!-- maxview:head SHA -->`: which commit the comment speaks of."""
    return f"<!-- maxview:head {_SAFE.sub('', sha)} -->"


def bears_mark(body: str, repository: str, number: int) -> bool:
    """Whether `body` begins with the mark of this pull request."""
    return body.lstrip("\ufeff").startswith(pull_mark(repository, number))


def marked_head(body: str) -> str | None:
    """The head commit that a comment's body speaks of."""
    found = _HEAD.search(body)
    return found[1] if found else None
