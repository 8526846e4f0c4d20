"""A corpus of secrets as logs show them: formats of providers in the surroundings of logs, from one seed.

`SHOWN` was written beside the rules; `HELD_OUT` after them, without a look at what they make of it. No secret
here is anybody's. Prefixes stand in parts, so that no service that hosts code takes them for real.
"""

import base64
import html
import json
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
URLSAFE = ALNUM + "-_"
BASE64 = ALNUM + "+/"
ZERO_WIDTH = "\u200b"


@dataclass(frozen=True, slots=True)
class Sample:
    """A piece of a log with a secret in it; `core` must not be recoverable from what is shown."""

    provider: str
    form: str
    text: str
    core: str


@dataclass(frozen=True, slots=True)
class Made:
    """A secret, the part of it that gives it away, and the name under which it stands in an environment."""

    text: str
    core: str
    name: str


Dice = random.Random
Provider = Callable[[Dice], Made]
Form = Callable[[Dice, Made], str]


def word(dice: Dice, length: int, letters: str = ALNUM) -> str:
    """Letters by lot, with a digit and, if there are any, small and capital ones."""
    made = [dice.choice(letters) for _ in range(length)]
    kinds = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
    for place, kind in zip(dice.sample(range(length), 3), kinds, strict=True):
        if there := [one for one in kind if one in letters]:
            made[place] = dice.choice(there)
    return "".join(made)


def _token(name: str, prefix: str, length: int, letters: str = ALNUM, suffix: str = "") -> Provider:
    def make(dice: Dice) -> Made:
        core = word(dice, length, letters)
        return Made(prefix + core + suffix, core, name)

    return make


def _password(name: str, length: int, letters: str = ALNUM) -> Provider:
    return _token(name, "", length, letters)


def _jwt(dice: Dice) -> Made:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    core = word(dice, 43, URLSAFE)
    body = part({"sub": word(dice, 12), "exp": dice.randrange(10**9, 2 * 10**9)})
    return Made(f"{part({'alg': 'RS256', 'typ': 'JWT'})}.{body}.{core}", core, "ID_TOKEN")


