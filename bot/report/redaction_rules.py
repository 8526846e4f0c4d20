"""The shapes of what must not stand in a public comment, and the letters by which each is found quickly.

In:  nothing.
Out: `RULES` in the order in which they are applied.

Each runs in time linear in the text. Only a rule with a `tail` may match white space; every other one matches
inside a word, so a word without its marks need not be shown to it.
"""

import re
from dataclasses import dataclass

# hf_api_token = "…"   {'SIGNING_KEY': '…'}
_KEY = r"(?<![A-Za-z0-9])((?:[a-z0-9]{1,20}[_-]){0,4}"
_MORE = r"(?:[_-][a-z]{1,12}){0,2}"
_IS = r"(\\?[\"']?\s?[=:]\s?\\?[\"']?)"
_VALUE = _IS + r"(?!\[)[^\s)\"',;&\\]{6,}"
# "unexpected token: expected" is none
_ODD_VALUE = _IS + r"(?!\[)(?=\S{0,200}\d)(?=\S{0,200}[A-Za-z])[^\s)\"',;&\\]{8,}"
_KEYS = (
    "token|api[_-]?key|access[_-]?key|"
    "(?:signing|encryption|private|storage|account|ssh|master|auth|session|deploy|license|secret)[_-]key"
)

# metadata.google.internal:80
_LABELS = r"(?<![\w.-])[a-z0-9](?:[a-z0-9-]{0,62}\.){1,8}"
_PORT = r"\b(?![\w.-]*\w)(?::\d+)?"


# Examples in our own advice, which tell nobody anything.
_NOT_OURS = r"(?!(?:my-(?:bench-)?)?bucket(?:/prefix|/object)?(?:[\s\"'`<>),;.\]]|$))"


@dataclass(frozen=True, slots=True)
class Rule:
    """`marks`: letters, in lower case, of which each match has one in it. `tail`: how a match goes on from
    its mark; only a rule with a tail matches more than one word. Marks of such rules do not overlap."""

    pattern: re.Pattern[str]
    shown: str
    marks: tuple[str, ...]
    tail: re.Pattern[str] | None = None


def _rule(pattern: str, shown: str, *marks: str) -> Rule:
    return Rule(re.compile(pattern), shown, marks)


def _named(names: str, value: str, *marks: str, ends: str) -> Rule:
    """A value behind a telling name; `ends` is what of the name stands behind the start of its mark."""
    return Rule(
        re.compile(f"{_KEY}(?:{names}){_MORE}){value}", re.IGNORECASE),
        r"\1\2[secret]",
        marks,
        re.compile(f"(?:{ends}){_MORE}{value}", re.IGNORECASE),
    )


def _option(names: str, *marks: str, ends: str) -> Rule:
    """The value of an option, `--db-password …`, behind a blank."""
    value = r"(\s+)(?![-\[])(?=\S{0,200}[A-Za-z])(?=\S{0,200}\d)\S{6,}"
    return Rule(
        re.compile(f"(--[a-z0-9-]{{0,40}}(?:{names}){_MORE}){value}", re.IGNORECASE),
        r"\1\2[secret]",
        marks,
        re.compile(f"(?:{ends}){_MORE}{value}", re.IGNORECASE),
    )


_TOKEN_STARTS = tuple(
    f"{start}{sign}"
    for start in ("hf", "sk", "pk", "rk", "glpat", "npm", "pypi", *("xox" + letter for letter in "abprs"))
    for sign in "_-"
)

