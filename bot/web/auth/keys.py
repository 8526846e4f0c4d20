"""Keys derived from the installation's secret: link keys of private repositories, and sealed cookies.

Nothing is stored: who has a link may read, and nobody can make one without the secret. Sealed values are
Fernet tokens (AES-128-CBC with HMAC-SHA-256 and the time they were made). The only door to `cryptography`
for pages.
"""

import hashlib
import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping

LINK_KEY_LABEL = b"maxview link key 1"
"""Binds the derived secret to this use; a new number invalidates every old link."""

KEY_DIGITS = 32


class LinkKey:
    """Makes and checks the link keys of one installation."""

    def __init__(self, secret: str) -> None:
        self._derived = hmac.digest(secret.encode(), LINK_KEY_LABEL, hashlib.sha256)

    def key(self, repository: str) -> str:
        """The key of `owner/name`, whatever its case, as on GitHub."""
        named = repository.lower().encode()
        return hmac.new(self._derived, named, hashlib.sha256).hexdigest()[:KEY_DIGITS]

    def opens(self, repository: str, given: str) -> bool:
        """Whether `given` is the key of this repository, compared in constant time."""
        return hmac.compare_digest(self.key(repository).encode(), given.encode())


class CookieSeal:
    """Seals values for one purpose; what was sealed for one purpose does not open for another."""

    def __init__(self, secret: str, purpose: str) -> None:
        self._key = hmac.digest(secret.encode(), f"maxview {purpose} 1".encode(), hashlib.sha256)

    def close(self, values: Mapping[str, str], *, now: float) -> str:
        """The values as a sealed cookie value."""
        from cryptography.fernet import Fernet  # noqa: PLC0415 - 20 ms that only signing in needs

        plain = json.dumps(dict(values)).encode()
        return Fernet(urlsafe_b64encode(self._key)).encrypt_at_time(plain, int(now)).decode()

    def open(self, sealed: str, *, within: int, now: float) -> dict[str, str] | None:
        """The values sealed at most `within` seconds ago; None for anything else."""
        from cryptography.fernet import Fernet, InvalidToken  # noqa: PLC0415 - as above

        try:
            plain = Fernet(urlsafe_b64encode(self._key)).decrypt_at_time(sealed.encode(), within, int(now))
        except (InvalidToken, UnicodeEncodeError):
            return None
        values: dict[str, str] = json.loads(plain)
        return values

    def proof(self, name: str) -> str:
        """A CSRF token that only our own pages contain."""
        return hmac.new(self._key, f"proof {name}".encode(), hashlib.sha256).hexdigest()[:32]

    def proves(self, name: str, given: str) -> bool:
        """Whether `given` is the CSRF token of this name, compared in constant time."""
        return hmac.compare_digest(self.proof(name).encode(), given.encode("utf-8", "replace"))
