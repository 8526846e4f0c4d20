"""The step figures of four real runs on TPU v6e-32, as their logs print them, and the runs built from them.

Lines hold: step, seconds of the line within its hour, printed seconds, TFLOP/s/device, Tokens/s/device, loss,
perplexity (0: not printed).
"""

from bot.logs.facts import (
    CallSite,
    DeviceMemory,
    Environment,
    Mark,
    MarkKind,
    OutcomeState,
    RunLog,
    RunOutcome,
    Step,
)

Line = tuple[int, float, float, float, float, float, float]

INT8_NNX_LINES: tuple[Line, ...] = (
    (0, 1059.824857, 14.272, 0.952, 143.497, 10.872, 52668.902),
    (1, 1060.082692, 1.163, 11.679, 1760.392, 10.872, 52668.902),
    (2, 1060.517280, 0.032, 428.616, 64605.678, 10.260, 28557.658),
    (3, 1060.746710, 0.414, 32.831, 4948.713, 9.728, 16789.145),
    (4, 1061.206856, 0.256, 52.991, 7987.333, 9.271, 10625.563),
    (5, 1061.215630, 0.230, 59.173, 8919.161, 8.885, 7225.917),
    (6, 1088.971743, 0.460, 29.519, 4449.388, 8.586, 5354.806),
    (7, 1089.200626, 27.529, 0.494, 74.394, 8.378, 4350.756),
    (8, 1089.430082, 0.236, 57.670, 8692.663, 8.249, 3824.619),
    (9, 1153.527338, 0.229, 59.366, 8948.311, 8.174, 3546.104),
)

BF16_LINEN_LINES: tuple[Line, ...] = (
    (0, 3339.558063, 11.251, 1.208, 182.030, 10.874, 52779.875),
    (1, 3339.964385, 1.509, 9.002, 1356.898, 10.874, 52779.875),
    (2, 3340.110307, 0.409, 33.186, 5002.088, 10.262, 28637.129),
    (3, 3340.257771, 0.010, 1425.871, 214922.867, 9.734, 16889.203),
    (4, 3363.515604, 0.147, 92.598, 13957.419, 9.277, 10694.614),
    (5, 3363.524683, 0.148, 91.653, 13814.875, 8.892, 7270.717),
    (6, 3363.670746, 23.256, 0.584, 88.064, 8.592, 5390.759),
    (7, 3363.818421, 0.006, 2094.194, 315659.679, 8.384, 4376.905),
    (8, 3363.965863, 0.147, 92.426, 13931.404, 8.255, 3846.406),
    (9, 3438.913877, 0.148, 91.900, 13852.158, 8.179, 3564.635),
)

DROPOUT_MAIN_LINES: tuple[Line, ...] = (
    (0, 588.357237, 4.277, 0.187, 29.928, 10.889, 53560.699),
    (1, 588.461656, 1.399, 0.573, 91.517, 10.902, 54298.523),
    (2, 589.284912, 0.035, 23.210, 3709.607, 9.956, 21082.051),
    (3, 589.355606, 0.823, 0.973, 155.448, 9.139, 9314.691),
    (4, 589.497471, 0.076, 10.559, 1687.630, 8.459, 4715.493),
    (5, 589.503385, 0.071, 11.348, 1813.673, 7.924, 2762.373),
    (6, 599.243610, 0.142, 5.624, 898.839, 7.553, 1906.617),
    (7, 599.314127, 9.671, 0.083, 13.236, 7.267, 1431.653),
    (8, 599.386180, 0.075, 10.681, 1707.145, 7.111, 1225.983),
    (9, 685.394446, 0.071, 11.338, 1812.056, 6.981, 1075.867),
)

DROPOUT_BRANCH_LINES: tuple[Line, ...] = (
    (0, 2580.315924, 3.950, 0.203, 32.409, 10.889, 0),
    (1, 2580.739348, 2.864, 0.280, 44.693, 10.902, 0),
    (2, 2580.808115, 0.424, 1.888, 301.750, 9.956, 0),
    (3, 2580.879913, 0.008, 98.788, 15788.824, 9.139, 0),
    (4, 2590.133903, 0.070, 11.474, 1833.863, 8.458, 0),
    (5, 2590.173896, 0.072, 11.146, 1781.415, 7.924, 0),
    (6, 2590.242975, 9.285, 0.086, 13.786, 7.553, 0),
    (7, 2590.314021, 0.006, 126.641, 20240.354, 7.267, 0),
    (8, 2590.384594, 0.070, 11.454, 1830.664, 7.111, 0),
    (9, 2681.869771, 0.071, 11.302, 1806.277, 6.981, 0),
)


