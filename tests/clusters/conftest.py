"""What the tests of clusters share."""

from pathlib import Path

import pytest

from tests.clusters.local_bench import LocalBench


@pytest.fixture
def bench(tmp_path: Path) -> LocalBench:
    """A cluster of one's own."""
    return LocalBench(tmp_path)
