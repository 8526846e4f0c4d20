"""What the tests of clusters share."""

from pathlib import Path

import pytest

from tests.clusters.local_bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A cluster of one's own."""
    return Bench(tmp_path)
