"""The reader on whole logs: the facts of a run, with any prefix and line end."""

import pytest
from msgspec.structs import replace

from bot.logs.facts import MarkKind, OutcomeState, RunLog
from bot.logs.reader import LogReader, read_log
from tests.log_writers.maxtext import TRACEBACK, maxtext_log


def _runs(text: str) -> tuple[RunLog, ...]:
    return read_log([text.encode()], "test.log")


def _run(text: str) -> RunLog:
    (run,) = _runs(text)
    return run


def _facts(run: RunLog) -> RunLog:
    """The run without offsets."""
    return replace(
        run,
        steps=tuple(replace(step, offset=0) for step in run.steps),
        marks=tuple(replace(mark, offset=0) for mark in run.marks),
        memory=tuple(replace(device, offset=0) for device in run.memory),
    )


def test_a_run_says_everything_that_its_lines_state() -> None:
    """Versions, device, mesh, names, memory, parameters, steps and marks of an ordinary XPK log."""
    run = _run(maxtext_log(process=4, commit="147168c3a0", steps=10))
    environment = run.environment
    assert ("maxtext", OutcomeState.SUCCEEDED, 0) == (run.format, run.outcome.state, run.outcome.exit_code)
    assert ("0.9.2", "0.9.2", "cl/878335365", "0.11.34") == (
        environment.jax,
        environment.jaxlib,
        environment.libtpu,
        environment.orbax,
    )
    assert ("TPU v6 lite", 32, 13, 4) == (
        environment.device_kind,
        environment.devices,
        len(environment.mesh or ()),
        environment.process,
    )
    assert ("mt-03-dropout-e6fds", "147168c3a0", "bf16") == (
        environment.workload,
        environment.commit,
        environment.dtype,
    )
    assert environment.run_name == "linen_xpk_main_20260418_180002_03_dropout"
    assert [("parameters", 301), ("step", 196)] == [
        (site.message, site.line) for site in environment.call_sites
    ]
    assert (1.104, 13.59, 10, 9) == (
        run.parameters_billion, run.tflop_per_step, run.outcome.expected_steps, run.outcome.last_step,
    )  # fmt: skip
    assert [1.408, 1.376, 1.376, 1.376] == [device.percent for device in run.memory]
    assert run.compiled_memory is not None
    assert run.compiled_memory.total_gb == 1.8


def test_times_carry_the_year_of_the_frame() -> None:
    """A stamp has no year of its own; XPK Start gives it, over New Year too."""
    run = _run(maxtext_log(start="2025-12-31T23:59:00"))
    assert run.dated
    assert run.marks[0].time == 1767225540.0
    assert all(0 < (step.time or 0) - 1767225540.0 < 300 for step in run.steps)


def test_without_any_year_only_differences_mean_something() -> None:
    """A log without a frame is not dated; its intervals are those of the framed one."""
    bare, framed = _run(maxtext_log(framed=False)), _run(maxtext_log())
    assert (False, True) == (bare.dated, framed.dated)
    assert [(step.time or 0) - (bare.steps[0].time or 0) for step in bare.steps] == pytest.approx(
        [(step.time or 0) - (framed.steps[0].time or 0) for step in framed.steps]
    )


def test_compilation_is_the_gap_before_the_compiled_memory_line() -> None:
    """Nothing is printed while the program is compiled."""
    (mark,) = [mark for mark in _run(maxtext_log(aot_seconds=14.0)).marks if mark.kind is MarkKind.COMPILED]
    assert mark.seconds == pytest.approx(14.0)