PROVIDERS: dict[str, Provider] = {
    "github": _token("GITHUB_TOKEN", "gh" + "p_", 36),
    "github app": _token("GH_TOKEN", "gh" + "s_", 36),
    "github fine": _token("GITHUB_PAT", "github_" + "pat_", 82, ALNUM + "_"),
    "gitlab": _token("CI_JOB_TOKEN", "gl" + "pat-", 20, URLSAFE),
    "gitlab deploy": _token("DEPLOY_TOKEN", "gl" + "dt-", 20, URLSAFE),
    "gitlab runner": _token("RUNNER_TOKEN", "gl" + "rt-", 20, URLSAFE),
    "hugging face": _token("HF_TOKEN", "h" + "f_", 34, string.ascii_letters),
    "hugging face org": _token("HF_ORG_TOKEN", "api" + "_org_", 34, string.ascii_letters),
    "wandb": _token("WANDB_API_KEY", "", 40, HEX),
    "wandb v1": _token("WANDB_API_KEY", "wandb" + "_v1_", 60, ALNUM + "_"),
    "openai": _token("OPENAI_API_KEY", "sk-" + "proj-", 64, URLSAFE),
    "anthropic": _token("ANTHROPIC_API_KEY", "sk-" + "ant-api03-", 93, URLSAFE, "AA"),
    "groq": _token("GROQ_API_KEY", "gs" + "k_", 52),
    "xai": _token("XAI_API_KEY", "xa" + "i-", 80),
    "nvidia": _token("NGC_API_KEY", "nv" + "api-", 64, URLSAFE),
    "replicate": _token("REPLICATE_API_TOKEN", "r8" + "_", 37),
    "langsmith": _token("LANGSMITH_API_KEY", "lsv2" + "_pt_", 32, HEX, "_0a1b2c3d4e"),
    "pinecone": _token("PINECONE_API_KEY", "pc" + "sk_", 60, ALNUM + "_"),
    "google api": _token("GOOGLE_API_KEY", "AI" + "za", 35, URLSAFE),
    "google refresh": _token("GOOGLE_REFRESH_TOKEN", "1/" + "/0", 60, URLSAFE),
    "google access": _token("GOOGLE_OAUTH_TOKEN", "ya" + "29.", 100, URLSAFE),
    "aws id": _token("AWS_ACCESS_KEY_ID", "AK" + "IA", 16, string.ascii_uppercase + "234567"),
    "aws secret": _token("AWS_SECRET_ACCESS_KEY", "", 40, BASE64),
    "aws session": _token("AWS_SESSION_TOKEN", "IQoJb3JpZ2lu" + "X2Vj", 200, BASE64),
    "azure storage": _token("AZURE_STORAGE_KEY", "", 86, BASE64, "=="),
    "azure client": _token("AZURE_CLIENT_SECRET", "", 40, ALNUM + "~."),
    "vault": _token("VAULT_TOKEN", "hv" + "s.", 90, URLSAFE),
    "digital ocean": _token("DIGITALOCEAN_TOKEN", "dop" + "_v1_", 64, HEX),
    "grafana": _token("GRAFANA_TOKEN", "gl" + "sa_", 32, ALNUM, "_0a1b2c3d"),
    "tailscale": _token("TS_AUTHKEY", "ts" + "key-auth-k", 30, ALNUM + "-"),
    "slack bot": _token("SLACK_BOT_TOKEN", "xo" + "xb-1234567890-", 24),
    "slack app": _token("SLACK_APP_TOKEN", "xa" + "pp-1-A012345-", 64, HEX),
    "slack cookie": _token("SLACK_COOKIE_TOKEN", "xo" + "xc-1234567890-", 40),
    "slack refresh": _token("SLACK_REFRESH_TOKEN", "xo" + "xe-1-", 120),
    "npm": _token("NPM_TOKEN", "np" + "m_", 36),
    "pypi": _token("TWINE_TOKEN", "py" + "pi-AgEIcHlwaS5vcmc", 80, URLSAFE),
    "docker": _token("DOCKER_TOKEN", "dckr" + "_pat_", 27, URLSAFE),
    "stripe": _token("STRIPE_SECRET_KEY", "sk" + "_live_", 24),
    "databricks": _token("DATABRICKS_TOKEN", "da" + "pi", 32, HEX),
    "jwt": _jwt,
    "database": _password("PGPASSWORD", 16),
    "mysql": _password("MYSQL_PWD", 14),
    "redis": _password("REDIS_PASSWORD", 20),
    "client": _password("CLIENT_SECRET", 32),
}


def _camel(name: str) -> str:
    first, *rest = name.lower().split("_")
    return first + "".join(part.capitalize() for part in rest)


def _stamp(dice: Dice) -> str:
    return f"2026-07-{dice.randrange(10, 29)} {dice.randrange(10, 24)}:{dice.randrange(10, 60)}:07"


def _halves(dice: Dice, made: Made) -> tuple[str, str]:
    at = len(made.text) // 2 + dice.randrange(-3, 4)
    return made.text[:at], made.text[at:]


def _escaped(text: str) -> str:
    return "".join(f"\\u{ord(one):04x}" for one in text)


