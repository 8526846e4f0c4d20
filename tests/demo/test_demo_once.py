"""The check of the demonstration: every case is held against its own verdict."""

import json
from typing import Any

import pytest

from bot.cli.demo import demo_document
from bot.demo.play import CaseAnswer, ScenarioResult
from bot.demo.scenarios import Scenario, scenarios
from bot.domain.case_key import CaseKey
from tests.demo_once import WIDEST_BAND_PERCENT, compare, compare_cases


def answers_of(pull: Scenario, **other: object) -> list[dict[str, Any]]:
    """What a pull request earns, and `other` of its first case."""
    answers: list[dict[str, Any]] = [
        {"case": key.case, "variant": key.variant, "verdict": str(verdict), "band_percent": 5.0}
        for key, verdict in pull.expected.items()
    ]
    answers[0] |= other
    return answers


def test_the_document_is_the_contract() -> None:
    """Programs read the worst verdict of each pull request; its cases stand beside it."""
    key = CaseKey("01_base", "")
    answers = [
        CaseAnswer(key=key, verdict=one, band_percent=5.0) for one in ("same", "slower", "inconclusive")
    ]
    result = ScenarioResult(number=2, title="t", cases=tuple(answers), comment="c", page="p")
    (pull,) = json.loads(json.dumps(demo_document([result])))["pull_requests"]
    assert list(pull) == ["number", "title", "verdict", "cases", "comment", "page"]
    assert (pull["verdict"], len(pull["cases"])) == ("slower", 3)


def test_what_every_case_earns_is_right() -> None:
    """Nothing is wrong, nothing open."""
    answers = [{"title": pull.title, "cases": answers_of(pull)} for pull in scenarios()]
    assert compare(answers) == (0, 0)


@pytest.mark.parametrize("verdict", ["slower", "faster", "diverged"])
def test_a_harmless_case_beside_a_crash_must_be_the_same(verdict: str) -> None:
    """A worse verdict on the other case does not cover it."""
    crash = scenarios()[2]
    assert compare_cases(crash, answers_of(crash, verdict=verdict)) == (1, 0)


def test_what_noise_leaves_open_is_not_passed() -> None:
    """Inconclusive, and a harmless case of which ±63 % is known."""
    harmless = scenarios()[0]
    assert compare_cases(harmless, answers_of(harmless, verdict="inconclusive")) == (0, 1)
    assert compare_cases(harmless, answers_of(harmless, band_percent=WIDEST_BAND_PERCENT + 1)) == (0, 1)


def test_a_case_too_few_or_too_many_is_wrong() -> None:
    """Also one that nobody expects."""
    harmless = scenarios()[0]
    answers = answers_of(harmless)
    assert compare_cases(harmless, answers[1:]) == (1, 0)
    unexpected = answers_of(harmless, variant="other")[0]
    assert compare_cases(harmless, [*answers, unexpected]) == (1, 0)
