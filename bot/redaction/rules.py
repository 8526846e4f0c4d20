r"""The rules: what is taken out, and by which signs it is found.

A rule is a pattern for Python's `re`, which decides, and a mark for Hyperscan, which only says where to look.
A match has a match of the mark inside it, in the same word, or in the same line if the rule is `wide`. The
most specific rule comes first: a key inside an address is a key.

Each pattern takes time linear in the text: what repeats without limit is consumed, or ends the match.
Letters, digits and blanks are those of ASCII.
"""

from collections.abc import Iterator
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from bot.redaction.providers import TOKEN_SHAPES


class RedactionRule(Struct, frozen=True):
    """`pattern` is shown as `shown`. `wide`: a match may have blanks in it. `random`: its group `odd` must
    look as if drawn by lot. `breaks`: what it finds may go on in the next line."""

    pattern: str
    shown: str
    mark: str
    wide: bool = False
    cased: bool = True
    mark_cased: bool = True
    random: bool = False
    breaks: bool = False


_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""Where a token may begin; also behind an escaped line break, as in a representation."""

_MARK_LETTERS = 8
"""Letters of a token that tell that it may be one; fewer at the end of a line, where it may be broken."""


def _tokens() -> Iterator[RedactionRule]:
    for start, letters, least in TOKEN_SHAPES:
        few = min(least, _MARK_LETTERS)
        mark = (
            rf"(?:\b|_|\\[nrt]){_without_lookahead(start)}(?:{letters}{{{few}}}|{letters}{{0,{few}}}\\?\r?\n)"
        )
        yield RedactionRule(f"{_START}{start}{letters}{{{least},}}", "[token]", mark, breaks=True)


def _without_lookahead(pattern: str) -> str:
    before, sign, _ = pattern.partition("(?=")
    return before if sign else pattern


def _word(pattern: str, shown: str, mark: str, *, cased: bool = True) -> RedactionRule:
    return RedactionRule(pattern, shown, mark, cased=cased, mark_cased=cased, breaks=True)


def _line(pattern: str, shown: str, mark: str, *, random: bool = False, cased: bool = False) -> RedactionRule:
    return RedactionRule(
        pattern, shown, mark, wide=True, cased=cased, mark_cased=False, random=random, breaks=True
    )


_QUOTE = r"\\{0,7}[\"']"

# … = …   …: …   … => …   "…": "…"   \"…\": \"…\"   ['…'] = '…'   …=SecretStr('…')   <…>…</…>   | … | … |
_ASSIGN = (
    rf"(?:{_QUOTE})?\]?[ \t]{{0,3}}"
    rf"(?:(?:=>|:=|==?|:|>)[ \t]{{0,40}}|(?<=[ \t])[|│][ \t]{{1,40}}|(?<=[\"']),[ \t]{{0,3}}(?={_QUOTE}))"
    rf"(?:(?:(?:[A-Z]\w{{0,30}}|str|bytes)\(|[bur])?{_QUOTE})?+"
)

# password_prod   tokenValue   secret2
_SUFFIX = r"(?:[_-][A-Za-z]{1,12}|\d{1,3}|[A-Z][a-z]{1,12}){0,2}"

_NO_VALUE = (
    r"(?!\[|--|(?i:none|null|nil|true|false|undefined|required|optional|redacted|masked|hidden|str)\b"
    r"|([*•x.])\1*(?!\S)|<|\$[{(]|\$[A-Za-z_]\w*(?!\S)|%\(|%s\b|\{\w*\})"
)
"""What stands where a secret would: nothing, a name of one, stars."""

_BARE = r"[^\s)\"',;&\\<>]"

_QUOTED = r"(?<=[\"'])[^\"'\n]{4,}+(?=\\{0,7}[\"'])"

_VALUE = rf"(?P<no>{_NO_VALUE})(?:{_QUOTED}|{_BARE}{{6,}})".replace(r"([*•x.])\1*", r"[*•x.]{1,200}")

# Unlike "unexpected token: expected": with a letter and a digit.
_ODD_VALUE = (rf"{_NO_VALUE}(?={_BARE}{{0,200}}\d)(?={_BARE}{{0,200}}[A-Za-z]){_BARE}{{8,}}").replace(
    r"([*•x.])\1*", r"[*•x.]{1,200}"
)

# The first letter of a name stands as a set, whatever its case: so a search skips to it, ten times as fast.
# Behind a bracket it is a placeholder of ours.
_NOT_SHOWN = r"(?<!\[.)"

_OWN_WORD = r"(?<![A-Za-z0-9].)"

_PASSWORDS = (
    rf"(?:[pP]{_NOT_SHOWN}(?i:ass(?:word|wd|phrase|code)s?)|[sS]{_NOT_SHOWN}(?i:ecrets?)|"
    rf"[cC]{_NOT_SHOWN}(?i:redentials?)|[pP](?<=[_;-].)(?i:wd)|P(?<=[a-z].)wd|"
    + "|".join(
        rf"[pP](?i:(?:(?<={name}.)|(?<={name}_.))ass)"
        for name in [
            "db",
            "user",
            "admin",
            "smtp",
            "ssh",
            "root",
            "mysql",
            "redis",
            "ftp",
            "mail",
            "postgres",
            "pg",
            "http",
        ]
    )
    + ")"
)

_KINDS_OF_KEYS = [
    "api",
    "access",
    "account",
    "client",
    "private",
    "signing",
    "encryption",
    "storage",
    "ssh",
    "master",
    "auth",
    "session",
    "deploy",
    "license",
    "secret",
    "service",
    "subscription",
    "app",
    "application",
    "consumer",
    "webhook",
    "admin",
    "write",
    "read",
    "root",
    "primary",
    "secondary",
    "hmac",
    "aes",
    "jwt",
    "ingest",
    "sharedaccess",
    "aws",
    "wandb",
]

_KEYS = (
    rf"(?:[tT]{_NOT_SHOWN}(?i:oken)|"
    rf"[kK](?i:(?:{'|'.join(f'(?<={kind}.)|(?<={kind}[_.-].)' for kind in _KINDS_OF_KEYS)}|(?-i:(?<=[A-Z0-9]_K)(?=EY)))"
    r"ey(?:[_-]?(?:data|id|base))?)|"
    rf"[aA]{_OWN_WORD}(?i:uths?)|[pP]{_OWN_WORD}(?i:at)|[jJ]{_OWN_WORD}(?i:wt)|[dD]{_OWN_WORD}(?i:sn)|"
    rf"[sS]{_OWN_WORD}(?i:as)|[sS](?i:ession[_-]?id)|[cC](?i:onnection[_-]?string)|P(?<=[A-Z0-9]_P)ASS)"
)

_NOT_OF_KEYS = r"(?![_-]?(?i:path|file|dir|type|count|length|size|limit|embed|name|index))"

_NAME_MARK = (
    rf"(?:(?:pass(?:word|wd|phrase|code)|secret|credential)s?|_pass|_?pwd|token|(?:{'|'.join(_KINDS_OF_KEYS)})[_.-]?key|"
    r"(?-i:[A-Z0-9]_KEY)|\bauths?|_auth|\b(?:pat|jwt|dsn|sas)|_(?:pat|jwt|dsn|sas)|session[_-]?id|connection[_-]?string)"
    r"(?:[_-]?(?:data|id|base))?(?:[_-][a-z]+|\d+|(?-i:[A-Z][a-z]+))*"
)

_NAMED = rf"{_NAME_MARK}\\*[\"']?\]?[ \t]*(?:[=:>|,]|│)"

_NAMED_AND_BLANK = rf"{_NAME_MARK}[ \t]+[\"']?[^\s\"'=:|]"

_ENVIRONMENT_NAME = (
    r"[A-Z](?<![A-Za-z0-9_].)[A-Z0-9_]{0,60}?"
    r"(?:PASSWORD|PASSWD|PASS|PWD|TOKEN|SECRET|_KEY|_PAT|CREDENTIALS?|CONNECTION_STRING)(?:_[A-Z]{1,8})?"
)

# A word of digits, small and capital letters, which is no path.
_MIXED = (
    r"(?<![A-Za-z0-9+/=_.-])(?=[A-Za-z+/=_-]{0,30}[0-9])(?=[A-Z0-9+/=_-]{0,30}[a-z])(?=[a-z0-9+/=_-]{0,30}[A-Z])"
    r"(?P<odd>[A-Za-z0-9+/=_-]{12,})"
)

_WORDS_OF_SECRETS = (
    r"(?:[pP](?<![\w\[].)(?i:ass(?:word|wd|phrase)|rivate[ _-]?key)|[sS](?<![\w\[].)(?i:ecret)|"
    r"[tT](?<![\w\[].)(?i:oken)|[cC](?<![\w\[].)(?i:redentials?)|[aA](?<![\w\[].)(?i:pi[ _-]?key|ccess[ _-]?key)|"
    r"[bB](?<![\w\[].)(?i:earer))"
)

_WORD_MARK = r"\b(?:pass(?:word|wd|phrase)|secret|token|credentials?|api[ _-]?key|access[ _-]?key|private[ _-]?key|bearer)\b"

_AWS_ID = r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"

_AWS_MARK = "(?-i:(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{8})"

VALUE_MARK = r"\bvalue\\*[\"']?[ \t]*[:=]"

_HOST = r"(?<![\w.-])[a-z0-9][a-z0-9-]{0,62}\.(?:[a-z0-9-]{1,63}\.){0,7}"

_PORT = r"\b(?![\w.-]*\w)(?::\d+)?"

# Examples in our own advice, which reveal nothing.
_NOT_OUR_EXAMPLE = r"(?!(?:my-(?:bench-)?)?bucket(?:/prefix|/object)?(?:[\s\"'`<>),;.\]]|$))"

_SECRETS = (
    _word(r"https?://hooks\.slack\.com/[^\s\"'`<>)]+", "[token]", r"hooks\.slack\.com/", cased=False),
    _word(
        r"https?://discord(?:app)?\.com/api/webhooks/[^\s\"'`<>)]+", "[token]", "/api/webhooks/", cased=False
    ),
    _word(
        r"https?://[\w.-]{1,80}\.webhook\.office\.com/[^\s\"'`<>)]+",
        "[token]",
        r"webhook\.office\.com/",
        cased=False,
    ),
    _word(r"https?://hooks\.zapier\.com/[^\s\"'`<>)]+", "[token]", r"hooks\.zapier\.com/", cased=False),
    # An access key's id, and what stands beside it that looks like its secret.
    _line(
        rf"((?-i:{_AWS_ID})\b[^\n]{{1,120}}?)(?<![A-Za-z0-9+/=_-])(?![0-9a-f]{{40}})[A-Za-z0-9+/]{{40}}(?![A-Za-z0-9+/=])",
        r"\1[secret]",
        _AWS_MARK,
    ),
    _word(rf"{_START}{_AWS_ID}\b", "[API key]", _AWS_MARK),
    _line(
        r"\b(wandb(?:\s+login)?(?:\s+--\w+)?\s+)[0-9a-f]{40}\b",
        r"\1[API key]",
        r"wandb(?:\s+login)?(?:\s+--\w+)?\s+[0-9a-f]{8}",
    ),
    _line(r"\b((?:set-)?cookie2?[\"']?:\s?+[\"']?+)(?!\[)[^\n\"']{8,}", r"\1[secret]", r"cookie2?[\"']?:"),
    _word(
        r"([?&](?:x-[a-z]{2,8}-)?"
        r"(?:signature|sig|credential|security-token|token|access_token|api_?key|key|code)=)"
        r"(?!\[)[^&\s\"'<>)]{8,}",
        r"\1[secret]",
        "(?:signature|sig|credential|token|key|code)=",
        cased=False,
    ),
    _word(rf"{_START}eyJ[\w-]{{8,}}\.[\w-]{{4,}}(?:\.[\w-]*){{1,4}}", "[token]", r"eyJ[\w-]{8}"),
    _word(rf"{_START}AIza[\w-]{{30,}}", "[API key]", r"AIza[\w-]{8}"),
    *_tokens(),
    _word(r"(?<![A-Za-z0-9_~.])[\w~.]{3}\dQ~[\w~.-]{30,36}", "[token]", r"\dQ~[\w~.-]{8}"),
    _word(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{86}==", "[token]", r"[A-Za-z0-9+/]{12}=="),
    _word(r"\b[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}", "[token]", "AZDO"),
    _word(r"(?<![\d:])\d{8,10}:A[\w-]{32,36}", "[token]", r"\d{8}:A[\w-]{20}"),
    _word(r"(?<![A-Za-z0-9])[0-9a-f]{32}-us\d{1,2}\b", "[token]", r"[0-9a-f]{8}-us\d"),
    _line(
        r"\b(bearer|basic)\s+(?!\[)[A-Za-z0-9._~+/=-]{12,}",
        r"\1 [token]",
        r"(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{12}",
    ),
    _line(
        rf"(\bauthorization(?:{_QUOTE})?[ \t]{{0,3}}[:=,][ \t]{{0,3}}(?:[bu]?{_QUOTE})?(?:[a-z]{{1,20}}\s)?)"
        r"(?!\[|(?:bearer|basic|token|digest)\b)[A-Za-z0-9._~+/=:-]{12,}",
        r"\1[token]",
        r"authorization",
    ),
    # A name, then its value: {"name": "HF_TOKEN", "value": "…"}
    _line(
        rf"((?:name|key|variable)(?:{_QUOTE})?[ \t]{{0,3}}[:=][ \t]{{0,3}}(?:{_QUOTE})?[\w.-]{{0,40}}?(?:{_PASSWORDS}|{_KEYS})"
        rf"[\w.-]{{0,20}}(?:{_QUOTE})?[ \t]?[,;]?[ \t]{{1,3}}(?:{_QUOTE})?value(?:{_QUOTE})?[ \t]{{0,3}}[:=][ \t]{{0,3}}"
        rf"(?:{_QUOTE})?){_NO_VALUE}[^\s\"'\\]{{4,}}".replace(r"([*•x.])\1*", r"[*•x.]{1,200}"),
        r"\1[secret]",
        rf"{_NAME_MARK}[\w.-]*\\*[\"']?[ \t]?[,;]?[ \t]+\\*[\"']?value\\*[\"']?[ \t]*[:=]",
    ),
    # A whole word in an environment: DB_PASSWORD=a,b;c
    RedactionRule(
        rf"({_ENVIRONMENT_NAME}=)(?![\[\"'$<{{*])(?=\S{{0,200}}\d)(?=\S{{0,200}}[A-Za-z])[^\s\"'`<>)]{{8,}}",
        r"\1[secret]",
        _NAMED,
        wide=True,
        mark_cased=False,
        breaks=True,
    ),
    _line(
        rf"({_PASSWORDS}{_SUFFIX}{_ASSIGN}){_VALUE}",
        r"\1[secret]",
        _NAMED,
        cased=True,
    ),
    _line(
        rf"({_KEYS}{_NOT_OF_KEYS}{_SUFFIX}{_ASSIGN}){_ODD_VALUE}",
        r"\1[secret]",
        _NAMED,
        cased=True,
    ),
    # --db-password …   '--token', '…' is an assignment
    _line(
        rf"(--(?<!---)(?=[a-z])[a-z0-9-]{{0,40}}?(?:{_PASSWORDS}|{_KEYS}){_NOT_OF_KEYS}{_SUFFIX}[ \t]+[\"']?)(?![-\[])"
        r"(?=[^\s\"']{0,200}[A-Za-z])(?=[^\s\"']{0,200}\d)[^\s\"']{6,}",
        r"\1[secret]",
        _NAMED_AND_BLANK,
    ),
    # ENV HF_TOKEN …   HF_TOKEN     …
    _line(
        rf"({_ENVIRONMENT_NAME}[ \t]{{1,40}})(?![-\[])"
        r"(?=[^\s\"']{0,200}[A-Za-z])(?=[^\s\"']{0,200}\d)[^\s\"'(){}]{8,}(?![^\s\"'])",
        r"\1[secret]",
        _NAMED_AND_BLANK,
        cased=True,
    ),
    _line(
        r"((?<![\w-])(?:-u|--user|--proxy-user|--creds|--auth)(?:[= ]|[\"'],[ \t]?)[\"']?[^\s:\"'/-][^\s:\"'/]{0,80}:)"
        r"(?!\[|\d+(?![^\s\"'])|[/$])[^\s\"']{4,}",
        r"\1[secret]",
        r"(?:-u|user|creds|auth)(?:[= ]|[\"'],[ \t]?)[\"']?[^\s:\"'/-][^\s:\"'/]{0,80}:[^\s\"'/]",
    ),
    _line(r"(\bsshpass[ \t]+-p[ \t]?[\"']?)(?!\[)[^\s\"']{4,}", r"\1[secret]", "sshpass"),
    _line(r"(\bmysql[a-z]{0,8}\b[^\n]{0,200}?\s-p)(?!\[)[^\s\"']{4,}", r"\1[secret]", r"\bmysql"),
    _line(
        r"(\blogin\b[^\n]{0,200}?\s(?:-p|--password)[ =][\"']?)(?![\[-])[^\s\"']{4,}",
        r"\1[secret]",
        r"\blogin\b",
    ),
    _line(
        r"(\becho[ \t]+(?:-n[ \t]+)?[\"']?)(?![\[$])[^\s\"']{6,}(?=[\"']?[ \t]*\|[^\n|]{1,100}(?:password|token)-?stdin)",
        r"\1[secret]",
        r"(?:password|token)-?stdin",
    ),
    _line(
        r"(\b(?:machine|login)[ \t]+\S{1,100}[ \t]+password[ \t]+)(?!\[)\S{4,}",
        r"\1[secret]",
        r"password[ \t]+\S{4}",
    ),
    _line(r"(^[ \t]*password[ \t]+)(?!\[)(?=\S{0,200}\d)\S{8,}(?=\s*$)", r"\1[secret]", r"password[ \t]+\S{4}"),
    # … the token 8dyfuiRyqV…
    _line(
        rf"({_WORDS_OF_SECRETS}\b[^\n]{{0,60}}?){_MIXED}",
        r"\1[secret]",
        _WORD_MARK,
        random=True,
        cased=True,
    ),
    _line(
        rf"({_WORDS_OF_SECRETS}\b[^\n=:]{{0,20}}?[\s\"'(])[0-9a-f]{{32,128}}\b",
        r"\1[secret]",
        _WORD_MARK,
        cased=True,
    ),
    _word(r"(://)(?!\[)[^\s/@:]{0,80}:(?!\[)[^\s/@]{1,200}@", r"\1[credentials]@", r"://[^\s/@]*@"),
    _word(
        r"(?<=https)(://)(?=[^\s/@]{0,60}\d)[A-Za-z0-9_.~%+-]{16,200}@", r"\1[credentials]@", r"://[^\s/@]*@"
    ),
)  # fmt: skip

_INTERNAL_NAMES = (
    _word(
        r"\b(?:gs|gcs|s3a?|gcsfuse|az|abfss?|wasbs?)://" + _NOT_OUR_EXAMPLE + r"[^\s\"'`<>),;\]]+",
        "[bucket]",
        r"(?:gs|gcs|s3a?|gcsfuse|az|abfss?|wasbs?)://\S",
        cased=False,
    ),
    _word(
        r"https?://[\w.-]{0,100}\bs3[\w.-]{0,60}\.amazonaws\.com[^\s\"'`<>)]*", "[bucket]", r"amazonaws\.com"
    ),
    _word(
        r"https?://[\w-]{1,80}\.(?:blob|dfs)\.core\.windows\.net[^\s\"'`<>)]*",
        "[bucket]",
        r"core\.windows\.net",
    ),
    _word(r"(?<![\w.])/gcs/[^/\s:\"']{3,63}", "/gcs/[bucket]", "/gcs/[^/]{3}"),
    _word(
        r"https?://storage\.(?:cloud\.google|googleapis)\.com/[^\s\"'`<>),;\]]+",
        "[bucket]",
        r"storage\.(?:cloud\.google|googleapis)\.com/",
    ),
    _word(r"https?://[\w.-]{1,100}\.storage\.googleapis\.com\S*", "[bucket]", r"storage\.googleapis\.com"),
    _word(r"[\w.-]{1,80}@[\w.-]{0,80}gserviceaccount\.com", "[service account]", r"gserviceaccount\.com"),
    _word(
        r"(?<![\w.+-])(?!git@git)[\w.+-]{1,80}@(?:[\w-]{1,60}\.){1,5}[A-Za-z]{2,24}\b",
        "[e-mail address]",
        r"@[\w-]+\.[\w-]",
    ),
    _word(
        r"\b((?:[a-z]{2,4}\.)?gcr\.io|[a-z0-9-]{2,30}-docker\.pkg\.dev)/(?!\[)[^\s:@\"'`]+",
        r"\1/[image]",
        r"(?:gcr\.io|docker\.pkg\.dev)/",
    ),
    _word(r"\bprojects/[a-z0-9.:-]{4,60}", "projects/[project]", "projects/[a-z0-9.:-]{4}"),
    _word(
        _HOST + r"(?:internal|corp|lan|intranet|home\.arpa|googleplex\.com|corp\.google\.com)" + _PORT,
        "[internal host]",
        r"[a-z0-9-]\.(?:internal|corp|lan|intranet|home\.arpa|googleplex\.com)",
    ),
    _word(_HOST + r"local:\d{2,5}\b", "[internal host]", r"\.local:\d\d"),
    _word(_HOST + r"(?:cluster\.local|svc)" + _PORT, "[internal host]", r"\.(?:cluster\.local|svc)"),
    _word(
        r"\b[a-z0-9][a-z0-9-]{0,80}-slice-job-\d+-\d+(?:\.[a-z0-9-]{1,80})*(?::\d+)?",
        "[host]",
        r"slice-job-\d",
    ),
    _word(r"\bgke-[a-z0-9-]{8,80}", "[host]", "gke-[a-z0-9-]{8}"),
    _word(
        r"\b(?:10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2}"
        r"|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])(?:\.\d{1,3}){2})\b(?::\d+)?",
        "[internal address]",
        r"(?:10\.\d{1,3}|192\.168|172\.\d\d|100\.\d{2,3})\.\d{1,3}\.\d",
    ),
    _word(r"(/(?:home|Users|usr/local/google/home)/)(?!\[)[^/\s:\"']{1,60}", r"\1[user]", r"/(?:home|Users)/[^/\s:\"']"),
)  # fmt: skip

RULES = (*_SECRETS, *(replace(rule, breaks=False) for rule in _INTERNAL_NAMES))
"""In the order in which they are applied."""

RULES_VERSION = sha256(
    "\n".join(f"{rule.pattern}\t{rule.shown}\t{rule.cased}\t{rule.random}" for rule in RULES).encode()
).hexdigest()[:16]
"""What an older version redacted is redacted anew."""