# Most telling shape first: a key inside an address is a key.
RULES = (
    Rule(
        re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:(?!-----END)[\s\S])*(?:-----END[A-Z -]*)?"),
        "[private key]",
        ("private key",),
        re.compile("PRIVATE KEY-----"),
    ),
    _rule(
        r"\bgh[pousr]_[A-Za-z0-9_.-]{15,}[A-Za-z0-9_-]",
        "[token]",
        "ghp_", "gho_", "ghu_", "ghs_", "ghr_",
    ),
    _rule(r"\bdckr_pat_[\w-]{20,}", "[token]", "dckr_pat_"),
    _rule(r"\bGOCSPX-[\w-]{20,}", "[token]", "gocspx-"),
    _rule(r"\bdapi[0-9a-f]{32}\b", "[token]", "dapi"),
    _rule(r"https?://hooks\.slack\.com/[^\s\"'`<>)]+", "[token]", "hooks.slack.com"),
    _rule(r"https?://discord(?:app)?\.com/api/webhooks/[^\s\"'`<>)]+", "[token]", "/api/webhooks/"),
    Rule(
        re.compile(r"\b(wandb(?:\s+login)?(?:\s+--\w+)?\s+)[0-9a-f]{40}\b"),
        r"\1[API key]",
        ("and",),
        re.compile(r"andb(?:\s+login)?(?:\s+--\w+)?\s+[0-9a-f]{40}"),
    ),
    Rule(
        re.compile(r"\b((?:set-)?cookie:\s?)[^\s\"']{8,}", re.IGNORECASE),
        r"\1[secret]",
        ("cooki",),
        re.compile(r"cookie:\s?[^\s\"']{8}", re.IGNORECASE),
    ),
    _rule(
        r"(?i)([?&](?:x-[a-z]{2,8}-)?"
        r"(?:signature|sig|credential|security-token|token|access_token|api_?key|key|code)=)(?!\[)[^&\s\"'<>)]{8,}",
        r"\1[secret]",
        "signature=", "sig=", "credential=", "token=", "key=", "code=",
    ),
    _rule(r"\bgithub_pat_\w{20,}", "[token]", "github_pat_"),
    _rule(r"\beyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*", "[token]", "eyj"),  # a JSON web token
    _rule(r"\bAIza[\w-]{30,}", "[API key]", "aiza"),
    _rule(r"\bya29\.[\w.-]{10,}", "[token]", "ya29."),
    _rule(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", "[API key]", "akia", "asia"),
    _rule(
        r"\b(?:hf|sk|pk|rk|glpat|xox[abprs]|npm|pypi)[_-][A-Za-z0-9_-]{20,}",
        "[token]",
        *_TOKEN_STARTS,
    ),
    Rule(
        re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{12,}", re.IGNORECASE),
        r"\1 [token]",
        ("bear", "basi"),
        re.compile(r"(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{12}", re.IGNORECASE),
    ),
    Rule(
        re.compile(r"(\bauthorization:\s?[a-z]{1,12}\s)(?!\[)[A-Za-z0-9._~+/=-]{12,}", re.IGNORECASE),
        r"\1[token]",
        ("authoriz",),
        re.compile(r"authorization:\s?[a-z]{1,12}\s[A-Za-z0-9._~+/=-]{12}", re.IGNORECASE),
    ),
    _named("password|passwd|secret|credential", _VALUE, "passw", "secr", "edential",
           ends="password|passwd|secret|edential"),
    _named(_KEYS, _ODD_VALUE, "token", "pikey", "_key", "-key", "ccesskey",
           ends="token|pikey|ccesskey|[_-]key"),
    _option("password|passwd|secret|credential", "passw", "secr", "edential",
            ends="password|passwd|secret|edential"),
    _option(_KEYS, "token", "pikey", "_key", "-key", "ccesskey", ends="token|pikey|ccesskey|[_-]key"),
    _rule(r"(://)[^\s/@:]{1,80}:[^\s/@]{1,200}@", r"\1[credentials]@", "@"),
    _rule(
        r"(?i)\b(?:gs|gcs|s3a?|gcsfuse|az|abfss?|wasbs?)://" + _NOT_OURS + r"[^\s\"'`<>),;\]]+",
        "[bucket]",
        "gs://", "gcs://", "s3://", "s3a://", "fuse://", "az://", "abfs://", "abfss://", "wasb://", "wasbs://",
    ),
    _rule(
        r"https?://[\w.-]{0,100}\bs3[\w.-]{0,60}\.amazonaws\.com[^\s\"'`<>)]*", "[bucket]", "amazonaws."
    ),
    _rule(
        r"https?://[\w-]{1,80}\.(?:blob|dfs)\.core\.windows\.net[^\s\"'`<>)]*",
        "[bucket]",
        "core.windows.",
    ),
    _rule(r"(?<![\w.])/gcs/[^/\s:\"']{3,63}", "/gcs/[bucket]", "/gcs/"),
    _rule(r"https?://storage\.(?:cloud\.google|googleapis)\.com/[^\s\"'`<>),;\]]+", "[bucket]", "storage."),
    _rule(r"https?://[\w.-]{1,100}\.storage\.googleapis\.com\S*", "[bucket]", "storage."),
    _rule(r"[\w.-]{1,80}@[\w.-]{0,80}gserviceaccount\.com", "[service account]", "@"),
    _rule(
        r"(?<![\w.+-])(?!git@git)[\w.+-]{1,80}@(?:[\w-]{1,60}\.){1,5}[A-Za-z]{2,24}\b",
        "[e-mail address]",
        "@",
    ),
    _rule(
        r"\b((?:[a-z]{2,4}\.)?gcr\.io|[a-z0-9-]{2,30}-docker\.pkg\.dev)/[^\s:@\"'`]+",
        r"\1/[image]",
        "gcr.io/",
        "docker.pkg.dev/",
    ),
    _rule(r"\bprojects/[a-z0-9.:-]{4,60}", "projects/[project]", "projects/"),
    _rule(
        _LABELS + r"(?:internal|corp|lan|intranet|home\.arpa|googleplex\.com|corp\.google\.com)" + _PORT,
        "[internal host]",
        ".internal", ".corp", ".lan", ".intranet", ".home.arpa", ".googleplex.com",
    ),
    _rule(_LABELS + r"local:\d{2,5}\b", "[internal host]", ".local:"),
    _rule(_LABELS + r"(?:cluster\.local|svc)" + _PORT, "[internal host]", ".cluster.local", ".svc"),
    _rule(
        r"\b[a-z0-9][a-z0-9-]{0,80}-slice-job-\d+-\d+(?:\.[a-z0-9-]{1,80})*(?::\d+)?", "[host]", "slice-job-"
    ),
    _rule(r"\bgke-[a-z0-9-]{8,80}", "[host]", "gke-"),
    _rule(
        r"\b(?:10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2}"
        r"|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])(?:\.\d{1,3}){2})\b(?::\d+)?",
        "[internal address]",
        "10.", "192.168.", "172.", "100.",
    ),
    _rule(r"(/(?:home|Users|usr/local/google/home)/)[^/\s:\"']{1,60}", r"\1[user]", "/home/", "/users/"),
)  # fmt: skip
