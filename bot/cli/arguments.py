"""Answer wrong arguments with one line that names the help."""

import argparse
from typing import NoReturn

from bot.errors import UserError


def one_line_errors(parser: argparse.ArgumentParser) -> None:
    """Raise a `UserError` of one line for wrong arguments, instead of argparse's usage text."""

    def raise_error(message: str) -> NoReturn:
        raise UserError(f"{message} (see {parser.prog} --help)")

    vars(parser)["error"] = raise_error
