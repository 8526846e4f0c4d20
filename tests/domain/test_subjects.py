"""What a stored number stands for, and where a command comes from."""

import pytest

from bot.domain.command import ButtonOrigin, CommentOrigin, origin_name
from bot.domain.pull_request import SubjectKind, subject_kind


@pytest.mark.parametrize(
    ("row_number", "expected"),
    [
        (7, SubjectKind.PULL_REQUEST),
        (1, SubjectKind.PULL_REQUEST),
        (0, SubjectKind.MAIN),
        (-1, SubjectKind.BRANCH),
        (-12, SubjectKind.BRANCH),
    ],
)
def test_a_stored_number_says_what_it_stands_for(row_number: int, expected: SubjectKind) -> None:
    """GitHub numbers pull requests from 1; main is 0; branches count down."""
    assert subject_kind(row_number) is expected


@pytest.mark.parametrize(
    ("origin", "expected"),
    [(CommentOrigin(99), "99"), (ButtonOrigin(0), "button 0"), (ButtonOrigin(99), "button 99")],
)
def test_requests_of_comments_and_buttons_never_share_a_name(
    origin: CommentOrigin | ButtonOrigin, expected: str
) -> None:
    """A comment's requests bear GitHub's id."""
    assert origin_name(origin) == expected
