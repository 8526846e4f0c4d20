"""Logs of llm.c: its main.log, and what the program itself prints.

The lines of main.log carry no times. `tel` is the loss of an evaluation at a step whose own line follows.
The tokens per second that the program prints are a running average: an extra.
"""

import re
from collections.abc import Iterator

from bot.logs.facts import Mark, MarkKind, Step
from bot.logs.rules import RECORD_CUT, LiteralRule, LogWarning, Match, Quantity, QuantityKind, Statement

_NUMBER = r"-?(?:nan|inf|\d{1,12}(?:\.\d{1,20})?(?:e[+-]?\d{1,3})?)"

# s:1 trl:10.9598 lr:0.000002 norm:15.24      s:3769 trl:3.6555
_LOG_HEAD = re.compile(r"(?<![\w])s:(?P<step>\d{1,12})\Z")

_LOG_LOSS = re.compile(
    rf" t[re]l:(?P<loss>{_NUMBER})(?: lr:(?P<lr>{_NUMBER}))?(?: norm:(?P<norm>{_NUMBER}))?(?P<end>.?)",
    re.DOTALL,
)

_LOSS_DECIMALS = 4
"""Decimals of a loss. A number with fewer at the end of a log was cut."""

# step    1/18865 | loss 11.009 (+nanz)| norm 15.3724 (+nanz)| lr 8.57e-07 | 3000.12 ms | 45.1% bf16 MFU | ...
# step    1/10 | train loss 5.270099 | norm 30.1234 | lr 1.00e-04 | (4527.00 ms | 57 tok/s)
_CONSOLE_HEAD = re.compile(
    rf"step +(?P<step>\d{{1,12}})/(?P<total>\d{{1,12}}) \| (?:train )?loss +(?P<loss>{_NUMBER})"
    r"(?: \([^()\n|]{1,12}\))? ?\Z"
)

_CONSOLE_REST = re.compile(
    rf"\| norm +(?P<norm>{_NUMBER})(?: \([^()\n|]{{1,12}}\))? ?\| lr (?P<lr>{_NUMBER}) \| "
    r"\(?(?P<time>\d{1,12}(?:\.\d{1,6})?) ms \|(?: (?P<mfu>-?[\d.]{1,12})% \w{1,12} MFU \|)?"
    r" (?P<average>\d{1,15}) tok/s"
)


def _log_line(match: Match) -> Iterator[Statement]:
    head, found = _LOG_HEAD.search(match.front), _LOG_LOSS.match(match.text)
    if head is None or found is None:
        return
    number, loss = int(head["step"]), float(found["loss"])
    digits = len(found["loss"].partition(".")[2])
    if match.at_end and not found["end"] and (digits < _LOSS_DECIMALS or (found["lr"] and not found["norm"])):
        yield LogWarning(text=RECORD_CUT)
    elif match.text.startswith(" tel:"):
        yield Mark(kind=MarkKind.EVAL_ENDED, time=match.time, step=number, loss=loss, offset=match.offset)
    else:
        extras = tuple((name, float(found[name])) for name in ("lr", "norm") if found[name])
        yield Step(step=number, loss=loss, time=match.time, offset=match.offset, extras=extras)


def _console_line(match: Match) -> Iterator[Statement]:
    head, rest = _CONSOLE_HEAD.search(match.front), _CONSOLE_REST.match(match.text)
    if head is None:
        return
    if rest is None:
        if match.at_end:
            yield LogWarning(text=RECORD_CUT)
        return
    mfu = float(rest["mfu"]) if rest["mfu"] else None
    yield Step(
        step=int(head["step"]),
        seconds=float(rest["time"]) / 1000,
        loss=float(head["loss"]),
        time=match.time,
        offset=match.offset,
        extras=(
            *((name, float(rest[name])) for name in ("lr", "norm")),
            *((("mfu", mfu),) if mfu is not None and mfu >= 0 else ()),  # -100: the device is unknown
            ("average_tokens_per_second", float(rest["average"])),
        ),
    )
    yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(head["total"]))


LLMC = (
    LiteralRule(literal=b" trl:", read=_log_line, distinctive=True, lead=r"s:\d{1,12}"),
    LiteralRule(literal=b" tel:", read=_log_line, distinctive=True, lead=r"s:\d{1,12}"),
    LiteralRule(
        literal=b"| norm ",
        read=_console_line,
        distinctive=True,
        lead=r"step +\d{1,12}/\d{1,12} \| (?:train )?loss [^\n|]{1,40}",
    ),
)
