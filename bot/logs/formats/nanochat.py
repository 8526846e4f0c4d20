"""Logs of nanochat (karpathy/nanochat, scripts/base_train.py, mid_train.py, chat_sft.py) and autoresearch.

Steps count from 0. `dt` is the step's own time; the loss is a smoothed one. The rate is that of all devices
together, so it stays an extra.
"""

import re
from collections.abc import Iterator

from bot.logs.facts import Environment, Mark, MarkKind, Step
from bot.logs.rules import (
    NUMBER,
    RECORD_CUT,
    Completed,
    LiteralRule,
    LogWarning,
    Match,
    Quantity,
    QuantityKind,
    Statement,
)

# step 00010/21400 (0.05%) | loss: 10.812345 | grad norm: 1.2345 | lrm: 1.00 | dt: 456.78
_HEAD = re.compile(
    r"step (?P<step>\d{1,9})(?:/(?P<total>\d{1,9}))? \((?P<percent>[\d.]{1,8})%\) \| loss: "
    rf"(?P<loss>{NUMBER}) \|(?: grad norm: (?P<norm>{NUMBER}) \|)? lrm: (?P<lrm>{NUMBER}) \| dt: "
    r"(?P<time>\d{1,12}(?:\.\d{1,6})?)\Z"
)

# ms | tok/sec: 1,147,523 | bf16_mfu: 47.65 | epoch: 1 | total time: 0.15m | eta: 52.3m
_RATES = re.compile(
    rf"ms \| tok/sec: (?P<rate>[\d,]{{1,20}})(?: \| (?:bf16_)?mfu: (?P<mfu>{NUMBER})%?)?"
    r"(?: \| epoch: \d{1,9}[^|\n ]{0,40})?(?P<time> \| total time: [\d.]{1,12}m)?"
)

# Step 00010/00701 | Training loss: 1.234567| lrm: 0.98| num_tokens: 10,000
_TUNING_HEAD = re.compile(r"Step (?P<step>\d{1,9})/(?P<total>\d{1,9})\Z")

_TUNING = re.compile(rf" \| Training loss: (?P<loss>{NUMBER})\| lrm: (?P<lrm>{NUMBER})\| num_tokens: ")

# Step 00250 | Validation bpb: 0.987654
_EVAL_HEAD = re.compile(r"Step (?P<step>\d{1,9})\Z")

_EVAL = re.compile(rf" \| Validation (?:bpb|loss): (?P<loss>{NUMBER})(?=\s|\Z)")

# Total training time: 183.42m
_END = re.compile(r"Total training time: [\d.]{1,12}m(?=\s)")

# val_bpb:          0.997900
_SUMMARY = re.compile(rf"val_bpb: {{4,20}}{NUMBER}(?=\s)")

# Peak memory usage: 75422.02MiB
_MEMORY = re.compile(r"Peak memory usage: (?P<count>\d{1,12}(?:\.\d{1,6})?)MiB")

# GPU: NVIDIA H100 80GB HBM3 | Peak FLOPS (BF16): 9.89e+14
_DEVICE = re.compile(r"GPU: (?P<kind>[\w. /-]{1,60}) \Z")


def _step_line(match: Match) -> Iterator[Statement]:
    head, rates = _HEAD.search(match.front), _RATES.match(match.text)
    if head is None or rates is None:
        return
    if match.at_end and rates.end() == len(match.text):
        yield LogWarning(text=RECORD_CUT)
        return
    extras = [("lrm", float(head["lrm"])), ("tokens_per_second", float(rates["rate"].replace(",", "") or 0))]
    if head["norm"]:
        extras.append(("grad norm", float(head["norm"])))
    if rates["mfu"]:
        extras.append(("mfu", float(rates["mfu"])))
    if head["total"]:
        yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(head["total"]))
    yield Step(
        step=int(head["step"]),
        seconds=float(head["time"]) / 1000,
        loss=float(head["loss"]),
        time=match.time,
        offset=match.offset,
        extras=tuple(extras),
    )


def _tuning_line(match: Match) -> Iterator[Statement]:
    head, text = _TUNING_HEAD.search(match.front), _TUNING.match(match.text)
    if head and text:
        yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(head["total"]))
        yield Step(
            step=int(head["step"]),
            loss=float(text["loss"]),
            time=match.time,
            offset=match.offset,
            extras=(("lrm", float(text["lrm"])),),
        )


def _evaluated(match: Match) -> Iterator[Statement]:
    head, loss = _EVAL_HEAD.search(match.front), _EVAL.match(match.text)
    if head and loss:
        yield Mark(
            kind=MarkKind.EVAL_ENDED,
            time=match.time,
            step=int(head["step"]),
            loss=float(loss["loss"]),
            offset=match.offset,
        )


def _ended(match: Match) -> Iterator[Statement]:
    if _END.match(match.text) or _SUMMARY.match(match.text):
        yield Completed()


def _peak_memory(match: Match) -> Iterator[Statement]:
    if found := _MEMORY.match(match.text):
        yield Quantity(kind=QuantityKind.MAX_ALLOCATED_MB, value=float(found["count"]))


def _device(match: Match) -> Iterator[Statement]:
    if found := _DEVICE.search(match.front):
        yield Environment(device_kind=found["kind"])


NANOCHAT = (
    LiteralRule(
        literal=b"ms | tok/sec: ",
        read=_step_line,
        distinctive=True,
        lead=r"step [\d/]{1,20} \([\d.]{1,8}%\) \| loss: [^\n]{1,120}",
    ),
    LiteralRule(
        literal=b" | Training loss: ", read=_tuning_line, distinctive=True, lead=r"Step \d{1,9}/\d{1,9}"
    ),
    LiteralRule(literal=b" | Validation ", read=_evaluated, lead=r"Step \d{1,9}"),
    LiteralRule(literal=b"Total training time: ", read=_ended),
    LiteralRule(literal=b"val_bpb:    ", read=_ended),
    LiteralRule(literal=b"Peak memory usage: ", read=_peak_memory),
    LiteralRule(literal=b"| Peak FLOPS (BF16)", read=_device, distinctive=True, lead=r"GPU: [^\n]{1,60}"),
)
