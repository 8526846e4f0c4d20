"""What the README claims, held against the program."""

import math
import re
from pathlib import Path

import pytest
import yaml

from bot import config
from bot.commands import permission_lookup
from bot.github.limits import WRITES_PER_HOUR, WRITES_PER_MINUTE
from bot.report.check import CONCLUSIONS, CheckOutcome
from bot.report.comment import help_text
from bot.settings import SETTINGS
from bot.storage import rate_limit
from bot.verdict import noise, thresholds, timing, timing_decision
from bot.verdict.judgement import Margins
from bot.web.api.openapi import OPERATIONS
from bot.webhooks.events import USED_EVENTS
from bot.worker.pull_decisions import DEBOUNCE_SECONDS
from tests.commands.usage import USAGE

ROOT = Path(__file__).parent.parent

README = (ROOT / "README.md").read_text(encoding="utf-8")


def _between(name: str) -> list[list[str]]:
    """The cells of the table between two comments of that name, without its head."""
    table = README.partition(f"<!-- {name} -->\n")[2].partition(f"<!-- /{name} -->")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]


def test_every_setting_is_in_the_readme() -> None:
    """The table of settings is the one that the program reads."""
    expected = [[f"`{setting.name}`", setting.meaning] for setting in SETTINGS]

    assert expected == [row[:2] for row in _between("settings")]


def test_the_thresholds_in_the_readme_are_the_ones_used() -> None:
    """Each figure in the table is the constant's own."""
    margins = Margins()
    expected = {
        "level of a report": f"{thresholds.REPORT_ALPHA:.0%}",
        "level with main's history": f"{thresholds.REPORT_ALPHA_WITH_HISTORY:.1%}",
        "later looks": f"{thresholds.LOOKS.later:.0%} of that",
        "screen": f"{thresholds.SCREEN_ALPHA:.0%}",
        "confirmed by": f"{thresholds.CONFIRMED_RUNS} runs",
        "beyond any glitch": f"{math.expm1(thresholds.BEYOND_GLITCHES):.0%}",
        "beyond any glitch, TPU": f"{math.expm1(thresholds.BEYOND_TPU_GLITCHES):.0%}",
        "practical margin": f"{margins.practical_percent:.0f} %",
        "equivalence margin": f"{margins.equivalence_percent:.0f} %",
        "default noise, TPU": f"{noise.TPU_SD:.1%}",
        "default noise, GPU": f"{noise.GPU_SD:.0%}",
        "history": f"{noise.MIN_HISTORY} to {noise.MAX_HISTORY} runs",
        "clean steps": f"{timing.MIN_CLEAN_STEPS} or more",
    }

    assert expected == {row[0]: row[1] for row in _between("thresholds")}


def test_every_command_is_in_the_readme() -> None:
    """The commands that are understood, and no others."""
    written = {
        cell.replace("\\|", "|") for cell in re.findall(r"^\| `(/benchmark[^`]*)`", README, re.MULTILINE)
    }

    assert {*USAGE, "/benchmark"} == written
    assert all(usage.split()[1] in help_text(cases=(), variants=(), launches=True) for usage in USAGE)


def test_the_configuration_in_the_readme_is_valid() -> None:
    """The example can be copied."""
    example = README.partition("```yaml\n")[2].partition("```")[0]

    suite = config.read_suite(example)

    assert ("03_dropout", "04_int8") == suite.case_names
    assert ("linen", "nnx") == suite.variant_names


@pytest.mark.parametrize("example", re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)[1:])
def test_every_other_example_of_a_configuration_is_valid(example: str) -> None:
    """Each can be put beside what a file needs at least."""
    small = 'version: 1\nruns: {source: "file:/r", pattern: "*.log"}\ncases: {a: {command: x}}\n'

    assert config.read_suite(small + example) != config.read_suite(small)


def test_both_ways_to_launch_are_shown() -> None:
    """With every key that they have, so that nobody must guess where one belongs."""
    shown = {
        cluster: set(yaml.safe_load(example)["launch"][cluster])
        for cluster, example in re.findall(
            r"```yaml\n(?=launch:\n  cluster: (\w+))(.*?)```", README, re.DOTALL
        )
    }

    sections = config.json_schema()["$defs"]
    xpk, local = sections["XpkModel"], sections["LocalModel"]
    assert {"xpk": set(xpk["properties"]), "local": set(local["properties"])} == shown


def test_the_most_runs_that_are_asked_for_are_said() -> None:
    """More than these would cost more than the answer is worth."""
    assert f"up to {timing_decision.MAX_MORE_RUNS} more runs a side would settle it" in README


def test_the_container_is_run_as_the_readme_says() -> None:
    """Port, folder and user are those of the Dockerfile; the commands for Fly.io stand in their file."""
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    run = re.findall(r"docker run .*? maxview(?=[`\n])", README)

    assert len(run) == 1
    assert run[0] in dockerfile
    assert "EXPOSE 8080\n" in dockerfile
    assert "VOLUME /data\n" in dockerfile
    assert "--uid 10001 " in dockerfile
    assert 4 == len(re.findall(r"^#   fly ", (ROOT / "fly.toml").read_text(encoding="utf-8"), re.MULTILINE))


