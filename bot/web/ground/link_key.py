"""The key that opens the pages of a private repository, until people can sign in.

In:  the installation's secret, and a repository's name.
Out: 32 hexadecimal digits that stand in links to that repository's pages, and whether given ones are right.

The key is derived, not stored: who has the link may read, nobody can make one without the secret.
"""

import hashlib
import hmac

LABEL = b"maxview link key 1"
"""Binds the derived secret to this one use; a new number makes every old link stop working."""

KEY_DIGITS = 32


class LinkKey:
    """Makes and checks the keys of one installation."""

    def __init__(self, secret: str) -> None:
        self._derived = hmac.digest(secret.encode(), LABEL, hashlib.sha256)

    def key(self, repository: str) -> str:
        """The key of `owner/name`; GitHub's names do not tell upper from lower case, nor does this."""
        named = repository.lower().encode()
        return hmac.new(self._derived, named, hashlib.sha256).hexdigest()[:KEY_DIGITS]

    def opens(self, repository: str, given: str) -> bool:
        """Whether `given` is the key of this repository, in time that does not tell how much of it is."""
        return hmac.compare_digest(self.key(repository).encode(), given.encode())
