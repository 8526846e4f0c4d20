"""`maxview parse SOURCE… [--json]`.

In:  sources of logs, each with an optional `#n`.
Out: for people one view per run, for programs one JSON object per run and line. A source that cannot be read
     gets one line on standard error, the others are still printed, and the exit status is 2.
"""

import argparse
import sys

from bot.cli.reading import runs_of
from bot.cli.run_view import show_run
from bot.cli.screen import Screen, plain
from bot.errors import Told
from bot.logs.facts import State
from bot.report.run_document import run_json
from bot.verdict.judgement import MeasuredRun

EPILOG = """\
SOURCE is a path, - for standard input, gs://bucket/object or http(s)://…, gzip or plain.
A source may hold several runs: SOURCE#2 selects the second.

examples:
  maxview parse train.log
  maxview parse --json runs/*.log | jq .measurements.steady_step_seconds
  kubectl logs POD | maxview parse -
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Sources, and how to print what they say."""
    parser.epilog = EPILOG
    parser.add_argument(
        "sources", nargs="+", metavar="SOURCE", help="a training log; SOURCE#2 is its second run"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per run, one per line")


def main(args: argparse.Namespace) -> int:
    """Print every run of every source; 2 if a source could not be read."""
    status = 0
    screen = Screen()
    for place, source in enumerate(args.sources):
        try:
            runs = runs_of(source)
        except Told as told:
            print(f"maxview: {plain(told.text)}", file=sys.stderr)
            status = 2
            continue
        _warn(source, runs)
        if args.json:
            for run in runs:
                sys.stdout.writelines(run_json(run))
                print()
        else:
            _show(screen, runs, first=place == 0)
    return status


def _show(screen: Screen, runs: tuple[MeasuredRun, ...], *, first: bool) -> None:
    for place, run in enumerate(runs):
        if place or not first:
            screen.gap()
        show_run(screen, run)


def _warn(source: str, runs: tuple[MeasuredRun, ...]) -> None:
    if all(run.log.outcome.state is State.NOT_A_TRAINING_LOG for run in runs):
        why = " ".join(warning for run in runs for warning in run.log.warnings)
        print(f"maxview: {plain(source)} is not a training log: {plain(why)}", file=sys.stderr)
