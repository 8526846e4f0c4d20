"""`maxview demo`: the whole product on this machine, without an account and without a network.

The final comments go to standard output, progress to standard error.
"""

import argparse
import asyncio
import json
import re
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from bot.demo.play import OnProgress, ScenarioProgress, ScenarioResult, play
from bot.demo.stage import FULL_NAME, Stage, running_stage

# <details><summary>Method</summary>
_DETAILS = re.compile(r"<details[^>]*>\s*<summary>(?P<summary>.*?)</summary>.*?</details>", re.DOTALL)

_HTML_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)

_TAG = re.compile(r"</?[a-z][^<>]*>")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The demonstration's options."""
    parser.description = (
        "Start the real server with a stand-in GitHub and a small repository, open pull requests on it, run "
        "its benchmark cases on this machine, and print the comments that come of it."
    )
    parser.add_argument("--once", action="store_true", help="exit when everything is answered")
    parser.add_argument(
        "--json", action="store_true", help="with --once: print one JSON object instead of the comments"
    )


def main(arguments: argparse.Namespace) -> int:
    """Play it in a folder of its own, which is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="maxview-demo-", ignore_cleanup_errors=True) as folder:
        try:
            asyncio.run(_play(Path(folder), arguments))
        except (KeyboardInterrupt, asyncio.CancelledError):
            print("\nstopped", file=sys.stderr)
    return 0


async def _play(folder: Path, arguments: argparse.Namespace) -> None:
    _cancel_on_signals()
    async with running_stage(folder) as standing:
        with _progress_bars(standing) as watch:
            shown = await play(standing, watch)
        if arguments.json:
            print(json.dumps(demo_document(shown), ensure_ascii=False))
        else:
            _print(shown)
        if arguments.once:
            return
        print(
            f"\nUntil Ctrl-C:\n  the pages                          {standing.url}/{FULL_NAME}\n"
            f"  conversations, to type commands in {standing.github.world.url}/{FULL_NAME}/pulls",
            file=sys.stderr,
        )
        await asyncio.Event().wait()


def _cancel_on_signals() -> None:
    """Take the stage down too where the program is told to end, or its terminal is closed."""
    if (playing := asyncio.current_task()) is not None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, playing.cancel)


def demo_document(shown: Sequence[ScenarioResult]) -> dict[str, object]:
    """The answers as one JSON object."""
    return {
        "pull_requests": [
            {
                "number": one.number,
                "title": one.title,
                "verdict": one.verdict,
                "comment": one.comment,
                "page": one.page,
            }
            for one in shown
        ]
    }


def _print(shown: Sequence[ScenarioResult]) -> None:
    for one in shown:
        print(f"\n{'═' * 100}\nPull request {one.number}: {one.title}\n{one.page}\n")
        print(comment_text(one.comment))


def comment_text(comment: str) -> str:
    """The comment as a terminal can show it: what a browser folds is named, not opened."""
    folded = _DETAILS.sub(lambda found: f"  ▸ {found['summary']}", _HTML_COMMENT.sub("", comment))
    text = re.sub(r"\n{3,}", "\n\n", _TAG.sub("", folded))
    return text.strip()


@contextmanager
def _progress_bars(standing: Stage) -> Iterator[OnProgress]:
    """A bar for each pull request on standard error; a line for each answer where that is no terminal."""
    console = Console(stderr=True)
    console.print(f"Server {standing.url} · log {standing.log}", highlight=False, soft_wrap=True)
    if not console.is_terminal:
        yield _ProgressLines()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=console) as bars:
        tasks: dict[int, TaskID] = {}

        def watch(progress: Sequence[ScenarioProgress]) -> None:
            for one in progress:
                if one.number not in tasks:
                    tasks[one.number] = bars.add_task(f"#{one.number} {one.title[:48]}", total=None)
                text = one.headline if one.answered else f"#{one.number} {one.title[:48]}"
                bars.update(tasks[one.number], description=text, completed=one.done, total=one.wanted or None)

        yield watch


class _ProgressLines:
    """Says each answer once."""

    def __init__(self) -> None:
        self._said: set[int] = set()

    def __call__(self, progress: Sequence[ScenarioProgress]) -> None:
        """Print the pull requests that were answered since the last time."""
        for one in progress:
            if one.answered and one.number not in self._said:
                self._said.add(one.number)
                print(f"#{one.number} {one.title}: {one.headline}", file=sys.stderr)
