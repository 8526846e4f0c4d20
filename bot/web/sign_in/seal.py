"""Cookies that nobody else can read, change or make: the one door to the encryption of these.

In:  the installation's secret, and words to keep in a browser.
Out: Fernet tokens (AES-128-CBC with HMAC-SHA-256 and the time they were made), and proofs for forms.
"""

import hashlib
import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping


class Seal:
    """Seals for one purpose each: what was sealed for one does not open for another."""

    def __init__(self, secret: str, purpose: str) -> None:
        self._key = hmac.digest(secret.encode(), f"maxview {purpose} 1".encode(), hashlib.sha256)

    def close(self, values: Mapping[str, str], *, now: float) -> str:
        """The values as a word for a cookie."""
        from cryptography.fernet import Fernet  # noqa: PLC0415 - 20 ms that only signing in needs

        plain = json.dumps(dict(values)).encode()
        return Fernet(urlsafe_b64encode(self._key)).encrypt_at_time(plain, int(now)).decode()

    def open(self, sealed: str, *, within: int, now: float) -> dict[str, str] | None:
        """What `close` was given, at most `within` seconds ago; None where it is anything else."""
        from cryptography.fernet import Fernet, InvalidToken  # noqa: PLC0415 - as above

        try:
            plain = Fernet(urlsafe_b64encode(self._key)).decrypt_at_time(sealed.encode(), within, int(now))
        except (InvalidToken, UnicodeEncodeError):
            return None
        values: dict[str, str] = json.loads(plain)
        return values

    def proof(self, name: str) -> str:
        """A word that only a page of ours can hold: what a form sends along."""
        return hmac.new(self._key, f"proof {name}".encode(), hashlib.sha256).hexdigest()[:32]

    def proves(self, name: str, given: str) -> bool:
        """Whether it is that word, in time that does not tell how much of it is."""
        return hmac.compare_digest(self.proof(name).encode(), given.encode("utf-8", "replace"))
