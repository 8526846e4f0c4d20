"""`make bench`, or `python -m tests.bench [--quick] [--keep] [--only PART]`; `--help` names the parts.

In:  options. Out: tables on standard output. Times depend on the machine; read the ratios.
"""

import argparse
import platform
from pathlib import Path

from tests.bench import acknowledging, judging, paging, redacting, scanning, viewing

FOLDER = Path(".cache") / "bench"


def main() -> None:
    """Measure what was asked for, and tidy up."""
    asked = _arguments()
    print(f"Python {platform.python_version()}, {platform.machine()}; medians; smaller ratios are faster")
    if asked.only in {None, "scan"}:
        for wanted in scanning.SMALL if asked.quick else scanning.SMALL + scanning.LARGE:
            try:
                scanning.compare(wanted, FOLDER)
            finally:
                # One at a time: together the large ones fill 4 GB of a disk.
                if not asked.keep:
                    for path in FOLDER.glob(f"{wanted.name}.*"):
                        path.unlink()
    if asked.only in {None, "webhook"}:
        acknowledging.compare()
    if asked.only in {None, "pages"}:
        paging.compare()
    if asked.only in {None, "logs"}:
        viewing.compare(FOLDER, keep=asked.keep)
    if asked.only in {None, "redaction"}:
        redacting.compare(FOLDER)
    if asked.only in {None, "verdict"}:
        judging.measure_verdicts()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="logs of 100 MB only")
    parser.add_argument("--keep", action="store_true", help=f"leave the logs in {FOLDER}")
    parser.add_argument(
        "--only", choices=("scan", "webhook", "pages", "logs", "redaction", "verdict"), help="one part of it"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
