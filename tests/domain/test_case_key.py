"""A case key has one text form, and sorts as its text does."""

from hypothesis import given
from hypothesis import strategies as st

from bot.domain.case_key import CaseKey, combine_keys

NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", fullmatch=True)
KEYS = st.builds(CaseKey, NAMES, NAMES | st.just(""))


def test_the_text_form_is_case_slash_variant() -> None:
    """As stored and shown."""
    assert str(CaseKey("04_int8", "linen")) == "04_int8/linen"


@given(KEYS)
def test_the_text_form_is_read_back(key: CaseKey) -> None:
    """Names hold no slash."""
    assert CaseKey.parse(str(key)) == key


@given(st.lists(KEYS))
def test_keys_sort_as_their_texts_do(keys: list[CaseKey]) -> None:
    """`a-b/x` comes before `a/x`, since stored lists are sorted texts."""
    assert [str(key) for key in sorted(keys)] == sorted(str(key) for key in keys)


def test_every_case_is_combined_with_every_variant() -> None:
    """Case by case."""
    keys = combine_keys(("b", "a"), ("x", "y"))
    assert [str(key) for key in keys] == ["b/x", "b/y", "a/x", "a/y"]
