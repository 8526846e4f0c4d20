"""The two kinds of failure this program knows.

Told     a person can act on it: we say it to them, on the terminal or in the comment
└─ Missing   there is no such thing, or we may not see it
Broken   we must act on it: it is logged, and we say that we failed
└─ TryLater  it passes by itself, and the outside said when
"""


class Told(Exception):
    """Something the reader of this message can put right.

    `text` says what happened, where, and what to do next, in plain words without markup.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Broken(Exception):
    """Something only the operator can put right, or that passes by itself when tried again."""


class TryLater(Broken):
    """It passes by itself: try again after `after` seconds.

    `may_have_acted` says whether the outside may have carried out what was asked.
    """

    def __init__(self, text: str, *, after: float, may_have_acted: bool = False) -> None:
        super().__init__(text)
        self.after = after
        self.may_have_acted = may_have_acted


class Missing(Told):
    """There is no such thing, or we may not see it."""
