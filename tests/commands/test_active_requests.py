"""What of everything that was asked holds for the head as it stands."""

from itertools import permutations

import pytest
from msgspec.structs import replace

from bot.commands.active_requests import cancellations, requests_in_force, runs_automatically
from bot.domain.case_key import CaseKey
from bot.domain.run_request import Cancellation, RequestSource, RunRequest
from tests.worker.samples import BRANCH, FETCHES, HEAD, LAUNCHES, NOW, pull, suite

PATHS = ("src/a.py",)

ONLY_ASKED = suite(FETCHES, triggers="{pull_request: false}")

ALL = frozenset(
    CaseKey(case, variant) for case in ("03_dropout", "04_int8", "11_offload") for variant in ("linen", "nnx")
)

ONE = frozenset({CaseKey("03_dropout", "linen")})


def command(
    line: int = 0, *, keys: frozenset[CaseKey] = ALL, made: float = NOW, head: str = HEAD
) -> RunRequest:
    """What a command in comment 9 asks."""
    return RunRequest(
        source=RequestSource.COMMAND, name=f"9:{line:02}", keys=keys, by="bob", head_sha=head, made=made
    )


def label(*, keys: frozenset[CaseKey] = ALL, made: float = NOW) -> RunRequest:
    """What the label `benchmark` asks."""
    return RunRequest(source=RequestSource.LABEL, name="benchmark", keys=keys, by="bob", made=made)


def cancel(
    line: int = 0, *, keys: frozenset[CaseKey] = ALL, made: float = NOW + 60, head: str = HEAD
) -> Cancellation:
    """What `/benchmark cancel` in comment 9 withdraws."""
    return Cancellation(name=f"9:{line:02}", keys=keys, by="carol", head_sha=head, made=made)


def test_a_push_asks_for_the_suite() -> None:
    """Where triggers say so, by nobody in particular, for this head."""
    (ask,) = requests_in_force((), pull(), suite(), PATHS)

    assert (RequestSource.PUSH, ALL, "", HEAD) == (ask.source, ask.keys, ask.by, ask.head_sha)


def test_a_push_asks_nothing_where_the_rules_say_so() -> None:
    """Triggers that are off, a draft, paths that touch no case."""
    docs = suite(FETCHES, triggers='{paths: ["docs/**"]}')

    assert () == requests_in_force((), pull(), ONLY_ASKED, PATHS)
    assert () == requests_in_force((), pull(draft=True), suite(), PATHS)
    assert () == requests_in_force((), pull(), docs, PATHS)
    assert 1 == len(requests_in_force((), pull(draft=True), suite(FETCHES, triggers="{drafts: true}"), PATHS))


def test_a_command_asks_on_a_draft_and_where_nothing_is_touched() -> None:
    """People are not bound by the rules for pushes."""
    docs = suite(FETCHES, triggers='{paths: ["docs/**"]}')

    assert (command(),) == requests_in_force((command(),), pull(draft=True), docs, PATHS)


def test_a_command_holds_for_the_head_it_was_given_on() -> None:
    """A push needs a command of its own where pushes ask for nothing."""
    assert () == requests_in_force((command(head="c" * 40),), pull(), ONLY_ASKED, PATHS)


def test_a_label_holds_for_every_head_while_it_is_there() -> None:
    """GitHub's list of labels decides, in whatever case they are written."""
    kept = (label(),)

    assert kept == requests_in_force(kept, pull(labels=("Benchmark", "bug")), ONLY_ASKED, PATHS)
    assert kept == requests_in_force(kept, pull(labels=None), ONLY_ASKED, PATHS)
    assert () == requests_in_force(kept, pull(labels=("bug",)), ONLY_ASKED, PATHS)


def test_what_the_suite_no_longer_has_is_not_asked() -> None:
    """A case that was removed from the configuration since."""
    kept = (command(keys=frozenset({CaseKey("03_dropout", "linen"), CaseKey("99_gone", "linen")})),)

    assert [ONE] == [ask.keys for ask in requests_in_force(kept, pull(), ONLY_ASKED, PATHS)]


def test_cancel_withdraws_pushes_labels_and_commands_on_this_head() -> None:
    """All that was asked before it."""
    kept = (label(), command(), cancel())

    assert () == requests_in_force(kept, pull(), suite(), PATHS)
    assert {"carol"} == {one.by for one in cancellations(kept, pull(), suite(), PATHS).values()}
    assert ALL == set(cancellations(kept, pull(), suite(), PATHS))


def test_cancel_of_a_case_leaves_the_others() -> None:
    """Only the named keys are withdrawn."""
    kept = (cancel(keys=ONE),)

    assert [ALL - ONE] == [ask.keys for ask in requests_in_force(kept, pull(), suite(), PATHS)]
    assert ONE == set(cancellations(kept, pull(), suite(), PATHS))


def test_the_next_push_ends_a_cancellation() -> None:
    """It was of another head."""
    kept = (label(), cancel(head="c" * 40))

    assert 2 == len(requests_in_force(kept, pull(), suite(), PATHS))
    assert {} == cancellations(kept, pull(), suite(), PATHS)


def test_asking_after_cancelling_asks_again() -> None:
    """Whatever the order in which the deliveries came; two lines of one comment count by their place."""
    kept: tuple[RunRequest | Cancellation, ...] = (
        cancel(1, made=NOW),
        command(2, keys=ONE, made=NOW),
        command(0, made=NOW),
    )

    for order in permutations(kept):
        (ask,) = requests_in_force(order, pull(), suite(), PATHS)
        assert ("9:02", ONE) == (ask.name, ask.keys)
        assert ALL - ONE == set(cancellations(order, pull(), suite(), PATHS))


def test_nobody_withdrew_what_nobody_asked() -> None:
    """A cancel where nothing was asked leaves the rows as they are."""
    assert {} == cancellations((cancel(),), pull(), ONLY_ASKED, PATHS)


def test_a_push_leaves_out_cases_whose_own_paths_it_does_not_touch() -> None:
    """A case may name what concerns it; people may still ask for it."""
    narrow = suite(FETCHES.replace("04_int8: {}", '04_int8: {paths: ["src/quantization/**"]}'))

    asks = requests_in_force([command(keys=frozenset({CaseKey("04_int8", "nnx")}))], pull(), narrow, PATHS)

    assert [ALL - {CaseKey("04_int8", "linen"), CaseKey("04_int8", "nnx")}, {CaseKey("04_int8", "nnx")}] == [
        ask.keys for ask in asks
    ]


@pytest.mark.parametrize(("paths", "starts"), [(("src/a.py",), True), (("docs/a.md",), False)])
def test_a_watched_branch_runs_automatically_only_if_its_paths_match(
    paths: tuple[str, ...],
    starts: bool,  # noqa: FBT001
) -> None:
    """A push that touches none of `triggers.paths`, or no case, starts nothing; nor does a branch nobody
    watches."""
    watching = suite(triggers='{branches: ["test_*"], paths: ["src/**"]}')
    narrow = suite(
        LAUNCHES.replace('dropout_rate=0.1"}', 'dropout_rate=0.1", paths: ["src/**"]}').replace(
            'quantization=int8"}', 'quantization=int8", paths: ["src/**"]}'
        ),
        triggers='{branches: ["test_*"]}',
    )
    branch = replace(BRANCH, head_branch="test_1")
    for one in (watching, narrow):
        assert bool(requests_in_force((), branch, one, paths)) is starts
        assert runs_automatically(branch, one, paths) is starts
        assert not runs_automatically(replace(BRANCH, head_branch="other"), one, paths)
