"""Whether to speak, what to look for, and when to look again."""

from dataclasses import replace

import pytest

from bot.controller.deciding import (
    BASELINE_SECONDS,
    QUIET_SECONDS,
    SETTLED_SECONDS,
    is_settled,
    next_look,
    on_this_head,
    request,
    sought,
    speaks,
    unmeasured,
)
from bot.report.model import CaseReport, Report, RowState
from bot.runs.asks import Ask, Source
from bot.storage.pulls import CommandRecord, Look
from tests.controller.samples import BASE, FACTS, FETCHES, HEAD, NOW, PULL, ROW, pull, row, suite

COMMAND = CommandRecord(
    comment_id=1, text="/benchmark", by="bob", at=NOW, result="Done.", refused=True, head_sha=HEAD
)


def _report(*states: RowState, problem: str | None = None, made_at: float = NOW) -> Report:
    return Report(
        repository="acme/maxtext",
        number=7,
        title="A change",
        head_sha=HEAD,
        head_branch="feat/x",
        base_branch="main",
        merge_base=BASE,
        made_at=made_at,
        rows=tuple(CaseReport(case="x", variant="linen", state=state) for state in states),
        problem=problem,
    )


def test_a_change_that_touches_a_case_is_spoken_about() -> None:
    """Without paths every change is; with paths those that one of the globs meets."""
    assert speaks(suite(), ROW, PULL, ["README.md"])
    limited = suite(triggers='{paths: ["src/**"]}')
    assert speaks(limited, ROW, PULL, ["README.md", "src/deep/a.py"])
    assert not speaks(limited, ROW, PULL, ["README.md", "other/src/a.py"])
    assert not speaks(limited, ROW, PULL, [])


@pytest.mark.parametrize(
    ("triggers", "draft", "expected"),
    [
        ("{}", False, True),
        ("{}", True, False),
        ("{drafts: true}", True, True),
        ("{pull_request: false}", False, False),
    ],
)
def test_drafts_and_switches_are_respected(triggers: str, draft: bool, expected: bool) -> None:  # noqa: FBT001
    """A draft waits unless the configuration wants drafts; pull requests can be left alone altogether."""
    assert expected == speaks(suite(triggers=triggers), ROW, pull(draft=draft), ["src/a.py"])


def test_what_is_not_measured_says_why_where_somebody_may_wait() -> None:
    """Nobody waits for the check of a draft, which cannot be merged, nor for a branch's."""
    assert "Not measured: the change touches no case" == unmeasured(suite(), PULL)
    assert "Not measured: nobody has asked for it" == unmeasured(
        suite(triggers="{pull_request: false}"), PULL
    )
    assert unmeasured(suite(), pull(draft=True)) is None
    assert unmeasured(suite(), pull(number=-1)) is None


def test_who_was_spoken_to_or_asks_gets_an_answer() -> None:
    """A comment that stands is kept true, and a command is answered, whatever the triggers say."""
    silent = suite(triggers="{pull_request: false}")
    assert speaks(silent, row(comment_id=5), PULL, [])
    assert speaks(silent, row(commands=(COMMAND,)), pull(draft=True), [])


def test_the_head_that_github_names_is_the_one_that_counts() -> None:
    """A head we had not heard of was pushed about now, and looks at the one before do not count for it."""
    looked = row(looks={"x/linen": Look(look=2, runs="abc")}, head_seen=5.0)
    assert on_this_head(looked, PULL, NOW) == looked
    moved = on_this_head(looked, pull(head_sha="d" * 40), NOW)
    assert (moved.head_sha, moved.head_seen, moved.looks) == ("d" * 40, NOW, {})


def test_the_first_head_may_be_older_than_our_knowledge_of_it() -> None:
    """A row that never had a head does not pretend that the branch was pushed just now."""
    fresh = on_this_head(row(head_sha=None, head_seen=None), PULL, NOW)
    assert (fresh.head_sha, fresh.head_seen) == (HEAD, None)


