"""The tests' own writer of programs that die: what shells, launchers and schedulers say last, crashes at
start, and texts that only look like them."""

from msgspec import Struct

from bot.logs.facts import OutcomeState
from tests.log_writers.hugging_face import hugging_face_log

IMPORT_TRACEBACK = """Traceback (most recent call last):
  File "/app/project/train.py", line 12, in <module>
    from project import model
  File "/usr/lib/python3.11/importlib/__init__.py", line 126, in import_module
    return _bootstrap._gcd_import(name[level:], package, level)
{error}"""

ELASTIC_TABLE = """E0926 17:26:32.075000 88 torch/distributed/elastic/multiprocessing/api.py:869] \
failed (exitcode: {code}) local_rank: 1 (pid: 4711) of binary: /usr/bin/python3
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-04-21_10:17:45
  host      : node3
  rank      : 1 (local_rank: 1)
  exitcode  : {code} (pid: 4711)
  error_file: <N/A>
  {said}
============================================================"""


def start_up(end: str) -> str:
    """What a trainer that nobody knows prints before it dies, and its end."""
    return f"Loading the tokenizer\nUsing 8 devices\nBuilding the model\n{end}\n"


class LastWord(Struct, frozen=True, kw_only=True):
    """A last word, and what it means."""

    text: str
    kind: str
    error: str
    state: OutcomeState = OutcomeState.KILLED


_FAILED = OutcomeState.FAILED


def _word(
    text: str, kind: str = "terminated", error: str | None = None, state: OutcomeState = OutcomeState.KILLED
) -> LastWord:
    return LastWord(text=text, kind=kind, error=text if error is None else error, state=state)


LAST_WORDS: dict[str, LastWord] = {
    "kill": _word("Killed"),
    "terminated": _word("Terminated"),
    "hang-up": _word("Hangup"),
    "segmentation fault": _word("Segmentation fault", "crash", state=_FAILED),
    "segmentation fault, dumped": _word("Segmentation fault (core dumped)", "crash", state=_FAILED),
    "abort": _word("Aborted (core dumped)", "crash", state=_FAILED),
    "bus error": _word("Bus error (core dumped)", "crash", state=_FAILED),
    "bash kill": _word("./run.sh: line 12: 48211 Killed                  python train.py", error="Killed"),
    "bash fault": _word(
        "./run.sh: line 3:    77 Segmentation fault      (core dumped) python train.py",
        "crash", "Segmentation fault (core dumped)", _FAILED,
    ),
    "bash job": _word("[1]+  Killed                  nohup python train.py > out.log", error="Killed"),
    "zsh": _word("zsh: killed     python train.py", error="killed"),
    "make": _word("make: *** [Makefile:3: train] Killed", error="Killed"),
    "slurm task": _word("srun: error: node7: task 3: Killed", error="Killed"),
    "slurm oom": _word(
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=4711.0. Some of your processes may have "
        "been killed by the cgroup out-of-memory handler.",
        "host_oom",
    ),
    "slurm task oom": _word("srun: error: node7: task 0: Out Of Memory", "host_oom"),
    "slurm time": _word(
        "slurmstepd: error: *** JOB 4711 ON node7 CANCELLED AT 2026-04-21T10:16:20 DUE TO TIME LIMIT ***",
        "timeout",
    ),
    "slurm preemption": _word(
        "slurmstepd: error: *** STEP 4711.0 ON node7 CANCELLED AT 2026-04-21T10:16:20 DUE TO PREEMPTION ***",
        "preempted",
    ),
    "slurm node": _word(
        "slurmstepd: error: *** JOB 4711 ON node7 CANCELLED AT 2026-04-21T10:16:20 DUE TO NODE FAILURE, SEE "
        "SLURMCTLD LOG FOR DETAILS ***",
        "bad_hardware",
    ),
    "slurm cancel": _word("slurmstepd: error: *** JOB 4711 ON node7 CANCELLED AT 2026-04-21T10:16:20 ***"),
    "slurm exit": _word("srun: error: node7: task 3: Exited with exit code 1", "unknown", state=_FAILED),
    "elastic": _word(
        ELASTIC_TABLE.format(code=-9, said="traceback : Signal 9 (SIGKILL) received by PID 4711"),
        error="failed (exitcode: -9) local_rank: 1 (pid: 4711) of binary: /usr/bin/python3",
    ),
    "elastic fault": _word(
        ELASTIC_TABLE.format(code=-11, said="traceback : Signal 11 (SIGSEGV) received by PID 4711"),
        "crash", "failed (exitcode: -11) local_rank: 1 (pid: 4711) of binary: /usr/bin/python3", _FAILED,
    ),
    "kubernetes": _word(
        "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137",
        "host_oom", "OOMKilled",
    ),
    "kubernetes, evicted": _word(
        "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 8Gi.",
        "disk_full",
    ),
    "mpi": _word(
        "mpirun noticed that process rank 3 with PID 0 on node node7 exited on signal 9 (Killed).",
        error="exited on signal 9 (Killed).",
    ),
    "systemd": _word(
        "train.service: Main process exited, code=killed, status=9/KILL", error="code=killed, status=9/KILL"
    ),
    "deepspeed": _word(
        "[2026-04-21 10:16:20,123] [ERROR] [launch.py:434:sigkill_handler] ['/usr/bin/python3', '-u', "
        "'main.py', '--local_rank=0'] exits with return code = -9",
        error="exits with return code = -9",
    ),
    "file size": _word("File size limit exceeded (core dumped)", "disk_full", state=_FAILED),
    "c++ memory": _word(
        "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc",
        "host_oom", "terminate called after throwing an instance of 'std::bad_alloc' what():  std::bad_alloc",
        _FAILED,
    ),
    "kernel": _word(
        "[812.4] Out of memory: Killed process 4711 (python3) total-vm:8096kB, anon-rss:700kB",
        "host_oom", "Out of memory: Killed process 4711 (python3) total-vm:8096kB, anon-rss:700kB",
    ),
    "pod deadline": _word("Pod was active on the node longer than the specified deadline", "timeout"),
}  # fmt: skip

