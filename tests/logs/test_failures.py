"""Failure classes, and every known way to fail from a whole log: class, cause, place, fingerprint."""

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.logs.facts import Failure, RunLog
from bot.logs.failures import FailureClass, Responsibility, advice, classify, fingerprint, masked
from bot.logs.reader import read_log
from tests.log_writers.failures import ECHO, FAILED_RUNS, RunDetails, traceback

SIGNATURES = {
    "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem while allocating on stack": "vmem_oom",
    "RESOURCE_EXHAUSTED: TPU TensorCore Hbm usage: 34.82G, SparseCore Hbm usage 174.10G": "sparse_core_oom",
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2.28TiB": "device_oom",
    "MAXTEXT CONFIG ERROR: 'steps' not in 'x'": "config",
    "Barrier result: DEADLINE_EXCEEDED; # of tasks that reached the barrier: 1/8": "hang",
    "Detected failure SLICE_FAILURE_CHIP_DRIVER_ERROR in session e6c8": "bad_hardware",
    "*** A program or fatal error occurred, all pending programs will fail": "hardware_or_compiler",
    "RuntimeError: Unable to initialize backend 'tpu': ABORTED: The TPU is already in use": "tpu_busy",
    "Failed to pull image: ErrImagePull": "image",
    'Error from server: error when creating "/tmp/x": JobSet cannot be handled as a JobSet': "submit",
    "couldn't assign flavors: insufficient unused quota for google.com/tpu": "queue",
    "Preempted to accommodate a workload (UID: 1) due to prioritization": "preempted",
    "something else": "unknown",
}


@pytest.mark.parametrize(("error", "kind"), SIGNATURES.items())
def test_a_known_message_has_its_class(error: str, kind: str) -> None:
    """The words of XLA, libtpu, JAX, Kubernetes and xpk."""
    assert kind == classify(error)[0]


@pytest.mark.parametrize("kind", list(FailureClass))
def test_every_class_says_what_to_do(kind: FailureClass) -> None:
    """One plain sentence, a fault, and whether to try again."""
    found = advice(kind)
    assert found.next_step.endswith(".")
    assert "!" not in found.next_step
    assert found.responsibility in Responsibility


def test_only_failures_of_the_cluster_or_of_unknown_origin_are_retried() -> None:
    """Running the author's mistake again spends chips on the same answer."""
    blamed = [kind for kind in FailureClass if advice(kind).retry]
    assert all(
        advice(kind).responsibility in (Responsibility.CLUSTER, Responsibility.UNKNOWN) for kind in blamed
    )


def test_a_fingerprint_ignores_the_day_the_host_and_the_line() -> None:
    """The same failure elsewhere has the same fingerprint; another one has not."""
    one = "ValueError: 0x7f3 at 10.0.0.7:8482 on mt-a-1b2c3-slice-job-0-3, step 12 of gs://b/x/12, 3.5 GB"
    two = "ValueError: 0xabc at 10.9.0.1:1 on mt-a-9z8y7-slice-job-0-1, step 977 of gs://c/y/9, 31 GB"
    assert masked(one) == masked(two)
    assert fingerprint("code", one, "a.py:f") == fingerprint("code", two, "a.py:f")
    others = {
        fingerprint("code", one, "a.py:g"),
        fingerprint("config", one, "a.py:f"),
        fingerprint("code", one.replace("ValueError", "KeyError"), "a.py:f"),
        fingerprint("code", one.replace("step", "file"), "a.py:f"),
    }
    assert 4 == len(others - {fingerprint("code", one, "a.py:f")})


NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=5, max_size=5)

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)

MOMENTS = st.integers(0, 365 * 86_400 - 1).map(lambda second: NEW_YEAR + timedelta(seconds=second))

