"""Logs of Megatron-LM and its forks (Megatron-DeepSpeed, Primus).

Iterations count from 1; their times are printed in milliseconds and stated in seconds. Only one rank prints
the iterations, so hosts are not distinguished. Some forks print each iteration twice.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from bot.logs.facts import Mark, MarkKind, Step
from bot.logs.prefixes import RFC3339, rfc3339_time
from bot.logs.rules import (
    RECORD_CUT,
    Completed,
    ExitCode,
    LiteralRule,
    LogWarning,
    Match,
    ProgramBanner,
    Quantity,
    QuantityKind,
    Statement,
    UnfinishedStep,
)

# [2025-06-28 18:42:27] iteration        1/      20 |
_HEAD = re.compile(
    rf"(?:\[?{RFC3339}\]?)?\s{{0,3}}iteration +(?P<step>\d{{1,12}})/ *(?P<total>\d{{1,12}}) \|[ \t]*\Z"
)

# consumed samples:           16 | elapsed time per iteration (ms): 4493.2/4500.1 | ... |
_PAIR = re.compile(
    r"[ \t]*(?P<name>[A-Za-z][\w ()/%-]{0,60}?):[ \t]*"
    r"(?P<value>-?(?:\d{1,24}(?:\.\d{0,24})?(?:e[+-]?\d{1,3})?|nan|inf))"
    r"(?:/(?P<mean>\d{1,24}(?:\.\d+)?))?[ \t]*(?P<end>\||\r|\n|$)",
    re.IGNORECASE,
)

# hip mem usage/free/total/usage_ratio: 232.82GB/55.17GB/287.98GB/80.84%  |
_OTHER_PAIR = re.compile(r"[ \t]*(?!validation|time)[A-Za-z][\w ()/.%-]{0,80}:[^|\r\n\[(]{0,120}\|")

_PARTIAL_LENGTH = 60
"""Characters behind a record that the end of the log may have cut from its next number."""

_TIME_KEY = "elapsed time per iteration (ms)"

_FIELDS = {
    "throughput per GPU (TFLOP/s/GPU)": "tflops", "TFLOPs": "tflops",
    "tokens per GPU (tokens/s/GPU)": "tokens", "tokens-per-second-per-gpu": "tokens",
    "lm loss": "loss", "loss": "loss",
}  # fmt: skip

AVERAGE_SECONDS = "average_seconds"
"""The extra with the running average of a current/average pair."""

# setting training iterations to 171661
_ITERATIONS = re.compile(r"setting training iterations to (?P<count>\d{1,12})\b")

# using world size: 8, data-parallel size: 1, ...      using world size: 16, data-parallel-size: 4, ...
_BANNER = re.compile(r"using world size: \d{1,9}, data-parallel[ -]size: \d")

# Total number of parameters in billions: 0.91
_PARAMETERS = re.compile(r"parameters in billions: (?P<count>\d{1,9}(?:\.\d{1,24})?)")

# [Rank 1] (after 1 iterations) memory (MB) | allocated: 1941.8 | max allocated: 7706.1 | reserved: 8178.0
_ALLOCATED = re.compile(r"max allocated: (?P<count>\d{1,12}(?:\.\d+)?)")

# validation loss at iteration 100 | lm loss value: 9.661073E+00
_AT_ITERATION = re.compile(r"[^|\n]{0,60}?iteration +(?P<step>\d{1,12})\b")

# primus launcher exited with code 1
_EXIT_CODE = re.compile(r"launcher exited with code (?P<code>\d{1,3})\b")


def _banner(match: Match) -> Iterator[Statement]:
    if _BANNER.match(match.text):
        yield ProgramBanner()


def _iteration(match: Match) -> Iterator[Statement]:
    head = _HEAD.search(match.front)
    if head is None:
        return
    pairs, mean, end = _pairs(match.text)
    rest = match.text[end:]
    if match.at_end and "\n" not in match.text[end - 1 :] and (len(rest) < _PARTIAL_LENGTH or not pairs):
        if rest.strip() or not match.text[:end].endswith("|"):
            yield LogWarning(text=RECORD_CUT)
            return
        yield UnfinishedStep(step=_step(match, head, pairs, mean))
    else:
        yield _step(match, head, pairs, mean)
    yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(head["total"]))


def _pairs(text: str) -> tuple[dict[str, float], float | None, int]:
    """The numbers between the bars, the average beside the time, and the end of the record."""
    pairs: dict[str, float] = {}
    mean: float | None = None
    at = 0
    while at < len(text):
        found = _PAIR.match(text, at)
        if found and found["name"] not in pairs:
            pairs[found["name"]] = float(found["value"])
            if found["name"] == _TIME_KEY and found["mean"]:
                mean = float(found["mean"])
            at = found.end()
            if found["end"] != "|":
                break
        elif pairs and (skipped := _OTHER_PAIR.match(text, at)):
            at = skipped.end()
        else:
            break
    return pairs, mean, at


def _step(match: Match, head: re.Match[str], pairs: dict[str, float], mean: float | None) -> Step:
    known: dict[str, float] = {}
    extras = [] if mean is None else [(AVERAGE_SECONDS, mean / 1000)]
    milliseconds = pairs.pop(_TIME_KEY, None)
    for name, value in pairs.items():
        if field := _FIELDS.get(name):
            known[field] = value
        else:
            extras.append((re.sub(r"\W+", "_", name).strip("_"), value))
    return Step(
        step=int(head["step"]),
        seconds=None if milliseconds is None else milliseconds / 1000,
        tflops_per_device=known.get("tflops"),
        tokens_per_device=known.get("tokens"),
        loss=known.get("loss"),
        time=rfc3339_time(head) if head["year"] else match.time,
        offset=match.offset,
        extras=tuple(extras),
    )


def without_averages(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps, without the times that are running averages.

    A fork that prints current/average pairs prints a running average alone in its first two lines.
    """
    paired = [any(name == AVERAGE_SECONDS for name, _ in step.extras) for step in steps]
    if not any(paired):
        return steps
    return tuple(
        step if own else replace(step, seconds=None, tflops_per_device=None, tokens_per_device=None)
        for step, own in zip(steps, paired, strict=True)
    )


