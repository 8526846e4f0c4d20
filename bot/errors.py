"""The two kinds of failure this program knows.

Told     a person can act on it: we say it to them, on the terminal or in the comment
├─ Missing   there is no such thing, or we may not see it
└─ Refused   a person's token is not good any more
Broken   we must act on it: it is logged, and we say that we failed
└─ TryLater  it passes by itself, and the outside said when
   └─ Outage  the outside is away as a whole
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


class Outage(TryLater):
    """The outside is away as a whole, and was not even asked: whoever tries is not to blame, and is not made
    to wait longer for having tried before."""


class Missing(Told):
    """There is no such thing, or we may not see it."""


class Refused(Told):
    """A person's token is not good, or not good any more."""
