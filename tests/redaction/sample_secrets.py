"""Two thousand secrets as logs, titles and configurations leak them, made by families from one seed.

A `Canary` is a text as somebody could write it, with the parts of it that must not be seen; `ORDINARY` lines
hold none and must stay as they are. No secret here is anybody's.
"""

import base64
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

NUMBER = 2_000

LETTERS, DIGITS = string.ascii_letters, string.digits

ALNUM, HEX = LETTERS + DIGITS, "0123456789abcdef"


@dataclass(frozen=True, slots=True)
class Canary:
    """`parts` are what gives the secret away: none of them may be seen."""

    family: str
    text: str
    parts: tuple[str, ...]


Maker = Callable[[random.Random], tuple[str, tuple[str, ...]]]


def _word(dice: random.Random, length: int, letters: str = ALNUM) -> str:
    """A word that has a digit and a letter in it."""
    made = [dice.choice(letters) for _ in range(length)]
    made[length // 2] = dice.choice([one for one in letters if one in DIGITS] or letters)
    made[length // 3] = dice.choice([one for one in letters if one in LETTERS] or letters)
    return "".join(made)


def _token(prefix: str, length: int, letters: str = ALNUM) -> Maker:
    def make(dice: random.Random) -> tuple[str, tuple[str, ...]]:
        secret = _word(dice, length, letters)
        return prefix + secret, (secret,)

    return make


def _jwt(dice: random.Random) -> tuple[str, tuple[str, ...]]:
    head = base64.urlsafe_b64encode(b'{"alg":"RS256","typ":"JWT"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(f'{{"sub":"{_word(dice, 12)}"}}'.encode()).decode().rstrip("=")
    signature = _word(dice, 43, ALNUM + "-_")
    return f"{head}.{body}.{signature}", (body, signature)


def _aws(dice: random.Random) -> tuple[str, tuple[str, ...]]:
    key, secret = _word(dice, 16, string.ascii_uppercase + DIGITS), _word(dice, 40, ALNUM + "/+")
    return f"AWS_ACCESS_KEY_ID=AKIA{key} AWS_SECRET_ACCESS_KEY={secret}", (key, secret)


def _private_key(dice: random.Random) -> tuple[str, tuple[str, ...]]:
    kind = dice.choice(["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
    lines = [_word(dice, 64, ALNUM + "+/") for _ in range(3)]
    joint = dice.choice(["\n", "\\n"])
    text = joint.join([f"-----BEGIN {kind}PRIVATE KEY-----", *lines, f"-----END {kind}PRIVATE KEY-----"])
    return text, tuple(lines)


def _service_account(dice: random.Random) -> tuple[str, tuple[str, ...]]:
    name, project = f"svc-{_word(dice, 6, HEX)}", f"proj-{_word(dice, 6, HEX)}"
    mail = dice.choice([f"{name}@{project}.iam.gserviceaccount.com", f"{name}@developer.gserviceaccount.com"])
    return mail, (name,)


def _bucket(dice: random.Random) -> tuple[str, tuple[str, ...]]:
    name, path = f"bench-{_word(dice, 8, HEX)}", f"run/{_word(dice, 6, HEX)}/x.log"
    form = dice.choice(
        [
            "gs://{}/{}",
            "s3://{}/{}",
            "https://storage.googleapis.com/{}/{}",
            "https://storage.cloud.google.com/{}/{}",
            "https://{}.storage.googleapis.com/{}",
            "https://{}.s3.us-east-1.amazonaws.com/{}",
            "https://s3.amazonaws.com/{}/{}",
            "gcsfuse://{}/{}",
            "GS://{}/{}",
            "az://{}/{}",
            "abfss://{}@acct.dfs.core.windows.net/{}",
            "/gcs/{}/{}",
        ]
    )
    return form.format(name, path), (name,)


def _internal_host(dice: random.Random) -> tuple[str, tuple[str, ...]]:
    name = f"node-{_word(dice, 6, HEX)}"
    form = dice.choice(
        [
            "{}.us-east5-b.c.my-project.internal:8471",
            "{}.kueue-system.svc.cluster.local",
            "{}.corp.google.com",
            "{}.googleplex.com",
            "{}.svc:443",
            "http://{}.prod.lan/metrics",
            "{}-slice-job-0-3.{}:8482",
            "gke-{}-pool-1a2b",
            "{}.intranet",
            "{}.ec2.internal",
            "{}.home.arpa",
            "{}.local:22",
        ]
    )
    return form.replace("{}", name), (name,)


def _address(dice: random.Random) -> tuple[str, tuple[str, ...]]:
    a, b, c = (dice.randrange(1, 255) for _ in range(3))
    text = dice.choice(
        [f"10.{a}.{b}.{c}", f"192.168.{b}.{c}", f"172.{16 + a % 16}.{b}.{c}", f"100.{64 + a % 64}.{b}.{c}"]
    )
    return f"{text}:{dice.randrange(1024, 65535)}", (text,)


def _basic_auth(dice: random.Random) -> tuple[str, tuple[str, ...]]:
    user, secret = f"user{_word(dice, 4, HEX)}", _word(dice, 14, ALNUM + "!$-_")
    scheme = dice.choice(["https", "http", "postgresql", "redis", "git+https", "amqp", "mongodb+srv"])
    return f"{scheme}://{user}:{secret}@db.example.com/x", (secret,)


def _kube_secret(dice: random.Random) -> tuple[str, tuple[str, ...]]:
    secret = base64.b64encode(_word(dice, 24).encode()).decode()
    form = dice.choice(
        [
            '{{"kind": "Secret", "data": {{"password": "{}"}}}}',
            "data:\n  token: {}",
            "kind: Secret\ndata:\n  api-key: {}\ntype: Opaque",
            "stringData: {{db_password: {}}}",
        ]
    )
    return form.format(secret), (secret,)


NAMES = (
    "WANDB_API_KEY",
    "HF_TOKEN",
    "GITHUB_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "DB_PASSWORD",
    "SLACK_SECRET",
    "OPENAI_API_KEY",
    "NPM_TOKEN",
    "MY_CREDENTIAL",
    "SECRET_KEY",
    "CLIENT_SECRET",
    "AZURE_STORAGE_KEY",
    "GOOGLE_PRIVATE_KEY_ID",
    "COMET_API_KEY",
    "NEPTUNE_API_TOKEN",
    "ENCRYPTION_KEY",
    "SIGNING_KEY",
)


def _environment(dice: random.Random) -> tuple[str, tuple[str, ...]]:
    secret = _word(dice, dice.randrange(12, 44))
    name = dice.choice(NAMES)
    form = dice.choice(
        [
            "{}={}",
            "export {}='{}'",
            '"{}": "{}"',
            "{}: {}",
            "environ({{'{}': '{}'}})",
            "--{} {}",
            "-e {}={}",
        ]
    )
    shown = name.lower().replace("_", "-") if form.startswith("--") else name
    return form.format(shown, secret), (secret,)


def _header(dice: random.Random) -> tuple[str, tuple[str, ...]]:
    secret = _word(dice, 32)
    form = dice.choice(
        [
            "Authorization: Bearer {}",
            "authorization: basic {}",
            "X-Api-Key: {}",
            "Authorization: token {}",
            "Cookie: session={}",
            "curl -H 'PRIVATE-TOKEN: {}'",
        ]
    )
    return form.format(secret), (secret,)


def _signed_address(dice: random.Random) -> tuple[str, tuple[str, ...]]:
    secret = _word(dice, 64, HEX)
    name = dice.choice(["X-Amz-Signature", "X-Goog-Signature", "sig", "access_token", "api_key", "token"])
    return f"https://files.example.com/a.bin?expires=9&{name}={secret}", (secret,)


def _image(dice: random.Random) -> tuple[str, tuple[str, ...]]:
    project = f"proj-{_word(dice, 8, HEX)}"
    host = dice.choice(["gcr.io", "us.gcr.io", "us-docker.pkg.dev", "europe-west4-docker.pkg.dev"])
    return f"{host}/{project}/maxtext:latest", (project,)


def _mail(dice: random.Random) -> tuple[str, tuple[str, ...]]:
    name = f"ada.{_word(dice, 6, HEX)}"
    return f"{name}@example.com", (name,)


def _home(dice: random.Random) -> tuple[str, tuple[str, ...]]:
    name = f"ada{_word(dice, 5, HEX)}"
    return f"{dice.choice(['/home/', '/Users/', '/usr/local/google/home/'])}{name}/maxtext/x.py", (name,)


FAMILIES: dict[str, Maker] = {
    "github classic": _token("ghp_", 36),
    "github app": _token("ghs_", 36),
    "github app, long": _token("ghs_42_eyJhbGciOiJIUzI1NiJ9.", 120, ALNUM + "-_"),
    "github fine": _token("github_pat_11AAAAAAA0", 60, ALNUM + "_"),
    "gitlab": _token("glpat-", 20),
    "google api": _token("AIza", 35, ALNUM + "-_"),
    "google oauth": _token("ya29.", 60, ALNUM + "-_"),
    "google client": _token("GOCSPX-", 28, ALNUM + "-_"),
    "hugging face": _token("hf_", 34),
    "slack": _token("xoxb-123456789012-", 24),
    "slack hook": _token("https://hooks.slack.com/services/T0AAAA/B0BBBB/", 24),
    "openai": _token("sk-proj-", 48),
    "npm": _token("npm_", 36),
    "pypi": _token("pypi-AgEIcHlwaS5vcmc", 60, ALNUM + "-_"),
    "stripe": _token("sk_live_", 32),
    "wandb login": _token("wandb login ", 40, HEX),
    "docker hub": _token("dckr_pat_", 27, ALNUM + "-_"),
    "databricks": _token("dapi", 32, HEX),
    "aws": _aws,
    "json web token": _jwt,
    "private key": _private_key,
    "service account": _service_account,
    "bucket": _bucket,
    "internal host": _internal_host,
    "internal address": _address,
    "basic auth": _basic_auth,
    "kubernetes secret": _kube_secret,
    "environment": _environment,
    "header": _header,
    "signed address": _signed_address,
    "image": _image,
    "mail": _mail,
    "home": _home,
}

WRAPPED = frozenset(FAMILIES) - {"kubernetes secret", "private key", "mail", "home", "image"}
"""Families whose secrets are long words, which a terminal of 80 columns breaks."""

AROUND: dict[str, Callable[[str], str]] = {
    "alone": lambda text: text,
    "in a sentence": lambda text: f"failed to open ({text}), giving up",
    "quoted": lambda text: f"ValueError: '{text}' is not valid",
    "in a traceback": lambda text: (
        f'  File "x.py", line 3, in f\n    raise ValueError("{text}")\nValueError: {text}'
    ),
    "in a dump": lambda text: f"{{'A': 1, 'b': '{text}', 'c': None}}",
    "behind a stamp": lambda text: f"I0421 10:17:39.824857 140 main.py:3] {text}",
}

ENCODED = "percent-encoded"


def canaries() -> Iterator[Canary]:
    """All of them, each family in every surrounding, and some percent-encoded or broken over lines."""
    dice = random.Random(20261121)  # noqa: S311 - the same corpus every time
    names = sorted(FAMILIES)
    for n in range(NUMBER):
        family = names[n % len(names)]
        text, parts = FAMILIES[family](dice)
        turn = n // len(names)
        if turn % 10 == 9:
            yield Canary(f"{family}, {ENCODED}", f"GET /?next={quote(text, safe='')}", _encoded(parts))
        elif turn % 10 == 8 and family in WRAPPED:
            yield Canary(f"{family}, wrapped", *_wrapped(dice, text, parts))
        else:
            name, around = list(AROUND.items())[turn % len(AROUND)]
            yield Canary(f"{family}, {name}", around(text), parts)


def _encoded(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(quote(part, safe="") for part in parts)


def _wrapped(dice: random.Random, text: str, parts: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Broken in the middle of the last secret: both halves of it give it away where they are long enough."""
    secret = parts[-1]
    at = len(secret) // 2 + dice.randrange(-1, 2)
    halves = tuple(half for half in (secret[:at], secret[at:]) if len(half) >= LONGEST_REST)
    broken = text.replace(secret, f"{secret[:at]}\n{secret[at:]}")
    return f"error: {broken}\nnext line", (*parts[:-1], secret, *halves)


LONGEST_REST = 12
"""Characters of a secret that help nobody: less than a third of any key."""

ORDINARY = (
    "NotImplementedError: Pure NNX support has not been implemented yet.",
    "ValueError: unexpected token: expected ')' at train_utils.py:217",
    "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 63.80G of 30.75G hbm.",
    "jax._src.internal threading.local libtpu cl/878335365 jax@0.9.2 TPU v6 lite",
    "file src/maxtext/layers/attentions.py, line 12, in __call__",
    "KeyError: 'tokenizer_path'",
    "the key is the hash of tree, case and variant",
    "max_target_length=2048 per_device_batch_size=4 tokenizer=gpt2 remat_policy=full",
    "global_step: 12, loss: 10.872, total_weights: 65536, tokens/s/device: 143.497",
    "token_embedder.embedding has shape (32000, 4096)",
    "secret sauce of the optimizer: none",
    "Param with key decoder/layers_0/mlp/wi_0/kernel not found",
    "ici_fsdp_parallelism: 32, dcn_data_parallelism: 1",
    "version 172.3 of the compiler; step 10.5 took 10.2 s",
    "see https://github.com/AI-Hypercomputer/maxtext/pull/4270#issuecomment-1",
    "https://docs.jax.dev/en/latest/errors.html#jax.errors.TracerBoolConversionError",
    "git@github.com is where it is cloned from",
    "commit 574ad3fb9c0d1e2f3a4b5c6d7e8f90123456789a of main",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "give gs://bucket or file:/path",
    ".github/maxview.yml:3: runs.source: must be a bucket (gs://bucket/prefix) or a folder (file:/path)",
    "write a bucket such as gs://bucket/prefix, or gs://my-bench-bucket",
    "grant the App checks: write; The App needs one of these permissions: checks=write",
    "XlaRuntimeError: INTERNAL: during context [pre-optimization]: RET_CHECK failure",
    "Memstats: After params initialized: Using (GB) 0.44 / 31.25 (1.408000%) on TPU_10(process=2,(2,2,0,0))",
    "password-protected checkpoints are not supported",
    "AttributeError: module 'jax.experimental' has no attribute 'maps'",
    "worker-0 restarted 3 times in 10 minutes",
    "AssertionError: gradient_accumulation_steps * micro_batch == 2048",
    "token count mismatch: expected 4096, got 4095",
    "basic usage: maxview compare main.log branch.log",
    "bearer of bad news: the loss diverged at step 4",
    "/deps/src/maxtext/trainers/pre_train/train.py:612",
    "hf_model_path=None load_parameters_path='' hf_access_token=''",
    "enable_checkpointing: False, async_checkpointing: True, checkpoint_period: 10000",
    "sk-learn and npm are not used here",
)
