"""What comes of a comment's commands: a sentence for each, and what is asked, approved and accepted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.commands.context import CommandContext
from bot.commands.fork_approval import FORK_REASON, ApprovalNeeded
from bot.commands.grammar import read_commands
from bot.commands.handler import DecidedCommands, decide_commands
from bot.commands.intents import CommandIntent
from bot.commands.permission import AuthorRights, decide_permission
from bot.config import Suite
from bot.domain.case_key import CaseKey
from bot.domain.command import CommandVerb, CommentOrigin
from bot.domain.pull_request import PullRequest
from bot.domain.repository import Permission, Person
from bot.domain.run_request import Approval, Cancellation, RequestSource, RunRequest
from bot.report.model import CaseReport, RowState
from bot.storage.pull_requests import CommandRecord
from tests.report.samples import slower
from tests.worker.samples import ACME, BASE, HEAD, LAUNCHES, NOW, PULL, pull, suite

BOB = Person(login="bob", id=8)

TREE = "1" * 40

FORKED = pull(head_repository="mallory/maxtext")

WAITS = ApprovalNeeded(why=FORK_REASON, command=f"/benchmark approve {HEAD}")

ALL = frozenset(CaseKey(case, variant) for case in ("03_dropout", "04_int8") for variant in ("linen", "nnx"))


def _given(
    text: str,
    permission: Permission = Permission.WRITE,
    with_suite: Suite | None = None,
    *,
    of: PullRequest = PULL,
    rows: tuple[CaseReport, ...] = (),
    context: CommandContext | None = None,
) -> DecidedCommands:
    intent = CommandIntent(
        repository=ACME,
        number=7,
        origin=CommentOrigin(99),
        author=BOB,
        commands=read_commands(text),
        created_at=NOW,
    )
    made = context or CommandContext(
        permission=decide_permission(AuthorRights(permission=permission), BOB),
        pull=of,
        suite=with_suite,
        rows=rows,
        tree=TREE,
    )
    return decide_commands(intent, made)


def _launching(text: str, **more: object) -> DecidedCommands:
    return _given(text, with_suite=suite(LAUNCHES), **more)  # type: ignore[arg-type]


def _said(decided: DecidedCommands) -> str:
    (record,) = decided.records
    return record.result


def _asked(decided: DecidedCommands) -> tuple[RunRequest | Cancellation, ...]:
    return tuple(ask for result in decided.results for ask in result.requests)


def test_a_writer_reruns_a_case_where_runs_are_started() -> None:
    """Each variant of the case is asked for afresh, for this head; the record says by whom and when."""
    decided = _launching("/benchmark rerun 03_dropout")

    assert decided.records == (
        CommandRecord(
            origin=CommentOrigin(99),
            text="/benchmark rerun 03_dropout",
            verb=CommandVerb.RERUN,
            by="bob",
            at=NOW,
            result="03_dropout: fresh runs are started, on this head and on its baseline.",
            head_sha=HEAD,
        ),
    )
    assert _asked(decided) == (
        RunRequest(
            source=RequestSource.COMMAND,
            name="99:00",
            keys=frozenset({CaseKey("03_dropout", "linen"), CaseKey("03_dropout", "nnx")}),
            by="bob",
            fresh=1,
            head_sha=HEAD,
            made=NOW,
        ),
    )


def test_a_variant_narrows_the_rerun() -> None:
    """Only the named variant is run again, and the answer says so."""
    decided = _launching("/benchmark rerun 04_* nnx")
    (ask,) = _asked(decided)

    assert frozenset({CaseKey("04_int8", "nnx")}) == ask.keys
    assert _said(decided).startswith("04_int8 (nnx): ")


def test_failed_cases_are_those_of_the_newest_report_of_this_head() -> None:
    """Failed, and lost by the cluster; where none is, nothing is asked."""
    rows = (
        CaseReport(case="03_dropout", variant="linen", state=RowState.NEW_FAILURE),
        CaseReport(case="03_dropout", variant="nnx", state=RowState.SAME),
        CaseReport(case="04_int8", variant="linen", state=RowState.LOST),
    )
    (ask,) = _asked(_launching("/benchmark rerun failed", rows=rows))
    none = _launching("/benchmark rerun failed nnx", rows=rows)

    assert frozenset({CaseKey("03_dropout", "linen"), CaseKey("04_int8", "linen")}) == ask.keys
    assert ((), "No case has failed on aaaaaaa: nothing is run again.") == (_asked(none), _said(none))


def test_a_run_does_not_ask_for_fresh_runs() -> None:
    """`run` starts what is missing and repeats nothing; `--fresh` is rerun."""
    (ask,), (fresh,) = _asked(_launching("/benchmark")), _asked(_launching("/benchmark run --fresh"))
    assert isinstance(ask, RunRequest)
    assert isinstance(fresh, RunRequest)

    assert (0, 1, ALL, ALL) == (ask.fresh, fresh.fresh, ask.keys, fresh.keys)
    assert "All cases: runs that are missing are started." == _said(_launching("/benchmark"))


def test_where_nothing_is_started_a_rerun_says_so() -> None:
    """A repository that only fetches looks again, and promises no run."""
    decided = _given("/benchmark rerun all", with_suite=suite())

    assert ((), False) == (_asked(decided), decided.records[0].refused)
    assert "starts no runs" in _said(decided)


@pytest.mark.parametrize("text", ["cancel", "plan", "baseline main", "approve aaaaaaa"])
def test_where_nothing_is_started_there_is_nothing_to_drive(text: str) -> None:
    """What would steer launches is refused with the reason."""
    decided = _given(f"/benchmark {text}", with_suite=suite())

    assert decided.records[0].refused
    assert "starts no runs" in _said(decided)


def test_on_a_fork_that_waits_the_answer_says_what_it_waits_for() -> None:
    """The wish is kept, and the command that starts it can be copied."""
    context = CommandContext(
        permission=decide_permission(AuthorRights(permission=Permission.WRITE), BOB),
        pull=FORKED,
        suite=suite(LAUNCHES),
        tree=TREE,
        fork_approval=WAITS,
    )
    alone, both = (
        _given("/benchmark run", context=context),
        _given(f"/benchmark approve {HEAD}\n/benchmark run", context=context),
    )

    assert f"nothing starts before “/benchmark approve {HEAD}”" in _said(alone)
    assert 1 == len(_asked(alone))
    assert "All cases: runs that are missing are started." == both.records[1].result


def test_cancel_withdraws_on_this_head() -> None:
    """The named cases, by whom; nothing is asked."""
    decided = _launching("/benchmark cancel 03_dropout")

    assert _asked(decided) == (
        Cancellation(
            name="99:00",
            keys=frozenset({CaseKey("03_dropout", "linen"), CaseKey("03_dropout", "nnx")}),
            by="bob",
            head_sha=HEAD,
            made=NOW,
        ),
    )
    assert "03_dropout: cancelled on aaaaaaa; a push, run or rerun asks anew." == _said(decided)


def test_an_approval_is_bound_to_the_head_and_its_files() -> None:
    """Given whole: a commit with the same first digits as one that was read is made in a minute."""
    (result,) = _launching(f"/benchmark approve {HEAD}", of=FORKED).results
    assert Approval(head_sha=HEAD, tree=TREE, by="bob", made=NOW) == result.approval
    for digits in (HEAD[:7], HEAD[:39]):
        decided = _launching(f"/benchmark approve {digits}", of=FORKED)
        assert decided.results[0].approval is None
        assert f"write “/benchmark approve {HEAD}”" in _said(decided)


def test_an_approval_of_another_commit_is_refused_with_the_head_to_copy() -> None:
    """Somebody pushed since it was read."""
    decided = _launching(f"/benchmark approve {'c' * 40}", of=FORKED)

    assert decided.results[0].approval is None
    assert f"write “/benchmark approve {HEAD}”" in _said(decided)


def test_a_head_whose_files_are_not_known_is_not_approved() -> None:
    """An approval without a file list would bind to nothing."""
    context = CommandContext(
        permission=decide_permission(AuthorRights(permission=Permission.WRITE), BOB),
        pull=FORKED,
        suite=suite(LAUNCHES),
    )
    assert _given(f"/benchmark approve {HEAD}", context=context).results[0].approval is None


def test_a_branch_of_the_repository_needs_no_approval() -> None:
    """Said, and nothing kept."""
    decided = _launching(f"/benchmark approve {HEAD}")

    assert ("No approval is needed: the head is on a branch of this repository.", None) == (
        _said(decided),
        decided.results[0].approval,
    )


def test_a_baseline_is_a_commit_of_the_base_branch() -> None:
    """It is asked of the base branch, not of this head; what is not there is refused."""
    context = CommandContext(
        permission=decide_permission(AuthorRights(permission=Permission.WRITE), BOB),
        pull=PULL,
        suite=suite(LAUNCHES),
        baselines={None: BASE, "mine": None},
    )
    (result,), refused = (
        _given("/benchmark baseline", context=context).results,
        _given("/benchmark baseline mine", context=context),
    )

    assert result.baseline is not None
    assert ("baseline:99:00", BASE, ALL) == (
        result.baseline.name,
        result.baseline.head_sha,
        result.baseline.keys,
    )
    assert "mine is no commit of main: baselines come from there alone." == _said(refused)


def test_a_verdict_is_accepted_with_its_reason() -> None:
    """By whom and why, for the rows that have something to accept."""
    rows = (slower(), CaseReport(case="04_int8", variant="nnx", state=RowState.RUNNING))
    decided = _launching('/benchmark ack 04_int8 reason="known: kernel swap"', rows=rows)
    (one,) = decided.results[0].acknowledgements

    assert ("04_int8", "linen", RowState.SLOWER, "bob", "known: kernel swap", HEAD) == (
        one.case,
        one.variant,
        one.verdict,
        one.by,
        one.reason,
        one.head_sha,
    )
    assert _said(decided).startswith("04_int8 (linen): accepted")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((), "04_int8: there is no verdict on aaaaaaa yet, so nothing to accept."),
        (
            (CaseReport(case="04_int8", variant="linen", state=RowState.RUNNING),),
            "04_int8: running, so there is nothing to accept.",
        ),
    ],
)
def test_what_has_no_verdict_cannot_be_accepted(rows: tuple[CaseReport, ...], said: str) -> None:
    """A pass in advance would hide what comes."""
    decided = _launching('/benchmark ack 04_int8 reason="x"', rows=rows)

    assert ((), said) == (decided.results[0].acknowledgements, _said(decided))


@pytest.mark.parametrize("permission", [Permission.READ, Permission.NONE])
@pytest.mark.parametrize(
    "text",
    [
        "/benchmark",
        "/benchmark rerun 03_dropout",
        "/benchmark help",
        "/benchmark x",
        "/benchmark cancel\n/benchmark run",
        f"/benchmark approve {HEAD}",
        '/benchmark ack 04_int8 reason="x"',
        "/benchmark baseline",
    ],
)
def test_a_stranger_is_refused_once_whatever_they_ask(permission: Permission, text: str) -> None:
    """Without write permission nothing is done and nothing is asked for; the reason is said."""
    decided = _given(text, permission, suite(LAUNCHES), of=FORKED)

    assert (True, True) == (decided.not_allowed, decided.records[0].refused)
    assert _said(decided).startswith("Refused: bob has ")
    assert "benchmarks need write" in _said(decided)
    assert [((), None, None, ())] == [
        (one.requests, one.approval, one.baseline, one.acknowledgements) for one in decided.results
    ]


def test_what_is_misspelt_is_answered_with_the_nearest_spelling() -> None:
    """Verbs and cases alike, and a refusal either way."""
    for text, nearest in (
        ("/benchmark rerum 03_dropout", "/benchmark rerun 03_dropout"),
        ("/benchmark rerun 03_dropuot", "/benchmark rerun 03_dropout"),
    ):
        decided = _launching(text)
        assert decided.records[0].refused
        assert nearest in _said(decided)


def test_without_a_configuration_nothing_can_be_run() -> None:
    """The answer names the file that is missing or invalid; help works even so."""
    assert ".github/maxview.yml" in _said(_given("/benchmark run"))
    assert _given("/benchmark run").records[0].refused
    assert not _given("/benchmark help").records[0].refused


@pytest.mark.parametrize("text", ["run", "cancel", f"approve {HEAD}", 'ack 04_int8 reason="x"', "plan"])
def test_a_closed_pull_request_runs_nothing(text: str) -> None:
    """A promise that nobody would keep is not made."""
    decided = _launching(f"/benchmark {text}", of=pull(open=False), rows=(slower(),))
    assert "This pull request is closed: nothing is run for it, and nothing is kept." == _said(decided)
    assert ((), ()) == (_asked(decided), decided.results[0].acknowledgements)


def test_each_command_of_a_comment_has_its_own_line() -> None:
    """In their order; one that is refused does not stop the others."""
    decided = _launching("/benchmark status\n/benchmark xyzzy\n/benchmark run 03_dropout")

    assert [(0, False), (1, True), (2, False)] == [(one.position, one.refused) for one in decided.records]
    assert ["99:02"] == [ask.name for ask in _asked(decided)]


def test_a_bot_that_is_not_listed_is_refused() -> None:
    """Even with permission to write."""
    bot = replace(BOB, is_bot=True)
    context = CommandContext(
        permission=decide_permission(AuthorRights(permission=Permission.ADMIN), bot),
        pull=PULL,
        suite=suite(LAUNCHES),
    )
    assert _given("/benchmark", context=context).not_allowed


@given(text=st.text(max_size=80), permission=st.sampled_from(Permission))
def test_only_writers_are_ever_granted_anything(text: str, permission: Permission) -> None:
    """Whatever stands after `/benchmark`, runs are asked for by writers alone, and of known cases."""
    decided = _given(f"/benchmark rerun {text}", permission, suite(LAUNCHES))
    assert all(one.result for one in decided.records)
    for ask in _asked(decided):
        assert permission.may_write
        assert ask.keys <= ALL
