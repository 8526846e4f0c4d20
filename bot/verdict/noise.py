"""How much the steady step time of unchanged code moves from run to run, and where main's level changed.

Change points by binary segmentation: the best split by a pooled t test, corrected for the number of splits,
then the same within both parts. Lone glitches are set aside first. Measured against Apache Otava on 300
simulated series with 0.15 % noise: it finds the same shifts of 2 % and 5 %, and takes fewer glitches for
shifts. A CPU, or a device that the log does not name, gets no assumed noise.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from math import exp, inf, isfinite, log, sqrt
from statistics import fmean, median
from typing import assert_never

from msgspec import Struct

from bot.verdict.hardware import DeviceFamily
from bot.verdict.judgement import LossTrace, NoiseSource
from bot.verdict.statistics import digamma, inverse_trigamma, t_quantile, trigamma, upper_tail

CHANGE_ALPHA = 0.001
"""A change cuts away evidence, so it must be nearly certain."""

MIN_CHANGE_T = 3.0
"""Below this |t| no p is below `CHANGE_ALPHA`, whatever the degrees of freedom: the normal's is 0.0027."""

MIN_LEVEL_RUNS = 4
"""Runs on each side of a change: fewer may be two glitches."""

MIN_SHIFT = log(1.01)
"""A shift below the practical margin is no news, and cutting there would only shorten the history."""

LONE_GLITCH = 10.0
"""A run farther from its neighbours' median than this many median residuals is a glitch. One of 20 % hides a
shift of 5 % in two thirds of the series of 40; without it 97 % are found (400 simulated series each)."""

MAX_GLITCH_SHARE = 0.1
"""Glitches are set aside up to this share: what happens to more of the runs is normal for the case."""

GLITCH_NEIGHBOURS = 2
"""Runs on either side: the median of five follows a change of level, and one glitch does not move it."""


def since_last_change(values: Sequence[float]) -> Sequence[float]:
    """Return the tail of `values` (all > 0, oldest first) that follows the last change of level."""
    changes = change_points(values)
    return values[changes[-1] :] if changes else values


def change_points(values: Sequence[float]) -> tuple[int, ...]:
    """Return the places at which a new level begins, oldest first."""
    logs = _without_glitches([log(value) for value in values])
    splits = _significant_splits(logs, 0, len(logs))
    return tuple(_merge_small_shifts(logs, splits)) if splits else ()


def _without_glitches(logs: Sequence[float]) -> Sequence[float]:
    """Return the values with each lone glitch at its neighbours' median."""
    middles = [
        median(logs[max(0, at - GLITCH_NEIGHBOURS) : at + GLITCH_NEIGHBOURS + 1]) for at in range(len(logs))
    ]
    off = [abs(value - middle) for value, middle in zip(logs, middles, strict=True)]
    limit = LONE_GLITCH * median(off) if off else 0.0
    glitches = {at for at, distance in enumerate(off) if distance > limit > 0}
    if len(glitches) > MAX_GLITCH_SHARE * len(logs):
        return logs
    return [middles[at] if at in glitches else value for at, value in enumerate(logs)]


def _significant_splits(logs: Sequence[float], start: int, end: int) -> list[int]:
    """Return every significant split of logs[start:end], recursively."""
    place = _best_split(logs[start:end])
    if place is None:
        return []
    middle = start + place
    return [*_significant_splits(logs, start, middle), middle, *_significant_splits(logs, middle, end)]


def _best_split(part: Sequence[float]) -> int | None:
    """Return the split with the largest t, None where chance alone explains it."""
    places = range(MIN_LEVEL_RUNS, len(part) - MIN_LEVEL_RUNS + 1)
    if not places:
        return None
    middle = sum(part) / len(part)  # centred: the squares below would otherwise cancel
    sums = list(accumulate((value - middle for value in part), initial=0.0))
    squares = list(accumulate(((value - middle) ** 2 for value in part), initial=0.0))
    t, place = max((_split_t(sums, squares, place), place) for place in places)
    if t <= MIN_CHANGE_T:
        return None
    p = 2 * upper_tail(t, len(part) - 2) * len(places)
    return place if p < CHANGE_ALPHA else None