def test_both_branches_are_sought_by_their_slugs_and_commits() -> None:
    """The head's branch with its commit, the base's with the merge base and those before it."""
    head, base = sought(PULL, FACTS, suite())
    assert (head.slug, head.shas, head.since) == ("feat_x", (HEAD,), None)
    assert (base.slug, base.shas) == ("main", (BASE, "c" * 40))
    assert base.since == FACTS.merge_base.committed_at - BASELINE_SECONDS
    assert head.cases == base.cases == ("03_dropout", "04_int8", "11_offload")


@pytest.mark.parametrize("state", [RowState.NO_RUN, RowState.NO_BASELINE, RowState.QUEUED, RowState.RUNNING])
def test_what_is_awaited_is_looked_for_soon(state: RowState) -> None:
    """Where something is missing the next look is one poll away, later in a twentieth of the wait so far."""
    report = _report(RowState.SAME, state)
    assert next_look(ROW, report, 60.0) == NOW + 60.0
    assert next_look(row(head_seen=NOW - 4000), report, 60.0) == NOW + 200.0
    assert next_look(row(head_seen=NOW - 1e9), report, 60.0) == NOW + SETTLED_SECONDS
    assert next_look(row(head_seen=None), report, 60.0) == NOW + 60.0


def test_a_clock_that_was_put_back_does_not_stop_the_looking() -> None:
    """A head that was seen "later" than now is looked at after one poll."""
    assert next_look(row(head_seen=NOW + 5000), _report(RowState.NO_RUN), 60.0) == NOW + 60.0


def test_what_is_settled_is_looked_at_now_and_then() -> None:
    """A finished report is looked at every quarter of an hour: repeats may appear; a problem, sooner."""
    assert next_look(ROW, _report(RowState.SAME, RowState.SLOWER), 60.0) == NOW + SETTLED_SECONDS
    assert next_look(ROW, _report(problem="The runs could not be read: no."), 60.0) == NOW + 60.0


def test_a_report_is_asked_for_with_the_suites_settings() -> None:
    """Margins, variants and what starts runs come from the suite; the newest command from the row."""
    other = CommandRecord(comment_id=2, text="/benchmark help", by="eve", at=NOW, result="See below.")
    made = request(
        row(commands=(other, COMMAND)), PULL, suite=suite(compare="[variant]"), problem=None, now=NOW
    )
    assert (made.variants, made.compares_variants, made.launches) == (("linen", "nnx"), True, False)
    assert [("eve", False), ("bob", True)] == [(one.by, one.refused) for one in made.commands]
    bare = request(ROW, PULL, suite=None, problem="line 3", now=NOW)
    assert (bare.variants, bare.problem, bare.commands) == ((), "line 3", ())


def test_a_change_that_touches_no_case_is_not_spoken_of() -> None:
    """Where every case names its own paths, and the change touches none of them."""
    cases = "cases: {03_dropout: {}, 04_int8: {}, 11_offload: {}}"
    narrow = suite(FETCHES.replace(cases, 'cases: {04_int8: {paths: ["src/quantization/**"]}}'))
    assert not speaks(narrow, row(), PULL, ("src/a.py",))
    assert speaks(narrow, row(), PULL, ("src/quantization/int8.py",))


def test_a_head_that_was_pushed_over_another_waits_a_moment() -> None:
    """The first head starts at once, and so does what a person asks for after the push."""
    ask = Ask(source=Source.COMMAND, name="9:00", keys=frozenset({"04_int8/nnx"}), by="bob", made=NOW + 1)
    pushed = row(head_seen=NOW)
    assert is_settled(row(head_seen=None), (), NOW)
    assert not is_settled(pushed, (), NOW + QUIET_SECONDS - 0.1)
    assert is_settled(pushed, (), NOW + QUIET_SECONDS)
    assert is_settled(pushed, (ask,), NOW + 2)
    assert not is_settled(pushed, (replace(ask, made=NOW - 60), replace(ask, source=Source.LABEL)), NOW + 2)
    assert is_settled(pushed, (), NOW - 3600)


def test_a_head_that_waits_is_looked_at_when_it_has_stood_long_enough() -> None:
    """Not a poll later."""
    report = replace(_report(RowState.NO_RUN, made_at=NOW + 1), launches=True)
    assert next_look(row(head_seen=NOW), report, 30.0) == NOW + QUIET_SECONDS
    assert next_look(row(head_seen=None), report, 30.0) == NOW + 31
