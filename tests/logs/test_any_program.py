"""Failures of programs that no reader knows: crashes at start, shells' last words, schedulers' marks."""

import pytest

from bot.logs.facts import OutcomeState, RunLog
from bot.logs.reader import read_log
from tests.log_writers.hugging_face import hugging_face_log
from tests.log_writers.last_words import (
    ELASTIC_TABLE,
    IMPORT_TRACEBACK,
    LAST_WORDS,
    NOT_LOGS,
    disk_full_late,
    start_up,
)
from tests.log_writers.maxtext import maxtext_log
from tests.log_writers.megatron import megatron_log


def _run(text: str) -> RunLog:
    (run,) = read_log([text.encode()], "x")
    return run


@pytest.mark.parametrize(
    ("error", "kind", "where"),
    [
        ("ModuleNotFoundError: No module named 'flash_attn'", "missing_package", "train.py:12"),
        ("ImportError: cannot import name 'Attention' from 'project.layers' (/app/project/layers.py)", "code",
         "train.py:12"),
        ("ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory",
         "missing_package", "train.py:12"),
        ("NameError: name 'jnp' is not defined", "code", "train.py:12"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "device_oom",
         "train.py:12"),
        ("MemoryError", "host_oom", "train.py:12"),
        ("OSError: [Errno 28] No space left on device", "disk_full", "train.py:12"),
        ("requests.exceptions.ConnectionError: HTTPSConnectionPool(host='x.co', port=443): Max retries",
         "network", "train.py:12"),
        ("PermissionError: [Errno 13] Permission denied: '/data/out'", "access_denied", "train.py:12"),
        ("RuntimeError: CUDA error: uncorrectable ECC error encountered", "bad_hardware", "train.py:12"),
        ("RuntimeError: No CUDA GPUs are available", "bad_hardware", "train.py:12"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'data/train.bin'", "missing_file",
         "train.py:12"),
    ],
)  # fmt: skip
def test_a_crash_before_the_first_known_line_is_a_failed_run(error: str, kind: str, where: str) -> None:
    """Of a trainer that nobody knows, with the cause and the place."""
    run = _run(start_up(IMPORT_TRACEBACK.format(error=error)))
    failure = run.outcome.failure
    assert (OutcomeState.FAILED, None) == (run.outcome.state, run.format)
    assert failure is not None
    assert (kind, error, where) == (failure.kind, failure.error, failure.where)
    assert failure.fingerprint


@pytest.mark.parametrize("name", LAST_WORDS)
@pytest.mark.parametrize("before", ["start", "steps"])
def test_the_last_word_of_a_shell_or_scheduler_is_an_outcome(name: str, before: str) -> None:
    """Whoever ended the process, at the start of an unknown trainer or behind the steps of a known one."""
    said = LAST_WORDS[name]
    text = start_up(said.text) if before == "start" else megatron_log(total=20, ending="") + said.text + "\n"
    run = _run(text)
    failure = run.outcome.failure
    assert run.outcome.state is said.state
    assert failure is not None
    assert (said.kind, said.error) == (failure.kind, failure.error)
    assert ("megatron" if before == "steps" else None) == run.format


@pytest.mark.parametrize(
    "prefix", ["", "[pod/mt-0-abc/main] ", "2026-04-21T10:16:20.123456789Z ", "node3: ", "\x1b[31m"]
)
@pytest.mark.parametrize("word", ["Killed", "Segmentation fault (core dumped)"])
def test_a_last_word_has_any_prefix(prefix: str, word: str) -> None:
    """The prefix that the line before has too."""
    lines = start_up(word).splitlines()
    run = _run("".join(f"{prefix}{line}\n" for line in lines))
    assert run.outcome.failure is not None
    assert word == run.outcome.failure.error


