"""Properties that hold for the logs of every trainer but MaxText."""

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.logs.facts import RunLog
from bot.logs.formats import registry
from bot.logs.ledger import time_ledger
from bot.logs.reader import read_log
from tests.log_writers import neighbours
from tests.log_writers.deepspeed import deepspeed_chat_log, deepspeed_log
from tests.log_writers.hugging_face import hugging_face_log
from tests.log_writers.llmc import llmc_console, llmc_log
from tests.log_writers.megatron import megatron_log
from tests.log_writers.mlperf import mlperf_log
from tests.log_writers.modded_nanogpt import modded_nanogpt_log
from tests.log_writers.nanogpt import nanogpt_log
from tests.log_writers.nemo import nemo_log
from tests.log_writers.torchtitan import torchtitan_log

LOSSES = st.lists(st.integers(1, 120_000).map(lambda n: n / 10_000), min_size=2, max_size=12)

WRITERS: tuple[Callable[[list[float]], str], ...] = (
    lambda losses: torchtitan_log(losses=losses),
    lambda losses: torchtitan_log(losses=losses, ranks=(2, 0, 1), validated=True, mfu=False),
    lambda losses: hugging_face_log(losses=losses, evaluated=True),
    lambda losses: hugging_face_log(losses=losses, style="bar"),
    lambda losses: nanogpt_log(losses=losses),
    lambda losses: llmc_log(losses=losses),
    lambda losses: llmc_console(losses=losses),
    lambda losses: modded_nanogpt_log(milliseconds=[1000 * loss for loss in losses]),
    lambda losses: mlperf_log(steps=12 * len(losses), losses=losses),
    lambda losses: mlperf_log(steps=12 * len(losses), losses=losses, timed=False, repeated=True),
    lambda losses: nemo_log(losses=losses),
    lambda losses: nemo_log(losses=losses, version=1),
    lambda losses: deepspeed_log(seconds=losses[0]),
    lambda losses: deepspeed_chat_log(steps=len(losses)),
    lambda _: megatron_log(),
    lambda _: megatron_log(fork="primus"),
    neighbours.olmo_log,
    lambda losses: neighbours.olmo_log(losses, core=True),
    neighbours.nanochat_log,
    neighbours.litgpt_log,
    lambda losses: neighbours.litgpt_log(losses, old=True),
    neighbours.torchtune_log,
    lambda losses: neighbours.torchtune_log(losses, style="text"),
    lambda losses: neighbours.torchtune_log(losses, style="json"),
    neighbours.lightning_log,
    lambda losses: neighbours.lightning_log(losses, rich=True),
    neighbours.composer_log,
    lambda losses: neighbours.composer_log(losses, tokens=True),
    neighbours.pax_log,
    neighbours.t5x_log,
    neighbours.keras_log,
    lambda losses: neighbours.keras_log(losses, style="bar"),
    lambda losses: neighbours.keras_log(losses, style="old"),
    neighbours.ms_swift_log,
    lambda losses: neighbours.ms_swift_log(losses, jsonl=True),
    neighbours.axolotl_log,
)

LOGS = st.builds(lambda write, losses: write(losses), st.sampled_from(WRITERS), LOSSES)

WRITERS_WITHOUT_TIMES = tuple(WRITERS[n] for n in (4, 5, 6, 7, 10))
"""Writers whose lines carry no time of their own: a prefix with one adds a fact."""

FRAGMENTS = st.sampled_from(
    [
        "GiB(", "step: 3  loss: 1  memory: 1.0GiB(1%)", "{'loss': ", "{'loss': 1, 'epoch': 1e999}",
        "{'loss': 1.0, 'epoch': nan}", "optimization steps = ,,,", "Num examples = 0",
        "max_iters = 9999999999999",
        "s:1 trl:", "s:1 trl:nan", "iter 1: loss nan, time 1.0ms, mfu ",
        "step:1/0 train_time:1ms step_avg:nanms",
        ':::MLLOG {"key": "eval_accuracy", "value": 1e400, "metadata": {"step": 1e300}}\n',
        ':::MLLOG {"key": "tracked_stats", "value": {"train_step_timing": NaN}, "metadata": {"step": 0}}\n',
        ':::MLLOG {"key": 1, "time_ms": "x", "metadata": []}', "[" * 3000, ':::MLLOG {"a":' + "[" * 3000,
        "Training epoch 0, iteration 1/2 | reduced_train_loss: 1e999", "|act_loss: ", "CurrSamplesPerSec=",
        "device mesh with parallelism: a=0", "device mesh with ['pp'], [9999999, 9999999]",
        "xits with return code = -",
        "[step=1/???]\n    train/CE loss=,,,", "[batch=1/0]:\n Train loss/train/total: nan",
        "] collection=train",
        "1/0 [>] - 0s 0us/step - loss: nan", "Epoch 1/0\n", "Epoch 9999999999: 1%|", "it/s, loss=nan]",
        "{'global_step/max_steps': '9/0', 'loss': nan, 'train_speed(iter/s)': 0.0}", "|Loss: nan",
        " | loss:inf",
        "[PAX STATUS] step_i: 1, train loss: nan\n", "steps/sec: 0.000000\n",
        "Metrics values at step 1:\n  loss=",
        '{"tokens_per_second_per_gpu": 1e999, "step": 1, "loss": NaN}', "Killed\n", "zsh: killed\n",
        "(exitcode: -99) local_rank: 0", "srun: error: n: task 0: Killed\n", "using world size: 8, data-",
        "\r", "\n", "}", "\x1b[31m", "levanter.", "RL Training", "Intermediate Eval (step=", "9" * 400,
    ]
)  # fmt: skip

