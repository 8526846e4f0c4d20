"""`maxview compare BASE HEAD [--history …] [--format …] [--fail-on-regression]`.

In:  two sides, each one source or several joined by commas (repeats).
Out: the verdict as text, Markdown, JSON or a page of HTML. Exit status 1 only where it was asked for and the
     verdict is red, 2 where a side is no training log: nothing was compared, and no gate may pass on it.
"""

import argparse
import json
import sys
from dataclasses import replace

from bot.cli.comparison_text import show_comparison
from bot.cli.earlier import earlier_runs
from bot.cli.reading import runs_of, selected
from bot.cli.screen import Screen, forget_stdout, plain
from bot.errors import Told
from bot.logs.facts import State
from bot.report.comparison_document import comparison_document
from bot.report.comparison_markdown import comparison_markdown
from bot.report.comparison_view import RED, comparison_view
from bot.verdict.compare import compare
from bot.verdict.distinct import distinct
from bot.verdict.judgement import Comparison, MeasuredRun

FORMATS = ("text", "markdown", "json", "html")
EPILOG = """\
BASE and HEAD are sources as in `maxview parse`; several joined by commas are repeats: other runs,
not copies of one.
A source that holds several runs needs a selector: page.txt#1.
With 15 or more earlier runs of main in --history the noise of the case is measured instead
of assumed, and they stand beside BASE where it agrees with them.

examples:
  maxview compare main.log branch.log
  maxview compare page.txt#1 page.txt#2
  maxview compare main1.log,main2.log,main3.log branch1.log,branch2.log,branch3.log
  maxview compare --history main1.log,main2.log,…,main20.log main.log branch.log
  maxview compare --explain main.log branch.log
  maxview compare --format json main.log branch.log | jq .verdict
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The two sides, and how to say what was found."""
    parser.epilog = EPILOG
    parser.add_argument("base", metavar="BASE", help="what to compare with: main")
    parser.add_argument("head", metavar="HEAD", help="what is judged: the branch")
    parser.add_argument(
        "--history",
        action="append",
        default=[],
        metavar="SOURCE,…",
        help="earlier runs of main, BASE's among them or not; may be given again",
    )
    parser.add_argument(
        "--format", choices=FORMATS, default="text", help="text (default), markdown, json, html"
    )
    parser.add_argument(
        "--explain", action="store_true", help="why: samples, noise, arithmetic, places in the logs"
    )
    parser.add_argument(
        "--fail-on-regression", action="store_true", help="exit 1 on slower, diverged or new_failure"
    )


def main(args: argparse.Namespace) -> int:
    """Print the comparison; 1 for a red verdict where that was asked for."""
    if args.base == args.head == "-":
        raise Told("BASE and HEAD cannot both be standard input")
    base, head = side(args.base), side(args.head)
    past, notes = earlier_runs(args.history, base)
    for note in notes:
        print(plain(f"maxview: {note}"), file=sys.stderr)
    comparison = compare(base, head, history=[run.seconds for run in past])
    if not args.explain:
        comparison = replace(comparison, explanation=None)
    red = args.fail_on_regression and comparison.verdict in RED
    try:
        _print(comparison, args.format)
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has read enough, and a gate must stay shut all the same
        if not red:
            raise
        forget_stdout()
    return 1 if red else 0


def side(text: str) -> tuple[MeasuredRun, ...]:
    """The runs of one side, one per source named; a run that is given twice is no repeat and counts once."""
    sources = [text] if selected(text).source == "-" else [part for part in text.split(",") if part.strip()]
    if not sources:
        raise Told(f"no source named in '{text}'")
    runs, again = distinct([_only_run(source) for source in sources])
    for first, copy in again:
        print(
            plain(f"maxview: {sources[copy]} is the same run as {sources[first]}: it counts once"),
            file=sys.stderr,
        )
    return runs


def _only_run(text: str) -> MeasuredRun:
    """The one run of a source; with several, say what to type."""
    runs = runs_of(text)
    if len(runs) > 1:
        source = selected(text).source
        raise Told(
            f"{source} holds {len(runs)} runs: name one, for example {source}#1 and {source}#{len(runs)}"
        )
    run = runs[0]
    if run.log.outcome.state is State.NOT_A_TRAINING_LOG:
        why = " ".join(run.log.warnings) or "No step line of a known format was found."
        raise Told(f"{text} is not a training log: {why}")
    return run


def _print(comparison: Comparison, form: str) -> None:
    match form:
        case "json":
            print(json.dumps(comparison_document(comparison), ensure_ascii=False, allow_nan=False))
        case "markdown":
            from bot.render import Renderer  # noqa: PLC0415 - Jinja2 is not needed for the other formats

            print(comparison_markdown(comparison, render=Renderer().render), end="")
        case "html":
            from bot.render import Renderer  # noqa: PLC0415 - as above
            from bot.web.compare.export import export_page  # noqa: PLC0415 - the pages are not needed otherwise

            print(export_page(comparison, render=Renderer().render), end="")
        case _:
            show_comparison(Screen(), comparison_view(comparison))
