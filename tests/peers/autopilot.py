"""Moves every workload of the stand-in cluster by itself, as a cluster with free devices would.

In:  a `Cluster` while it serves. Out: nothing to do: each JobSet is let in, runs, prints steps, and ends.

For tests of the whole program; a test of one standing moves a `Kubelet` itself.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.peers.kubelet import Kubelet
from tests.peers.kubernetes import JOBSETS, Cluster, Json

Steps = Callable[[str, int], str]
"""What a workload of this name prints at this step, with the line's end."""


def maxtext_step(name: str, step: int) -> str:
    """A step line of MaxText's, half a second after the one before."""
    seconds = step / 2
    clock = f"{int(seconds) // 60:02}:{seconds % 60:09.6f}"
    stamp = f"I0418 01:{clock} 136682829195077 metric_logger.py:196]"
    values = "TFLOP/s/device: 59.366, Tokens/s/device: 8948.3, total_weights: 65536"
    return f"{stamp} completed step: {step}, seconds: 0.500, {values}, loss: {10 - step / 100:.3f}\n"


@dataclass(slots=True, kw_only=True)
class Autopilot:
    """How workloads go: `steps` lines, `pause` seconds apart, `at_once` workloads at a time.

    Names in `stuck` stay where they are; `moved` counts how often each name was started.
    """

    cluster: Cluster
    steps: int = 12
    pause: float = 0.02
    at_once: int = 4
    prints: Steps = maxtext_step
    stuck: set[str] = field(default_factory=set)
    moved: dict[str, int] = field(default_factory=dict)
    _printed: dict[str, int] = field(default_factory=dict)

    def turn(self) -> None:
        """Move every workload a little."""
        kubelet = Kubelet(self.cluster, processes=1)
        found = self.cluster.named(JOBSETS)
        for name in self._printed.keys() - found.keys():
            del self._printed[name]
        open_ones = [name for name, one in found.items() if not _ended(one) and name not in self.stuck]
        for name in open_ones[: self.at_once]:
            try:
                self._move(kubelet, name, found[name])
            except (KeyError, StopIteration):
                # It was deleted in the middle of the move.
                continue

    def _move(self, kubelet: Kubelet, name: str, jobset: Json) -> None:
        printed = self._printed.get(name)
        if printed is None:
            self._printed[name] = 0
            self.moved[name] = self.moved.get(name, 0) + 1
            kubelet.run(name)
            kubelet.say(name, _meta(jobset))
        elif printed < self.steps:
            kubelet.say(name, self.prints(name, printed))
            self._printed[name] = printed + 1
        else:
            kubelet.finish(name)


@contextmanager
def flying(autopilot: Autopilot) -> Iterator[Autopilot]:
    """Let it move the workloads until the end of the `with` statement."""
    landed = threading.Event()

    def fly() -> None:
        while not landed.is_set():
            autopilot.turn()
            time.sleep(autopilot.pause)

    thread = threading.Thread(target=fly)
    thread.start()
    try:
        yield autopilot
    finally:
        landed.set()
        thread.join()


def _ended(jobset: Json) -> bool:
    conditions = jobset.get("status", {}).get("conditions", ())
    return any(one["type"] in {"Completed", "Failed"} for one in conditions)


def _meta(jobset: Json) -> str:
    """The line that the workload's own command prints first."""
    pod = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    found = re.search(r"echo '(BENCH_META \{.*?\})'", pod["containers"][0]["command"][2])
    return f"{found[1]}\n" if found else ""