GARBLED = st.lists(st.one_of(FRAGMENTS.map(str.encode), st.binary(max_size=40)), max_size=30).map(b"".join)


def _cut(content: bytes, sizes: list[int]) -> Iterator[bytes]:
    at = 0
    for size in sizes:
        yield content[at : at + size]
        at += size
    yield content[at:]


def _facts(text: str) -> list[str]:
    """The runs without places, as text, because NaN equals nothing."""
    return [repr(_without_offsets(run)) for run in read_log([text.encode()], "x")]


def _without_offsets(run: RunLog) -> RunLog:
    return replace(
        run,
        steps=tuple(replace(step, offset=0) for step in run.steps),
        marks=tuple(replace(mark, offset=0) for mark in run.marks),
        memory=tuple(replace(device, offset=0) for device in run.memory),
        memory_most=tuple(replace(device, offset=0) for device in run.memory_most),
    )


def test_a_format_is_one_module_and_one_row() -> None:
    """Each module of the folder has a row, and the rules of a row come from one module."""
    folder = Path(registry.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {
        "__init__",
        "registry",
        "errors",
        "last_words",
        "xpk",
    }
    rows = [{rule.read.__module__.rpartition(".")[2] for rule in row.rules} for row in registry.FORMATS]
    assert all(len(row) == 1 for row in rows)
    assert modules == set().union(*rows)


@given(LOGS)
@settings(max_examples=60, deadline=None)
def test_every_writer_is_read(log: str) -> None:
    """Its format is known and it has steps."""
    (run,) = read_log([log.encode()], "x")
    assert run.format is not None
    assert run.steps
    assert [step.step for step in run.steps] == sorted({step.step for step in run.steps})


@given(LOGS, st.lists(st.integers(0, 5000), max_size=20))
@settings(max_examples=60, deadline=None)
def test_the_answer_does_not_depend_on_the_chunks(log: str, sizes: list[int]) -> None:
    """However the stream is cut, the same runs come out."""
    assert repr(read_log([log.encode()], "x")) == repr(read_log(_cut(log.encode(), sizes), "x"))


@given(LOGS)
@settings(max_examples=40, deadline=None)
def test_packing_and_line_ends_change_nothing(log: str) -> None:
    """gzip, and the line ends of another system."""
    plain = read_log([log.encode()], "x")
    assert repr(plain) == repr(read_log([gzip.compress(log.encode())], "x"))
    assert _facts(log) == _facts(log.replace("\n", "\r\n"))


@given(LOGS)
@settings(max_examples=60, deadline=None)
def test_a_log_pasted_on_one_line_gives_the_same_facts(log: str) -> None:
    """Line breaks that became blanks lose nothing."""
    assert _facts(log) == _facts(log.replace("\n", " "))


def test_the_rank_in_a_rays_worker_stays_a_host() -> None:
    """Two labels on a line: the worker's, and the rank's that torchrun writes."""
    log = torchtitan_log(losses=[3.0, 2.9, 2.8], ranks=(2, 0, 1))
    labelled = "".join(f"(Worker pid=7, ip=10.0.0.1) {line}\n" for line in log.splitlines())
    (plain,), (run,) = read_log([log.encode()], "x"), read_log([labelled.encode()], "x")
    assert (3, 0) == (run.hosts, run.environment.process)
    assert len(plain.steps) == len(run.steps)


@given(LOGS, st.sampled_from(["# ", "> ", "stdout: ", "\x1b[2K"]))
@settings(max_examples=40, deadline=None)
def test_a_prefix_changes_nothing(log: str, prefix: str) -> None:
    """Whatever stands in front of each line."""
    prefixed = "".join(f"{prefix}{line}\n" for line in log.removesuffix("\n").split("\n"))
    assert _facts(log) == _facts(prefixed)


@given(st.sampled_from(WRITERS_WITHOUT_TIMES), LOSSES)
@settings(max_examples=30, deadline=None)
def test_a_timestamp_in_front_is_the_lines_time(
    write: Callable[[list[float]], str], losses: list[float]
) -> None:
    """As `kubectl logs --timestamps` writes it."""
    lines = write(losses).splitlines()
    stamped = "".join(f"2026-07-30T19:22:{n % 60:02}.5Z {line}\n" for n, line in enumerate(lines))
    (run,) = read_log([stamped.encode()], "x")
    assert run.steps
    assert all(step.time is not None for step in run.steps)


@given(LOGS, st.integers(1, 400))
@settings(max_examples=60, deadline=None)
def test_a_log_cut_short_says_no_more_than_the_whole(log: str, missing: int) -> None:
    """What it still says of a step is what the whole log says."""
    whole = read_log([log.encode()], "x")[0].steps
    for run in read_log([log.encode()[:-missing]], "x"):
        for known, step in zip(whole, run.steps, strict=False):
            assert step.loss in {known.loss, None}
            assert step.seconds in {known.seconds, None}


@given(GARBLED, st.lists(st.integers(0, 200), max_size=5))
@settings(max_examples=150, deadline=None)
def test_no_bytes_raise(content: bytes, sizes: list[int]) -> None:
    """Anything can be fed; one answer at least comes out, and its ledger can be drawn."""
    runs = read_log(_cut(content, sizes), "x")
    assert runs
    assert repr(runs) == repr(read_log([content], "x"))
    for run in runs:
        time_ledger(run, 0.1, (3,))
