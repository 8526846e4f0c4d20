"""What DeepSpeed itself prints in any trainer's log, and the lines of DeepSpeed-Chat's trainers.

DeepSpeed prints samples per second of every n-th step. Its running average and its current rate stay
extras: the size of a step is not printed. Reinforcement learning has three losses, none of which is *the*
loss.
"""

import re
from collections.abc import Iterator

from bot.logs.facts import Mark, MarkKind, Step
from bot.logs.formats.last_words import SIGNAL_BASE, exit_cause
from bot.logs.prefixes import RFC3339, rfc3339_time
from bot.logs.rules import (
    RECORD_CUT,
    ExitCode,
    LiteralRule,
    LogWarning,
    Match,
    Quantity,
    QuantityKind,
    Statement,
)

# [2023-04-18 01:46:59,171] [INFO] [timer.py:199:stop] epoch=0/micro_step=10/global_step=10, Running...
# [2022-10-31 10:50:08,436] [INFO] [timer.py:198:stop] 0/10, RunningAvgSamplesPerSec=430.5,
_TIMER_HEAD = re.compile(
    rf"(?:\[{RFC3339}\] [^\n]{{0,60}}?)?"
    r"(?:epoch=\d{1,9}/micro_step=\d{1,12}/global_step=|(?<![\d/])\d{1,9}/)"
    r"(?P<step>\d{1,12}), RunningAvgSamplesPerSec=(?P<average>[\d.]{1,30}), \Z"
)

# CurrSamplesPerSec=171.97903593624417, MemAllocated=3.96GB, MaxMemAllocated=22.95GB
_TIMER_RATES = re.compile(
    r"CurrSamplesPerSec=(?P<rate>\d{1,12}(?:\.\d{1,24})?)"
    r"(?:, MemAllocated=[\d.]{1,12} ?GB, MaxMemAllocated=(?P<memory>\d{1,9}(?:\.\d{1,6})?) ?(?P<unit>GB))?"
)

_MIB = 1024.0

# epoch: 0|step: 60|ppo_ep: 1|act_loss: -0.0987548828125|cri_loss: 0.036376953125|unsuper_loss: 0.0
_CHAT_HEAD = re.compile(r"epoch: (?P<epoch>\d{1,9})\|step: (?P<step>\d{1,12})\|ppo_ep: (?P<times>\d{1,9})\Z")

_LOSS = r"(?P<{0}>-?(?:nan|inf|\d{{1,12}}(?:\.\d{{1,24}})?(?:e[+-]?\d{{1,3}})?))"

_CHAT_LOSSES = re.compile(
    r"\|act_loss: " + _LOSS.format("act_loss") + r"\|cri_loss: " + _LOSS.format("cri_loss")
    + r"\|unsuper_loss: " + _LOSS.format("unsuper_loss") + r"(?P<end>\s)?"
)  # fmt: skip

# |E2E latency=3.81s |Gather latency=0.00s (0.00%) |Generate time=2.54s (66.86%) |Training time=1.03s
_LATENCY = re.compile(r"\|E2E latency=(?P<seconds>\d{1,9}(?:\.\d{1,6})?)s ")

_LATENCY_BYTES = 1536
"""Bytes between the line of a step's times and that of its losses, with DeepSpeed's own lines in between."""

# ppl: 2.0179834365844727
_PERPLEXITY = re.compile(r"ppl: (?P<value>\d{1,12}(?:\.\d{1,24})?)")

# Process 47958 exits successfully.      Process 47958 exits with return code = 1
_EXIT_HEAD = re.compile(r"Process \d{1,12} e\Z")

_EXIT_CODE = re.compile(r"xits (?:successfully|with return code = (?P<code>-?\d{1,5}))")

# [2026-04-21 10:16:20,123] [ERROR] [launch.py:434:sigkill_handler] ['/usr/bin/python3', ...] exits with ...
_LAUNCHER_HEAD = re.compile(r"\[ERROR\] \[launch\.py:\d{1,6}:\w{1,40}\] [^\n]{1,4000}\] e\Z")


_COMMAND_BYTES = 4096
"""Bytes of a command that the launcher prints in front of its exit code."""


def _timer_step(match: Match) -> Iterator[Statement]:
    head, rates = _TIMER_HEAD.search(match.front), _TIMER_RATES.match(match.text)
    if head is None or rates is None:
        return
    if match.at_end and rates.end() == len(match.text) and not rates["unit"]:
        yield LogWarning(text=RECORD_CUT)
        return
    yield Step(
        step=int(head["step"]),
        time=rfc3339_time(head) if head["year"] else match.time,
        offset=match.offset,
        extras=(
            ("samples_per_second", float(rates["rate"])),
            ("average_samples_per_second", float(head["average"])),
        ),
    )
    if rates["memory"]:
        yield Quantity(kind=QuantityKind.MAX_ALLOCATED_MB, value=float(rates["memory"]) * _MIB)


def _exit_code(match: Match) -> Iterator[Statement]:
    found = _EXIT_CODE.match(match.text)
    code = int(found["code"] or 0) if found else 0
    if found and _EXIT_HEAD.search(match.front):
        yield ExitCode(code=code if code >= 0 else SIGNAL_BASE - code)
    elif found and code and _LAUNCHER_HEAD.search(match.before(_COMMAND_BYTES)):
        yield exit_cause(match, code, f"e{found[0]}")


def _evaluating(match: Match) -> Iterator[Statement]:
    # ***** Evaluating perplexity, Epoch 1/16 *****
    yield Mark(kind=MarkKind.EVAL_STARTED, time=match.time, offset=match.offset)


def _perplexity(match: Match) -> Iterator[Statement]:
    if _PERPLEXITY.match(match.text):
        yield Mark(kind=MarkKind.EVAL_ENDED, time=match.time, offset=match.offset)


def _chat_step(match: Match) -> Iterator[Statement]:
    head, losses = _CHAT_HEAD.search(match.front), _CHAT_LOSSES.match(match.text)
    if head is None:
        return
    if losses is None or (match.at_end and not losses["end"]):
        if match.at_end:
            yield LogWarning(text=RECORD_CUT)
        return
    behind = match.before(_LATENCY_BYTES).rpartition("|act_loss: ")[2]
    latency = _LATENCY.search(behind)
    yield Step(
        step=int(head["step"]),
        seconds=float(latency["seconds"]) if latency else None,
        time=match.time,
        offset=match.offset,
        extras=tuple((name, float(losses[name])) for name in ("act_loss", "cri_loss", "unsuper_loss")),
    )


DEEPSPEED = (
    LiteralRule(literal=b"CurrSamplesPerSec=", read=_timer_step, distinctive=True),
    LiteralRule(literal=b"xits successfully", read=_exit_code),
    LiteralRule(literal=b"xits with return code = ", read=_exit_code),
    LiteralRule(literal=b"***** Evaluating perplexity", read=_evaluating),
    LiteralRule(literal=b"ppl: ", read=_perplexity, lead=r"(?:^|[\r\n])"),
)

DEEPSPEED_CHAT = (
    LiteralRule(
        literal=b"|act_loss: ",
        read=_chat_step,
        distinctive=True,
        lead=r"epoch: \d{1,9}\|step: \d{1,12}\|ppo_ep: \d{1,9}",
    ),
)
