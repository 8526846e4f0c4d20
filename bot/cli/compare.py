"""`maxview compare BASE HEAD [--history …] [--format …] [--fail-on-regression]`.

Each side is one source or several joined by commas (repeats). The verdict is printed as text, Markdown, JSON
or a page of HTML. Exit status 1 only where it was requested and the verdict is red, 2 where a side is no
training log: nothing was compared, and no gate may pass on it.

`--history` names earlier runs of main, which measure the noise of a case. The server's rules hold: runs with
a steady step time, measured under the conditions and with the workload of base's newest run.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from bot.cli.sources import parse_source, read_runs
from bot.cli.terminal import BAD, DIM, GOOD, WARN, Screen, forget_stdout, printable
from bot.errors import UserError
from bot.logs.facts import MarkKind, OutcomeState
from bot.report.documents import comparison_response, json_text
from bot.report.explain import (
    RED_VERDICTS,
    ComparisonView,
    SideFailureView,
    comparison_markdown,
    comparison_view,
)
from bot.verdict.comparability import conditions_text, deduplicate_runs, find_caveats, is_same_evidence
from bot.verdict.compare import compare
from bot.verdict.judgement import CaveatWeight, Comparison, MeasuredRun
from bot.verdict.loss.curve import loss_trace
from bot.verdict.noise import PastRun
from bot.verdict.timing import first_mark

OUTPUT_FORMATS = ("text", "markdown", "json", "html")

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
    """The two sides and the format of the verdict."""
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
        "--cases",
        type=_positive,
        default=1,
        metavar="N",
        help="how many cases are compared in all, as in a report: each then needs more evidence (default 1)",
    )
    parser.add_argument(
        "--format", choices=OUTPUT_FORMATS, default="text", help="text (default), markdown, json, html"
    )
    parser.add_argument(
        "--explain", action="store_true", help="why: samples, noise, arithmetic, places in the logs"
    )
    parser.add_argument(
        "--fail-on-regression", action="store_true", help="exit 1 on slower, diverged or new_failure"
    )


def main(args: argparse.Namespace) -> int:
    """Print the comparison; 1 for a red verdict with `--fail-on-regression`."""
    if args.base == args.head == "-":
        raise UserError("BASE and HEAD cannot both be standard input")
    base, head = read_side(args.base), read_side(args.head)
    if again := next(((one, two) for one in base for two in head if is_same_evidence(one, two)), None):
        raise UserError(
            f"{again[0].log.source} and {again[1].log.source} hold the same run: a log against itself shows "
            "nothing; compare the logs of two runs"
        )
    past, notes = earlier_runs(args.history, base)
    for note in notes:
        print(printable(f"maxview: {note}"), file=sys.stderr)
    comparison = compare(base, head, history=past, comparable_cases=args.cases)
    if not args.explain:
        comparison = replace(comparison, explanation=None)
    red = args.fail_on_regression and comparison.verdict in RED_VERDICTS
    try:
        _print(comparison, args.format)
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has read enough, but the exit status of a gate must stay
        if not red:
            raise
        forget_stdout()
    return 1 if red else 0


def _positive(text: str) -> int:
    """A whole number of at least one, from the command line."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number of cases")
    return int(text)


def read_side(text: str) -> tuple[MeasuredRun, ...]:
    """The runs of one side, one per source. A run that is given twice counts once."""
    sources = (
        [text] if parse_source(text).source == "-" else [part for part in text.split(",") if part.strip()]
    )
    if not sources:
        raise UserError(f"no source named in '{text}'")
    runs, again = deduplicate_runs([_only_run(source) for source in sources])
    for first, copy in again:
        print(
            printable(f"maxview: {sources[copy]} is the same run as {sources[first]}: it counts once"),
            file=sys.stderr,
        )
    return runs


def _only_run(text: str) -> MeasuredRun:
    """The one run of a source. The error for several runs says what to type."""
    runs = read_runs(text)
    if len(runs) > 1:
        source = parse_source(text).source
        raise UserError(
            f"{source} holds {len(runs)} runs: name one, for example {source}#1 and {source}#{len(runs)}"
        )
    run = runs[0]
    if run.log.outcome.state is OutcomeState.NOT_A_TRAINING_LOG:
        why = " ".join(run.log.warnings) or "No step line of a known format was found."
        raise UserError(f"{text} is not a training log: {why}")
    return run


def _print(comparison: Comparison, output_format: str) -> None:
    match output_format:
        case "json":
            print(json_text(comparison_response(comparison)))
        case "markdown":
            from bot.templating import Renderer  # noqa: PLC0415 - Jinja2 is not needed for the other formats

            print(comparison_markdown(comparison, render=Renderer().render), end="")
        case "html":
            from bot.templating import Renderer  # noqa: PLC0415 - as above
            from bot.web.pages.comparison_export import export_page  # noqa: PLC0415 - the pages are not needed otherwise

            print(export_page(comparison, render=Renderer().render), end="")
        case _:
            show_comparison(Screen(), comparison_view(comparison))


