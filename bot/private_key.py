"""The App's private key, in whatever form people paste it.

In:  text. Out: PEM text, or what is wrong with it, which never repeats any of it.
"""

import base64
import binascii


def read_pem(text: str) -> tuple[str, str]:
    """The key as PEM text with a line end, and a clause that says what is wrong, empty where nothing is.

    `text` is PEM, with real or written line ends, or all of that in base64.
    """
    pem = text.strip().replace("\\n", "\n")
    if "PRIVATE KEY" not in pem:
        pem = _from_base64(pem)
    if "PRIVATE KEY" not in pem:
        return "", "holds no private key: give PEM text, or that text in base64"
    if not _can_sign(pem):
        return "", "holds a private key that is cut or not GitHub's: give the whole file from GitHub"
    return f"{pem}\n", ""


def _from_base64(text: str) -> str:
    joined = "".join(text.split())  # GNU's base64 breaks its lines
    try:
        return base64.b64decode(joined, validate=True).decode("ascii").strip()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _can_sign(pem: str) -> bool:
    """Whether it is a whole RSA key: GitHub's are, and it takes signatures of no other."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - only a server needs these
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    try:
        return isinstance(load_pem_private_key(pem.encode(), password=None), RSAPrivateKey)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it wants a password
        return False
