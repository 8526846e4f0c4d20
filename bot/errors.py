"""The two kinds of failure this program knows.

Told     a person can act on it: we say it to them, on the terminal or in the comment
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
    """Not now: the outside says when (`after`, seconds)."""

    def __init__(self, text: str, after: float) -> None:
        super().__init__(text)
        self.after = after
