"""What is said in public of runs that could not be read."""

import pytest

from bot.errors import Broken, Told, TryLater
from bot.report.action import action_line
from bot.report.trouble import unread
from tests.report.samples import report, same

AWAY = "The runs could not be read because their store could not be reached; MaxView tries again by itself."
WHY = "The runs could not be read, and MaxView tries again by itself:"


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (
            Broken(
                "gs://b/c: the bucket cannot be reached ([Errno -2] Name or service not known); try again"
            ),
            AWAY,
        ),
        (TryLater("busy", after=3.0), AWAY),
        (
            Told("/nonexistent/zz: no such folder; create it, or name another"),
            f"{WHY} no such folder; create it, or name another.",
        ),
        (
            Told("gs://b/c: permission denied; give this account the role Storage Object Viewer"),
            f"{WHY} permission denied; give this account the role Storage Object Viewer.",
        ),
        (
            Told("runs: [Errno 13] Permission denied: '/srv/maxview/runs/x'"),
            f"{WHY} runs: Permission denied: [path].",
        ),
        (
            Told("gs://b: no answer in time (timed out); check the address, or try again"),
            f"{WHY} no answer in time; check the address.",
        ),
        (Told("/srv/x: "), "The runs could not be read; MaxView tries again by itself."),
    ],
)
def test_the_trouble_is_one_sentence_without_the_servers_own_names(
    problem: Told | Broken, expected: str
) -> None:
    """No system error, no folder or bucket, no advice to try again that nobody can follow."""
    assert unread(problem) == expected


def test_the_second_line_says_it_as_a_sentence_and_goes_on() -> None:
    """What follows the trouble does not run into it, and nobody is told to put right what passes."""
    line = action_line(report(same("a"), problem=unread(Broken("gs://b: away"))))
    assert line.startswith(f"{AWAY} `cdc765a` vs main")
    line = action_line(report(problem=".github/maxview.yml line 7: no such key"))
    assert line.startswith("**To put right:** .github/maxview.yml line 7: no such key. `cdc765a`")
