"""The page that a reader wants first: what must hold in the open world, and rivals with the same floor."""

from collections.abc import Sequence

from tests.verdictbench.open_world import EFFECTS, Finding, Row
from tests.verdictbench.results import figure

INTRODUCTION = """\
Every rule that compares benchmark runs is sometimes wrong. Here MaxView judges runs whose true times are
known. One run a side is there to begin with, and 20 of main; a change that passes its screen gets the two
further runs of head that the rule asks for. Reports have 25 cases. Figures are percent, ± half of the 95 %
binomial interval; (< x) is the bound where nothing was hit. `make verdictbench` writes this page and the
[tables](verdictbench-tables.md) of every kind of noise and rule; seeds are fixed."""

LIMITS = """\
## Where it falls short

* **Programs that pause at random.** Where unchanged runs differ by more than 5 % in the time they lose, a
  change of 5 % cannot be ruled out: most harmless cases of the shape *pauses* stay inconclusive, and are not
  flagged.
* **Bursts that no log shows.** A step in twenty that takes twice as long is in fewer than half of the windows
  of sixteen steps. What the log does not show cannot be told.
* **Without main's history** the noise of the loop time is unknown. Where base's own steps stall as head's do,
  the loop is then called unchanged; and a single run of base needs a second one before a flag.
* **One case alone.** Noise is shared between cases of a device. Without the others, +3 % on GPU-like noise is
  seen in about 84 %, not 93 %, of the cases.
* The laws are made: they have the spread that was measured, but not every shape that exists."""


def headline(findings: Sequence[Finding]) -> str:
    """Return the sentences that the README quotes."""
    known = {one.text: one.measured for one in findings}

    def said(start: str) -> str:
        return next(measured for text, measured in known.items() if text.startswith(start))

    return (
        f"On harmless changes MaxView flags {said('GPU-like, harmless: reports')} of 25-case reports on "
        f"GPU-like noise, {said('TPU-like, harmless: reports')} on TPU-like noise and "
        f"{said('GPU-like, t(2.5)')} where tails are heavy. With one run a side, 20 runs of main and the two "
        f"further runs that it asks for, at {said('GPU-like, harmless: further runs')} a harmless case, it "
        f"sees +3 % on GPU-like noise in {said('GPU-like, +3 %')} of cases and +2 % on TPU-like noise in "
        f"{said('TPU-like, +2 %')}."
    )


def front_page(findings: Sequence[Finding], rows: Sequence[Row]) -> str:
    """Return the page."""
    held = [f"| {one.text} | {one.measured} | {'met' if one.met else '**missed**'} |" for one in findings]
    effects = " | ".join(f"seen at +{100 * effect:.0f} %" for effect in EFFECTS)
    beside = [
        f"| {row.rule} | {row.kind} | {figure(row.flagged)} | {' | '.join(map(figure, row.seen))} |"
        for row in rows
    ]
    parts = [
        "# VerdictBench: how often it cries wolf, and what it misses",
        INTRODUCTION,
        f"<!-- headline -->\n{headline(findings)}\n<!-- /headline -->",
        "## What must hold",
        "\n".join(["| Property | Measured |  |", "| :-- | --: | --: |", *held]),
        "## Beside other tools' rules, with the same floor of 1 %",
        "Fed our steady time and the same runs of main; each has the one run a side that ours begins with. "
        + better_words(rows),
        "\n".join(
            [
                f"| Rule | Noise | harmless reports flagged | {effects} |",
                "| :-- | :-- | --: | --: | --: | --: |",
                *beside,
            ]
        ),
        LIMITS,
    ]
    return "\n\n".join(parts) + "\n"


def better_words(rows: Sequence[Row]) -> str:
    """Name every rival that is better anywhere: surely fewer reports flagged, or surely more seen."""
    own = {row.kind: row for row in rows if row.rule == "**MaxView**"}
    better = []
    for row in rows:
        ours = own[row.kind]
        if row is ours:
            continue
        if row.flagged.interval[1] < ours.flagged.interval[0]:
            better.append(f"{row.rule} flags fewer reports on {row.kind}")
        for effect, seen, mine in zip(EFFECTS, row.seen, ours.seen, strict=True):
            if seen.interval[0] > mine.interval[1]:
                flags = f"flagging {figure(row.flagged)} % of harmless reports"
                better.append(f"{row.rule} sees +{100 * effect:.0f} % more often on {row.kind}, {flags}")
    return f"Better somewhere: {'; '.join(better)}." if better else "None is better anywhere."