DAYS = st.builds(
    RunDetails,
    start=MOMENTS.map(lambda moment: f"{moment:%Y-%m-%dT%H:%M:%S}"),
    workload=NAMES.map(lambda name: f"mt-03-dropout-{name}"),
    run_name=MOMENTS.map(lambda moment: f"linen_xpk_main_{moment:%Y%m%d_%H%M%S}_03_dropout"),
    shift=st.integers(0, 900),
    pid=st.integers(1, 4_000_000),
    task=st.integers(0, 99),
    thread=st.integers(16**9, 16**12 - 1).map(hex),
    address=st.tuples(*[st.integers(0, 255)] * 3).map(lambda parts: "10.{}.{}.{}".format(*parts)),
)

TODAY = RunDetails()

CLASSES_BY_RESPONSIBILITY = {
    Responsibility.CHANGE: {
        "code",
        "hbm_oom",
        "vmem_oom",
        "sparse_core_oom",
        "device_oom",
        "loss_not_finite",
        "host_oom",
        "limit",
    },
    Responsibility.CONFIGURATION: {
        "config",
        "missing_package",
        "missing_file",
        "access_denied",
        "stopped_early",
        "image",
        "submit",
        "checkpoint",
    },
    Responsibility.CLUSTER: {
        "terminated",
        "preempted",
        "bad_hardware",
        "tpu_busy",
        "queue",
        "disk_full",
        "network",
    },
    Responsibility.UNKNOWN: {"peer_died", "hang", "hardware_or_compiler", "crash", "timeout", "unknown"},
}

RETRIED_CLASSES = {
    *CLASSES_BY_RESPONSIBILITY[Responsibility.CLUSTER],
    *CLASSES_BY_RESPONSIBILITY[Responsibility.UNKNOWN],
} - {"unknown", "disk_full"}


def _read(text: str) -> RunLog:
    (run,) = read_log([text.encode()], "x")
    return run


def _failure(text: str) -> Failure:
    failure = _read(text).outcome.failure
    assert failure is not None
    return failure


@pytest.mark.parametrize("name", FAILED_RUNS)
def test_a_whole_log_gives_the_first_cause_with_its_class_and_place(name: str) -> None:
    """The end of a log is often an echo; a person has to read the beginning."""
    failed = FAILED_RUNS[name]
    run = _read(failed.log(TODAY))
    failure = run.outcome.failure
    assert failure is not None
    assert (failed.kind, failed.where, failed.state) == (failure.kind, failure.where, run.outcome.state)
    assert failure.error.startswith(failed.error)


def test_the_table_of_the_documentation_is_the_programs() -> None:
    """Whose fault, whether to retry, what to do: one table."""
    page = (Path(__file__).parents[2] / "docs" / "failures.md").read_text(encoding="utf-8")
    rows = [
        f"| `{kind.value}` | {advice(kind).responsibility.value} | {'yes' if advice(kind).retry else 'no'} | "
        f"{advice(kind).next_step} |"
        for kind in FailureClass
    ]
    assert rows == [line for line in page.splitlines() if line.startswith("| `")]


def test_every_class_has_a_log() -> None:
    """Every documented class but the unknown one has a log."""
    assert {failed.kind for failed in FAILED_RUNS.values()} == set(FailureClass) - {FailureClass.UNKNOWN}


@pytest.mark.parametrize("kind", list(FailureClass))
def test_a_class_says_who_has_to_act_and_whether_to_retry(kind: FailureClass) -> None:
    """A failure by a change or a setting happens again."""
    known = advice(kind)
    assert kind in CLASSES_BY_RESPONSIBILITY[known.responsibility]
    assert known.retry == (kind in RETRIED_CLASSES)


@given(name=st.sampled_from(sorted(FAILED_RUNS)), day=DAYS)
@settings(max_examples=150, deadline=None)
def test_the_same_failure_on_another_day_has_the_same_fingerprint(name: str, day: RunDetails) -> None:
    """Day, host, process, address, run name and a shift of all lines leave it as it is."""
    one, other = (_failure(FAILED_RUNS[name].log(when)) for when in (TODAY, day))
    assert one.fingerprint == other.fingerprint, (one.error, other.error)


def test_no_two_failures_have_one_fingerprint() -> None:
    """Each way to fail has a fingerprint of its own."""
    prints = {name: _failure(failed.log(TODAY)).fingerprint for name, failed in FAILED_RUNS.items()}
    assert "" not in prints.values()
    assert len(set(prints.values())) == len(prints)