def earlier_runs(
    texts: Iterable[str], base: Sequence[MeasuredRun]
) -> tuple[tuple[PastRun, ...], tuple[str, ...]]:
    """Main's runs, oldest first, and one note per run that is left out.

    Runs keep the given order where any log does not state its time. Raises `UserError` for a source that is
    no log.
    """
    names, runs = _read_history(texts)
    distinct, again = deduplicate_runs(runs)
    notes = [f"{names[copy]} is the same run as {names[first]}: it counts once" for first, copy in again]
    kept: list[PastRun] = []
    for run in distinct:
        reason = _exclusion_reason(run, base)
        if reason is not None:
            notes.append(f"{names[runs.index(run)]} is not in the history: {reason}")
        elif run.measurements.steady.seconds is not None:
            kept.append(_past_run(run, run.measurements.steady.seconds))
    return _oldest_first(kept), tuple(notes)


def _read_history(texts: Iterable[str]) -> tuple[list[str], list[MeasuredRun]]:
    """Every run of every source, with a name for each."""
    names: list[str] = []
    found: list[MeasuredRun] = []
    for source in (part for text in texts for part in text.split(",") if part.strip()):
        runs = read_runs(source)
        if all(run.log.outcome.state is OutcomeState.NOT_A_TRAINING_LOG for run in runs):
            raise UserError(f"{source} is not a training log, so that it is no history")
        found += runs
        names += [source if len(runs) == 1 else f"{source}#{run.log.run}" for run in runs]
    return names, found


def _exclusion_reason(run: MeasuredRun, base: Sequence[MeasuredRun]) -> str | None:
    if run.measurements.steady.seconds is None:
        return f"no steady step time: {run.measurements.steady.problem}"
    if not base:
        return None
    base_conditions, own_conditions = conditions_text(base[-1]), conditions_text(run)
    if own_conditions != base_conditions:
        return f"measured on {own_conditions}, base on {base_conditions}"
    for caveat in find_caveats([base[-1]], [run]):
        if caveat.weight is not CaveatWeight.NOTED:
            return f"another workload than base's: {caveat.text or caveat.field}"
    return None


def _start_time(run: MeasuredRun) -> float | None:
    mark = first_mark(run.log, MarkKind.START)
    if mark is not None and mark.time is not None:
        return mark.time
    return next((step.time for step in run.log.steps if step.time is not None), None)


def _past_run(run: MeasuredRun, seconds: float) -> PastRun:
    loop = run.measurements.loop
    return PastRun(
        seconds=seconds,
        started=_start_time(run),
        loop=loop.seconds if loop else None,
        losses=loss_trace(run.log, run.log.environment.commit),
    )


def _oldest_first(runs: Sequence[PastRun]) -> tuple[PastRun, ...]:
    if any(run.started is None for run in runs):
        return tuple(runs)
    return tuple(sorted(runs, key=lambda run: run.started or 0.0))


TONE_STYLES = {"good": GOOD, "bad": BAD, "odd": WARN}


def show_comparison(screen: Screen, view: ComparisonView) -> None:
    """Print the verdict first, then why, then what it rests on."""
    screen.headline(view.symbol, view.headline, TONE_STYLES[view.tone])
    if view.reason:
        screen.paragraph(view.reason)
    screen.gap()
    screen.facts((("base", view.base), ("head", view.head), ("step time", view.timing), ("loss", view.loss)))
    for failure in view.failures:
        _show_failure(screen, failure)
    if view.caveats:
        _title(screen, "what differs beside the code")
        rows = [(caveat.what, caveat.base, caveat.head) for caveat in view.caveats]
        screen.table(("", "base", "head"), "lll", rows)
        for text in dict.fromkeys(caveat.text for caveat in view.caveats if caveat.text):
            screen.paragraph(f"⚠ {text}", WARN)
    if view.rows:
        _title(screen, "figures")
        cells = [(row.title, row.base, row.head, row.difference, row.remark) for row in view.rows]
        screen.table(("", "base", "head", "difference", ""), "lrrrl", cells)
    if view.ledger:
        _title(screen, "where the time went")
        screen.table(("", "base", "head", "difference"), "lrrr", view.ledger)
    for section in view.why:
        _title(screen, f"why: {section.title}")
        for line in section.lines:
            screen.paragraph(line, indent=4)


def _title(screen: Screen, text: str) -> None:
    screen.gap()
    screen.paragraph(text, DIM)


def _show_failure(screen: Screen, failure: SideFailureView) -> None:
    screen.gap()
    where = f" at {failure.where}" if failure.where else ""
    screen.paragraph(f"{failure.side}: {failure.ended}{where}", BAD)
    for text in (failure.error, failure.next_step):
        if text:
            screen.paragraph(text, indent=4)
