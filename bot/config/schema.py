"""Every key of `.github/maxview.yml`: its shape, its meaning, its default.

In:  nothing. Out: `DOCUMENT`, the one table that validation, the published JSON Schema and the defaults are
read from; conditions that span several keys are in `bot.config.rules`.
"""

import re

from bot.config.checks import SHAPE as CHECKS
from bot.config.launch_schema import LAUNCH
from bot.config.shapes import Choice, Exactly, Flag, Key, Named, Number, Record, Several, Text
from bot.config.trust import SHAPE as TRUST
from bot.domain.globs import GLOB_REGEX
from bot.domain.run_pattern import PATTERN_REGEX, RunPattern

# Copybara exports changes to branches of these names.
COPYBARA_BRANCHES = ("test_*", "exported_pr_*")

DEFAULT_LABELS = {"benchmark": "all", "benchmark:*": "{case}"}

# Stops a mistake in a configuration from emptying a quota in one night; raised by writing a number.
DEFAULT_CHIP_HOURS_PER_DAY = 200.0

DEFAULT_CONCURRENT_RUNS = 4

# Main moves a dozen commits a day (MaxText); after a week its speed is hearsay.
DEFAULT_OLD_AFTER_DAYS = 7.0


def _pattern_problem(text: str) -> str | None:
    try:
        RunPattern(text)
    except ValueError as problem:
        return str(problem)
    return None


def _command_problem(text: str) -> str | None:
    if re.search(r"[\n\r]", text.rstrip("\n")):
        return "must be one line (a cluster's manifest breaks on a second); fold it with `>-`, join with &&"
    return None


_NAME = Text(
    wants="made of letters, digits, _, - and ., not beginning with - or .",
    form=r"[A-Za-z0-9_][A-Za-z0-9_.-]*",
    longest=100,
)

_GLOB = Text(
    wants="a glob such as src/** or test_* (wildcards *, ** and ?; no leading / or !, no brackets)",
    form=GLOB_REGEX,
    longest=500,
)

_COMMAND = Text(
    wants="the command that runs the case",
    form=r"[^\n\r]*[^\n\r\x00-\x20][^\n\r]*\n*",
    explain=_command_problem,
    longest=20_000,
)

_RUNS = Record(
    keys={
        "source": Key(
            shape=Text(
                wants="a bucket (gs://bucket/prefix) or a folder (file:/path)",
                form=r"gs://[a-z0-9][a-z0-9._-]*[a-z0-9](?:/[^\x00-\x20]*)?|file:[^\x00-\x1f]+",
                longest=1000,
            ),
            about="Where finished runs are found: gs://bucket/prefix or file:/path.",
            required="write source: gs://bucket",
        ),
        "pattern": Key(
            shape=Text(
                wants="a pattern of file names", form=PATTERN_REGEX, explain=_pattern_problem, longest=1000
            ),
            about="The names of the logs below the source; placeholders are {variant} {slug} {date} {time} "
            "{case} {sha}, and * stands for anything within one level.",
            required='write pattern: "{slug}_{date}_{time}/{case}/*.log"',
        ),
    }
)

_VARIANT = Record(
    keys={
        "args": Key(
            shape=Text(wants="arguments on one line", form=r"[^\n\r\x00]+", longest=8000),
            about="Arguments added to every case's command in this variant.",
        )
    },
    empty="allowed",
)

_CASE = Record(
    keys={
        "command": Key(shape=_COMMAND, about="What runs the case; {run_name} stands for the run's name."),
        "paths": Key(
            shape=Several(_GLOB),
            about="By itself only changes that touch one of these run the case; absent: every change.",
        ),
    },
    empty="allowed",
)