FORMS: dict[str, Form] = {
    "environment": lambda _, s: f"SHELL=/bin/bash\n{s.name}={s.text}\nLANG=C.UTF-8",
    "shell trace": lambda _, s: f"+ export {s.name}={s.text}\n+ {s.name}={s.text}\n+ python3 train.py",
    "curl header": lambda _, s: f"> GET /api HTTP/1.1\n> Authorization: Bearer {s.text}\n> Accept: */*",
    "own header": lambda _, s: f"> X-Api-Key: {s.text}\n> Accept: */*",
    "yaml": lambda _, s: f"env:\n  {s.name}: {s.text}\n  LANG: C",
    "yaml pair": lambda _, s: f"        - name: {s.name}\n          value: {s.text}\n        - name: LANG",
    "json": lambda _, s: json.dumps({"a": 1, s.name.lower(): s.text, "steps": 10}),
    "json in json": lambda _, s: json.dumps({"message": json.dumps({s.name: s.text}), "severity": "INFO"}),
    "camel json": lambda _, s: json.dumps({_camel(s.name): s.text}),
    "toml": lambda _, s: f'[auth]\n{s.name.lower()} = "{s.text}"\n',
    "repr": lambda _, s: f"environ({{'HOME': '/root', '{s.name}': '{s.text}', 'LANG': 'C'}})",
    "namespace": lambda _, s: f"Namespace(steps=10, {s.name.lower()}='{s.text}', lr=0.1)",
    "option": lambda _, s: f"$ python3 train.py --{s.name.lower().replace('_', '-')} {s.text} --steps 10",
    "argument list": lambda _, s: f"cmd: ['run', '--{s.name.lower().replace('_', '-')}', '{s.text}', '-v']",
    "url user": lambda _, s: f"Cloning https://x-access-token:{quote(s.text, safe='')}@example.com/o/r.git",
    "url query": lambda _, s: f"GET https://example.com/v1?a=1&access_token={quote(s.text, safe='')}&b=2 200",
    "docker": lambda _, s: (
        f"#12 0.331 Step 4/9 : ENV {s.name}={s.text}\n#12 0.4 ---> Running in 0a1b2c3d4e5f"
    ),
    "build argument": lambda _, s: f"docker build --build-arg {s.name}={s.text} -t img .",
    "kubectl": lambda _, s: f"    Environment:\n      {s.name}:      {s.text}\n      LANG:  C",
    "traceback": lambda _, s: (
        f'  File "a.py", line 3, in f\n    login(token="{s.text}")\nValueError: bad token \'{s.text}\''
    ),
    "config line": lambda _, s: (
        f"I0421 10:17:39.824857 140 pyconfig.py:3] Config param {s.name.lower()}: {s.text}"
    ),
    "sentence": lambda _, s: f"Logging in with token {s.text} to the hub",
    "split": lambda d, s: "{}={}\n{}\nnext line".format(s.name, *_halves(d, s)),
    "split behind stamps": lambda d, s: "{0} INFO {1}={2}\n{0} INFO {3}\n{0} INFO next line".format(
        _stamp(d), s.name, *_halves(d, s)
    ),
    "split behind ranks": lambda d, s: "[rank0]: {}={}\n[rank0]: {}\n[rank0]: done".format(
        s.name, *_halves(d, s)
    ),
    "zero width": lambda d, s: f"{s.name}={ZERO_WIDTH.join(_halves(d, s))}",
    "colours": lambda d, s: "\x1b[36m{}\x1b[0m=\x1b[35m{}\x1b[1m{}\x1b[0m".format(s.name, *_halves(d, s)),
    "percent": lambda _, s: f"GET /?next={quote(f'https://h/?{s.name}={s.text}', safe='')} 200",
    "escapes": lambda _, s: f'{{"m": "{_escaped(f"{s.name}={s.text}")}"}}',
    "base64": lambda _, s: "blob: " + base64.b64encode(f"export {s.name}={s.text}\n".encode()).decode(),
    "hex": lambda _, s: "dump " + f"{s.name}={s.text}".encode().hex(),
    "entities": lambda _, s: html.escape(f'{{"{s.name}": "{s.text}"}}'),
    "basic": lambda _, s: "Authorization: Basic " + base64.b64encode(f"me:{s.text}".encode()).decode(),
    "curl user": lambda _, s: f"+ curl -s -u me:{s.text} https://example.com/",
    "xml": lambda _, s: f"<config><{_camel(s.name)}>{s.text}</{_camel(s.name)}></config>",
    "connection": lambda _, s: f"Endpoint=https://h/;AccountName=a;AccountKey={s.text};EndpointSuffix=core",
}


def _key_lines(dice: Dice) -> list[str]:
    return [word(dice, 64, BASE64) for _ in range(5)]


def _pem(dice: Dice, kind: str) -> tuple[str, str]:
    lines = _key_lines(dice)
    return "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"]), lines[2]


def _service_account(dice: Dice) -> tuple[str, str]:
    text, core = _pem(dice, "PRIVATE" + " KEY")
    return json.dumps(
        {"type": "service_account", "private_key_id": word(dice, 40, HEX), "private_key": text}
    ), core


def _wrapped(text: str, width: int) -> str:
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


Block = Callable[[Dice], tuple[str, str]]


def _changed(block: Block, change: Callable[[Dice, str], str]) -> Block:
    def make(dice: Dice) -> tuple[str, str]:
        text, core = block(dice)
        return change(dice, text), core

    return make


def _pem_of(kind: str) -> Block:
    return lambda dice: _pem(dice, kind)


def _putty(dice: Dice) -> tuple[str, str]:
    lines = _key_lines(dice)
    head = ("PuTTY-User-Key-File-3: ssh-rsa", "Encryption: none", "Private-Lines: 5")
    return "\n".join((*head, *lines, "Private-MAC: 0a1b2c3d")), lines[2]


