"""What the fuzzer begins with: a short log of every format, and the words that readers look for.

In:  nothing. Out: logs by name; the dictionary of literals in libFuzzer's syntax.
"""

import gzip
from collections.abc import Iterator, Mapping

from bot.logs.formats import COMMON, FORMATS
from tests.writing import TRACEBACK, maxtext_log, megatron_log
from tests.writing_deepspeed import deepspeed_chat_log, deepspeed_log
from tests.writing_failures import FAILED, Day
from tests.writing_hugging_face import hugging_face_log
from tests.writing_mlperf import mlperf_log, nemo_log
from tests.writing_nanogpt import llmc_console, llmc_log, modded_nanogpt_log, nanogpt_log
from tests.writing_torchtitan import torchtitan_log

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
        **{f"failed-{name}": failed.log(Day()) for name, failed in FAILED.items()},
    }
    found = {name: text.encode() for name, text in texts.items()}
    return {**found, "gzip": gzip.compress(found["maxtext"], mtime=0)}


def dictionary() -> Iterator[str]:
    """One quoted literal a line."""
    needles = (*COMMON, *(needle for form in FORMATS for needle in form.needles))
    literals = {needle.literal for needle in needles}
    for literal in sorted(literals):
        yield '"' + "".join(_quoted(byte) for byte in literal) + '"'


def _quoted(byte: int) -> str:
    plain = 32 <= byte < 127 and byte not in b'"\\'
    return chr(byte) if plain else f"\\x{byte:02x}"
