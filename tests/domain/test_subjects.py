"""What a stored number stands for, and where a command comes from."""

import pytest

from bot.domain.command_origin import ButtonOrigin, CommandOrigin, CommentOrigin, LabelOrigin, origin_number
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
    [
        (CommentOrigin(99), 99),
        (LabelOrigin(), 0),
        (ButtonOrigin(0), -1),
        (ButtonOrigin(41), -42),
    ],
)
def test_every_origin_of_a_command_has_a_number_of_its_own(origin: CommandOrigin, expected: int) -> None:
    """Comments have GitHub's ids, buttons numbers below zero."""
    assert origin_number(origin) == expected
