"""Globs as the configuration, the run pattern and the stores understand them: one language everywhere.

`*` matches anything within one level, `**` anything across levels, `?` one character. Every other
character matches itself.
"""

import re
from functools import lru_cache

# **/   **   *   ?
_WILDCARD = re.compile(r"(?P<levels>\*\*/)|(?P<across>\*\*)|(?P<within>\*)|(?P<one>\?)")

# A glob of paths or branches in a configuration: no brackets, braces or backslashes, whose meaning differs
# between tools; no leading `!` (there is no negation) and no leading `/` (it never matches).
GLOB_REGEX = r"[^!/\[\]{}\\\x00-\x20][^\[\]{}\\\x00-\x1f]*"


def _wildcard_regex(wildcard: re.Match[str]) -> str:
    if wildcard["levels"]:
        return r"(?:.*/)?"
    if wildcard["across"]:
        return r".*"
    return r"[^/]*" if wildcard["within"] else r"[^/]"


@lru_cache(maxsize=512)
def compile_glob(glob: str) -> re.Pattern[str]:
    """The regular expression of a glob; use it with `fullmatch`."""
    written, end = "", 0
    for wildcard in _WILDCARD.finditer(glob):
        written += re.escape(glob[end : wildcard.start()]) + _wildcard_regex(wildcard)
        end = wildcard.end()
    return re.compile(written + re.escape(glob[end:]), re.DOTALL)


def glob_matches(glob: str, name: str) -> bool:
    """Whether `glob` matches the whole of `name`."""
    return compile_glob(glob).fullmatch(name) is not None


def literal_prefix(glob: str) -> str:
    """The prefix of every matching name: the text before the first wildcard."""
    return re.split(r"[*?]", glob, maxsplit=1)[0]


def google_glob(glob: str) -> str:
    """The glob for Google's service: characters that are special only there become `?`, which matches them
    (and more, which the caller filters out)."""
    return glob.translate(dict.fromkeys(map(ord, "[]{}!^\\"), "?"))
