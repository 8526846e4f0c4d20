"""The two kinds of failure: one that the reader can fix, one that we must fix.

UserError            shown to the person, on the terminal or in the comment
├─ NotGranted    the operator's policy does not allow it
├─ NotFound          it does not exist, or we may not see it
└─ InvalidToken      a person's token is invalid or expired
InternalError        logged; the person only learns that we failed
└─ TransientError    temporary: worth trying again later
   └─ Outage         another service is down as a whole
"""


class UserError(Exception):
    """Something the reader of this message can fix.

    `text` says what happened, where, and what to do next, in plain words without markup.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class InternalError(Exception):
    """Something only the operator can fix, or that passes when tried again."""


class TransientError(InternalError):
    """A temporary failure: try again after `after` seconds.

    `may_have_acted` says whether the other service may have carried out the request.
    """

    def __init__(self, text: str, *, after: float, may_have_acted: bool = False) -> None:
        super().__init__(text)
        self.after = after
        self.may_have_acted = may_have_acted


class Outage(TransientError):
    """Another service is down as a whole, and got no request: earlier attempts do not lengthen the wait."""


class NotGranted(UserError):
    """The operator's policy does not allow it; only the operator can grant it."""


class NotFound(UserError):
    """It does not exist, or we may not see it."""


class InvalidToken(UserError):
    """A person's token is invalid or expired."""
