"""`maxview config check FILE` and `maxview config schema`.

In:  a file, or `-`. Out: what the configuration means as a table, or every problem with its line; the schema.
"""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bot.config import FILE, Budget, Launch, Suite, json_schema, read_suite
from bot.config.document import LONGEST_TEXT
from bot.errors import Told
from bot.storage.sources import open_source


def add_arguments(parser: ArgumentParser) -> None:
    """The two actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser("check", help="say what a configuration means, or what is wrong with it")
    check.add_argument("file", nargs="?", default=FILE, help=f"the file to check (default {FILE}), or -")
    actions.add_parser("schema", help="print the JSON Schema of the configuration")


def main(args: Namespace) -> int:
    """Run the action; raises `Told` with the problems of a configuration."""
    if args.action == "schema":
        print(json.dumps(json_schema(), indent=2))
        return 0
    suite = read_suite(_text(args.file), args.file)
    Console(highlight=False, soft_wrap=True).print(_table(args.file, suite))
    return 0


def _text(file: str) -> str:
    with open_source(file) as pieces:
        read = b""
        for piece in pieces:
            read += piece
            if len(read) > 4 * LONGEST_TEXT:
                raise Told(f"{file}: far too long for a configuration; is it the right file?")
    try:
        return read.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = read.count(b"\n", 0, problem.start) + 1
        raise Told(f"{file}:{line}: not UTF-8 text; save the file as UTF-8") from problem


def _table(file: str, suite: Suite) -> Table:
    table = Table(title=f"{file}: valid", title_justify="left", show_header=False, box=None, pad_edge=False)
    table.add_column()
    table.add_column(overflow="fold")
    for name, meaning in _meaning(suite):
        table.add_row(Text(name, style="bold"), Text(meaning))
    return table


def _meaning(suite: Suite) -> Iterator[tuple[str, str]]:
    yield "cases", _few(suite.case_names)
    yield "variants", _few(suite.variant_names)
    yield "compare", " and ".join(suite.compare)
    if suite.runs is not None:
        yield "runs are found in", suite.runs.source
        yield "by the pattern", suite.runs.pattern.text
    yield "runs are launched", _launched(suite.launch)
    yield "answers on", _answers(suite)
    if suite.triggers.branches:
        yield "and on pushes to", _few(suite.triggers.branches)
    if suite.triggers.labels:
        yield "and on the labels", _few(tuple(suite.triggers.labels))
    if suite.launch is not None:
        yield "launches may use", _budget(suite.budget)
    margins = suite.margins
    yield "a change counts from", f"{margins.practical_percent:g} %"
    yield "same means within", f"{margins.equivalence_percent:g} %"


def _launched(launch: Launch | None) -> str:
    if launch is None:
        return "never (no launch: they are only found)"
    if launch.xpk is not None:
        xpk = launch.xpk
        where = f"{xpk.project}/{xpk.zone}/{xpk.cluster}"
        return f"by XPK on {where}, on {xpk.device_type} with priority {xpk.priority}"
    return "as processes on the server's machine"


def _answers(suite: Suite) -> str:
    triggers = suite.triggers
    drafts = " and drafts" if triggers.drafts else ""
    touching = f" that touch {_few(triggers.paths)}" if triggers.paths else ""
    parts = [f"pull requests{drafts}{touching}"] if triggers.pull_request else []
    return "; ".join([*parts, "commands in comments"])


def _budget(budget: Budget) -> str:
    parts = [f"{budget.chip_hours_per_day:g} chip-hours a day"]
    if budget.chip_hours_per_person_per_day is not None:
        parts.append(f"{budget.chip_hours_per_person_per_day:g} of one person")
    if budget.chip_hours_per_pull_request is not None:
        parts.append(f"{budget.chip_hours_per_pull_request:g} of one pull request in all")
    runs = "1 run" if budget.concurrent_runs == 1 else f"{budget.concurrent_runs} runs"
    return f"{', '.join(parts)}; {runs} at a time"


def _few(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:8])
    return f"{len(names)}: {shown}, …" if len(names) > 8 else shown
