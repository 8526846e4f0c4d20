"""What the page says around its figures.

In:  nothing. Out: Markdown texts; those with braces are filled from constants by `tables`.
"""

INTRODUCTION = """\
Every rule that compares benchmark runs is sometimes wrong. Here MaxView's rule and those of other tools
judge the same made runs, whose true step times are known. The page is written by `make verdictbench`;
seeds are fixed, so the same code gives the same page."""

READING = """\
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
| MaxView | t threshold at {stricter} a report shared among its cases, at least 1 %; noise of main's \
newest 30 runs, which stand beside base's where those agree with them (95 % prediction interval); without \
history {level} a report, {tpu} (TPU) or {gpu} (GPU); *same* only where 5 % is ruled out; no flag where a \
run of main was as far off, or main contradicts the only run of base | `bot/verdict` |
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

* **Where noise sets the threshold.** The level is {stricter} a report where main's runs tell the noise, half
  of what is promised, and t with 19 degrees of freedom is wide there. What that costs in power is won back
  by main's runs beside base's: half of the variance of one run against one is base's.
* **A base that disagrees.** One base in 20 lies outside the interval by chance and is then judged alone;
  and where main moves with the base commit, all are, until enough of main's runs stand at the new level.
* **A late read among the kept steps** widens a run's within-run error, which is a standard deviation and
  not robust: this, not the noise between runs, costs the last points of power at +5 % on TPU-like noise.
* **Steps that remember.** Without history, the within-run error takes steps for independent and the
  device's default for the noise between runs: flags are then false. Twenty runs of main cure it.
* **Two kinds of slices.** Some histories of 20 runs hold no slow run by chance, and without history the
  device's default knows nothing of them. More than one run a side averages over slices.
* **Glitches.** Where one of main's runs was as far off, one run of head is not believed: that costs power
  until a second run is there. Where main had none, one run a side cannot tell a slow machine from a slow
  commit.
* **Running again.** Where a log does not record its commit, only the newest run of head is taken and the
  count of runs stays the same; looks are counted by the very runs they saw. The rows *not counted* show
  what would be gained otherwise."""

LIMITS = """\
## What it does not show

The laws are made: they have the spread that was measured, but not every shape that exists. The public
spread comes from 53 runs of one TPU slice size; GPU- and CPU-like spreads from fewer. Drift and shifts
move main and base together; a machine that changes between base and head is not simulated, as nothing
could tell it from the change. Losses are identical in all runs, so only the clock is judged."""
