"""Answer wrong arguments with one line that names the help."""

import argparse
from typing import NoReturn

from bot.errors import UserError


def one_line_errors(parser: argparse.ArgumentParser) -> None:
    """Replace argparse's usage text on an error by one line that says where the help is."""

    def told(message: str) -> NoReturn:
        raise UserError(f"{message} (see {parser.prog} --help)")

    vars(parser)["error"] = told
