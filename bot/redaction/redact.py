"""Secrets, buckets, accounts and internal names replaced by what they are, in brackets.

The rules look for shapes, so they also meet names that nobody has listed. One pass finds the words in which
a shape can be; only these are shown to the rules. Secrets that are percent-encoded or broken over two lines
are found too.

Each rule runs in time linear in the text. Only a rule with a `tail` may match white space; every other one
matches inside a word, so a word without its marks need not be shown to it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from urllib.parse import unquote

from msgspec import Struct

from bot.logs.scanner import LiteralFinder

# hf_api_token = "…"   {'SIGNING_KEY': '…'}
_KEY_START = r"(?<![A-Za-z0-9])((?:[a-z0-9]{1,20}[_-]){0,4}"

_KEY_END = r"(?:[_-][a-z]{1,12}){0,2}"

_ASSIGN = r"(\\?[\"']?\s?[=:]\s?\\?[\"']?)"

_VALUE = _ASSIGN + r"(?!\[)[^\s)\"',;&\\]{6,}"

# "unexpected token: expected" is none
_ODD_VALUE = _ASSIGN + r"(?!\[)(?=\S{0,200}\d)(?=\S{0,200}[A-Za-z])[^\s)\"',;&\\]{8,}"

_KEY_NAMES = (
    "token|api[_-]?key|access[_-]?key|"
    "(?:signing|encryption|private|storage|account|ssh|master|auth|session|deploy|license|secret)[_-]key"
)

# metadata.google.internal:80
_HOST = r"(?<![\w.-])[a-z0-9](?:[a-z0-9-]{0,62}\.){1,8}"

_PORT = r"\b(?![\w.-]*\w)(?::\d+)?"

# Examples in our own advice, which reveal nothing.
_NOT_OUR_EXAMPLE = r"(?!(?:my-(?:bench-)?)?bucket(?:/prefix|/object)?(?:[\s\"'`<>),;.\]]|$))"


class RedactionRule(Struct, frozen=True):
    """`marks`: letters, in lower case, of which each match has one in it. `tail`: how a match goes on from
    its mark; only a rule with a tail matches more than one word. Marks of such rules do not overlap."""

    pattern: re.Pattern[str]
    shown: str
    marks: tuple[str, ...]
    tail: re.Pattern[str] | None = None


def _rule(pattern: str, shown: str, *marks: str) -> RedactionRule:
    return RedactionRule(re.compile(pattern), shown, marks)


def _named(names: str, value: str, *marks: str, ends: str) -> RedactionRule:
    """A value behind the name of a secret; `ends` is the part of the name that follows the start of its
    mark."""
    return RedactionRule(
        re.compile(f"{_KEY_START}(?:{names}){_KEY_END}){value}", re.IGNORECASE),
        r"\1\2[secret]",
        marks,
        re.compile(f"(?:{ends}){_KEY_END}{value}", re.IGNORECASE),
    )


def _option(names: str, *marks: str, ends: str) -> RedactionRule:
    """The value of an option, `--db-password …`, behind a blank."""
    value = r"(\s+)(?![-\[])(?=\S{0,200}[A-Za-z])(?=\S{0,200}\d)\S{6,}"
    return RedactionRule(
        re.compile(f"(--[a-z0-9-]{{0,40}}(?:{names}){_KEY_END}){value}", re.IGNORECASE),
        r"\1\2[secret]",
        marks,
        re.compile(f"(?:{ends}){_KEY_END}{value}", re.IGNORECASE),
    )


_TOKEN_STARTS = tuple(
    f"{start}{sign}"
    for start in ("hf", "sk", "pk", "rk", "glpat", "npm", "pypi", *("xox" + letter for letter in "abprs"))
    for sign in "_-"
)

# Most specific shape first: a key inside an address is a key.
RULES = (
    RedactionRule(
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
    RedactionRule(
        re.compile(r"\b(wandb(?:\s+login)?(?:\s+--\w+)?\s+)[0-9a-f]{40}\b"),
        r"\1[API key]",
        ("and",),
        re.compile(r"andb(?:\s+login)?(?:\s+--\w+)?\s+[0-9a-f]{40}"),
    ),
    RedactionRule(
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
    RedactionRule(
        re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{12,}", re.IGNORECASE),
        r"\1 [token]",
        ("bear", "basi"),
        re.compile(r"(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{12}", re.IGNORECASE),
    ),
    RedactionRule(
        re.compile(r"(\bauthorization:\s?[a-z]{1,12}\s)(?!\[)[A-Za-z0-9._~+/=-]{12,}", re.IGNORECASE),
        r"\1[token]",
        ("authoriz",),
        re.compile(r"authorization:\s?[a-z]{1,12}\s[A-Za-z0-9._~+/=-]{12}", re.IGNORECASE),
    ),
    _named("password|passwd|secret|credential", _VALUE, "passw", "secr", "edential",
           ends="password|passwd|secret|edential"),
    _named(_KEY_NAMES, _ODD_VALUE, "token", "pikey", "_key", "-key", "ccesskey",
           ends="token|pikey|ccesskey|[_-]key"),
    _option("password|passwd|secret|credential", "passw", "secr", "edential",
            ends="password|passwd|secret|edential"),
    _option(_KEY_NAMES, "token", "pikey", "_key", "-key", "ccesskey", ends="token|pikey|ccesskey|[_-]key"),
    _rule(r"(://)[^\s/@:]{1,80}:[^\s/@]{1,200}@", r"\1[credentials]@", "@"),
    _rule(
        r"(?i)\b(?:gs|gcs|s3a?|gcsfuse|az|abfss?|wasbs?)://" + _NOT_OUR_EXAMPLE + r"[^\s\"'`<>),;\]]+",
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
        _HOST + r"(?:internal|corp|lan|intranet|home\.arpa|googleplex\.com|corp\.google\.com)" + _PORT,
        "[internal host]",
        ".internal", ".corp", ".lan", ".intranet", ".home.arpa", ".googleplex.com",
    ),
    _rule(_HOST + r"local:\d{2,5}\b", "[internal host]", ".local:"),
    _rule(_HOST + r"(?:cluster\.local|svc)" + _PORT, "[internal host]", ".cluster.local", ".svc"),
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

RULES_VERSION = sha256(
    "\n".join(f"{rule.pattern.pattern} {rule.pattern.flags} {rule.shown}" for rule in RULES).encode()
).hexdigest()[:16]
"""What an older version redacted is redacted anew."""

# GET /?next=gs%3A%2F%2Fbench%2Frun
_PERCENT_ENCODED = re.compile(r"(?<![^\s\"'<>])[^\s\"'<>%]*+%[^\s\"'<>]*+")

# … AWS_SECRET_ACCESS_KEY=Vmtzkzk6yExnbFbKPdAl⏎0j/HVgvCWltQX7D0M5Pf
_LINE_BREAK_IN_WORD = re.compile(
    r"(?<=[A-Za-z0-9_+/=.-])\r?\n(?=([A-Za-z0-9_+/.-]{6,400}={0,2})(?:[\s\"'),;\]}]|$))"
)

# … and not EXIT_CODE=1 or password=…, which are lines of their own.
# Unlike a word of a sentence: with a digit in it, or a capital in the middle
_SECRET_LIKE = re.compile(r"[0-9]|[a-z][A-Z]")

_CONTEXT_BEFORE = 300
"""Characters before a break that a rule may need to see: a name and half a secret."""

_DECODE_ROUNDS = 3
"""An address inside an address inside an address."""

Rules = Callable[[str], str]


def deobfuscated(text: str, rules: Rules) -> str:
    """`text` with what the rules would take out, were it written plainly, written plainly."""
    if "%" in text:
        text = _PERCENT_ENCODED.sub(lambda found: _percent_decoded(found[0], rules), text)
    return _rejoined(text, rules) if "\n" in text else text


def _percent_decoded(word: str, rules: Rules) -> str:
    plain = word
    for _ in range(_DECODE_ROUNDS):
        plain = unquote(plain)
    return plain if rules(plain) != plain and plain != word else word


def _rejoined(text: str, rules: Rules) -> str:
    """Without those line breaks behind which a secret goes on: where the rules swallow the rest of it."""
    parts, done = [], 0
    for found in _LINE_BREAK_IN_WORD.finditer(text):
        front = text[max(done, found.start() - _CONTEXT_BEFORE) : found.start()]
        line = front.rpartition("\n")[2]
        if _SECRET_LIKE.search(found[1]) and _continues_secret(line, found[1], rules):
            parts.append(text[done : found.start()])
            done = found.end()
    return "".join((*parts, text[done:])) if parts else text


def _continues_secret(line: str, rest: str, rules: Rules) -> bool:
    """Whether the rules, applied to both lines joined, match across the break."""
    whole = rules(line + rest)
    return whole != line + rest and not whole.endswith(rest)


MAX_REDACTED_LENGTH = 20_000  # characters looked at; nothing longer is ever shown

_CACHED_LENGTH = 1_000
"""Characters of a text worth remembering: names and reasons, not pieces of a log."""

_TAIL_BYTES = 1_200
"""Bytes read behind a mark: 200 characters in front of a digit, of up to four bytes, and the rest."""

_CASE_FOLDED = re.compile("[\u017f\u212a\u0130\u0131]")
"""Letters that a rule without regard to case takes for s, k and i."""

_SPACE = re.compile(rb"[ \n]")

_TEXT_RULES = [rule for rule in RULES if rule.tail is not None]

_WORD_RULES = [rule for rule in RULES if rule.tail is None]


def _literal_marks(rules: Sequence[RedactionRule]) -> list[str]:
    """Every mark of these rules that is found by a search for literals: not the single sign."""
    return sorted({mark for rule in rules for mark in rule.marks if len(mark) > 1})


def _can_overlap(one: str, other: str) -> bool:
    """Whether `other` can begin inside `one`, where a search goes on behind `one` and would miss it."""
    return any(one[n:].startswith(other[: len(one) - n]) for n in range(len(one)))


_TEXT_MARKS, _WORD_MARKS = _literal_marks(_TEXT_RULES), _literal_marks(_WORD_RULES)

_TEXT_SEARCH, _WORD_SEARCH = (
    LiteralFinder([mark.encode() for mark in marks]) for marks in (_TEXT_MARKS, _WORD_MARKS)
)

_TAILS = [
    [rule.tail for rule in _TEXT_RULES if rule.tail is not None and mark in rule.marks]
    for mark in _TEXT_MARKS
]

_RULES_OF_MARK = [
    frozenset(
        n for n, rule in enumerate(_WORD_RULES) if any(_can_overlap(mark, other) for other in rule.marks)
    )
    for mark in _WORD_MARKS
]

_RULES_OF_AT = frozenset(n for n, rule in enumerate(_WORD_RULES) if "@" in rule.marks)


def redact(value: str) -> str:
    """A short text with secrets and internal names replaced. Redacting twice changes nothing more."""
    return _cached(value) if len(value) <= _CACHED_LENGTH else _redact(value[:MAX_REDACTED_LENGTH])


@lru_cache(maxsize=4096)  # a report says the same names and reasons many times over
def _cached(value: str) -> str:
    return _redact(value)


def _redact(text: str) -> str:
    return _redact_plain(deobfuscated(text, _redact_plain))


def _redact_plain(text: str) -> str:
    """By the rules, of what is written as it is meant."""
    raw = text.encode("utf-8", "surrogatepass")
    folded = raw.lower()  # of the letters of ASCII only
    if (not raw.isascii() and _CASE_FOLDED.search(text)) or _has_multiword_match(raw, folded):
        return _apply_rules(text, RULES)
    shown, done = [], 0
    for start, end, rules in _marked_words(raw, folded):
        word = raw[start:end].decode("utf-8", "surrogatepass")
        shown += [raw[done:start], _apply_rules(word, rules).encode("utf-8", "surrogatepass")]
        done = end
    return b"".join((*shown, raw[done:])).decode("utf-8", "surrogatepass") if shown else text


def _apply_rules(text: str, rules: Sequence[RedactionRule]) -> str:
    for rule in rules:
        text = rule.pattern.sub(rule.shown, text)
    return text


def _has_multiword_match(raw: bytes, folded: bytes) -> bool:
    """Whether a rule that may match several words may match here."""
    return any(
        tail.match(raw[at : at + _TAIL_BYTES].decode("utf-8", "replace"))
        for mark, at in _TEXT_SEARCH.places(folded)
        for tail in _TAILS[mark]
    )


def _marked_words(raw: bytes, folded: bytes) -> Iterator[tuple[int, int, list[RedactionRule]]]:
    """The words that have marks: where they begin and end, and the rules for them in order."""
    found = [(at, _RULES_OF_MARK[mark]) for mark, at in _WORD_SEARCH.places(folded)]
    found += [(at.start(), _RULES_OF_AT) for at in re.finditer(b"@", raw)]
    start, end = 0, -1
    rules: frozenset[int] = frozenset()
    for at, more in sorted(found, key=lambda place: place[0]):
        if at >= end:
            if rules:
                yield start, end, [_WORD_RULES[n] for n in sorted(rules)]
            start = max(end, raw.rfind(b" ", max(end, 0), at) + 1, raw.rfind(b"\n", max(end, 0), at) + 1)
            behind = _SPACE.search(raw, at)
            end, rules = behind.start() if behind else len(raw), frozenset()
        rules |= more
    if rules:
        yield start, end, [_WORD_RULES[n] for n in sorted(rules)]
