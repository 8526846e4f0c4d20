"""What a report is told of the conversation on its pull request."""

from msgspec.structs import replace

from bot.domain.case_key import CaseKey
from bot.domain.pull_request import PullRequest
from bot.domain.run_request import Approval, Cancellation
from bot.report.model import ReportRequest
from bot.worker.pull_decisions import Conversation, report_request, with_conversation
from tests.worker.samples import FACTS, FETCHES, HEAD, LAUNCHES, NOW, PULL, ROW, pull, suite

FORKED = pull(head_repository="mallory/maxtext")

TREE = "1" * 40

APPROVAL = Approval(head_sha=HEAD, tree=TREE, by="bob", made=NOW)

ALL = frozenset(CaseKey(case, variant) for case in ("03_dropout", "04_int8") for variant in ("linen", "nnx"))

CANCEL = Cancellation(name="9:00", keys=ALL, by="bob", head_sha=HEAD, made=NOW)


def _heard(conversation: Conversation, of: PullRequest = PULL, text: str = LAUNCHES) -> ReportRequest:
    with_suite = suite(text)
    asked = report_request(ROW, of, suite=with_suite, problem=None, now=NOW)
    return with_conversation(asked, conversation, facts=replace(FACTS, tree=TREE), suite=with_suite)


def test_a_fork_that_nobody_approved_waits_for_the_command_to_copy() -> None:
    """Every case that is asked for."""
    waiting = _heard(Conversation(), FORKED)

    assert (ALL, f"/benchmark approve {HEAD}") == (waiting.waiting, waiting.approval)


def test_nothing_waits_where_nothing_has_to() -> None:
    """An approved fork, a branch of the repository, a repository that starts no runs, nothing asked."""
    heard = [
        _heard(Conversation(approval=APPROVAL), FORKED),
        _heard(Conversation()),
        _heard(Conversation(), FORKED, FETCHES),
        _heard(Conversation(), replace(FORKED, draft=True)),
    ]
    assert [(frozenset(), "")] * 4 == [(one.waiting, one.approval) for one in heard]


def test_what_was_cancelled_says_by_whom_and_waits_for_nothing() -> None:
    """Nobody has to approve what nobody wants."""
    heard = _heard(Conversation(log=(CANCEL,)), FORKED)

    assert (dict.fromkeys(ALL, "bob"), frozenset()) == (heard.cancelled_by, heard.waiting)


def test_help_knows_the_labels() -> None:
    """As configured."""
    assert ("benchmark", "benchmark:*") == _heard(Conversation()).labels
