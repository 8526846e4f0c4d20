"""Play the demonstration once, and hold its verdicts against what its pull requests earn.

Run as `python -m tests.demo_once`; ends with status 1 where one differs, or where it takes two minutes.
"""

import json
import subprocess
import sys
import time

from bot.demo.pulls import pull_requests

LONGEST_SECONDS = 120.0
"""The promise of the README, on two cores."""


def main() -> int:
    """Play, compare, and say what came out."""
    began = time.monotonic()
    played = subprocess.run(
        [sys.executable, "-m", "bot", "demo", "--once", "--json"],
        stdout=subprocess.PIPE,
        check=True,
        timeout=600,
    )
    seconds = time.monotonic() - began
    answers = json.loads(played.stdout)["pull_requests"]
    expected = [(pull.title, str(pull.expected)) for pull in pull_requests()]
    found = [(answer["title"], answer["verdict"]) for answer in answers]
    failed = sum(one != other for one, other in zip(expected, found, strict=True))
    for (title, verdict), answer in zip(expected, answers, strict=True):
        print(f"{answer['verdict']:<20} expected {verdict:<20} {title}")
    late = seconds > LONGEST_SECONDS
    print(f"{seconds:.0f} s{' - more than the two minutes that are promised' if late else ''}")
    print(f"{len(expected) - failed} passed, {failed + late} failed")
    return 1 if failed or late else 0


if __name__ == "__main__":
    sys.exit(main())
