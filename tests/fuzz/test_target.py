"""What the fuzzer holds logs to also holds for its own corpus, and for garbled pieces of it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.corpus import dictionary, logs
from tests.fuzz.target import check_reader

LOGS = dict(logs())


@pytest.mark.parametrize("name", LOGS)
def test_every_log_of_the_corpus_holds(name: str) -> None:
    """In pieces of 64 bytes as well as whole."""
    check_reader(b"\x3f" + LOGS[name])


pieces = st.one_of(
    st.binary(max_size=30),
    st.sampled_from([word[1:-1].encode() for word in dictionary()]),
    st.builds(
        lambda text, at, size: text[at : at + size],
        st.sampled_from(sorted(LOGS.values())),
        st.integers(0, 8000),
        st.integers(1, 700),
    ),
)


@given(st.integers(7, 255), st.lists(pieces, max_size=12))
@settings(max_examples=60, deadline=None)
def test_logs_that_are_torn_and_mixed_hold(size: int, parts: list[bytes]) -> None:
    """No exception, one answer, strict JSON."""
    check_reader(bytes([size]) + b"".join(parts))
