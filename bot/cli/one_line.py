"""Wrong arguments are answered by one line.

In:  an argparse parser. Out: the same, whose complaints are `Told`s that name its help.
"""

import argparse
from typing import NoReturn

from bot.errors import Told


def say_in_one_line(parser: argparse.ArgumentParser) -> None:
    """Replace argparse's usage text on an error by one line that says where the help is."""

    def told(message: str) -> NoReturn:
        raise Told(f"{message} (see {parser.prog} --help)")

    vars(parser)["error"] = told