def _split_t(sums: Sequence[float], squares: Sequence[float], place: int) -> float:
    """Return |t| of the two-sample test with pooled variance, split at `place`."""
    n = len(sums) - 1
    left, right = sums[place] / place, (sums[-1] - sums[place]) / (n - place)
    within = max(squares[-1] - place * left**2 - (n - place) * right**2, 0.0)
    if left == right:
        return 0.0
    if within <= 1e-18 * n:  # no noise at all: any difference is a change
        return inf
    return abs(left - right) / sqrt(within / (n - 2) * (1 / place + 1 / (n - place)))


def _merge_small_shifts(logs: Sequence[float], places: Sequence[int]) -> list[int]:
    """Drop the changes whose two levels differ by less than the practical margin."""
    kept = list(places)
    while True:
        bounds = [0, *kept, len(logs)]
        levels = [_mean_level(logs[start:end]) for start, end in pairwise(bounds)]
        steps = [abs(after - before) for before, after in pairwise(levels)]
        if not steps or min(steps) >= MIN_SHIFT:
            return kept
        del kept[steps.index(min(steps))]


def _mean_level(values: Sequence[float]) -> float:
    return sum(values) / len(values)


TPU_SD = 0.004
"""ln S from run to run. 53 public v6e runs: 0.15 % pooled, 0.4 % for the worst case; the worst is taken."""

GPU_SD = 0.01
"""0.15 % over 1,390 steps on 8 H100, more over the ten or twenty of a benchmark."""

MIN_DEGREES_OF_FREEDOM = 4
"""Below four degrees of freedom the t quantile is so wide that the device's default says more."""

MAX_HISTORY = 30
"""Newest main runs used, as many as rustc-perf looks back; older levels are cut off. Why not 20: where a
quarter of the runs is slower, 1 history of 20 in 300 shows none of those, of 30 1 in 5600, and t with 29
degrees of freedom needs 7 % less than with 19."""

MIN_HISTORY = 15
"""With ten, the glitch filter trims honest tails and false flags rise to 0.7 % a case (simulated)."""

GLITCH_ALPHA = 0.001
"""Level of Grubbs' test (1950), past which the farthest main run is a glitch, not noise: of 1000 honest
histories one loses a run. Five median absolute deviations took one from 1 in 12 histories of 20, and a noise
that has lost its tail is too small: reports on GPU-like noise were flagged twice as often as the level says
(VerdictBench). At most one run is dropped: what happened to two of twenty happens to base and head too, it is
normal for this case."""


MIN_PRIOR_CASES = 4
"""Cases whose variances tell how variances differ: of three, one odd case is a third."""

MAX_PRIOR_FREEDOM = 200.0
"""Where the cases' variances differ by no more than chance, they lend as much as 200 further runs; t is then
within 1 % of the normal's quantile."""


class NoisePrior(Struct, frozen=True, kw_only=True):
    """What the other cases of a repository on one device say of the noise: a variance of ln S and how many
    degrees of freedom it is worth; `cases` told it."""

    variance: float
    degrees_of_freedom: float
    cases: int


class Noise(Struct, frozen=True, kw_only=True):
    """The standard deviation of ln S between runs, None where unknown.

    `degrees_of_freedom` are also given where they are too few to measure it; `history` counts the main runs
    used. `prior` is what other cases lent, `own_sd` and `own_freedom` what the case's own runs say.
    """

    sd: float | None
    degrees_of_freedom: int
    source: NoiseSource
    history: int = 0
    prior: NoisePrior | None = None
    own_sd: float | None = None
    own_freedom: int = 0


def noise_prior(histories: Iterable[Sequence[float]]) -> NoisePrior | None:
    """Return what the histories of a repository's cases on one device say together of the noise of each.

    Source: Smyth (2004), section 6.2: the variances are drawn from an inverse chi-square law, whose two
    numbers follow from the mean and variance of their logarithms. None where too few cases have a history.
    """
    found = []
    for history in histories:
        clean = clean_history(history)
        if len(clean) >= MIN_HISTORY and (squares := _squared_deviations(clean)) > 0:
            found.append((squares / (len(clean) - 1), len(clean) - 1))
    return fit_prior(found) if len(found) >= MIN_PRIOR_CASES else None


