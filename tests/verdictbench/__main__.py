"""`make verdictbench`, or `python -m tests.verdictbench [--quick] [--markdown FILE] [--workers N]`.

In:  options. Out: tables on standard output or in FILE, progress on standard error.
"""

import argparse
from pathlib import Path

from tests.verdictbench.front_page import front_page
from tests.verdictbench.open_world import beside_rivals, findings
from tests.verdictbench.page import document, summary
from tests.verdictbench.running import FULL, QUICK, run

OPEN_WORLD = (300, 25)
"""Reports of each regime of noise, and logs of each shape and burst: four minutes of one core."""

RIVAL_REPORTS = 20


def main() -> None:
    """Run it, and print or write what it found."""
    asked = _arguments()
    amount = QUICK if asked.quick else FULL
    results = run(amount, workers=asked.workers)
    if asked.markdown is None:
        print(summary(results))
        return
    asked.markdown.parent.mkdir(parents=True, exist_ok=True)
    found, rows = findings(*OPEN_WORLD), beside_rivals(RIVAL_REPORTS)
    asked.markdown.write_text(front_page(found, rows), encoding="utf-8")
    tables = asked.markdown.with_name(f"{asked.markdown.stem}-tables.md")
    tables.write_text(document(results, amount), encoding="utf-8")
    print(f"wrote {asked.markdown} and {tables}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.verdictbench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of it, in less than a minute")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page instead of printing")
    parser.add_argument("--workers", type=int, help="processes; as many as there are cores unless given")
    return parser.parse_args()


if __name__ == "__main__":
    main()
