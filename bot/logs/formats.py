"""The formats that are read: one row each.

In:  nothing.
Out: `FORMATS`, and `COMMON`, what is read in a log of any format.

A new format is one module with its needles, and one row here.
"""

from collections.abc import Callable
from dataclasses import dataclass

from bot.logs.deepspeed import DEEPSPEED, DEEPSPEED_CHAT
from bot.logs.epochs import numbered_by_epoch
from bot.logs.facts import Step
from bot.logs.follower import Follower
from bot.logs.frame import FRAME
from bot.logs.hugging_face import HUGGING_FACE
from bot.logs.levanter import LEVANTER
from bot.logs.llmc import LLMC
from bot.logs.maxtext import MAXTEXT
from bot.logs.maxtext_rl import REINFORCEMENT
from bot.logs.megatron import MEGATRON, own_times
from bot.logs.mlperf import MLPERF
from bot.logs.modded_nanogpt import MODDED_NANOGPT, own_seconds
from bot.logs.nanogpt import NANOGPT
from bot.logs.nemo import NEMO
from bot.logs.samples import numbered_by_samples
from bot.logs.sighting import Needle
from bot.logs.torchtitan import TORCHTITAN
from bot.logs.trouble import TROUBLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """`per_host`: every host prints every step, so hosts must be told apart. `first_step` is what a fresh
    run counts from. `settle` corrects steps by what only the whole series tells; `follow` makes, for each
    host, what completes a step line by the lines before it. `library`: its lines also stand in the logs of
    other trainers, whose own lines say more."""

    name: str
    needles: tuple[Needle, ...]
    per_host: bool
    first_step: int
    settle: Callable[[tuple[Step, ...]], tuple[Step, ...]] = tuple
    follow: Callable[[], Follower] | None = None
    library: bool = False


COMMON = (*FRAME, *TROUBLE)

FORMATS = (
    Format(name="maxtext", needles=(*MAXTEXT, *REINFORCEMENT), per_host=True, first_step=0),
    Format(name="torchtitan", needles=TORCHTITAN, per_host=True, first_step=1),
    Format(name="hugging_face", needles=HUGGING_FACE, per_host=False, first_step=1, follow=numbered_by_epoch),
    Format(name="mlperf", needles=MLPERF, per_host=False, first_step=1, follow=numbered_by_samples),
    Format(name="nemo", needles=NEMO, per_host=False, first_step=0),
    Format(name="deepspeed_chat", needles=DEEPSPEED_CHAT, per_host=False, first_step=0),
    Format(name="deepspeed", needles=DEEPSPEED, per_host=False, first_step=1, library=True),
    Format(name="levanter", needles=LEVANTER, per_host=False, first_step=0),
    Format(name="nanogpt", needles=NANOGPT, per_host=False, first_step=0),
    Format(name="llmc", needles=LLMC, per_host=False, first_step=1),
    Format(name="modded_nanogpt", needles=MODDED_NANOGPT, per_host=False, first_step=1, follow=own_seconds),
    Format(name="megatron", needles=MEGATRON, per_host=False, first_step=1, settle=own_times),
)
