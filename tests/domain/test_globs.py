"""One language of globs for the configuration, the run pattern and the stores."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.globs import glob_matches, google_glob, literal_prefix


@pytest.mark.parametrize(
    ("glob", "name", "expected"),
    [
        ("src/**", "src/a/b.py", True),
        ("src/**", "src", False),
        ("src/**/x.py", "src/x.py", True),
        ("src/**/x.py", "src/a/b/x.py", True),
        ("**/x.py", "x.py", True),
        ("*.py", "a/x.py", False),
        ("test_*", "test_936672580", True),
        ("test_*", "my_test_1", False),
        ("03_?", "03_a", True),
        ("03_?", "03_/", False),
        ("a.b", "axb", False),
        ("a[1]", "a1", False),
        ("*", "a\nb", True),
        ("", "", True),
    ],
)
def test_a_glob_matches_whole_names(glob: str, name: str, expected: bool) -> None:  # noqa: FBT001 - a table
    """`*` stays within a level, `**` crosses levels, `?` is one character, the rest is itself."""
    assert expected == glob_matches(glob, name)


@given(st.text(alphabet="ab*?", max_size=8), st.text(alphabet="ab", max_size=8))
def test_within_one_level_globs_are_those_of_the_shell(glob: str, name: str) -> None:
    """The standard library is the peer where the two languages meet."""
    assert fnmatchcase(name, glob) == glob_matches(glob, name)


@given(st.text(alphabet="ab/*?", max_size=8), st.text(alphabet="ab/", max_size=8))
def test_every_match_begins_with_the_literal_prefix(glob: str, name: str) -> None:
    """A listing by that prefix loses nothing."""
    assert not glob_matches(glob, name) or name.startswith(literal_prefix(glob))


@given(st.text(alphabet="a[]{}!^\\*?/", max_size=8), st.text(alphabet="a[]{}!^\\/", max_size=8))
def test_google_finds_at_least_what_we_do(glob: str, name: str) -> None:
    """What its language adds is asked for more loosely, never more strictly."""
    assert not glob_matches(glob, name) or glob_matches(google_glob(glob), name)
    assert not set("[]{}!^\\") & set(google_glob(glob))
