"""Known vulnerabilities of what the locks pin: `python -m tests.audit PIP_AUDIT`.

pip-audit asks OSV. If that does not answer, the one line printed says that nothing was audited.
Exit status: 0 nothing known or not audited, 1 vulnerabilities, or a lock that pip-audit cannot read.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# The real xpk runs in tests alone, with the versions that its authors pinned.
NOT_AUDITED = "xpk.txt"

# pip-audit ends with a traceback of requests, or with words of its own.
_NO_ANSWER = ("requests.exceptions.", "_service.interface.ServiceError", "Could not connect")


def main(program: str) -> int:
    """Print what is known about the pins."""
    locks = [lock for lock in sorted((ROOT / "locks").glob("*.txt")) if lock.name != NOT_AUDITED]
    options = ["--vulnerability-service=osv", "--disable-pip", "--require-hashes", "--progress-spinner=off"]
    files = [f"--requirement={lock}" for lock in locks]
    done = subprocess.run([program, *options, *files], capture_output=True, text=True, check=False)
    if done.returncode and any(words in done.stderr for words in _NO_ANSWER):
        print("not audited: the vulnerability database did not answer")
        return 0
    print(done.stdout + done.stderr, end="")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
