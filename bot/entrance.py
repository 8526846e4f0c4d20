"""Joins the side that people meet: pages, JSON, and signing in with GitHub.

In:  settings, the database, our own store, the templates, the links' key. Out: an `Entrance`.
"""

import time
from dataclasses import dataclass

from bot.github.people import People, site_of
from bot.render import Renderer
from bot.settings import Settings
from bot.storage.artifacts import RunStore
from bot.storage.database import Database
from bot.web.front import Front, Means, front
from bot.web.ground.link_key import LinkKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrance:
    """The front, and the people it asks GitHub about."""

    front: Front
    people: People


def entrance(
    settings: Settings, *, database: Database, artifacts: RunStore, renderer: Renderer, key: LinkKey
) -> Entrance:
    """Join them. Without the App's client ID nobody can sign in; tokens open pages all the same."""
    people = People(
        client_id=settings.client_id,
        client_secret=settings.client_secret,
        api_url=settings.api_url,
        now=time.time,
    )
    means = Means(
        database=database,
        render=renderer.render,
        public_url=settings.public_url,
        now=time.time,
        key=key,
        secret=settings.session_secret,
        artifacts=artifacts,
        people=people if settings.client_id else None,
        readers=people,
        github=site_of(settings.api_url),
    )
    return Entrance(front=front(means), people=people)
