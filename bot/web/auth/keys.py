"""Keys derived from the installation's secret: link keys of private repositories, and sealed cookies.

Nothing is stored: who has a link may read, and nobody can make one without the secret. Sealed values are
Fernet tokens (AES-128-CBC with HMAC-SHA-256 and the time they were made). The only door to `cryptography`
for pages.
"""

import hashlib
import hmac
import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping

from msgspec import Struct

LINK_KEY_LABEL = b"maxview link key 2"
"""Binds the derived secret to this use; a new number invalidates every old link."""

KEY_DIGITS = 32

DAY_SECONDS = 86_400

LINK_DAYS = 30
"""How long a key opens pages. It counts from the end of the day on which it was made, so that a comment that
is written again keeps its links for a day."""

MAX_KEY_LENGTH = 120

# 81234_4270_20417_0123456789abcdef0123456789abcdef    repository, row (n1 is -1), day, signature
_KEY = re.compile(r"(?P<id>[0-9]{1,18})_(?P<number>n?[0-9]{1,10})_(?P<day>[0-9]{1,6})_(?P<mac>[0-9a-f]{32})")


class LinkGrant(Struct, frozen=True, kw_only=True):
    """What one key or cookie says it opens: the pages of one pull request or watched branch, by the stored
    number of its row, of the repository of GitHub's number. `day` is when its key was made."""

    repository_id: int
    number: int
    day: int

    @property
    def expires(self) -> float:
        """When it opens nothing any more, in Unix seconds."""
        return float((self.day + 1 + LINK_DAYS) * DAY_SECONDS)


class SignedGrant(Struct, frozen=True):
    """A grant and the signature that came with it, which is not checked yet."""

    grant: LinkGrant
    mac: str


class LinkKey:
    """Makes and checks the link keys of one installation; without a secret there are none."""

    def __init__(self, secret: str | None) -> None:
        self._derived = hmac.digest(secret.encode(), LINK_KEY_LABEL, hashlib.sha256) if secret else None

    def key(self, repository_id: int, number: int, *, epoch: int, now: float) -> str | None:
        """The key of a pull request's pages, made at `now` (Unix seconds); None where none are made."""
        grant = LinkGrant(repository_id=repository_id, number=number, day=int(now // DAY_SECONDS))
        return self._write(grant, epoch, "key")

    def cookie(self, grant: LinkGrant, *, epoch: int) -> str | None:
        """The value of the cookie that a key becomes."""
        return self._write(grant, epoch, "cookie")

    def opens(self, signed: SignedGrant, *, epoch: int, kind: str) -> bool:
        """Whether the signature is ours, of a `key` or a `cookie`, whatever its age; in constant time."""
        mac = self._mac(signed.grant, epoch, kind)
        return mac is not None and hmac.compare_digest(mac, signed.mac)

    def _write(self, grant: LinkGrant, epoch: int, kind: str) -> str | None:
        mac = self._mac(grant, epoch, kind)
        number = str(grant.number).replace("-", "n")
        return None if mac is None else f"{grant.repository_id}_{number}_{grant.day}_{mac}"

    def _mac(self, grant: LinkGrant, epoch: int, kind: str) -> str | None:
        if self._derived is None:
            return None
        message = f"{kind} {grant.repository_id} {grant.number} {epoch} {grant.day}"
        return hmac.new(self._derived, message.encode(), hashlib.sha256).hexdigest()[:KEY_DIGITS]


def read_key(given: str) -> SignedGrant | None:
    """What a key or cookie says; None of anything that is none."""
    match = _KEY.fullmatch(given) if len(given) <= MAX_KEY_LENGTH and given.isascii() else None
    if match is None:
        return None
    number = int(match["number"].replace("n", "-"))
    grant = LinkGrant(repository_id=int(match["id"]), number=number, day=int(match["day"]))
    return SignedGrant(grant, match["mac"])


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