def test_the_budget_in_the_readme_is_valid_and_its_defaults_are_the_ones_used() -> None:
    """The example can be copied; the figures beside it are the constants' own."""
    example = README.partition("### What runs cost")[2].partition("```yaml\n")[2].partition("```")[0]
    plain = (
        'version: 1\nruns: {source: "file:/runs", pattern: "{slug}_{date}_{time}/*.log"}\ncases: {a: {}}\n'
    )

    written, default = config.read_suite(plain + example).budget, config.read_suite(plain).budget

    assert None not in (written.chip_hours_per_person_per_day, written.chip_hours_per_pull_request)
    assert (written.chip_hours_per_day, written.concurrent_runs) == (
        default.chip_hours_per_day,
        default.concurrent_runs,
    )
    assert f"once it has stood for {DEBOUNCE_SECONDS:g} s" in README


def test_what_the_readme_names_is_there() -> None:
    """Every file, folder and make target that is named exists."""
    named = set(re.findall(r"`((?:bot|tests|docs|\.ci)/[\w./]*)`", README))
    named |= set(re.findall(r"\]\(((?!http)[\w./]+)\)", README))
    targets = set(re.findall(r"`make\s([a-z]+)`", README)) | set(
        re.findall(r"^make (\w+)", README, re.MULTILINE)
    )
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert [] == [name for name in sorted(named) if not (ROOT / name).exists()]
    assert [] == [target for target in sorted(targets) if f"\n{target}:" not in makefile]


def test_the_limits_of_the_conversation_are_the_ones_used() -> None:
    """Commands an hour, how long a permission is remembered, and whom the example trusts."""
    example = re.findall(r"```yaml\n(trust:.*?)```", README, re.DOTALL)[0]
    small = 'version: 1\nruns: {source: "file:/r", pattern: "*.log"}\ncases: {a: {}}\n'

    assert f"may give {rate_limit.MAX_COMMANDS} commands an hour" in README.replace("\n", " ")
    assert (3600.0, 60.0) == (rate_limit.WINDOW_SECONDS, permission_lookup.CACHE_SECONDS)
    assert config.read_suite(small).trust.bots == config.read_suite(small + example).trust.bots
    assert {"benchmark", "benchmark:*"} == set(config.read_suite(small).triggers.labels)


def test_the_configuration_of_main_is_the_one_used() -> None:
    """The example is valid, and what it calls the default is the default."""
    example = re.findall(r"```yaml\n(baseline:.*?)```", README, re.DOTALL)[0]
    small = 'version: 1\nruns: {source: "file:/r", pattern: "*.log"}\ncases: {a: {}}\n'
    written, default = config.read_suite(small + example), config.read_suite(small)

    assert default.triggers.branches == written.triggers.branches
    assert default.baseline.old_after_days == written.baseline.old_after_days
    assert 3 * 3600 == written.baseline.daily_at


def test_every_address_of_the_api_is_a_page_in_the_readme() -> None:
    """The table of pages names each, and the description of the API is named too."""
    written = set(re.findall(r"^\| `(/[^`]*)` \|", README.partition("## Pages")[2], re.MULTILINE))
    served = {operation.path.removeprefix("/api/v1") for operation in OPERATIONS} - {"/", "/openapi.json"}

    assert served | {"/{owner}/{repo}/history/spark.svg"} == written
    assert "/api/v1/openapi.json" in README


def test_the_app_needs_what_the_readme_says() -> None:
    """Every event that is read and that must be subscribed to is in the table, and no other."""
    cells = [row[3] for row in _between("app") if len(row) > 3]
    named = {name.lower().replace(" ", "_") for cell in cells for name in re.findall(r"\*([^*]+)\*", cell)}
    always_sent = {"installation", "installation_repositories"}
    assert set(USED_EVENTS) - always_sent == named


def test_the_conclusions_in_the_readme_are_the_ones_used() -> None:
    """A check ends as the table says, and with no other word."""
    endings = [
        CONCLUSIONS[one] for one in (CheckOutcome.GREEN, CheckOutcome.ACKNOWLEDGED, CheckOutcome.REGRESSION)
    ]
    others = {CONCLUSIONS[one] for one in CheckOutcome} - set(endings)
    said = re.findall(r"^\| [^|]+ \| (success|skipped) \| \**(success|skipped|failure)\** \|$", README, re.M)
    assert [(one.usual.value, one.gated.value) for one in [*endings, *others]] == said


def test_the_pace_in_the_readme_is_the_one_kept() -> None:
    """Writes a minute and an hour."""
    assert f"{WRITES_PER_MINUTE} writes a minute, {WRITES_PER_HOUR} an hour" in README