def _log(
    lines: tuple[Line, ...],
    *,
    weights: float,
    tflop: float,
    compiled: float,
    saves: tuple[float, float, float],
    ends: tuple[float, float],
    memory: float,
    environment: Environment,
) -> RunLog:
    """Build a run; `saves`: the first save stopped waiting, it started, the last save stopped waiting."""
    steps = tuple(
        Step(
            step=step,
            time=time,
            seconds=seconds,
            tflops_per_device=tflops,
            tokens_per_device=tokens,
            loss=loss,
            perplexity=perplexity or None,
            total_weights=weights,
            offset=1000 * step,
        )
        for step, time, seconds, tflops, tokens, loss, perplexity in lines
    )
    return RunLog(
        source="seed",
        run=1,
        format="maxtext",
        dated=True,
        outcome=RunOutcome(state=OutcomeState.SUCCEEDED, exit_code=0, last_step=9, expected_steps=10),
        steps=steps,
        steps_seen=10,
        mean_seconds_after_first=sum(line[2] for line in lines[1:]) / 9,
        marks=(
            Mark(kind=MarkKind.START, time=ends[0]),
            Mark(kind=MarkKind.COMPILED, seconds=compiled),
            Mark(kind=MarkKind.CHECKPOINT_WAITED, step=0, time=saves[0]),
            Mark(kind=MarkKind.CHECKPOINT_STARTED, step=0, time=saves[1]),
            Mark(kind=MarkKind.CHECKPOINT_WAITED, step=9, time=saves[2]),
            Mark(kind=MarkKind.END, time=ends[1]),
        ),
        environment=environment,
        parameters_billion=1.104,
        tflop_per_step=tflop,
        memory=(DeviceMemory(device="TPU_0", used_gb=0.44, limit_gb=31.25, percent=memory),),
    )


def _environment(jax: str, libtpu: str, orbax: str, process: int, sites: tuple[int, int]) -> Environment:
    return Environment(
        jax=jax,
        jaxlib=jax,
        libtpu=libtpu,
        orbax=orbax,
        device_kind="TPU v6 lite",
        devices=32,
        mesh=(1, 1, 1, 32, 1, 1, 1, 1, 1, 1, 1, 1, 1),
        process=process,
        call_sites=(
            CallSite(message="step", file="metric_logger.py", line=sites[0]),
            CallSite(message="mesh", file="maxtext_utils.py", line=sites[1]),
        ),
    )


INT8_NNX = _log(
    INT8_NNX_LINES,
    weights=65536,
    tflop=13.59,
    compiled=14.04,
    saves=(1058.896880, 1059.506494, 1089.662111),
    ends=(979.0, 1164.0),
    memory=1.408,
    environment=_environment("0.9.2", "cl/878335365", "0.11.34", 4, (196, 1718)),
)

BF16_LINEN = _log(
    BF16_LINEN_LINES,
    weights=65536,
    tflop=13.59,
    compiled=10.89,
    saves=(3338.198164, 3339.221671, 3364.113121),
    ends=(3264.0, 3449.0),
    memory=1.376,
    environment=_environment("0.9.2", "cl/878335365", "0.11.34", 0, (196, 1551)),
)

DROPOUT_MAIN = _log(
    DROPOUT_MAIN_LINES,
    weights=4096,
    tflop=0.8,
    compiled=3.45,
    saves=(587.030601, 588.045617, 599.458462),
    ends=(528.0, 694.0),
    memory=1.312,
    environment=_environment("0.9.2", "cl/878335365", "0.11.34", 7, (196, 1551)),
)

DROPOUT_BRANCH = _log(
    DROPOUT_BRANCH_LINES,
    weights=4096,
    tflop=0.8,
    compiled=3.31,
    saves=(2577.523034, 2580.026168, 2590.767609),
    ends=(2518.0, 2693.0),
    memory=1.312,
    environment=_environment("0.8.1", "cl/831091709", "0.11.33", 0, (185, 1517)),
)