_TRIGGERS = Record(
    keys={
        "pull_request": Key(shape=Flag(), about="Answer on pull requests by themselves.", default=True),
        "drafts": Key(shape=Flag(), about="Answer on drafts too.", default=False),
        "paths": Key(
            shape=Several(_GLOB), about="Only changes that touch one of these; absent: every change."
        ),
        "labels": Key(
            shape=Named(
                name=Text(wants="a label", form=r"[^\x00-\x1f]+", longest=100),
                value=Text(
                    wants="all, {case} (what the label's * stands for), or a case or glob of cases",
                    form=r"\{case\}|[A-Za-z0-9_.*?-]+",
                    longest=100,
                ),
            ),
            about="Labels that start runs, and which cases.",
            default=DEFAULT_LABELS,
        ),
        "branches": Key(
            shape=Several(_GLOB),
            about="Branches whose pushes start runs without a pull request.",
            default=list(COPYBARA_BRANCHES),
        ),
    }
)

_CHIP_HOURS = Number(wants="0 or more", least=0, most=10_000_000)

_BUDGET = Record(
    keys={
        "chip_hours_per_day": Key(
            shape=_CHIP_HOURS,
            about="Chip-hours that launches may use in a day.",
            default=DEFAULT_CHIP_HOURS_PER_DAY,
        ),
        "concurrent_runs": Key(
            shape=Number(wants="a whole number from 1", least=1, most=10_000, kind=int),
            about="Runs on the cluster at one time.",
            default=DEFAULT_CONCURRENT_RUNS,
        ),
        "chip_hours_per_person_per_day": Key(
            shape=_CHIP_HOURS, about="Chip-hours that one person's pushes and commands may use in a day."
        ),
        "chip_hours_per_pull_request": Key(
            shape=_CHIP_HOURS, about="Chip-hours that one pull request may use in all its life."
        ),
    }
)

_BASELINE = Record(
    keys={
        "daily_at": Key(
            shape=Text(
                wants='a time of day in UTC such as "03:00"',
                form=r"(?:[01][0-9]|2[0-3]):[0-5][0-9]",
                longest=5,
            ),
            about="When main's newest commit is run each day, in UTC; absent: only when it is compared with.",
        ),
        "old_after_days": Key(
            shape=Number(wants="above 0", over=0, most=3650),
            about="From this age on the comment says that a case's baseline is old.",
            default=DEFAULT_OLD_AFTER_DAYS,
        ),
    }
)

_PERCENT = Number(wants="above 0 and at most 100", over=0, most=100)

_MARGINS = Record(
    keys={
        "practical_percent": Key(
            shape=_PERCENT, about="The smallest change of step time worth a verdict.", default=1.0
        ),
        "equivalence_percent": Key(
            shape=_PERCENT, about="The largest change that may hide behind `same`.", default=5.0
        ),
    }
)

DOCUMENT = Record(
    keys={
        "version": Key(
            shape=Exactly(1), about="The version of this file's format.", required="write version: 1"
        ),
        "runs": Key(shape=_RUNS, about="Where finished runs are found."),
        "launch": Key(shape=LAUNCH, about="How runs are started; absent: they are only found."),
        "variants": Key(
            shape=Named(name=_NAME, value=_VARIANT, needed=1), about="The named settings a case runs in."
        ),
        "compare": Key(
            shape=Several(Choice(("ref", "variant"))),
            about="ref: head against base; variant: the variants against each other on the head.",
            default=["ref"],
        ),
        "cases": Key(
            shape=Named(name=_NAME, value=_CASE, needed=1),
            about="What is measured.",
            required="name at least one case under cases:",
        ),
        "triggers": Key(shape=_TRIGGERS, about="What starts an answer."),
        "checks": Key(
            shape=CHECKS,
            about="What stands beside the comment; one word stands for its kind alone.",
            default="off",
        ),
        "trust": Key(shape=TRUST, about="Who may start runs besides people with write permission."),
        "baseline": Key(shape=_BASELINE, about="How main itself is kept measured."),
        "budget": Key(shape=_BUDGET, about="What launches may cost."),
        "margins": Key(shape=_MARGINS, about="The thresholds of the timing verdict, in percent."),
    }
)
