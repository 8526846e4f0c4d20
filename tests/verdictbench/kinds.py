"""The kinds of noise that rules are tried on, with where each figure was taken from.

In:  nothing. Out: `KINDS`, and `Kind`, what runs of a case look like and how main's history moved.
Promises: no figure was chosen by looking at what a rule makes of it.

"Public" are 53 runs of the public MaxView pages (v6e-32, the same cases on different days): between runs of
a case, ln of the last line's tokens/s has a standard deviation of 0.15 %, for the worst case 0.4 %; the
printed mean of seconds has 3.2 %. "Seeds" are the four logs of VERDICT.md.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

TPU = "TPU v6 lite"
GPU = "NVIDIA H100 80GB HBM3"
CPU = "cpu"


class Written(StrEnum):
    """Which clock the printed seconds of a kind's runs follow."""

    DISPATCH = "dispatch"
    FLUSH = "flush"
    EITHER = "either"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How the step time of unchanged code moves. Shares and spreads are relative, times are seconds.

    Between runs: `between` is the standard deviation of ln S, Student's with `tail` degrees of freedom where
    given; `slow_share` of the runs land on slices `slow_by` slower; `glitch_share` are up to `glitch_by`
    slower. Within a run: `within` a step on the device, `rho` its correlation with the step before, `read`
    the mean delay at which the host sees a loss, `late_share` of the reads up to `late` seconds late.
    Main: `drift` over 20 runs, and a `shift` that ended `shift_age` runs before the newest.
    """

    name: str
    title: str
    why: str
    device: str = TPU
    step_seconds: float = 0.147
    steps: int = 20
    between: float = 0.0015
    tail: float | None = None
    slow_share: float = 0.0
    slow_by: float = 0.0
    glitch_share: float = 0.0
    glitch_by: float = 0.0
    within: float = 0.0006
    rho: float = 0.3
    read: float = 0.0001
    late_share: float = 0.002
    late: float = 0.030
    stalls: bool = True
    written: Written = Written.DISPATCH
    dispatch_blocks: bool = False
    drift: float = 0.0
    shift: float = 0.0
    shift_age: int = 0
    target: bool = False


_TPU = Kind(
    name="tpu",
    title="TPU-like",
    why="public: 0.15 % between runs; seeds: S = 0.147 s, a stall of 9 to 28 s and a catch-up read after it",
    target=True,
)
_TPU_VARIANT = replace(_TPU, target=False)
_GPU = Kind(
    name="gpu",
    title="GPU-like",
    why="0.78 % between runs: 20-step windows of public 8 x H100 runs that have 0.15 % over 1,390 steps",
    device=GPU,
    step_seconds=0.35,
    between=0.0078,
    within=0.006,
    stalls=False,
    target=True,
)

KINDS = (
    _TPU,
    replace(
        _TPU_VARIANT,
        name="tpu-noisy",
        title="TPU-like, the noisiest case",
        why="public: the worst case has 0.4 % between runs",
        between=0.004,
    ),
    replace(
        _TPU_VARIANT,
        name="tpu-short",
        title="TPU-like, 10 steps of 0.071 s",
        why="seed 002: 10 steps, a checkpoint at step 0, reads that jitter by 1 % of a step",
        step_seconds=0.071,
        steps=10,
        read=0.0006,
    ),
    replace(
        _TPU_VARIANT,
        name="tpu-clocks",
        title="TPU-like, both clock dialects",
        why="MaxText PR 4270 redefines `seconds`: each run is of either dialect",
        written=Written.EITHER,
    ),
    _GPU,
    Kind(
        name="cpu",
        title="CPU-like",
        why="7.2 % between runs, measured on a busy machine; dispatch blocks, so `seconds` are one line late",
        device=CPU,
        step_seconds=0.9,
        between=0.072,
        within=0.05,
        stalls=False,
        dispatch_blocks=True,
    ),
    replace(
        _TPU_VARIANT,
        name="heavy-tail",
        title="Heavy tails between runs",
        why="Student's t with 3 degrees of freedom instead of a normal law, the same 0.15 %",
        tail=3.0,
    ),
    replace(
        _GPU,
        name="autocorrelated",
        title="Steps that remember",
        why="GPU-like, 2 % a step with a correlation of 0.9: twenty steps hold the evidence of about two",
        within=0.02,
        rho=0.9,
        target=False,
    ),
    replace(
        _TPU_VARIANT,
        name="bimodal",
        title="Two kinds of slices",
        why="a quarter of the runs lands on slices that are 1.5 % slower",
        slow_share=0.25,
        slow_by=0.015,
    ),
    replace(
        _TPU_VARIANT,
        name="glitches",
        title="Glitches",
        why="1 run in 50 is 3 to 15 % slower, and nothing in its log says so",
        glitch_share=0.02,
        glitch_by=0.15,
    ),
    replace(
        _TPU_VARIANT,
        name="drift",
        title="Main drifts",
        why="main gets 1 % slower over 20 runs; base and head are as slow as its newest",
        drift=0.01,
    ),
    replace(
        _TPU_VARIANT,
        name="shift",
        title="Main shifted",
        why="main got 2 % faster 8 runs ago; base and head are as fast as its newest",
        shift=0.02,
        shift_age=8,
    ),
)

BY_NAME = {kind.name: kind for kind in KINDS}