def fit_prior(found: Sequence[tuple[float, int]]) -> NoisePrior:
    """Return the prior of variances, each with its degrees of freedom; at least two of them."""
    logs = [log(square) - digamma(nu / 2) + log(nu / 2) for square, nu in found]
    middle = fmean(logs)
    spread = sum((value - middle) ** 2 for value in logs) / (len(logs) - 1)
    beyond_chance = spread - fmean(trigamma(nu / 2) for _, nu in found)
    if beyond_chance <= 0:
        pooled = sum(square * nu for square, nu in found) / sum(nu for _, nu in found)
        return NoisePrior(variance=pooled, degrees_of_freedom=MAX_PRIOR_FREEDOM, cases=len(found))
    freedom = min(2 * inverse_trigamma(beyond_chance), MAX_PRIOR_FREEDOM)
    variance = exp(middle + digamma(freedom / 2) - log(freedom / 2))
    return NoisePrior(variance=variance, degrees_of_freedom=freedom, cases=len(found))


def run_to_run_noise(
    base: Sequence[float],
    head: Sequence[float],
    history: Sequence[float],
    family: DeviceFamily | None,
    prior: NoisePrior | None = None,
) -> Noise:
    """Return the run-to-run noise of ln S, measured where the runs allow it.

    `base`, `head` and `history` are steady seconds; a base run that is also in the history counts once.
    A measured variance is moderated by the `prior`: its own degrees of freedom against the prior's.
    """
    past = clean_history(history)
    groups = [group for group in ([] if set(base) & set(past) else base, head, past) if len(group) >= 2]
    freedom = sum(len(group) - 1 for group in groups)
    if freedom >= MIN_DEGREES_OF_FREEDOM:
        own = sum(_squared_deviations(group) for group in groups) / freedom
        lent = prior.degrees_of_freedom if prior else 0.0
        moderated = (own * freedom + (prior.variance * lent if prior else 0.0)) / (freedom + lent)
        return Noise(
            sd=sqrt(moderated),
            degrees_of_freedom=int(freedom + lent),
            source=NoiseSource.MEASURED,
            history=len(past),
            prior=prior,
            own_sd=sqrt(own),
            own_freedom=freedom,
        )
    default = _default_sd(family)
    source = NoiseSource.UNKNOWN if default is None else NoiseSource.DEVICE_DEFAULT
    return Noise(sd=default, degrees_of_freedom=freedom, source=source)


class SelectedHistory(Struct, frozen=True, kw_only=True):
    """The main runs that today's noise is measured from, by their places in the history, oldest first.

    `used` and `glitches` are empty where too few runs are left. `before_change` runs lie before the last
    change of level, `older` are older than the newest that count.
    """

    used: tuple[int, ...] = ()
    glitches: tuple[int, ...] = ()
    before_change: int = 0
    older: int = 0


def clean_history(history: Sequence[float]) -> Sequence[float]:
    """Return the newest main runs since the last change of level without a glitch, or none if too few."""
    return tuple(history[place] for place in select_history(history).used)


def select_history(history: Sequence[float]) -> SelectedHistory:
    """Return the main runs (seconds, oldest first) that today's noise is measured from; none if too few."""
    return _select_history(tuple(history))


@lru_cache(maxsize=1024)
def _select_history(history: Sequence[float]) -> SelectedHistory:
    """Select; remembered, since one comparison asks for its history half a dozen times."""
    usable = [place for place, seconds in enumerate(history) if isfinite(seconds) and seconds > 0]
    before_change = len(usable) - len(since_last_change([history[place] for place in usable]))
    level = usable[before_change:]
    recent = level[-MAX_HISTORY:]
    older = len(level) - len(recent)
    if len(recent) < MIN_HISTORY:
        return SelectedHistory(before_change=before_change, older=older)
    glitch = farthest_outlier({place: log(history[place]) for place in recent})
    return SelectedHistory(
        used=tuple(place for place in recent if place != glitch),
        glitches=() if glitch is None else (glitch,),
        before_change=before_change,
        older=older,
    )


