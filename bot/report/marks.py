"""The hidden lines by which the program knows its own comment again.

In:  a repository and a pull request's number, or a head commit.
Out: HTML comments nobody sees. A mark alone proves nothing: the author of the comment must be this App too.
"""

import re

_SAFE = re.compile(r"[^A-Za-z0-9._/-]")


PULL_MARK = "<!-- maxview:pull "
"""How the comment begins, whatever the repository was called when it was written."""


def pull_mark(repository: str, number: int) -> str:
    """`<!-- maxview:pull OWNER/REPO#N v1 -->`: the first line of the comment on that pull request."""
    return f"{PULL_MARK}{_SAFE.sub('', repository)}#{number} v1 -->"


def head_mark(sha: str) -> str:
    """`<!-- maxview:head SHA -->`: which commit the comment speaks of."""
    return f"<!-- maxview:head {_SAFE.sub('', sha)} -->"