@pytest.mark.parametrize("name", NOT_LOGS)
def test_text_that_is_no_log_stays_none(name: str) -> None:
    """Prose, pages, sources and data that quote an error or use its words."""
    assert OutcomeState.NOT_A_TRAINING_LOG is _run(NOT_LOGS[name]).outcome.state


def test_a_word_that_training_survived_is_no_cause() -> None:
    """A helper process was killed, and training went on to its end."""
    text = megatron_log(fork="primus").replace("[2025", "Killed\n[2025", 1)
    assert OutcomeState.SUCCEEDED is _run(text).outcome.state


def test_what_killed_it_explains_a_bare_kill() -> None:
    """The kernel's or the scheduler's reason, whichever line comes first."""
    reason = "slurmstepd: error: Detected 1 oom_kill event in StepId=88.0. Some tasks have been OOM Killed."
    for text in (f"Killed\n{reason}", f"{reason}\nKilled"):
        run = _run(start_up(text))
        assert run.outcome.failure is not None
        assert (OutcomeState.KILLED, "host_oom") == (run.outcome.state, run.outcome.failure.kind)


def test_an_elastic_table_is_an_echo_of_the_error_before_it() -> None:
    """torchrun repeats at the end what a worker said first."""
    table = ELASTIC_TABLE.format(code=1, said="traceback : To enable traceback see: https://x")
    run = _run(start_up(IMPORT_TRACEBACK.format(error="KeyError: 'embed'") + "\n" + table))
    assert run.outcome.failure is not None
    assert ("code", "KeyError: 'embed'") == (run.outcome.failure.kind, run.outcome.failure.error)


def test_a_full_disk_is_named_by_its_first_error() -> None:
    """Steps survive the first failed write; the checkpoint behind them does not."""
    failure = _run(disk_full_late()).outcome.failure
    assert failure is not None
    assert "disk_full" == failure.kind
    assert "No space left on device" in failure.error


def test_a_full_disk_that_the_run_outlived_is_no_failure() -> None:
    """A log handler could not write, and training ended in good order."""
    text = disk_full_late(ending=False)
    assert OutcomeState.SUCCEEDED is _run(text).outcome.state


@pytest.mark.parametrize("grad_norm", ["nan", "'nan'", "NaN", "'inf'"])
def test_a_loss_of_0_beside_a_gradient_that_is_nan_is_nan(grad_norm: str) -> None:
    """The Trainer prints 0.0 where it filters NaN from the mean."""
    good = "{'loss': 2.1, 'grad_norm': 1.5, 'learning_rate': 1e-05, 'epoch': 0.1}\n"
    bad = f"{{'loss': 0.0, 'grad_norm': {grad_norm}, 'learning_rate': 1e-05, 'epoch': 0.2}}\n"
    run = _run(good + bad * 2)
    assert (OutcomeState.FAILED, "loss_not_finite") == (
        run.outcome.state, run.outcome.failure and run.outcome.failure.kind,
    )  # fmt: skip


def test_a_loss_of_0_beside_a_gradient_of_0_stays() -> None:
    """A model that has learned everything."""
    run = _run("{'loss': 0.0, 'grad_norm': 0.0, 'learning_rate': 1e-05, 'epoch': 0.1}\n")
    assert [0.0] == [step.loss for step in run.steps]


def test_a_metrics_file_may_say_nan() -> None:
    """JSON of Python has a word for it."""
    line = '{{"learning/loss": {}, "perf/step_time_seconds": 0.5, "step": {}.0, "run_name": "x"}}\n'
    run = _run(line.format("8.1", 0) + line.format("NaN", 1))
    assert run.outcome.failure is not None
    assert "loss is nan at step 1" == run.outcome.failure.error


def test_known_trainers_still_end_as_they_say() -> None:
    """A whole run, and one that was stopped, have no cause from these words."""
    assert OutcomeState.SUCCEEDED is _run(maxtext_log()).outcome.state
    assert OutcomeState.SUCCEEDED is _run(hugging_face_log()).outcome.state
