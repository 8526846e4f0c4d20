"""Texts that are made to take long: what is repeated, by name."""

HOSTILE = {
    "percent signs": "%",
    "percent-encoded": "%25",
    "names": "token",
    "names with signs": "token=",
    "values": "token=a1b2c3d4 ",
    "names in lines": "token=a1b2c3d4\n",
    "values that may go on": "token=a1\nabcdef12\n",
    "names above values": "name: TOKEN\nvalue: abc\n",
    "quotes": 'password="',
    "beginnings of keys": "-----BEGIN ",
    "keys without an end": "-----BEGIN PRIVATE" + " KEY-----",
    "lines of keys without an end": "-----BEGIN PRIVATE" + " KEY-----\n",
    "objects": "kind: Secret\ndata:\n  a: b1b2b3b4\n",
    "addresses": "://a:b@",
    "mails": "a@b.c",
    "tokens": "eyJ",
    "colours": "\x1b[31m",
    "joiners": "a\u200b",
    "escapes": "\\u0041",
    "entities": "&amp;",
    "base64": "QUJD",
    "lines of base64": "QUJD" * 19 + "\n",
    "hexadecimal": "41",
    "words of secrets": "token Ab1/Ab1/Ab1/ ",
    "options": "--a-",
    "users": "-u a:",
    "logins": "login ",
    "cookies": "cookie: ",
    "one letter": "x",
    "brackets": "[{(",
    "blank lines": "\n",
}


def repeated(part: str, size: int) -> str:
    """`part` until there are `size` characters."""
    return (part * (size // len(part) + 1))[:size]