def _object(dice: Dice) -> tuple[str, str]:
    core = word(dice, 24)
    head = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n"
    return f"{head}  settings: {_encoded(core)}\n", core


BLOCKS: dict[str, Block] = {
    "pem": _pem_of("RSA PRIVATE" + " KEY"),
    "pem escaped": _changed(_pem_of("EC PRIVATE" + " KEY"), lambda _, text: json.dumps({"key": text})),
    "pem stamped": _changed(
        _pem_of("OPENSSH PRIVATE" + " KEY"),
        lambda d, text: "\n".join(f"{_stamp(d)} INFO {line}" for line in text.split("\n")),
    ),
    "pgp": _pem_of("PGP PRIVATE" + " KEY BLOCK"),
    "service account": _service_account,
    "service account base64": _changed(_service_account, lambda _, text: "GCP_SA=" + _encoded(text)),
    "service account wrapped": _changed(_service_account, lambda _, text: _wrapped(_encoded(text), 76)),
    "client key": _changed(
        _pem_of("RSA PRIVATE" + " KEY"),
        lambda _, text: f"users:\n- user:\n    client-key-data: {_encoded(text)}\n",
    ),
    "pem wrapped": _changed(_pem_of("PRIVATE" + " KEY"), lambda _, text: _wrapped(_encoded(text), 64)),
    "putty": _putty,
    "kubernetes": _object,
}


def samples() -> Iterator[Sample]:
    """All that was written beside the rules: each provider in about half of the forms, and each block."""
    dice = random.Random(20261122)  # noqa: S311 - the same corpus every time
    for number, (provider, make) in enumerate(PROVIDERS.items()):
        for place, (form, write) in enumerate(FORMS.items()):
            if (number + place) % 2 == 0:
                made = make(dice)
                yield Sample(provider, form, write(dice, made), made.core)
    for kind, block in BLOCKS.items():
        for _ in range(10):
            text, core = block(dice)
            yield Sample("block", kind, text, core)


def _aws_pair(dice: Dice) -> Made:
    core = word(dice, 40, BASE64)
    return Made(f"{'AK' + 'IA'}{word(dice, 16, UPPER)}:{core}", core, "AWS_CREDENTIALS")


