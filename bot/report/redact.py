"""What must not stand in a public comment, taken out by rule.

In:  text from logs, branches, titles and commands.
Out: the same text with secrets, buckets, accounts and internal names replaced by what they were, in brackets.

The rules look for shapes, so they also meet names nobody has listed. Each runs in time linear in the text.
"""

import re
from functools import lru_cache

LONGEST = 20_000  # characters looked at; nothing longer is ever shown

# hf_api_token = "…"
_KEY = r"(?<![A-Za-z0-9])((?:[a-z]{1,20}[_-]){0,4}"
_VALUE = r")(\s?[=:]\s?)(?!\[)[^\s)\"',;&]{6,}"
_ODD_VALUE = r")(\s?[=:]\s?)(?!\[)(?=\S{0,200}\d)[^\s)\"',;&]{8,}"  # "unexpected token: expected" is none

# metadata.google.internal:80
_LABELS = r"(?<![\w.-])[a-z0-9](?:[a-z0-9-]{0,62}\.){1,8}"
_PORT = r"\b(?![\w.-]*\w)(?::\d+)?"

# Most telling shape first: a key inside an address is a key.
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:(?!-----END)[\s\S])*(?:-----END[A-Z -]*)?"),
        "[private key]",
    ),
    (re.compile(r"\bgh[pousr]_[A-Za-z0-9_]{16,}"), "[token]"),
    (re.compile(r"\bgithub_pat_\w{20,}"), "[token]"),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*"), "[token]"),  # a JSON web token
    (re.compile(r"\bAIza[\w-]{30,}"), "[API key]"),
    (re.compile(r"\bya29\.[\w.-]{10,}"), "[token]"),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), "[API key]"),
    (re.compile(r"\b(?:hf|sk|pk|rk|glpat|xox[abprs]|npm|pypi)[_-][A-Za-z0-9_-]{20,}"), "[token]"),
    (re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{12,}", re.IGNORECASE), r"\1 [token]"),
    (re.compile(_KEY + r"(?:password|passwd|secret|credential)" + _VALUE, re.IGNORECASE), r"\1\2[secret]"),
    (re.compile(_KEY + r"(?:token|api[_-]?key|access[_-]?key)" + _ODD_VALUE, re.IGNORECASE), r"\1\2[secret]"),
    (re.compile(r"(://)[^\s/@:]{1,80}:[^\s/@]{1,200}@"), r"\1[credentials]@"),
    (re.compile(r"\b(?:gs|gcs|s3|gcsfuse)://[^\s\"'`<>),;\]]+"), "[bucket]"),
    (re.compile(r"https?://storage\.(?:cloud\.google|googleapis)\.com/[^\s\"'`<>),;\]]+"), "[bucket]"),
    (re.compile(r"https?://[\w.-]{1,100}\.storage\.googleapis\.com\S*"), "[bucket]"),
    (re.compile(r"[\w.-]{1,80}@[\w.-]{0,80}gserviceaccount\.com"), "[service account]"),
    (re.compile(r"[\w.+-]{1,80}@(?:[\w-]{1,60}\.){1,5}[A-Za-z]{2,24}\b"), "[e-mail address]"),
    (
        re.compile(r"\b((?:[a-z]{2,4}\.)?gcr\.io|[a-z0-9-]{2,30}-docker\.pkg\.dev)/[^\s:@\"'`]+"),
        r"\1/[image]",
    ),
    (re.compile(r"\bprojects/[a-z0-9.:-]{4,60}"), "projects/[project]"),
    (
        re.compile(_LABELS + r"(?:internal|corp|lan|intranet|googleplex\.com|corp\.google\.com)" + _PORT),
        "[internal host]",
    ),
    (re.compile(_LABELS + r"(?:cluster\.local|svc)" + _PORT), "[internal host]"),
    (re.compile(r"\b[a-z0-9][a-z0-9-]{0,80}-slice-job-\d+-\d+(?:\.[a-z0-9-]{1,80})*(?::\d+)?"), "[host]"),
    (re.compile(r"\bgke-[a-z0-9-]{8,80}"), "[host]"),
    (
        re.compile(
            r"\b(?:10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2})\b(?::\d+)?"
        ),
        "[internal address]",
    ),
    (re.compile(r"(/(?:home|Users|usr/local/google/home)/)[^/\s:\"']{1,60}"), r"\1[user]"),
)


@lru_cache(maxsize=4096)  # a report says the same names and reasons many times over
def redacted(value: str) -> str:
    """`value` without what is nobody else's business. Redacting twice changes nothing more."""
    shown = value[:LONGEST]
    for pattern, replacement in _RULES:
        shown = pattern.sub(replacement, shown)
    return shown