_QUOTED = IMPORT_TRACEBACK.format(error="KeyError: 'x'")

NOT_LOGS: dict[str, str] = {
    "prose": "The king was Killed in battle.\nHis envoy was Terminated.\nThe reign was Aborted early.\n",
    "a poem": "Roses are red\n\nViolets are blue\n\nNobody was Killed, they all say\n",
    "a page": f"<!DOCTYPE html>\n<html><body><pre>\n{_QUOTED}\n</pre></body></html>\n",
    "a page of Killed": "<html><head></head><body>\nKilled\n</body></html>\n",
    "an issue": f"# It fails for me\n\nI run it so:\n\n```\n{_QUOTED}\n```\n\nWhat can I do?\n",
    "a quoted mail": "Dear all,\n" + "".join(f"> {line}\n" for line in _QUOTED.splitlines()) + "Thanks, A.\n",
    "a long story": f"{_QUOTED}\n" + "And then it went on for many more lines of other things.\n" * 400,
    "a source": (
        "import x\n\n\ndef test():\n    expected = (\n        'Traceback (most recent call last):\\n'\n"
        "        '  File \"a.py\", line 3, in f\\n'\n        'KeyError: 1\\n'\n    )\n    assert expected\n"
    ),
    "a docstring": (
        'def f():\n    """Raise.\n\n    >>> f()\n    Traceback (most recent call last):\n        ...\n'
        '    KeyError: 1\n    """\n    raise KeyError(1)\n'
    ),
    "a table of signals": "| 9 | Killed |\n| 15 | Terminated |\n| 11 | Segmentation fault |\n",
    "a list of states": "Running\nKilled\nTerminated\nAborted\nDone and many other states may follow here\n",
    "kubectl describe": "Containers:\n  main:\n    State:          Terminated\n      Reason:   Completed\n"
                        "      Exit Code:    0\n    Ready:          False\n",
    "JSON": '{"state": "Killed", "why": "Traceback (most recent call last):\\n  File \\"a.py\\", line 1"}\n',
    "a commented error": "x <- f()\n# slurmstepd: error: Detected 4 oom-kill event(s) in StepId=1.\ny <- 1\n",
    "a quoted error": "I get `slurmstepd: error: Detected 1 oom-kill event(s)` when I run it. Help?\n",
    "a fenced error": "It says\n```\nslurmstepd: error: Detected 1 oom-kill event(s) in step 1.\n```\n",
    "nothing": "",
    "blank": "\n\n   \n",
    "numbers": "1,2,3\n4,5,6\n",
    "binary": "\x00\x01\x02Killed\x03\x04\x05" * 30,
}  # fmt: skip


def disk_full_late(*, ending: bool = True) -> str:
    """The Trainer on a full disk: a log handler fails first, steps go on, then the checkpoint fails."""
    handler = (
        "--- Logging error ---\nTraceback (most recent call last):\n"
        '  File "/usr/lib/python3.11/logging/__init__.py", line 1113, in emit\n    self.flush()\n'
        '  File "/usr/lib/python3.11/logging/__init__.py", line 1093, in flush\n    self.stream.flush()\n'
        "OSError: [Errno 28] No space left on device\nCall stack:\n"
        "  File \"/app/train.py\", line 4, in <module>\n    main()\nMessage: 'step'\nArguments: ()\n"
    )
    head, _, rest = hugging_face_log(style="bare").partition("\n")
    text = f"{head}\n{handler}{rest}"
    if not ending:
        return text
    kept = "".join(line + "\n" for line in text.splitlines() if "train_runtime" not in line)
    return kept + (
        "Traceback (most recent call last):\n"
        '  File "/app/train.py", line 40, in save\n    torch.save(state, path)\n'
        '  File "/usr/lib/python3/dist-packages/torch/serialization.py", line 440, in save\n    _save(obj)\n'
        "RuntimeError: [enforce fail at inline_container.cc:603] . unexpected pos 64 vs 0\n"
    )
