"""The comment: its golden texts, its size, and what hostile text can do in it."""

import pytest

from bot.render import Renderer
from bot.report.comment import comment_body
from bot.report.model import Report
from tests.conftest import Accept
from tests.report.states import every_state

URL = "https://maxview.example"
RENDERER = Renderer()
STATES = every_state()


def body(report: Report) -> str:
    """The comment of `report`."""
    return comment_body(report, public_url=URL, render=RENDERER.render)


@pytest.mark.parametrize("name", STATES)
def test_every_state_is_said_as_its_golden_file_says(name: str, accept: Accept) -> None:
    """The whole text of every state is looked at when it changes."""
    accept(f"comment/{name}.md", body(STATES[name]))
