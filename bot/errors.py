"""The two kinds of failure: one that the reader can fix, one that we must fix.

UserError        shown to the person, on the terminal or in the comment
├─ NotFound      it does not exist, or we may not see it
└─ InvalidToken  a person's token is invalid or expired
InternalError    logged; the person only learns that we failed
└─ TransientError  temporary; the outside said when to try again
└─ Outage     the outside is down as a whole
"""


class UserError(Exception):
    """Something the reader of this message can put right.

    `text` says what happened, where, and what to do next, in plain words without markup.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class InternalError(Exception):
    """Something only the operator can put right, or that passes by itself when tried again."""


class TransientError(InternalError):
    """It passes by itself: try again after `after` seconds.

    `may_have_acted` says whether the outside may have carried out what was asked.
    """

    def __init__(self, text: str, *, after: float, may_have_acted: bool = False) -> None:
        super().__init__(text)
        self.after = after
        self.may_have_acted = may_have_acted


class Outage(TransientError):
    """The outside is away as a whole, and was not even asked: whoever tries is not to blame, and is not made
    to wait longer for having tried before."""


class NotFound(UserError):
    """There is no such thing, or we may not see it."""


class InvalidToken(UserError):
    """A person's token is not good, or not good any more."""
