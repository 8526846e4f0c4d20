"""Every text of a value goes through the rules, and nothing else is touched."""

from pathlib import PurePath

import msgspec
import pytest
from msgspec.structs import replace

from bot.redaction.redact import redact
from bot.report.model import Report
from bot.verdict.judgement import MeasuredRun
from bot.web.addresses import Links
from bot.web.auth.access import Access, for_page, public_source
from bot.web.sanitize import map_texts, sanitize
from tests.report.sample_states import every_state
from tests.verdict.made_runs import Shape
from tests.verdict.made_runs import run as made

STRANGER = Access(repository="octo/maxtext", private=False, links=Links())

READER = replace(STRANGER, private=True)

STATES = every_state()

TOKEN = "ghp_" + "a1B2" * 9


def plainly(value: object, *, private: bool) -> object:
    """The same by way of plain values, looking at every one of them."""
    match value:
        case str():
            return sanitize(value if private or len(value) < 8 else redact(value))
        case dict():
            shown = {key: plainly(inner, private=private) for key, inner in value.items()}
            if not private and isinstance(source := shown.get("source"), str):
                shown["source"] = public_source(source)
            return shown
        case list() | tuple():
            return [plainly(inner, private=private) for inner in value]
        case _:
            return value


@pytest.mark.parametrize("visit", [STRANGER, READER], ids=["stranger", "reader"])
@pytest.mark.parametrize("name", sorted(STATES))
def test_a_report_is_shown_as_if_every_value_of_it_were_looked_at(name: str, visit: Access) -> None:
    """No field of a report is passed by."""
    report = STATES[name]
    expected = msgspec.convert(plainly(msgspec.to_builtins(report), private=visit.private), type=Report)
    assert expected == for_page(report, visit)


def test_a_text_deep_in_a_run_is_redacted() -> None:
    """A name that a step line prints beside a number is a text from outside as any other."""
    run = made(Shape(steps=6))
    step = replace(run.log.steps[2], extras=((TOKEN, 1.0),))
    told = replace(run, log=replace(run.log, steps=(step, *run.log.steps)))
    shown = for_page(told, STRANGER)
    assert TOKEN not in repr(shown)
    assert msgspec.convert(plainly(msgspec.to_builtins(told), private=False), type=MeasuredRun) == shown


def test_what_holds_no_text_is_not_made_anew() -> None:
    """Thousands of step lines are the very same values afterwards, so that they cost nothing."""
    run = made(Shape(steps=50))
    assert run.log.steps is for_page(run, STRANGER).log.steps


def test_a_value_that_is_not_known_is_refused() -> None:
    """What nobody looked into for texts is not shown."""
    with pytest.raises(TypeError, match="PurePosixPath"):
        map_texts([{"a": PurePath("/etc")}], str.upper)


class _Inner(msgspec.Struct, frozen=True):
    words: str
    count: int = 0


class _Outer(msgspec.Struct, frozen=True):
    inner: _Inner
    plain: tuple[int, ...] = (1,)
    left: str | msgspec.UnsetType = msgspec.UNSET


def test_a_struct_is_rebuilt_only_where_a_text_changes() -> None:
    """A struct with another text is a new one; one without is the same object; an unset field stays unset."""
    outer = _Outer(inner=_Inner(words="a"))
    assert _Outer(inner=_Inner(words="A")) == map_texts(outer, str.upper)
    assert outer is map_texts(outer, str)
