"""The `maxview` command line.

Exit status: 0 done, 1 a red verdict (where requested), 2 bad use or bad input, 3 our own failure.

A command is a module of `bot.cli` with `add_arguments(parser)` and `main(args)`; only the requested one is
imported. Every failure is one line on standard error; `MAXVIEW_DEBUG=1` adds the traceback.
"""

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import NoReturn

from bot import __version__
from bot.cli.arguments import one_line_errors
from bot.errors import InternalError, UserError

DONE, REGRESSION, BAD_INPUT, OUR_FAILURE, INTERRUPTED = 0, 1, 2, 3, 130

COMMANDS = {
    "parse": "read training logs: steps, measurements, environment, where the time went",
    "compare": "compare two runs: slower, different, broken, and can it be believed",
    "serve": "answer pull requests on GitHub",
    "demo": "the whole product on this machine, without an account",
    "runs": "the runs that were launched: list, show, log, cancel, retry",
    "config": "check a .github/maxview.yml",
    "forget": "remove everything that the server keeps of a repository",
    "policy": "what repositories may make this server do: check, suggest, forget",
}

EXAMPLES = """\
examples:
  maxview parse train.log                    one run, for people
  maxview parse --json gs://bucket/run.log   one JSON object per run
  maxview compare main.log branch.log        the verdict
  maxview compare page.txt#1 page.txt#2      two runs of one file

exit status: 0 done, 1 red verdict (compare --fail-on-regression), 2 bad input, 3 maxview itself failed
"""


def run() -> NoReturn:
    """The program's entry."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run the command that `arguments` name and return the exit status."""
    _replace_unencodable_characters()
    try:
        status = _run_command(arguments)
        sys.stdout.flush()
    except UserError as told:
        for line in f"maxview: {told.text}".splitlines():
            _print_error(line)
        return BAD_INPUT
    except KeyboardInterrupt:
        _print_error("maxview: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        from bot.cli.terminal import forget_stdout  # noqa: PLC0415 - a start needs nothing of it

        forget_stdout()
        return DONE
    except InternalError as broken:
        _print_error(f"maxview failed: {broken}")
        return OUR_FAILURE
    except Exception as error:  # noqa: BLE001 - the last line of defence: a person gets one line
        _print_error(f"maxview failed: {type(error).__name__}: {error}")
        if os.environ.get("MAXVIEW_DEBUG") == "1":
            traceback.print_exc()
        else:
            _print_error("MAXVIEW_DEBUG=1 shows where")
        return OUR_FAILURE
    return status


def _run_command(arguments: Sequence[str]) -> int:
    chosen = next((argument for argument in arguments if not argument.startswith("-")), None)
    parser = argparse.ArgumentParser(
        prog="maxview",
        description="Did this change make training slower, change its numbers, or break a case?",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"maxview {__version__}")
    one_line_errors(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    runs = {name: _add_command(commands, name, summary, chosen) for name, summary in COMMANDS.items()}
    args = parser.parse_args(arguments)
    if args.command is None:
        parser.print_help()
        return BAD_INPUT
    return runs[args.command](args)


def _add_command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    summary: str,
    chosen: str | None,
) -> Callable[[argparse.Namespace], int]:
    """Add a command; its module is imported only if it is the chosen one."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    one_line_errors(parser)
    if name != chosen:
        return lambda _: BAD_INPUT
    module = _import_command(name)
    module.add_arguments(parser)
    command: Callable[[argparse.Namespace], int] = module.main
    return command


def _import_command(name: str) -> ModuleType:
    path = f"bot.cli.{name}"
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name != path:
            raise
        raise UserError(f"{name}: this installation does not have that command") from error


def _print_error(text: str) -> None:
    """One line on standard error, whatever the text holds."""
    line = "".join(character if character.isprintable() else " " for character in text)
    print(line.rstrip(), file=sys.stderr)


def _replace_unencodable_characters() -> None:
    """Print what a terminal's encoding lacks as `?`, and undecodable file names too, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


if __name__ == "__main__":
    run()
