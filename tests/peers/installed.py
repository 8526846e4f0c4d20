"""Install what tests run beside the program: `python -m tests.peers.installed`.

A test that is the first to need one installs it too; here nobody waits for a test meanwhile.
"""

from concurrent.futures import ThreadPoolExecutor

from tests.peers.node import node_modules
from tests.peers.xpk import xpk


def main() -> None:
    """Install GitHub's emulator with what stands beside it, and the real xpk, where they are not there."""
    with ThreadPoolExecutor() as both:
        for one in (both.submit(node_modules), both.submit(xpk)):
            print(one.result())


if __name__ == "__main__":
    main()
