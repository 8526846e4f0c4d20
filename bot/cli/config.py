"""`maxview config check FILE` and `maxview config schema`.

`check` prints what the configuration means as a table, or every problem with its line.
"""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bot.artifacts.sources import open_source
from bot.config import (
    CONFIG_PATH,
    MAX_TEXT_LENGTH,
    Budget,
    CheckConfig,
    CheckKind,
    LaunchConfig,
    Suite,
    TrustedAccounts,
    json_schema,
    read_suite,
)
from bot.domain.globs import glob_matches
from bot.errors import UserError
from bot.verdict.judgement import Margins


def add_arguments(parser: ArgumentParser) -> None:
    """The actions `check` and `schema`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser("check", help="say what a configuration means, or what is wrong with it")
    check.add_argument(
        "file", nargs="?", default=CONFIG_PATH, help=f"the file to check (default {CONFIG_PATH}), or -"
    )
    actions.add_parser("schema", help="print the JSON Schema of the configuration")


def main(args: Namespace) -> int:
    """Run the action. Raises `UserError` with the problems of a configuration."""
    if args.action == "schema":
        print(json.dumps(json_schema(), indent=2))
        return 0
    suite = read_suite(_read_text(args.file), args.file)
    Console(highlight=False, soft_wrap=True).print(_suite_table(args.file, suite))
    return 0


def _read_text(file: str) -> str:
    with open_source(file) as pieces:
        read = b""
        for piece in pieces:
            read += piece
            if len(read) > 4 * MAX_TEXT_LENGTH:
                raise UserError(f"{file}: far too long for a configuration; is it the right file?")
    try:
        return read.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = read.count(b"\n", 0, problem.start) + 1
        raise UserError(f"{file}:{line}: not UTF-8 text; save the file as UTF-8") from problem


def _suite_table(file: str, suite: Suite) -> Table:
    table = Table(title=f"{file}: valid", title_justify="left", show_header=False, box=None, pad_edge=False)
    table.add_column()
    table.add_column(overflow="fold")
    for name, meaning in _rows(suite):
        table.add_row(Text(name, style="bold"), Text(meaning))
    return table


def _rows(suite: Suite) -> Iterator[tuple[str, str]]:
    yield "cases", _first_names(suite.case_names)
    yield "variants", _first_names(suite.variant_names)
    yield "compare", " and ".join(suite.compare)
    if suite.runs is not None:
        yield "runs are found in", suite.runs.source
        yield "by the pattern", suite.runs.pattern.text
    yield "runs are launched", _launch_words(suite.launch)
    yield "answers on", _trigger_words(suite)
    if suite.triggers.branches:
        yield "and on pushes to", _first_names(suite.triggers.branches)
    if suite.triggers.labels:
        yield "and on the labels", _label_list(suite)
    yield "may start runs", _trust_words(suite.trust)
    yield "beside the comment", _check_words(suite.checks)
    yield from _cost_rows(suite)
    yield "main's runs are old", f"after {suite.baseline.old_after_days:g} days"
    yield "a change counts from", f"{suite.margins.practical_percent:g} %"
    yield "same means within", _equivalence_words(suite.margins)


def _cost_rows(suite: Suite) -> Iterator[tuple[str, str]]:
    daily_at = suite.baseline.daily_at
    if suite.launch is not None:
        yield "launches may use", _budget_words(suite.budget)
        yield (
            "main is run",
            "where it is compared with" + ("" if daily_at is None else f", and {_daily_words(daily_at)}"),
        )
    elif daily_at is not None:
        yield "main is run", f"never, though daily_at says {_daily_words(daily_at)}: there is no launch"


def _daily_words(seconds: int) -> str:
    return f"daily at {seconds // 3600:02}:{seconds % 3600 // 60:02} UTC"


def _equivalence_words(margins: Margins) -> str:
    text = f"{margins.equivalence_percent:g} %"
    narrow = margins.equivalence_percent < margins.practical_percent
    return f"{text}; a change between that and what counts stays inconclusive" if narrow else text


def _launch_words(launch: LaunchConfig | None) -> str:
    if launch is None:
        return "never (no launch: they are only found)"
    if launch.xpk is not None:
        xpk = launch.xpk
        where = f"{xpk.project}/{xpk.zone}/{xpk.cluster}"
        devices = xpk.device_type if xpk.slices == 1 else f"{xpk.slices} slices of {xpk.device_type}"
        return f"by XPK on {where}, on {devices} with priority {xpk.priority}"
    return "as processes on the server's machine"


def _trigger_words(suite: Suite) -> str:
    triggers = suite.triggers
    drafts = " and drafts" if triggers.drafts else ""
    touching = f" that touch {_first_names(triggers.paths)}" if triggers.paths else ""
    parts = [f"pull requests{drafts}{touching}"] if triggers.pull_request else []
    return "; ".join([*parts, "commands in comments"])


def _label_list(suite: Suite) -> str:
    return ", ".join(_label_words(name, cases, suite) for name, cases in suite.triggers.labels.items())


def _label_words(name: str, cases: str, suite: Suite) -> str:
    """`benchmark (all)`. A label for unknown cases starts nothing and is most likely a mistake."""
    known = cases in ("all", "{case}") or any(glob_matches(cases, case) for case in suite.case_names)
    return (
        f"{name} ({'what * stands for' if cases == '{case}' else cases}{'' if known else ': no such case'})"
    )


def _trust_words(trust: TrustedAccounts) -> str:
    names = [*(bot.login for bot in trust.bots), *(f"team {team}" for team in trust.teams)]
    return _first_names(("people who may write", *names))


def _check_words(checks: CheckConfig) -> str:
    if checks.kind is CheckKind.OFF:
        return "nothing (checks: off)"
    what = "a check" if checks.kind is CheckKind.CHECK else "a commit status"
    shown = "from the start" if checks.pending else "once it can be concluded"
    ends = "red where a case is worse" if checks.fail_on_regression else "never red"
    return f"{what}, shown {shown}, {ends}"


def _budget_words(budget: Budget) -> str:
    parts = [f"{budget.chip_hours_per_day:g} chip-hours a day"]
    if budget.chip_hours_per_person_per_day is not None:
        parts.append(f"{budget.chip_hours_per_person_per_day:g} of one person")
    if budget.chip_hours_per_pull_request is not None:
        parts.append(f"{budget.chip_hours_per_pull_request:g} of one pull request in all")
    runs = "1 run" if budget.concurrent_runs == 1 else f"{budget.concurrent_runs} runs"
    return f"{', '.join(parts)}; {runs} at a time"


def _first_names(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:8])
    return f"{len(names)}: {shown}, …" if len(names) > 8 else shown
