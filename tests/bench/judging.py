"""What a verdict costs: 25 cases, three runs a side, thirty of main.

In:  nothing. Out: milliseconds of processor time.
"""

import time

from msgspec import structs

from bot.verdict.compare import compare
from bot.verdict.noise import PastRun
from tests.verdict.made_runs import Shape, apart, normals, run

CASES = 25

ROUNDS = 5


def measure_verdicts() -> None:
    """Print the least of five rounds; no round finds what another remembered."""
    base, head = (apart([run(Shape(seed=seed)) for seed in seeds]) for seeds in ((1, 2, 3), (4, 5, 6)))
    noise = normals(30, 7)
    spent = []
    for turn in range(ROUNDS):
        histories = [
            [
                PastRun(seconds=seconds, loop=1.001 * seconds)
                for seconds in (0.147 * (1 + 0.0015 * z + 1e-6 * case + 1e-5 * turn) for z in noise)
            ]
            for case in range(CASES)
        ]
        started = time.process_time()
        for history in histories:
            compare(base, [structs.replace(one) for one in head], history=history, comparable_cases=CASES)
        spent.append(time.process_time() - started)
    print(f"\nverdict: {CASES} cases, 3 + 3 runs, 30 of main: {1000 * min(spent):.1f} ms of processor time")
