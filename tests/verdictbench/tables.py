"""The results as Markdown: `docs/verdictbench.md`, and what is printed on a terminal.

In:  `Results` and how much was run. Out: text.
Promises: every figure of the page comes from the results or from the constants that the simulation uses.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean, stdev

from bot.verdict import noise, threshold
from tests.verdictbench import hostloop, rivals
from tests.verdictbench.adversary import Patience
from tests.verdictbench.kinds import BY_NAME, KINDS
from tests.verdictbench.results import Claim, Results, claims, figure, label
from tests.verdictbench.rivals import Call
from tests.verdictbench.rules import REPEATED, RULES, Rule
from tests.verdictbench.running import Amount
from tests.verdictbench.seen import CASES, STORED, store
from tests.verdictbench.tally import Tally
from tests.verdictbench.trials import EFFECTS
from tests.verdictbench.words import INTRODUCTION, LIMITS, READING, SHORTCOMINGS, SOURCES

HEAD = (
    "Rule",
    "false flags, a comparison",
    "25-case reports flagged",
    *(f"seen at +{effect:.0f} %" for effect in EFFECTS),
    "wrong direction",
    "inconclusive at 0",
    "*same* at +5 %",
)
"""Columns of the tables of rules; all in percent."""


def document(results: Results, amount: Amount) -> str:
    """Return the whole page."""
    parts = [
        "# VerdictBench: how often it cries wolf, and what it misses",
        INTRODUCTION,
        f"<!-- headline -->\n{headline(results)}\n<!-- /headline -->",
        "## What it is held to",
        _claims(claims(results)),
        READING.format(
            targets=amount.targets,
            others=amount.others,
            effects=amount.target_effects,
            other_effects=amount.other_effects,
        ),
        *_kinds(results),
        "## Ten runs a side",
        f"Drawn from {STORED} stored logs of each of {CASES} cases; {amount.repeats} reports a kind.",
        *(_folded(name, _rules(REPEATED, found)) for name, found in results.repeats.items()),
        "## Running again until it pleases",
        _adversary_words(amount),
        _adversary(results),
        "## What was simulated",
        _simulated(),
        _calibration(),
        SOURCES.format(**_constants()),
        SHORTCOMINGS.format(**_constants()),
        LIMITS,
    ]
    return "\n\n".join(parts) + "\n"


def headline(results: Results) -> str:
    """Return the sentences that the README quotes."""
    tpu, gpu = results.single["tpu"], results.single["gpu"]
    own, other, page = tpu["ours"], gpu["ours"], tpu["page/mean"]
    wrong = own.wrong_direction + other.wrong_direction
    return (
        f"At no change MaxView flags {figure(own.false_reports)} % of 25-case reports on TPU-like noise "
        f"and {figure(other.false_reports)} % on GPU-like noise; *Avg s/step*, which people look at, differs "
        f"in {figure(page.false_flags)} % of the cells. With 20 steps, one run a side and 20 runs of main it "
        f"sees a slowdown of 5 % in {figure(own.share(5.0, Call.SLOWER))} % of comparisons on TPU-like and "
        f"{figure(other.share(5.0, Call.SLOWER))} % on GPU-like noise, and calls {figure(wrong)} % of "
        "slowdowns faster."
    )


def summary(results: Results) -> str:
    """Return the claims and the tables, for a terminal."""
    tables = (f"## {BY_NAME[name].title}\n\n{_rules(RULES, found)}" for name, found in results.single.items())
    return "\n\n".join([headline(results), _claims(claims(results)), *tables, _adversary(results)])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, [":--", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _claims(found: Iterable[Claim]) -> str:
    rows = [(claim.text, claim.measured, "met" if claim.met else "**missed**") for claim in found]
    return _table(("Target", "Measured", ""), rows)


def _rules(rules: Sequence[Rule], tallies: Mapping[str, Tally]) -> str:
    return _table(HEAD, (_row(rule, tallies[rule.key]) for rule in rules))


def _row(rule: Rule, tally: Tally) -> tuple[str, ...]:
    return (
        label(rule),
        figure(tally.false_flags),
        figure(tally.false_reports),
        *(figure(tally.share(effect, Call.SLOWER)) for effect in EFFECTS),
        figure(tally.wrong_direction),
        figure(tally.share(0.0, Call.INCONCLUSIVE)),
        figure(tally.share(5.0, Call.SAME)),
    )


def _kinds(results: Results) -> Iterator[str]:
    """The kinds that carry a target first and open, the others folded."""
    for name, found in results.single.items():
        kind, table = BY_NAME[name], _rules(RULES, found)
        words = f"{kind.why[0].upper()}{kind.why[1:]}."
        yield (
            f"## {kind.title}\n\n{words}\n\n{table}" if kind.target else _folded(name, f"{words}\n\n{table}")
        )


def _folded(name: str, text: str) -> str:
    return f"<details><summary>{BY_NAME[name].title}</summary>\n\n{text}\n\n</details>"


NAMES = {
    "adds": "**MaxView**, every run kept",
    "replaces": "**MaxView**, only the newest shown",
    "uncounted": "the same, if looks were not counted",
    "adds-alone": "**MaxView**, no history, every run kept",
    **{rule.key: label(rule) for rule in RULES if rule.key not in {"ours", "ours-alone"}},
}


def _adversary_words(amount: Amount) -> str:
    return (
        "Somebody runs the head up to ten times and stops at the first answer that pleases: at no change at "
        "any alarm (red), at a true slowdown of 5 % at *same* or, for a rival, at no alarm (green). First "
        f"look → best of ten, percent; {amount.adversary} reports a kind."
    )


def _adversary(results: Results) -> str:
    rows = (
        (BY_NAME[name].title, NAMES[key], *(_gain(found, wish) for wish in ("red", "red report", "green")))
        for name, strategies in results.adversary.items()
        for key, found in strategies.items()
    )
    return _table(("Noise", "Rule", "false red, a case", "false red, a report", "false green, a case"), rows)


def _gain(found: Patience, wish: str) -> str:
    first, ever = (found.share(wish, patient=patient).percent for patient in (False, True))
    return f"{first:.2f} → {ever:.2f}"


def _simulated() -> str:
    rows = []
    for kind in KINDS:
        law = "normal" if kind.tail is None else f"t({kind.tail:.0f})"
        extras = [
            f"{kind.slow_share:.0%} of runs {kind.slow_by:.1%} slower" if kind.slow_share else "",
            f"{kind.glitch_share:.0%} of runs up to {kind.glitch_by:.0%} slower" if kind.glitch_share else "",
            f"main drifts {kind.drift:.0%} in 20 runs" if kind.drift else "",
            f"main moved {kind.shift:.0%} {kind.shift_age} runs ago" if kind.shift else "",
            "" if kind.stalls else "no checkpoints",
        ]
        rows.append(
            (
                kind.title,
                f"{kind.step_seconds} s × {kind.steps}",
                f"{kind.between:.2%} {law}",
                f"{kind.within:.2%}, ρ {kind.rho}",
                f"{1000 * kind.read:.2g} ms",
                kind.written,
                "; ".join(filter(None, extras)),
            )
        )
    head = ("Kind", "Step × steps", "Between runs", "A step", "Late reads, mean", "Clock", "Also")
    return _table(head, rows)


def _calibration() -> str:
    runs = [store(BY_NAME["tpu"], index) for index in range(CASES)]
    printed = fmean(_spread([run.printed_mean for run in case]) for case in runs)
    steady = fmean(_spread([run.clean for run in case if run.clean is not None]) for case in runs)
    return (
        f"Check against what was measured: TPU-like runs have a printed mean of seconds that varies by "
        f"{printed:.1f} % between runs of a case (public: 3.2 % at ten steps), and a steady time that varies "
        f"by {steady:.2f} % (public, by the last line's rate: 0.15 %)."
    )


def _spread(values: Sequence[float]) -> float:
    return 100 * stdev(values) / fmean(values)


def _constants() -> dict[str, object]:
    return {
        "commits": rivals.RUSTC_COMMITS,
        "fence": rivals.RUSTC_FENCE,
        "default": f"{rivals.RUSTC_DEFAULT:.1%}",
        "boundary": rivals.BENCHER_BOUNDARY,
        "z": rivals.CONBENCH_Z,
        "alpha": rivals.BENCHSTAT_ALPHA,
        "least": rivals.BENCHSTAT_LEAST,
        "low": rivals.PINPOINT_LOW,
        "highs": ", ".join(f"{p:g} at {n}" for n, p in rivals.PINPOINT_HIGH.items()),
        "flat": f"{rivals.CODSPEED_DEFAULT:.0%}",
        "strict": f"{rivals.CODSPEED_STRICT:.0%}",
        "level": f"{threshold.ALPHA:.0%}",
        "stricter": f"{threshold.ALPHA_WITH_HISTORY:.1%}",
        "tpu": f"{noise.TPU_SD:.1%}",
        "gpu": f"{noise.GPU_SD:.0%}",
        "stall": f"{hostloop.STALL[0]:.0f} to {hostloop.STALL[1]:.0f} s",
    }
