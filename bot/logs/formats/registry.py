"""The table of log formats: one row each.

A new format is one module with its rules, and one row here. `COMMON_RULES` apply to a log of any format.
"""

from bot.logs.formats import keras, lightning, pax, torchtune
from bot.logs.formats.axolotl import AXOLOTL
from bot.logs.formats.composer import COMPOSER
from bot.logs.formats.deepspeed import DEEPSPEED, DEEPSPEED_CHAT
from bot.logs.formats.errors import ERRORS
from bot.logs.formats.hugging_face import HUGGING_FACE, numbered_by_epoch
from bot.logs.formats.last_words import LAST_WORDS
from bot.logs.formats.levanter import LEVANTER
from bot.logs.formats.litgpt import LITGPT
from bot.logs.formats.llmc import LLMC
from bot.logs.formats.maxtext import MAXTEXT
from bot.logs.formats.megatron import MEGATRON, without_averages
from bot.logs.formats.mlperf import MLPERF, numbered_by_samples
from bot.logs.formats.modded_nanogpt import MODDED_NANOGPT, seconds_by_difference
from bot.logs.formats.ms_swift import MS_SWIFT, seconds_by_clock
from bot.logs.formats.nanochat import NANOCHAT
from bot.logs.formats.nanogpt import NANOGPT
from bot.logs.formats.nemo import NEMO
from bot.logs.formats.olmo import OLMO
from bot.logs.formats.t5x import T5X
from bot.logs.formats.tensorboard import TENSORBOARD, WANDB
from bot.logs.formats.torchtitan import TORCHTITAN
from bot.logs.formats.xpk import XPK
from bot.logs.rules import LogFormat

COMMON_RULES = (*XPK, *ERRORS, *LAST_WORDS)

FORMATS = (
    LogFormat(name="maxtext", rules=MAXTEXT, per_host=True, first_step=0),
    LogFormat(name="torchtitan", rules=TORCHTITAN, per_host=True, first_step=1),
    LogFormat(
        name="hugging_face",
        rules=HUGGING_FACE,
        per_host=False,
        first_step=1,
        stateful_reader=numbered_by_epoch,
    ),
    LogFormat(
        name="ms_swift", rules=MS_SWIFT, per_host=False, first_step=1, stateful_reader=seconds_by_clock
    ),
    LogFormat(name="axolotl", rules=AXOLOTL, per_host=False, first_step=1),
    LogFormat(name="mlperf", rules=MLPERF, per_host=False, first_step=1, stateful_reader=numbered_by_samples),
    LogFormat(name="nemo", rules=NEMO, per_host=False, first_step=0),
    LogFormat(name="deepspeed_chat", rules=DEEPSPEED_CHAT, per_host=False, first_step=0),
    LogFormat(name="deepspeed", rules=DEEPSPEED, per_host=False, first_step=1, library=True),
    LogFormat(name="levanter", rules=LEVANTER, per_host=False, first_step=0),
    LogFormat(name="nanogpt", rules=NANOGPT, per_host=False, first_step=0),
    LogFormat(name="llmc", rules=LLMC, per_host=False, first_step=1),
    LogFormat(
        name="modded_nanogpt",
        rules=MODDED_NANOGPT,
        per_host=False,
        first_step=1,
        stateful_reader=seconds_by_difference,
    ),
    LogFormat(name="olmo", rules=OLMO, per_host=False, first_step=1),
    LogFormat(name="nanochat", rules=NANOCHAT, per_host=False, first_step=0),
    LogFormat(name="litgpt", rules=LITGPT, per_host=False, first_step=1),
    LogFormat(
        name="torchtune",
        rules=torchtune.TORCHTUNE,
        per_host=False,
        first_step=1,
        stateful_reader=torchtune.one_line_a_step,
    ),
    LogFormat(
        name="lightning",
        rules=lightning.LIGHTNING,
        per_host=False,
        first_step=1,
        stateful_reader=lightning.counted_over_epochs,
        library=True,
    ),
    LogFormat(name="composer", rules=COMPOSER, per_host=False, first_step=1),
    LogFormat(name="pax", rules=pax.PAX, per_host=False, first_step=1, stateful_reader=pax.one_line_a_step),
    LogFormat(name="t5x", rules=T5X, per_host=False, first_step=1),
    LogFormat(
        name="keras",
        rules=keras.KERAS,
        per_host=False,
        first_step=1,
        stateful_reader=keras.counted_over_epochs,
    ),
    LogFormat(name="tensorboard", rules=TENSORBOARD, per_host=False, first_step=0),
    LogFormat(name="wandb", rules=WANDB, per_host=False, first_step=0),
    LogFormat(name="megatron", rules=MEGATRON, per_host=False, first_step=1, correct_steps=without_averages),
)
