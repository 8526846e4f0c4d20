"""What all tests share: golden files, rewritten by `pytest --accept`."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["tests.peers.postgres"]

# How long something takes is measured by `make bench`; on a busy machine a test would only fail by chance.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

GOLDEN = Path(__file__).parent / "golden"

Accept = Callable[[str, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flag that rewrites golden files."""
    parser.addoption("--accept", action="store_true", help="rewrite the golden files with what is said now")


@pytest.fixture
def accept(request: pytest.FixtureRequest) -> Accept:
    """Compare a text with the golden file of that name, or rewrite it under `--accept`."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--accept"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        known = path.read_text(encoding="utf-8") if path.exists() else ""
        if known != text:
            pytest.fail(
                f"{name} differs; `pytest --accept` takes the new text.\n"
                f"──── golden ────\n{known}\n──── now ────\n{text}\n──── end ────",
                pytrace=False,
            )

    return compare