def _iterations(match: Match) -> Iterator[Statement]:
    if found := _ITERATIONS.match(match.text):
        yield Quantity(kind=QuantityKind.EXPECTED_STEPS, value=float(found["count"]))


def _parameter_count(match: Match) -> Iterator[Statement]:
    if found := _PARAMETERS.match(match.text):
        yield Quantity(kind=QuantityKind.PARAMETERS_BILLION, value=float(found["count"]))


def _max_allocated(match: Match) -> Iterator[Statement]:
    if found := _ALLOCATED.match(match.text):
        yield Quantity(kind=QuantityKind.MAX_ALLOCATED_MB, value=float(found["count"]))


def _evaluated(match: Match) -> Iterator[Statement]:
    if found := _AT_ITERATION.match(match.text):
        yield Mark(kind=MarkKind.EVAL_ENDED, time=match.time, step=int(found["step"]), offset=match.offset)


def _checkpoint(match: Match) -> Iterator[Statement]:
    if found := _AT_ITERATION.match(match.text):
        kind = MarkKind.CHECKPOINT_STARTED if match.text.startswith("saving") else MarkKind.CHECKPOINT_SAVED
        yield Mark(kind=kind, time=match.time, step=int(found["step"]), offset=match.offset)


def _exit_code(match: Match) -> Iterator[Statement]:
    if found := _EXIT_CODE.match(match.text):
        yield ExitCode(code=int(found["code"]))


def _completed(_: Match) -> Iterator[Statement]:
    # [exiting program at iteration 5] datetime: ...      [after training is done] datetime: ...
    yield Completed()


MEGATRON = (
    LiteralRule(
        literal=b"consumed samples:",
        read=_iteration,
        distinctive=True,
        lead=r"iteration +\d{1,12}/ *\d{1,12} \|[ \t]{0,4}",
    ),
    LiteralRule(literal=b"using world size: ", read=_banner),
    LiteralRule(literal=b"setting training iterations to ", read=_iterations, distinctive=True),
    LiteralRule(
        literal=b"parameters in billions: ", read=_parameter_count, distinctive=True, repeat_bytes=80
    ),
    LiteralRule(literal=b"max allocated: ", read=_max_allocated),
    LiteralRule(literal=b"validation loss at iteration ", read=_evaluated),
    LiteralRule(literal=b"saved checkpoint from iteration ", read=_checkpoint),
    LiteralRule(literal=b"launcher exited with code ", read=_exit_code),
    LiteralRule(literal=b"[exiting program", read=_completed),
)
