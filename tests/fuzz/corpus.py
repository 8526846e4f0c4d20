"""The fuzzer's corpus: a short log of every format, and the literals of all rules in libFuzzer's syntax."""

import gzip
from collections.abc import Iterator, Mapping

from bot.logs.formats.registry import COMMON_RULES, FORMATS
from tests.log_writers import neighbours
from tests.log_writers.deepspeed import deepspeed_chat_log, deepspeed_log
from tests.log_writers.failures import FAILED_RUNS, RunDetails
from tests.log_writers.hugging_face import hugging_face_log
from tests.log_writers.last_words import LAST_WORDS
from tests.log_writers.llmc import llmc_console, llmc_log
from tests.log_writers.maxtext import TRACEBACK, maxtext_log
from tests.log_writers.megatron import megatron_log
from tests.log_writers.mlperf import mlperf_log
from tests.log_writers.modded_nanogpt import modded_nanogpt_log
from tests.log_writers.nanogpt import nanogpt_log
from tests.log_writers.nemo import nemo_log
from tests.log_writers.records import tensorboard_file, wandb_file
from tests.log_writers.torchtitan import torchtitan_log

STEPS = 5


def logs() -> Mapping[str, bytes]:
    """A log of every format, whole and compressed, and one of every way to fail."""
    texts = {
        "maxtext": maxtext_log(steps=STEPS),
        "maxtext-hosts": maxtext_log(steps=STEPS, hosts=2, eval_after=2),
        "maxtext-failed": maxtext_log(steps=2, exit_code=1, failure=TRACEBACK),
        "megatron": megatron_log(fork="primus"),
        "deepspeed": deepspeed_log(),
        "deepspeed-chat": deepspeed_chat_log(steps=STEPS),
        "hugging-face": hugging_face_log(),
        "mlperf": mlperf_log(),
        "nemo": nemo_log(),
        "nanogpt": nanogpt_log(),
        "llmc": llmc_log(),
        "llmc-console": llmc_console(),
        "modded-nanogpt": modded_nanogpt_log(),
        "torchtitan": torchtitan_log(),
        "olmo": neighbours.olmo_log(),
        "olmo-core": neighbours.olmo_log(core=True),
        "nanochat": neighbours.nanochat_log(),
        "litgpt": neighbours.litgpt_log(),
        "torchtune": neighbours.torchtune_log(),
        "torchtune-file": neighbours.torchtune_log(style="text"),
        "lightning": neighbours.lightning_log(),
        "composer": neighbours.composer_log(),
        "pax": neighbours.pax_log(),
        "t5x": neighbours.t5x_log(),
        "keras": neighbours.keras_log(style="bar"),
        "ms-swift": neighbours.ms_swift_log(),
        "axolotl": neighbours.axolotl_log(),
        **{f"word-{name}": f"Loading\n{word.text}\n" for name, word in LAST_WORDS.items()},
        **{f"failed-{name}": failed.log(RunDetails()) for name, failed in FAILED_RUNS.items()},
    }
    found = {name: text.encode() for name, text in texts.items()}
    found |= {"tensorboard": tensorboard_file([3.0, 2.5]), "wandb": wandb_file([3.0, 2.5])}
    return {**found, "gzip": gzip.compress(found["maxtext"], mtime=0)}


def dictionary() -> Iterator[str]:
    """One quoted literal a line."""
    rules = (*COMMON_RULES, *(rule for form in FORMATS for rule in form.rules))
    literals = {rule.literal for rule in rules}
    for literal in sorted(literals):
        yield '"' + "".join(_quoted(byte) for byte in literal) + '"'


def _quoted(byte: int) -> str:
    plain = 32 <= byte < 127 and byte not in b'"\\'
    return chr(byte) if plain else f"\\x{byte:02x}"
