"""Webhook bodies that GitHub really sent, from npm's `@octokit/webhooks-examples`.

In:  nothing. Out: event names and their payloads. They come from a repository's webhook, so most lack the
`installation` that an App's deliveries carry; `for_an_app` adds one.
"""

import json
from functools import cache
from typing import Any

from tests.peers.node import node_modules

Json = dict[str, Any]
INSTALLATION = 100


@cache
def examples() -> tuple[tuple[str, Json], ...]:
    """Every example: the event's name and its payload."""
    source = node_modules() / "@octokit" / "webhooks-examples" / "api.github.com" / "index.json"
    return tuple(
        (group["name"], one) for group in json.loads(source.read_text()) for one in group["examples"]
    )


def examples_of(*names: str) -> tuple[tuple[str, Json], ...]:
    """The examples of some events, as an App gets them."""
    return tuple((name, for_an_app(one)) for name, one in examples() if name in names)


def for_an_app(payload: Json) -> Json:
    """The payload with an installation, where it has none."""
    return {"installation": {"id": INSTALLATION}, **payload}
