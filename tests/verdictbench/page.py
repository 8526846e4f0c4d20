"""The results as Markdown: `docs/verdictbench.md`, and what is printed on a terminal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean, stdev

from bot.verdict import noise, thresholds
from tests.verdictbench import rivals, simulation
from tests.verdictbench.adversary import Patience
from tests.verdictbench.results import Claim, Results, claims, figure, label
from tests.verdictbench.rivals import Call
from tests.verdictbench.rules import REPEATED, RULES, Rule
from tests.verdictbench.running import Amount
from tests.verdictbench.simulation import BY_NAME, KINDS
from tests.verdictbench.stores import CASES, STORED, stored_runs
from tests.verdictbench.trials import EFFECTS, Tally

INTRODUCTION = """\
Every rule that compares benchmark runs is sometimes wrong. Here MaxView's rule and those of other tools
judge the same made runs, whose true step times are known. The page is written by `make verdictbench`;
seeds are fixed, so the same code gives the same page."""

HOW_TO_READ = """\
Per kind of noise: {targets} reports of 25 cases where a target stands, {others} elsewhere; {effects} and
{other_effects} cases of each also with a head that is 1, 2, 5 and 10 % slower. A comparison has one run of
base, one of head, and main's newest runs (20 or 30 for MaxView, base the newest of them, 30 and base for the
others). Figures are percent, ± half of the 95 % binomial interval; (< x) is the bound where nothing was hit.

*Seen* means called slower. A rival has no word for "not known": what it does not flag counts as *same*,
and it is inconclusive only where it cannot compute. MaxView ignores changes below 1 % on purpose, so at a
true +1 % it sees about half at best. Rows "on our steady time" give a rival what it does not have by
itself: the reading of the log that leaves out compilation, stalls and catch-up reads."""

SOURCES = """\
## The rules

Written from documentation, none copied. None of the rivals corrects for the number of cases looked at.

| Rule | As implemented here | Source |
|:--|:--|:--|
| MaxView | a screen at {screen} a case, then two more runs of head and a t threshold at {stricter} a report \
shared among its cases, at least 1 %; noise of main's newest 30 runs, which stand beside base's where those \
agree with them (95 % prediction interval); without history {level} a report, {tpu} (TPU) or {gpu} (GPU); \
*same* only where 5 % is ruled out, of the steady step and of the loop | `bot/verdict` |
| the page | any difference in the printed digits of *Avg s/step* or the last line's TFLOP/s | its tables |
| CodSpeed | flat {flat}; {strict} as a stricter setting | docs, features/customization |
| rustc-perf | change past Q3 + {fence:g} IQR of the relative changes between adjacent ones of {commits} \
main commits; {default} without history | docs/comparison-analysis.md; site/src/comparison.rs |
| Bencher | outside the t prediction interval of history at {boundary} a side | docs, explanation/thresholds |
| Conbench | z > {z:g} against mean and standard deviation of history | docs/pages/lookback_zscore.md |
| benchstat | Mann-Whitney U at {alpha}, {least} or more runs a side | cmd/benchstat |
| Pinpoint | smaller p of Kolmogorov-Smirnov and Mann-Whitney: different up to {low}, same past \
an upper threshold ({highs} runs a side), else twice the runs | models/compare |

rustc-perf decides on instruction counts, CodSpeed on simulated ones: on their own metric they are far
quieter. A training step on an accelerator has no such count; what its logs print is what they would be
fed here.

## The runs

Each run is played as events: the host dispatches step n, waits for the loss of step n - 1, prints its
line; the device works on its own. Printed seconds are the time between dispatches, or, with MaxText's PR
4270, between lines. The background save of step 0 costs {stall} once, as a late read on process 0 (with a
catch-up read after it) or as a held-up step elsewhere; the last line waits for the final checkpoint. A
test writes such runs as text, reads them back, and measures the same. Base and head are played afresh for
every comparison; main's history and the repeats are drawn from stored runs that were played the same way."""

SHORTCOMINGS = """\
## What the rule gives up, and where it falls short

* **A base that disagrees.** One base in 20 lies outside the interval by chance and is then judged alone;
  and where main moves with the base commit, all are, until enough of main's runs stand at the new level.
* **Steps that remember.** Without history, the within-run error takes steps for independent and the
  device's default for the noise between runs: flags are then false. Twenty runs of main cure it.
* **Two kinds of slices.** Some histories of 20 runs hold no slow run by chance, and without history the
  device's default knows nothing of them. More than one run a side averages over slices.
* **Running again.** Where a log does not record its commit, only the newest run of head is taken and the
  count of runs stays the same; looks are counted by the very runs they saw. The rows *not counted* show
  what would be gained otherwise."""

LIMITS = """\
## What it does not show

The laws are made: they have the spread that was measured, but not every shape that exists. The public
spread comes from 53 runs of one TPU slice size; GPU- and CPU-like spreads from fewer. Drift and shifts
move main and base together; a machine that changes between base and head is not simulated, as nothing
could tell it from the change. Losses are identical in all runs, so only the clock is judged."""

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
        "# VerdictBench: the tables",
        INTRODUCTION,
        headline(results),
        "## What it is held to",
        _claims(claims(results)),
        HOW_TO_READ.format(
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
    runs = [stored_runs(BY_NAME["tpu"], index) for index in range(CASES)]
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
        "level": f"{thresholds.REPORT_ALPHA:.0%}",
        "screen": f"{thresholds.SCREEN_ALPHA:.0%}",
        "stricter": f"{thresholds.REPORT_ALPHA_WITH_HISTORY:.1%}",
        "tpu": f"{noise.TPU_SD:.1%}",
        "gpu": f"{noise.GPU_SD:.0%}",
        "stall": f"{simulation.STALL[0]:.0f} to {simulation.STALL[1]:.0f} s",
    }
