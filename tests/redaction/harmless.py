"""Lines of logs without a secret in them, though much in them looks drawn by lot: from one seed."""

import base64
import random
import uuid
from collections.abc import Callable, Iterator

NUMBER = 20_000

HEX = "0123456789abcdef"

LAYERS = ("decoder.layers_3.mlp.wi_0", "token_embedder", "self_attention.query.kernel", "params.params-key")

PACKAGES = (
    "jax",
    "tokenizers",
    "google-auth",
    "key-value-store",
    "secretstorage",
    "passlib",
    "PyJWT",
    "tensorflow-text",
)


def _hex(dice: random.Random, length: int) -> str:
    return "".join(dice.choice(HEX) for _ in range(length))


def _uuid(dice: random.Random) -> str:
    return str(uuid.UUID(int=dice.getrandbits(128)))


def _number(dice: random.Random) -> str:
    return f"{dice.uniform(0, 9000):.3f}"


def _version(dice: random.Random) -> str:
    return f"{dice.randrange(9)}.{dice.randrange(40)}.{dice.randrange(20)}"


def _picture(dice: random.Random) -> str:
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + dice.randbytes(300)).decode()


Writer = Callable[[random.Random], str]

LINES: tuple[Writer, ...] = (
    lambda d: (
        f"I0421 10:17:39.824857 {d.randrange(10**12, 10**13)} metric_logger.py:196] completed step: {d.randrange(9999)}, "
        f"seconds: {_number(d)}, TFLOP/s/device: {_number(d)}, Tokens/s/device: {_number(d)}, total_weights: 65536, "
        f"loss: {_number(d)}"
    ),
    lambda d: f"commit {_hex(d, 40)} of main",
    lambda d: f"HEAD is now at {_hex(d, 9)} layers: the key of a token is its place",
    lambda d: f"sha256:{_hex(d, 64)}",
    lambda d: f"#8 sha256:{_hex(d, 64)} 29.13MB / 29.13MB 1.{d.randrange(9)}s done",
    lambda d: f"    --hash=sha256:{_hex(d, 64)} \\",
    lambda d: f"  Downloading {d.choice(PACKAGES)}-{_version(d)}-cp311-cp311-manylinux_2_17_x86_64.whl.metadata (4.6 kB)",
    lambda d: f"Requirement already satisfied: {d.choice(PACKAGES)}>={_version(d)} in /usr/lib/python3/dist-packages",
    lambda d: f"Successfully installed {d.choice(PACKAGES)}-{_version(d)} {d.choice(PACKAGES)}-{_version(d)}",
    lambda d: f"request id {_uuid(d)} took {_number(d)} ms",
    lambda d: f"wandb: Run data is saved locally in /tmp/wandb/run-20260421_101739-{_hex(d, 8)}",
    lambda d: f"wandb: Syncing run bright-sun-{d.randrange(900)} ({_hex(d, 8)})",
    lambda d: f"wandb: View run at https://wandb.ai/team/project/runs/{_hex(d, 8)}",
    lambda d: f"tensor([[{', '.join(_number(d) for _ in range(8))}], device='cuda:0', dtype=torch.bfloat16)",
    lambda d: f"Array([{' '.join(str(d.randrange(50_000)) for _ in range(20))}], dtype=int32) # token ids",
    lambda d: f"tokens: {[d.randrange(50_000) for _ in range(12)]}",
    lambda d: f'  File "/usr/local/lib/python3.11/site-packages/jax/_src/pjit.py", line {d.randrange(3000)}, in cache_miss',
    lambda d: f"  File \"/deps/src/maxtext/layers/{d.choice(LAYERS)}.py\", line {d.randrange(900)}, in __call__",
    lambda d: f"KeyError: 'key {d.choice(LAYERS)}_{d.randrange(90)} not in checkpoint'",
    lambda d: f"Config param tokenizer_path: assets/tokenizer.llama{d.randrange(2, 9)}",
    lambda d: f"Config param num_key_value_heads: {d.randrange(64)}",
    lambda d: f"Config param max_prefill_predict_length: {d.randrange(4096)}",
    lambda _: "Config param hf_access_token: ",
    lambda d: f"bos_token_id: {d.randrange(150_000)}, eos_token_id={d.randrange(150_000)}, pad_token='<pad>'",
    lambda d: f"{{'token_count': {d.randrange(10**9)}, 'key': '{d.choice(LAYERS)}', 'auth': None}}",
    lambda d: f"jit(train_step)/jvp(TransformerLinenPure)/decoder/layers_{d.randrange(90)}/mlp/dot_general[dimension_numbers]",
    lambda d: f"fusion.{d.randrange(9999)} = bf16[{d.randrange(64)},2048,{d.randrange(8192)}]{{2,1,0:T(8,128)(2,1)}} fusion(param.{d.randrange(99)})",
    lambda d: f"Compiling module jit_train_step with fingerprint {_hex(d, 32)}",
    lambda d: f"PGLE cache key: jit_train_step-{_hex(d, 64)}",
    lambda d: f"persistent compilation cache hit for 'jit_init' with key 'jit_init-{_hex(d, 64)}'",
    lambda d: f"Pulling image docker.io/library/python:3.{d.randrange(14)}@sha256:{_hex(d, 64)}",
    lambda d: f"container {_hex(d, 64)} exited with code {d.randrange(255)}",
    lambda d: f"drwxr-xr-x 2 root root 4096 Jul {d.randrange(28)} 10:17 checkpoint_{d.randrange(9999)}",
    lambda d: f"data:image/png;base64,{_picture(d)}",
    lambda d: f"    at {_hex(d, 12)} (0x{_hex(d, 16)}) <_ZN3xla{d.randrange(99)}TpuExecutor{d.randrange(99)}RunAsyncEv+0x{_hex(d, 3)}>",
    lambda d: f"PC: @     0x{_hex(d, 12)}  (unknown)  tsl::thread::EigenEnvironment::CreateThread()",
    lambda d: f"etag: \"{_hex(d, 32)}\" x-request-id: {_uuid(d)}",
    lambda d: f"password authentication failed for user \"bench{d.randrange(99)}\"",
    lambda d: f"Secret version {d.randrange(99)} of the store was not found; see step {d.randrange(99)}",
    lambda d: f"authentication took {_number(d)} s and {d.randrange(9)} tries",
    lambda d: f"model-0000{d.randrange(9)}-of-00030.safetensors: 100%|##########| 4.{d.randrange(99)}G/4.98G [00:{d.randrange(10, 60)}<00:00, 101MB/s]",
    lambda d: f"node-{_hex(d, 8)}-{_hex(d, 5)} Ready <none> {d.randrange(90)}d v1.{d.randrange(34)}.{d.randrange(9)}",
    lambda d: f"jax=={_version(d)} jaxlib=={_version(d)}+cuda12.cudnn{d.randrange(9)} libtpu=={_version(d)}.dev2026{d.randrange(1000, 1230)}",
    lambda d: f"2026-04-21T10:16:43.{d.randrange(10**6):06}Z stdout F {{\"step\": {d.randrange(999)}, \"loss\": {_number(d)}, \"lr\": 3e-0{d.randrange(9)}}}",
    lambda d: f"::group::Run actions/checkout@{_hex(d, 40)}",
    lambda d: f"##[debug]Evaluating condition for step: 'Post Run actions/cache@v{d.randrange(9)}' key Linux-pip-{_hex(d, 64)}",
    lambda d: f"GET /api/v1/runs?page={d.randrange(99)}&per_page=100&sort=created_at 200 {d.randrange(9999)}b",
    lambda d: f"+ python3 -m maxtext.train run_name=mt_{_hex(d, 6)} steps={d.randrange(999)} dataset_type=synthetic max_target_length=2048",
    lambda d: f"++ date +%s%N ; HOST_ID={d.randrange(99)} PYTHONHASHSEED={d.randrange(10**9)} XLA_FLAGS=--xla_dump_to=/tmp/x{_hex(d, 6)}",
    lambda d: f"ssh-rsa public key fingerprint SHA256:{base64.b64encode(d.randbytes(32)).decode().rstrip('=')}",
)  # fmt: skip


def harmless() -> Iterator[str]:
    """As many lines as `NUMBER`, of all kinds alike."""
    dice = random.Random(20261122)  # noqa: S311 - the same lines every time
    for number in range(NUMBER):
        yield LINES[number % len(LINES)](dice)
