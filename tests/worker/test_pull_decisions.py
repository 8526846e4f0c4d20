"""Whether to speak, what to look for, and when to look again."""

import pytest
from msgspec import structs

from bot.domain.case_key import CaseKey
from bot.domain.command import CommentOrigin
from bot.domain.published import DirtyComment
from bot.domain.run_request import RequestSource, RunRequest
from bot.report.model import CaseReport, Report, RowState
from bot.storage.pull_requests import CommandRecord, InterimAnalyses
from bot.worker.pull_decisions import (
    BASELINE_WINDOW_SECONDS,
    DEBOUNCE_SECONDS,
    FINISHED_POLL_SECONDS,
    at_current_head,
    import_queries,
    may_start_runs,
    next_due,
    not_measured_reason,
    report_request,
    wants_comment,
)
from tests.worker.samples import BASE, BRANCH, FACTS, FETCHES, HEAD, NOW, PULL, ROW, pull, row, suite

COMMAND = CommandRecord(
    origin=CommentOrigin(1), text="/benchmark", by="bob", at=NOW, result="Done.", refused=True, head_sha=HEAD
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
    assert wants_comment(suite(), ROW, PULL, ["README.md"])
    limited = suite(triggers='{paths: ["src/**"]}')
    assert wants_comment(limited, ROW, PULL, ["README.md", "src/deep/a.py"])
    assert not wants_comment(limited, ROW, PULL, ["README.md", "other/src/a.py"])
    assert not wants_comment(limited, ROW, PULL, [])


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
    assert expected == wants_comment(suite(triggers=triggers), ROW, pull(draft=draft), ["src/a.py"])


def test_what_is_not_measured_says_why_where_somebody_may_wait() -> None:
    """Nobody waits for the check of a draft, which cannot be merged, nor for a branch's."""
    assert "Not measured: the change touches no case" == not_measured_reason(suite(), PULL)
    assert "Not measured: nobody has asked for it" == not_measured_reason(
        suite(triggers="{pull_request: false}"), PULL
    )
    assert not_measured_reason(suite(), pull(draft=True)) is None
    assert not_measured_reason(suite(), BRANCH) is None


def test_who_was_spoken_to_or_asks_gets_an_answer() -> None:
    """A comment that stands is kept true, and a command is answered, whatever the triggers say."""
    silent = suite(triggers="{pull_request: false}")
    assert wants_comment(silent, row(comment=DirtyComment(id=5, severity=0)), PULL, [])
    assert wants_comment(silent, row(commands=(COMMAND,)), pull(draft=True), [])


def test_the_head_that_github_names_is_the_one_that_counts() -> None:
    """A head we had not heard of was pushed about now, and looks at the one before do not count for it."""
    looked = row(interim_analyses={CaseKey("x", "linen"): InterimAnalyses(look=2, runs="abc")}, head_seen=5.0)
    assert at_current_head(looked, PULL, NOW) == looked
    moved = at_current_head(looked, pull(head_sha="d" * 40), NOW)
    assert (moved.head_sha, moved.head_seen, moved.interim_analyses) == ("d" * 40, NOW, {})


def test_the_first_head_may_be_older_than_our_knowledge_of_it() -> None:
    """A row that never had a head does not pretend that the branch was pushed just now."""
    fresh = at_current_head(row(head_sha=None, head_seen=None), PULL, NOW)
    assert (fresh.head_sha, fresh.head_seen) == (HEAD, None)


def test_both_branches_are_sought_by_their_slugs_and_commits() -> None:
    """The head's branch with its commit, the base's with the merge base and those before it."""
    head, base = import_queries(PULL, FACTS, suite())
    assert (head.slug, head.shas, head.since) == ("feat_x", (HEAD,), None)
    assert (base.slug, base.shas) == ("main", (BASE, "c" * 40))
    assert base.since == FACTS.merge_base.committed_at - BASELINE_WINDOW_SECONDS
    assert head.cases == base.cases == ("03_dropout", "04_int8", "11_offload")


@pytest.mark.parametrize("state", [RowState.NO_RUN, RowState.NO_BASELINE, RowState.QUEUED, RowState.RUNNING])
def test_what_is_awaited_is_looked_for_soon(state: RowState) -> None:
    """Where something is missing the next look is one poll away, later in a twentieth of the wait so far."""
    report = _report(RowState.SAME, state)
    assert next_due(ROW, report, 60.0) == NOW + 60.0
    assert next_due(row(head_seen=NOW - 4000), report, 60.0) == NOW + 200.0
    assert next_due(row(head_seen=NOW - 1e9), report, 60.0) == NOW + FINISHED_POLL_SECONDS
    assert next_due(row(head_seen=None), report, 60.0) == NOW + 60.0


def test_a_clock_that_was_put_back_does_not_stop_the_looking() -> None:
    """A head that was seen "later" than now is looked at after one poll."""
    assert next_due(row(head_seen=NOW + 5000), _report(RowState.NO_RUN), 60.0) == NOW + 60.0


def test_what_is_settled_is_looked_at_now_and_then() -> None:
    """A finished report is looked at every quarter of an hour: repeats may appear; a problem, sooner."""
    assert next_due(ROW, _report(RowState.SAME, RowState.SLOWER), 60.0) == NOW + FINISHED_POLL_SECONDS
    assert next_due(ROW, _report(problem="The runs could not be read: no."), 60.0) == NOW + 60.0


def test_a_report_is_asked_for_with_the_suites_settings() -> None:
    """Margins, variants and what starts runs come from the suite; the newest command from the row."""
    other = CommandRecord(
        origin=CommentOrigin(2), text="/benchmark help", by="eve", at=NOW, result="See below."
    )
    made = report_request(
        row(commands=(other, COMMAND)), PULL, suite=suite(compare="[variant]"), problem=None, now=NOW
    )
    assert (made.variants, made.compares_variants, made.launches) == (("linen", "nnx"), True, False)
    assert [("eve", False), ("bob", True)] == [(one.by, one.refused) for one in made.commands]
    bare = report_request(ROW, PULL, suite=None, problem="line 3", now=NOW)
    assert (bare.variants, bare.problem, bare.commands) == ((), "line 3", ())


def test_a_change_that_touches_no_case_is_not_spoken_of() -> None:
    """Where every case names its own paths, and the change touches none of them."""
    cases = "cases: {03_dropout: {}, 04_int8: {}, 11_offload: {}}"
    narrow = suite(FETCHES.replace(cases, 'cases: {04_int8: {paths: ["src/quantization/**"]}}'))
    assert not wants_comment(narrow, row(), PULL, ("src/a.py",))
    assert wants_comment(narrow, row(), PULL, ("src/quantization/int8.py",))


def test_a_head_that_was_pushed_over_another_waits_a_moment() -> None:
    """The first head starts at once, and so does what a person asks for after the push."""
    ask = RunRequest(
        source=RequestSource.COMMAND,
        name="9:00",
        keys=frozenset({CaseKey("04_int8", "nnx")}),
        by="bob",
        made=NOW + 1,
    )
    pushed = row(head_seen=NOW)
    assert may_start_runs(row(head_seen=None), (), NOW)
    assert not may_start_runs(pushed, (), NOW + DEBOUNCE_SECONDS - 0.1)
    assert may_start_runs(pushed, (), NOW + DEBOUNCE_SECONDS)
    assert may_start_runs(pushed, (ask,), NOW + 2)
    assert not may_start_runs(
        pushed,
        (structs.replace(ask, made=NOW - 60), structs.replace(ask, source=RequestSource.LABEL)),
        NOW + 2,
    )
    assert may_start_runs(pushed, (), NOW - 3600)


def test_a_head_that_waits_is_looked_at_when_it_has_stood_long_enough() -> None:
    """Not a poll later."""
    report = structs.replace(_report(RowState.NO_RUN, made_at=NOW + 1), launches=True)
    assert next_due(row(head_seen=NOW), report, 30.0) == NOW + DEBOUNCE_SECONDS
    assert next_due(row(head_seen=None), report, 30.0) == NOW + 31
