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
    """Play the scenarios in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="maxview-demo-", ignore_cleanup_errors=True) as folder:
        try:
            asyncio.run(_play(Path(folder), arguments))
        except (KeyboardInterrupt, asyncio.CancelledError):
            print("\nstopped", file=sys.stderr)
    return 0


async def _play(folder: Path, arguments: argparse.Namespace) -> None:
    _cancel_on_signals()
    async with running_stage(folder) as stage:
        with _progress_bars(stage) as on_progress:
            results = await play(stage, on_progress)
        if arguments.json:
            print(json.dumps(demo_document(results), ensure_ascii=False))
        else:
            _print(results)
        if arguments.once:
            return
        print(
            f"\nUntil Ctrl-C:\n  the pages                          {stage.url}/{FULL_NAME}\n"
            f"  conversations, to type commands in {stage.github.state.url}/{FULL_NAME}/pulls",
            file=sys.stderr,
        )
        await asyncio.Event().wait()


def _cancel_on_signals() -> None:
    """Stop the servers also on SIGTERM, and when the terminal is closed."""
    if (task := asyncio.current_task()) is not None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)


def demo_document(results: Sequence[ScenarioResult]) -> dict[str, object]:
    """The comments as one JSON object."""
    return {
        "pull_requests": [
            {
                "number": result.number,
                "title": result.title,
                "verdict": result.verdict,
                "cases": [
                    {
                        "case": answer.key.case,
                        "variant": answer.key.variant,
                        "verdict": answer.verdict,
                        "band_percent": answer.band_percent,
                    }
                    for answer in result.cases
                ],
                "comment": result.comment,
                "page": result.page,
            }
            for result in results
        ]
    }


def _print(results: Sequence[ScenarioResult]) -> None:
    for result in results:
        print(f"\n{'═' * 100}\nPull request {result.number}: {result.title}\n{result.page}\n")
        print(comment_text(result.comment))


def comment_text(comment: str) -> str:
    """The comment for a terminal: of folded sections only the summary is shown."""
    folded = _DETAILS.sub(lambda found: f"  ▸ {found['summary']}", _HTML_COMMENT.sub("", comment))
    text = re.sub(r"\n{3,}", "\n\n", _TAG.sub("", folded))
    return text.strip()


@contextmanager
def _progress_bars(stage: Stage) -> Iterator[OnProgress]:
    """A bar for each pull request on standard error; without a terminal, a line for each comment."""
    console = Console(stderr=True)
    console.print(f"Server {stage.url} · log {stage.log}", highlight=False, soft_wrap=True)
    if not console.is_terminal:
        yield _ProgressLines()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=console) as bars:
        tasks: dict[int, TaskID] = {}

        def on_progress(progress: Sequence[ScenarioProgress]) -> None:
            for scenario in progress:
                if scenario.number not in tasks:
                    tasks[scenario.number] = bars.add_task(
                        f"#{scenario.number} {scenario.title[:48]}", total=None
                    )
                text = scenario.headline if scenario.answered else f"#{scenario.number} {scenario.title[:48]}"
                bars.update(
                    tasks[scenario.number],
                    description=text,
                    completed=scenario.done,
                    total=scenario.wanted or None,
                )

        yield on_progress


class _ProgressLines:
    """Prints a line for each comment."""

    def __init__(self) -> None:
        self._printed: set[int] = set()

    def __call__(self, progress: Sequence[ScenarioProgress]) -> None:
        """Print the pull requests that got their comment since the last call."""
        for scenario in progress:
            if scenario.answered and scenario.number not in self._printed:
                self._printed.add(scenario.number)
                print(f"#{scenario.number} {scenario.title}: {scenario.headline}", file=sys.stderr)