@given(
    error=st.sampled_from(["KeyError: 'embed'", "ValueError: bad axis", "TypeError: no config"]),
    places=st.tuples(*[st.sampled_from(["a.py:10:f", "a.py:10:g", "b.py:10:f"])] * 2),
    others=st.sampled_from(["KeyError: 'embed'", "ValueError: bad axis", "TypeError: no config"]),
)
def test_another_error_or_another_function_is_another_failure(
    error: str, places: tuple[str, str], others: str
) -> None:
    """Two tracebacks are one failure exactly where exception, words, file and function agree."""
    one, other = (
        _failure("XPK Start: Tue Apr 21 10:19:24 UTC 2026\n" + traceback(TODAY, text, where=place))
        for text, place in ((error, places[0]), (others, places[1]))
    )
    alike = (error, places[0]) == (others, places[1])
    assert alike == (one.fingerprint == other.fingerprint)


@pytest.mark.parametrize("name", FAILED_RUNS)
def test_a_failure_reads_the_same_however_the_log_was_kept(name: str) -> None:
    """Packed, with Windows' line ends, or with a host's name in front of every line."""
    plain = FAILED_RUNS[name].log(TODAY)
    expected = _failure(plain)
    rewrapped = [
        gzip.compress(plain.encode()),
        plain.replace("\n", "\r\n").encode(),
        "".join(f"[mt-0-3] {line}\n" for line in plain.splitlines()).encode(),
    ]
    for content in rewrapped:
        (run,) = read_log([content], "x")
        failure = run.outcome.failure
        assert failure is not None
        assert (failure.kind, failure.fingerprint) == (expected.kind, expected.fingerprint)


@given(before=st.integers(0, 5), after=st.integers(0, 5), day=DAYS)
@settings(max_examples=40, deadline=None)
def test_echoes_of_other_hosts_do_not_change_the_cause(before: int, after: int, day: RunDetails) -> None:
    """Hosts that noticed another's death, before it printed its own error or after, change nothing."""
    echo = ECHO.format(day=day) + "\n"
    cause = traceback(day, "KeyError: 'embed'") + "\n"
    failure = _failure("XPK Start: Tue Apr 21 10:19:24 UTC 2026\n" + echo * before + cause + echo * after)
    assert (FailureClass.CODE, "KeyError: 'embed'") == (failure.kind, failure.error)


@given(st.text(max_size=200), st.text(max_size=40))
def test_any_text_has_a_fingerprint(error: str, place: str) -> None:
    """Sixteen digits whatever was printed, the same every time."""
    found = fingerprint("code", error, place)
    assert len(found) == 16
    assert found == fingerprint("code", error, place)


def _host_fails(host: int, second: int, error: str) -> str:
    label = f"2026-04-21T10:17:{second}.100000Z [pod/mt-slice-job-0-{host}-abcde/jax-tpu] "
    lines = (
        "Traceback (most recent call last):",
        f'  File "/deps/src/maxtext/train.py", line {10 + host}, in main',
        "    run(config)",
        error,
    )
    return "".join(f"{label}{line}\n" for line in lines)


def test_the_first_host_to_fail_is_found_by_its_time() -> None:
    """In hosts' logs that are appended to each other the echo may come first."""
    echo = _host_fails(1, 45, "RuntimeError: peer went away")
    cause = _host_fails(0, 40, "ValueError: shapes do not match")
    for text in (echo + cause, cause + echo):
        assert _failure(text).error == "ValueError: shapes do not match"
        assert _failure(text).where == "train.py:10"


def test_without_times_the_first_in_the_log_is_the_cause() -> None:
    """Nothing else shows the order."""
    bare = 'Traceback (most recent call last):\n  File "/deps/src/maxtext/a.py", line 1, in f\n    f()\n'
    text = f"{bare}ValueError: first\n{bare}RuntimeError: second\n"
    assert _failure(text).error == "ValueError: first"