@pytest.mark.parametrize(
    "options",
    [
        {"flat": True}, {"crlf": True}, {"prefix": "# "}, {"prefix": "\x1b[32m"}, {"prefix": "^Bd"},
        {"prefix": "(train pid=78967, ip=10.130.0.11) "}, {"prefix": " 0: "}, {"prefix": "worker-0  | "},
        {"prefix": "[pod/mt-03-dropout-e6fds-slice-job-0-0-abcde/jax-tpu] "},
        {"prefix": "2026-04-21T10:16:20.123456789Z "},
        {"prefix": "ERROR 2026-04-21T10:16:20.1Z [resource.labels.containerName: jax-tpu] "},
        {"prefix": "\0"}, {"prefix": "12: ", "flat": True}, {"prefix": "� "},
    ],
)  # fmt: skip
def test_the_facts_do_not_depend_on_prefix_or_line_ends(options: dict[str, object]) -> None:
    """One line or many, any line ending, any prefix: the same run."""
    plain = _facts(_run(maxtext_log(eval_after=4)))
    rewrapped = _facts(_run(maxtext_log(eval_after=4, **options)))  # type: ignore[arg-type]  # one field of MaxText each
    assert plain == rewrapped


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize(
    "label",
    ["", " {host}: ", "[pod/w-slice-job-0-{host}-abcde/jax-tpu] ", "(f pid=7{host}, ip=10.0.0.{host}) "],
)
def test_interleaved_hosts_are_one_run_of_which_process_0_is_measured(label: str, flat: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Label or thread distinguish hosts; the numbers are those of the log of process 0 alone."""
    alone, together = _run(maxtext_log()), _run(maxtext_log(hosts=4, host_prefix=label, flat=flat))
    assert (4, 0) == (together.hosts, together.environment.process)
    assert _facts(alone).steps == _facts(together).steps
    assert _facts(alone).memory == _facts(together).memory


def test_missing_steps_of_process_0_give_a_warning() -> None:
    """A collector that dropped lines of one host must not go unnoticed."""
    lines = maxtext_log(hosts=2, steps=30, host_prefix="[pod/w-slice-job-0-{host}-abcde/c] ").splitlines()
    kept = [line for line in lines if not ("job-0-0-" in line and "completed step: 11," in line)]
    run = _run("\n".join(kept))
    assert (29, 0) == (run.steps_seen, run.environment.process)
    assert any("1 steps of it are missing" in warning for warning in run.warnings)


def test_a_host_that_is_almost_silent_is_not_measured() -> None:
    """With most steps of process 0 gone the other host is measured, and the report says so."""
    lines = maxtext_log(hosts=2, steps=30, host_prefix="[pod/w-slice-job-0-{host}-abcde/c] ").splitlines()
    kept = [line for line in lines if not ("job-0-0-" in line and "completed step: 1" in line)]
    run = _run("\n".join(kept))
    assert (30, 1) == (run.steps_seen, run.environment.process)
    assert any("that other host is measured" in warning for warning in run.warnings)


def test_a_second_start_of_a_workload_is_another_attempt() -> None:
    """Only the last attempt is measured, and a warning says so."""
    run = _run(maxtext_log(steps=5, exit_code=None) + maxtext_log(steps=7, start="2026-04-21T11:00:00"))
    assert (2, 7, OutcomeState.SUCCEEDED) == (run.attempts, run.steps_seen, run.outcome.state)
    assert any("only the last attempt" in warning for warning in run.warnings)


def test_a_page_with_two_workloads_holds_two_runs_with_their_commits() -> None:
    """Each XPK Start opens a run; the header in front of it, or the title, names its commit."""
    one = maxtext_log(run_name="a", workload="mt-a-11111")
    two = maxtext_log(run_name="b", workload="mt-b-22222", exit_code=1, failure=TRACEBACK, steps=0)
    page = f"main (574ad3fb9) vs feat/x (aaaaaaa11)| Metric |\n{one}aaaaaaa11\n· feat_x_1 \n· full log\n{two}"
    first, second = _runs(page)
    assert ("574ad3fb9", "aaaaaaa11") == (first.environment.commit, second.environment.commit)
    assert (OutcomeState.SUCCEEDED, OutcomeState.FAILED) == (first.outcome.state, second.outcome.state)
    assert (1, 2) == (first.run, second.run)


def test_pasted_logs_of_two_pods_are_one_run() -> None:
    """Starts of one workload that overlap in time are hosts, not attempts."""
    run = _run(maxtext_log(process=1) + maxtext_log(process=0))
    assert (1, 2, 0) == (run.attempts, run.hosts, run.environment.process)


def test_cloud_logging_entries_carry_time_and_place_beside_the_text() -> None:
    """An export takes the stamp off the message and keeps it in the entry."""
    entry = (
        '{{\n "insertId": "a{n}",\n "jsonPayload": {{"pid": "1", "message": '
        '"completed step: {n}, seconds: 0.100, loss: 2.000"}},\n'
        ' "resource": {{"labels": {{"pod_name": "w-slice-job-0-0-abcde"}}}},\n'
        ' "sourceLocation": {{"file": "metric_logger.py", "line": "196"}},\n'
        ' "timestamp": "2026-07-30T19:22:{n}.580Z"\n}},\n'
    )
    run = _run("[" + "".join(entry.format(n=n) for n in range(10, 15)) + "]")
    assert [10, 11, 12, 13, 14] == [step.step for step in run.steps]
    assert 1785439330.58 == run.steps[0].time
    assert [196] == [site.line for site in run.environment.call_sites]


def test_an_export_that_begins_with_the_newest_line_is_turned_around() -> None:
    """Cloud Logging lists the newest entries first unless it is asked otherwise."""
    plain = _run(maxtext_log(steps=200))
    turned = _run("\n".join(reversed(maxtext_log(steps=200).splitlines())))
    assert [(step.step, step.time) for step in plain.steps] == [
        (step.step, step.time) for step in turned.steps
    ]
    assert (OutcomeState.SUCCEEDED, 199, ()) == (
        turned.outcome.state,
        turned.outcome.last_step,
        turned.warnings,
    )


def test_a_trace_between_other_hosts_lines_is_read_whole() -> None:
    """The lines of one pod belong together, whatever stands between them."""
    label = "[pod/w-slice-job-0-{host}-abcde/c] "
    broken = maxtext_log(process=2, host_prefix=label, exit_code=1, failure=TRACEBACK).splitlines()
    other = maxtext_log(process=0, host_prefix=label, exit_code=1).splitlines()
    start = next(n for n, line in enumerate(broken) if "Traceback" in line)
    mixed = [
        line for pair in zip(broken[start:], other[-len(broken) + start :], strict=True) for line in pair
    ]
    run = _run("\n".join((*broken[:start], *other[: start - len(broken)], *mixed)))
    assert run.outcome.failure is not None
    assert ("code", "train_utils.py:217") == (run.outcome.failure.kind, run.outcome.failure.where)


def _slow_path_count(text: str) -> int:
    reader = LogReader("x")
    reader.feed(text.encode())
    reader.close()
    return reader.slow_path_matches


@pytest.mark.parametrize(
    "words", ["OOMKilled\n", "RESOURCE_EXHAUSTED: ", "Traceback (most recent call last)\n"]
)
def test_an_error_that_is_repeated_without_end_is_read_in_places(words: str) -> None:
    """After two hundred of them, one in 2 KB: a gigabyte of them would take hours."""
    assert _slow_path_count(words * 20_000) < 300 + len(words) * 20_000 / 2_000


def test_errors_that_are_apart_are_all_read() -> None:
    """A thousand hosts' logs in one file, one behind the other."""
    trace = (
        'Traceback (most recent call last):\n  File "/deps/maxtext/train.py", line 5, in f\nValueError: 1\n'
    )
    assert _slow_path_count((trace + "." * 4_000 + "\n") * 1_000) >= 1_000


def test_a_literal_without_meaning_is_skipped_after_ten_thousand_matches() -> None:
    """Where they stand glued; the next real line is read."""
    glued = "GiB(" * 100_000
    (run,) = read_log([(glued + "\n" + maxtext_log()).encode()], "x")
    assert (10, OutcomeState.SUCCEEDED) == (run.steps_seen, run.outcome.state)
    assert _slow_path_count(glued) < 11_000