def farthest_outlier(logs: Mapping[int, float]) -> int | None:
    """Return the place of the one value that Grubbs' test finds too far from the others, if any."""
    values, count = list(logs.values()), len(logs)
    middle = fmean(values)
    spread = sqrt(sum((value - middle) ** 2 for value in values) / (count - 1))
    farthest = max(logs, key=lambda place: abs(logs[place] - middle))
    t = t_quantile(1 - GLITCH_ALPHA / (2 * count), count - 2)
    limit = (count - 1) / sqrt(count) * sqrt(t**2 / (count - 2 + t**2))
    return farthest if abs(logs[farthest] - middle) > limit * spread > 0 else None


def _squared_deviations(seconds: Sequence[float]) -> float:
    logs = [log(value) for value in seconds]
    mean = fmean(logs)
    return sum((value - mean) ** 2 for value in logs)


def _default_sd(family: DeviceFamily | None) -> float | None:
    match family:
        case DeviceFamily.TPU:
            return TPU_SD
        case DeviceFamily.GPU:
            return GPU_SD
        case DeviceFamily.CPU | None:  # from 0.5 to 1.4 s for one configuration: it must be measured
            return None
        case _:
            assert_never(family)


class PastRun(Struct, frozen=True, kw_only=True):
    """One ended run on main: its steady step time, its commit, when it began (Unix seconds), its id, its
    losses and its loop time where they are known, and its submission: runs of one count as one."""

    seconds: float
    sha: str | None = None
    started: float | None = None
    run: str | None = None
    losses: LossTrace | None = None
    loop: float | None = None
    submission: str | None = None


def past_runs(history: Sequence[PastRun | float]) -> tuple[PastRun, ...]:
    """Return main's runs, of which a number is one's steady seconds."""
    return tuple(run if isinstance(run, PastRun) else PastRun(seconds=run) for run in history)


class LevelShift(Struct, frozen=True, kw_only=True):
    """A change of main's level: `change` is ln(after/before) of the mean levels, `at` the commit of the first
    run on the new level, `before` that of the last run on the old one: a commit between them caused it.
    `runs_before` and `runs_after` lie on these levels; `started` is when the first of the new ones began.
    """

    change: float
    at: str | None
    before: str | None
    runs_before: int
    runs_after: int
    started: float | None = None


class NoiseHistory(Struct, frozen=True, kw_only=True):
    """The main runs that the noise was measured from: how many, when the oldest began (Unix seconds), and the
    change of level before them, if there was one."""

    runs: int
    oldest_started: float | None = None
    follows: LevelShift | None = None


def noise_history(runs: Sequence[PastRun]) -> NoiseHistory:
    """The runs, oldest first, that the noise between runs is measured from; none where they are too few."""
    used = [runs[place] for place in select_history([run.seconds for run in runs]).used]
    started = [run.started for run in used if run.started is not None]
    return NoiseHistory(
        runs=len(used),
        oldest_started=min(started, default=None),
        follows=next(iter(reversed(level_shifts(runs))), None) if used else None,
    )


def level_shifts(runs: Sequence[PastRun]) -> tuple[LevelShift, ...]:
    """The changes of level in the runs of one case key on main, oldest first."""
    places = change_points([run.seconds for run in runs])
    bounds = [0, *places, len(runs)]
    return tuple(
        _level_shift(runs[start:middle], runs[middle:end])
        for start, middle, end in zip(bounds, bounds[1:], bounds[2:], strict=False)
    )


def _level_shift(before: Sequence[PastRun], after: Sequence[PastRun]) -> LevelShift:
    levels = [fmean(log(run.seconds) for run in level) for level in (before, after)]
    return LevelShift(
        change=levels[1] - levels[0],
        at=after[0].sha,
        before=before[-1].sha,
        runs_before=len(before),
        runs_after=len(after),
        started=after[0].started,
    )