OTHER_PROVIDERS: dict[str, Provider] = {
    "gitlab feed": _token("FEED_TOKEN", "gl" + "ft-", 20, URLSAFE),
    "gitlab trigger": _token("TRIGGER_TOKEN", "gl" + "ptt-", 40, HEX),
    "perplexity": _token("PPLX_API_KEY", "pp" + "lx-", 48),
    "openrouter": _token("OPENROUTER_API_KEY", "sk-" + "or-v1-", 64, HEX),
    "prefect": _token("PREFECT_API_KEY", "pn" + "u_", 36),
    "pulumi": _token("PULUMI_ACCESS_TOKEN", "pu" + "l-", 40, HEX),
    "linear": _token("LINEAR_API_KEY", "lin" + "_api_", 40),
    "notion": _token("NOTION_TOKEN", "nt" + "n_12345678901", 35),
    "sendgrid": _token("SENDGRID_API_KEY", "S" + "G.", 66, URLSAFE),
    "telegram": _token("BOT_TOKEN", "123456789:" + "AA", 33, URLSAFE),
    "age": _token("SOPS_AGE_KEY", "AGE-SECRET" + "-KEY-1", 58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
    "atlassian": _token("JIRA_API_TOKEN", "AT" + "ATT3xFfGF0", 180, URLSAFE),
    "figma": _token("FIGMA_TOKEN", "fig" + "d_", 40, URLSAFE),
    "new relic": _token("NEW_RELIC_API_KEY", "NR" + "AK-", 27, UPPER),
    "sentry": _token("SENTRY_AUTH_TOKEN", "sntr" + "yu_", 64, HEX),
    "supabase": _token("SUPABASE_TOKEN", "sb" + "p_", 40, HEX),
    "terraform": _token("TF_TOKEN", "AbCdEfGh1234Zz.atl" + "asv1.", 67, URLSAFE),
    "doppler": _token("DOPPLER_TOKEN", "dp" + ".pt.", 43),
    "planetscale": _token("PLANETSCALE_TOKEN", "pscale" + "_tkn_", 43, ALNUM + "_"),
    "shopify": _token("SHOPIFY_TOKEN", "shp" + "at_", 32, HEX),
    "square": _token("SQUARE_TOKEN", "sq0" + "atp-", 22, URLSAFE),
    "comet": _token("COMET_API_KEY", "", 25),
    "neptune": _token("NEPTUNE_API_TOKEN", "", 120),
    "kaggle": _token("KAGGLE_KEY", "", 32, HEX),
    "datadog": _token("DD_API_KEY", "", 32, HEX),
    "azure sql": _password("AZURE_SQL_PASSWORD", 22, ALNUM + "!#*-_"),
    "smtp": _password("SMTP_PASS", 16),
    "ldap": _password("LDAP_BIND_PASSWORD", 18, ALNUM + "%+-_"),
    "signing": _password("JWT_SIGNING_KEY", 48, URLSAFE),
    "encryption": _password("ENCRYPTION_KEY", 44, BASE64),
    "oauth": _password("OAUTH_CLIENT_SECRET", 36, URLSAFE),
    "webhook": _password("WEBHOOK_SECRET", 40, HEX),
    "aws temporary": _token("AWS_ACCESS_KEY", "AS" + "IA", 16, string.ascii_uppercase + "234567"),
    "aws bare": _aws_pair,
}
"""Written after the rules."""


OTHER_FORMS: dict[str, Form] = {
    "windows": lambda _, s: f"C:\\> set {s.name}={s.text}\r\nC:\\> python train.py\r",
    "powershell": lambda _, s: f'PS> $env:{s.name} = "{s.text}"',
    "fish": lambda _, s: f"set -gx {s.name} {s.text}",
    "slurm": lambda _, s: f"srun --export=ALL,{s.name}={s.text} python3 train.py",
    "ssh": lambda _, s: f'ssh host "{s.name}={s.text} python3 train.py"',
    "double quotes": lambda _, s: f'export {s.name}="{s.text}"',
    "process list": lambda _, s: f"root  812  0.0 python3 train.py --{s.name.lower()}={s.text} --steps=10",
    "gcloud env": lambda _, s: (
        f"gcloud run deploy x --set-env-vars={s.name}={s.text},LANG=C --region us-east5"
    ),
    "compose": lambda _, s: f"    environment:\n      - {s.name}={s.text}\n      - LANG=C",
    "yaml quoted": lambda _, s: f"  {s.name.lower()}: '{s.text}'  # rotate",
    "yaml folded": lambda _, s: f"  {s.name.lower()}: >-\n    {s.text}\n  next: 1",
    "pair with stamps": lambda d, s: f'{_stamp(d)} - name: {s.name}\n{_stamp(d)}   value: "{s.text}"',
    "json pair": lambda _, s: json.dumps([{"name": s.name, "value": s.text}, {"name": "LANG", "value": "C"}]),
    "json indented": lambda _, s: json.dumps([{"name": s.name, "value": s.text}], indent=2),
    "headers": lambda _, s: (
        f"headers={{'accept': '*/*', 'authorization': 'Bearer {s.text}', 'user-agent': 'x'}}"
    ),
    "tuple headers": lambda _, s: f"[(b'host', b'h'), (b'authorization', b'Bearer {s.text}')]",
    "token header": lambda _, s: (
        f"DEBUG urllib3 send: b'GET / HTTP/1.1\\r\\nX-Auth-Token: {s.text}\\r\\n\\r\\n'"
    ),
    "cookie": lambda _, s: f"< Set-Cookie: session={s.text}; Path=/; HttpOnly",
    "dataclass": lambda _, s: f"Config(steps=10, {s.name.lower()}='{s.text}', path='/x')",
    "pydantic": lambda _, s: f"{s.name.lower()}=SecretStr('{s.text}') steps=10",
    "pprint": lambda _, s: f"{{'steps': 10,\n '{s.name.lower()}': '{s.text}',\n 'x': 1}}",
    "hydra": lambda _, s: f"  logger:\n    {s.name.lower()}: {s.text}\n    steps: 3",
    "pip": lambda _, s: f"Looking in indexes: https://user:{quote(s.text, safe='')}@pypi.example.com/simple",
    "git remote": lambda _, s: (
        f"fatal: unable to access 'https://oauth2:{quote(s.text, safe='')}@example.com/r.git/'"
    ),
    "dsn": lambda _, s: f"OperationalError: postgresql://bench:{quote(s.text, safe='')}@db:5432/runs refused",
    "netrc": lambda _, s: f"machine api.example.com\n  login user\n  password {s.text}\n",
    "netrc line": lambda _, s: f"machine api.example.com login user password {s.text}",
    "docker login": lambda _, s: f"+ docker login -u me -p {s.text} registry.example.com",
    "stdin": lambda _, s: f"+ echo {s.text} | docker login -u me --password-stdin registry.example.com",
    "secret created": lambda _, s: f"kubectl create secret generic x --from-literal={s.name}={s.text}",
    "workflow": lambda _, s: f"  env:\n    {s.name}: {s.text}\n    CI: true\n##[endgroup]",
    "assertion": lambda _, s: f"E   AssertionError: assert {{'{s.name.lower()}': '{s.text}'}} == {{}}",
    "table": lambda _, s: f"| {s.name} | {s.text} |\n| LANG | C |",
    "locals": lambda _, s: f"│ {s.name.lower()} = '{s.text}' │",
    "cloud logging": lambda _, s: json.dumps(
        {"insertId": "a1", "jsonPayload": {"msg": f"env {s.name}={s.text}"}, "severity": "INFO"}
    ),
    "nested json": lambda _, s: json.dumps({"a": json.dumps({"b": json.dumps({s.name.lower(): s.text})})}),
    "split at ray": lambda d, s: "(pid=812) {}={}\n(pid=812) {}\n(pid=812) done".format(
        s.name, *_halves(d, s)
    ),
    "split at compose": lambda d, s: "web_1  | {}: {}\nweb_1  | {}\nweb_1  | done".format(
        s.name, *_halves(d, s)
    ),
    "continued": lambda d, s: "export {}={}\\\n{}\n".format(s.name, *_halves(d, s)),
    "joiner": lambda d, s: "{}: {}\u2060{}".format(s.name, *_halves(d, s)),
    "percent twice": lambda _, s: "u=" + quote(quote(f"{s.name}={s.text}", safe=""), safe=""),
    "byte escapes": lambda _, s: "b'" + "".join(f"\\x{ord(one):02x}" for one in f"{s.name}={s.text}") + "'",
    "decimal entities": lambda _, s: "".join(f"&#{ord(one)};" for one in f"{s.name}={s.text}"),
    "base64 twice": lambda _, s: "x " + _encoded(_encoded(f"{s.name}={s.text}")),
    "url-safe base64": lambda _, s: (
        "p=" + base64.urlsafe_b64encode(f'{{"{s.name}":"{s.text}"}}'.encode()).decode()
    ),
    "base64 lines": lambda _, s: _wrapped(
        _encoded(f"A=1\nexport {s.name}={s.text}\nB=2 and some more\n" * 2), 64
    ),
    "capital hex": lambda _, s: f"{s.name}={s.text}".encode().hex().upper(),
    "wandb config": lambda _, s: f"wandb: config: {{'lr': 0.1, '{s.name.lower()}': '{s.text}'}}",
    "ini": lambda _, s: f"[default]\n{s.name.lower()} = {s.text}\nregion = us-east-1",
    "export trace": lambda _, s: f'declare -x {s.name}="{s.text}"',
    "terraform": lambda _, s: f'  + {s.name.lower()} = "{s.text}"',
    "helm": lambda _, s: f"helm upgrade x ./c --set auth.{_camel(s.name)}={s.text} --wait",
    "spark": lambda _, s: f"spark.hadoop.fs.{s.name.lower().replace('_', '.')}={s.text}",
}
"""Written after the rules."""


def held_out() -> Iterator[Sample]:
    """What the rules were not written beside: the other pairs, and other providers in other forms."""
    dice = random.Random(20261123)  # noqa: S311 - the same corpus every time
    for number, (provider, make) in enumerate(PROVIDERS.items()):
        for place, (form, write) in enumerate(FORMS.items()):
            if (number + place) % 4 == 1:
                made = make(dice)
                yield Sample(provider, form, write(dice, made), made.core)
    for number, (provider, make) in enumerate({**PROVIDERS, **OTHER_PROVIDERS}.items()):
        for place, (form, write) in enumerate(OTHER_FORMS.items()):
            if (number + place) % 5 == 0:
                made = make(dice)
                yield Sample(provider, form, write(dice, made), made.core)
