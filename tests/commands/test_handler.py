"""What people ask comes true for those who may, once, and everybody is told in one line."""

import asyncio

import pytest

from bot.commands.handler import LINKS_ROTATED
from bot.commands.permission_lookup import CACHE_SECONDS
from bot.domain.case_key import CaseKey
from bot.domain.command import CommentOrigin
from bot.domain.repository import Permission, Person, Repository
from bot.storage import pull_requests, repositories, requests
from bot.storage.database import Database, DatabaseUnavailable
from bot.storage.rate_limit import MAX_COMMANDS, WINDOW_SECONDS
from bot.storage.repositories import RepositoryRow
from bot.webhooks.events import LabelChange
from bot.worker.pull_decisions import current_approval
from tests.commands.pull_with_people import PullWithPeople, person
from tests.github.plain_github import PlainGitHub
from tests.worker.samples import HEAD, LAUNCHES

ALL = frozenset(CaseKey(case, variant) for case in ("03_dropout", "04_int8") for variant in ("linen", "nnx"))

DROPOUT = frozenset({CaseKey("03_dropout", "linen"), CaseKey("03_dropout", "nnx")})

ONLY_ASKED = LAUNCHES + "triggers: {pull_request: false}\n"

OTHER = "d" * 40


@pytest.fixture
def people(database: Database) -> PullWithPeople:
    """A repository that starts runs only where somebody asks."""
    return PullWithPeople(database=database, forge=PlainGitHub(), configuration=ONLY_ASKED)


@pytest.fixture
def fork(people: PullWithPeople) -> PullWithPeople:
    """The same, with a head that is a stranger's."""
    people.from_fork()
    return people


def _reactions(people: PullWithPeople, comment: int) -> list[str]:
    return [content for number, content in people.forge.reactions if number == comment]


def test_a_command_is_seen_carried_out_and_told(people: PullWithPeople) -> None:
    """Eyes at once, a rocket at its end, one line."""
    comment = people.say("/benchmark run 03_dropout")

    assert ["eyes", "rocket"] == _reactions(people, comment)
    assert DROPOUT == people.asked()
    assert ["03_dropout: runs that are missing are started."] == [one.result for one in people.records()]


def test_what_is_not_understood_is_told_with_the_nearest_spelling(people: PullWithPeople) -> None:
    """Eyes, then a frown, and a line."""
    comment = people.say("/benchmark rn")

    assert ["eyes", "confused"] == _reactions(people, comment)
    assert [True] == [one.refused for one in people.records()]


def test_an_outsider_is_refused(people: PullWithPeople) -> None:
    """Eyes, then a thumb down, and a line; nothing is asked."""
    comment = people.say("/benchmark run", "eve")

    assert ["eyes", "-1"] == _reactions(people, comment)
    assert frozenset() == people.asked()
    assert people.records()[0].result.startswith("Refused: eve has read permission")


def test_commands_given_at_once_have_a_line_each(people: PullWithPeople) -> None:
    """Whichever delivery is worked on first; none is lost."""
    orders = [people.told(f"/benchmark run {case}", who, number) for case, who, number in _SEVERAL]

    async def all_of_them() -> None:
        await asyncio.gather(*(people.handler.handle_command(one) for one in reversed(orders)))

    asyncio.run(all_of_them())

    assert [(CommentOrigin(number), who) for _, who, number in _SEVERAL] == [
        (one.origin, one.by) for one in people.records()
    ]
    assert ALL == people.asked()


_SEVERAL = (("03_dropout", "bob", 301), ("04_int8 linen", "alice", 302), ("04_int8 nnx", "bob", 303))


def test_a_cancel_that_is_read_before_an_earlier_run_still_cancels_it(people: PullWithPeople) -> None:
    """The order in which people wrote counts, not that of the deliveries."""
    first, second = (
        people.told("/benchmark run", "bob", 201),
        people.told("/benchmark cancel 03_dropout", "bob", 202),
    )
    for one in (second, first):
        asyncio.run(people.handler.handle_command(one))

    assert ALL - DROPOUT == people.asked()
    assert DROPOUT == people.cancelled()


def test_hearing_the_same_twice_changes_nothing(people: PullWithPeople) -> None:
    """A delivery may be worked on again after a crash."""
    told = people.told("/benchmark rerun 03_dropout", "bob", 201)
    for _ in range(2):
        asyncio.run(people.handler.handle_command(told))
        people.open_again()

    assert (1, DROPOUT) == (len(people.records()), people.asked())


def test_a_push_between_the_comment_and_its_hearing_is_the_head_that_is_asked_for(
    people: PullWithPeople,
) -> None:
    """GitHub is asked for the head when the command is decided, and the ask is of that one alone."""
    told = people.told("/benchmark run", "bob", 201)
    people.push(OTHER, "2")
    asyncio.run(people.handler.handle_command(told))
    assert ALL == people.asked()

    people.push("e" * 40, "3")
    assert frozenset() == people.asked()


def test_an_approval_of_what_was_pushed_over_is_refused(fork: PullWithPeople) -> None:
    """Somebody read one commit, and another is the head by now."""
    told = fork.told(f"/benchmark approve {HEAD}", "bob", 201)
    fork.push(OTHER, "2")
    asyncio.run(fork.handler.handle_command(told))

    assert not fork.may_run()
    assert f"/benchmark approve {OTHER}" in fork.records()[0].result


def test_an_approval_lets_that_very_head_run(fork: PullWithPeople) -> None:
    """And a push of other files waits again; one of the same files does not."""
    assert not fork.may_run()
    fork.say(f"/benchmark approve {HEAD}")
    assert fork.may_run()

    fork.push(OTHER, "1")
    assert fork.may_run()
    fork.push("e" * 40, "2")
    assert not fork.may_run()


def test_going_back_to_an_approved_commit_needs_another_approval(fork: PullWithPeople) -> None:
    """An approval is dropped when other files are seen."""
    fork.say(f"/benchmark approve {HEAD}")
    fork.now += 60
    fork.push(OTHER, "2")
    asyncio.run(current_approval(fork.database, fork.pull, fork.facts()))
    fork.now += 60
    fork.push(HEAD, "1")

    assert not fork.may_run()


def test_an_approval_given_after_the_head_was_asked_for_is_not_dropped(fork: PullWithPeople) -> None:
    """A look that began before the push does not take back what was approved after it."""
    old_pull, old_facts = fork.pull, fork.facts()
    fork.now += 60
    fork.push(OTHER, "2")
    fork.say(f"/benchmark approve {OTHER}")
    asyncio.run(current_approval(fork.database, old_pull, old_facts))

    assert fork.may_run()


@pytest.mark.parametrize("who", ["eve", "helper[bot]", "nobody"])
def test_only_somebody_who_may_write_approves(fork: PullWithPeople, who: str) -> None:
    """The author of a fork cannot let their own code run."""
    fork.say(f"/benchmark approve {HEAD}", who)
    assert not fork.may_run()


def test_a_run_on_a_fork_is_kept_and_does_not_let_it_run(fork: PullWithPeople) -> None:
    """Asking is not approving; the answer says what it waits for."""
    fork.say("/benchmark run")

    assert (ALL, False) == (fork.asked(), fork.may_run())
    assert f"nothing starts before “/benchmark approve {HEAD}”" in fork.records()[0].result


def test_a_label_asks_while_it_is_there(people: PullWithPeople) -> None:
    """For its cases, on every head; taking it away ends that and no more."""
    people.say("/benchmark run 04_int8 nnx")
    people.label("benchmark:03_*")
    assert DROPOUT | {CaseKey("04_int8", "nnx")} == people.asked()

    people.label("benchmark:03_*", "eve", LabelChange.TAKEN)
    assert frozenset({CaseKey("04_int8", "nnx")}) == people.asked()
    assert ["/benchmark run 04_int8 nnx", "label benchmark:03_*", "without label benchmark:03_*"] == sorted(
        one.text for one in people.records()
    )


def test_a_label_that_means_nothing_any_more_can_still_be_taken_away(people: PullWithPeople) -> None:
    """The configuration was changed meanwhile; what the label had started ends at once, not at the next
    look. A bot that is not answered does it without a word."""
    people.label("benchmark:03_*")
    people.label("benchmark")
    people.forge.history.files[".github/maxview.yml"] = LAUNCHES + "triggers: {labels: {perf: all}}\n"
    people.open_again()
    row = people.database.write_now(pull_requests.find_pull, "acme/maxtext", 7)
    for place, who in enumerate(("eve", "dependabot[bot]")):
        people.now += 61
        people.label(("benchmark:03_*", "benchmark")[place], who, LabelChange.TAKEN)
    after = people.database.write_now(pull_requests.find_pull, "acme/maxtext", 7)
    assert row is not None
    assert after is not None
    assert row.wanted + 2 == after.wanted
    assert () == people.database.write_now(requests.run_requests, "acme/maxtext", 7)
    assert ["eve"] == [one.by for one in people.records() if one.text.startswith("without")]


def test_a_label_is_taken_away_and_that_is_told_or_neither(
    people: PullWithPeople, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delivery that fails between the two and is taken again must not find that nothing was asked."""

    def away(*_: object, **__: object) -> None:
        raise DatabaseUnavailable("the database: gone")

    people.label("benchmark")
    people.now += 60
    with monkeypatch.context() as patched:
        patched.setattr(pull_requests, "enqueue", away)
        with pytest.raises(DatabaseUnavailable):
            people.label("benchmark", "eve", LabelChange.TAKEN)
    assert 1 == len(people.database.write_now(requests.run_requests, "acme/maxtext", 7))
    people.label("benchmark", "eve", LabelChange.TAKEN)
    assert () == people.database.write_now(requests.run_requests, "acme/maxtext", 7)
    assert "without label benchmark" in [one.text for one in people.records()]


def test_a_label_holds_for_the_next_head(people: PullWithPeople) -> None:
    """It is still there."""
    people.label("benchmark")
    people.push(OTHER, "2")
    assert ALL == people.asked()


def test_an_outsiders_label_does_nothing_and_is_told_once(people: PullWithPeople) -> None:
    """Triage may put labels without write; whoever wrote the pull request does not matter."""
    people.label("benchmark", "eve")

    assert frozenset() == people.asked()
    (told,) = people.records()
    assert told.result.startswith("Refused: eve has read permission on this repository")


def test_an_outsider_who_puts_back_a_writers_label_asks_nothing(people: PullWithPeople) -> None:
    """What the writer asked ended with their label."""
    people.label("benchmark")
    people.now += 60
    people.label("benchmark", "bob", LabelChange.TAKEN)
    people.now += 60
    people.label("benchmark", "eve")

    assert frozenset() == people.asked()


def test_a_label_that_means_nothing_here_is_not_answered(people: PullWithPeople) -> None:
    """Other bots and people have labels of their own."""
    people.label("bug")
    people.label("benchmarking")

    assert ((), []) == (
        people.records(),
        [one for one in people.forge.requests if one.endswith("/permission")],
    )


def test_a_label_of_no_case_says_so(people: PullWithPeople) -> None:
    """It fits the glob, and nothing in the suite."""
    people.label("benchmark:99_*")
    assert ["Refused: no case of this suite answers to it."] == [one.result for one in people.records()]


@pytest.mark.parametrize("who", ["maxview[bot]", "helper[bot]"])
def test_bots_that_are_not_listed_are_not_answered(people: PullWithPeople, who: str) -> None:
    """Nor is the App itself: no reaction, no line, no question."""
    people.say("/benchmark run", who)
    people.label("benchmark", who)

    assert ((), [], frozenset()) == (people.records(), people.forge.reactions, people.asked())


def test_a_listed_bot_may_ask(people: PullWithPeople) -> None:
    """By login, number and type."""
    people.say("/benchmark run", "copybara-service[bot]")
    assert ALL == people.asked()


@pytest.mark.parametrize(
    "author",
    [
        Person(login="copybara-service[bot]", id=1, is_bot=True),
        Person(login="copybara[bot]", id=56741989, is_bot=True),
    ],
)
def test_a_bot_is_listed_by_both_login_and_number(people: PullWithPeople, author: Person) -> None:
    """Either alone can be had by others."""
    people.say("/benchmark run", author=author)
    assert frozenset() == people.asked()


def test_the_app_does_not_answer_itself_even_where_it_is_listed(database: Database) -> None:
    """A loop would have no end."""
    listed = ONLY_ASKED + 'trust: {bots: [{login: "maxview[bot]", id: 42}]}\n'
    people = PullWithPeople(database=database, forge=PlainGitHub(), configuration=listed)
    people.say("/benchmark run", "maxview[bot]")
    assert ((), []) == (people.records(), people.forge.reactions)


def test_a_member_of_a_trusted_team_may_ask(database: Database) -> None:
    """Without write on the repository; a team that cannot be read trusts nobody."""
    text = ONLY_ASKED + "trust: {teams: [acme/secret, acme/perf]}\n"
    people = PullWithPeople(
        database=database, forge=PlainGitHub(teams={"acme/perf": {"eve"}}), configuration=text
    )
    people.forge.stand_in.fail_next("GET", "/teams/secret/memberships/eve", status=403)
    people.say("/benchmark run 03_dropout", "eve")
    people.say("/benchmark run", "mallory")
    assert DROPOUT == people.asked()


def test_a_login_that_a_trusted_member_has_by_now_is_not_the_person(database: Database) -> None:
    """Teams are asked by login: mallory commented and gave the login away before the comment was heard."""
    text = ONLY_ASKED + "trust: {teams: [acme/perf]}\n"
    people = PullWithPeople(
        database=database, forge=PlainGitHub(teams={"acme/perf": {"eve"}}), configuration=text
    )
    people.say("/benchmark run", author=Person(login="eve", id=666))
    assert frozenset() == people.asked()
    people.say("/benchmark run", "eve")
    assert ALL == people.asked()


def test_permissions_are_remembered_for_a_minute(people: PullWithPeople) -> None:
    """One conversation asks once; who was removed is soon refused."""
    people.say("/benchmark status")
    people.forge.permit(person("bob"), Permission.READ)
    people.say("/benchmark run")
    assert ALL == people.asked()

    people.now += CACHE_SECONDS
    people.say("/benchmark run")
    assert [False, False, True] == [one.refused for one in people.records()]


def test_who_takes_over_a_login_is_asked_about_anew(people: PullWithPeople) -> None:
    """What was remembered is of another account; GitHub's answer is then refused by its number."""
    people.say("/benchmark status")
    people.forge.permit(Person(login="bob", id=666), Permission.NONE)
    people.say("/benchmark run", author=Person(login="bob", id=666))

    assert frozenset() == people.asked()


def test_a_renamed_person_is_asked_about_anew(people: PullWithPeople) -> None:
    """By the name they have now."""
    people.say("/benchmark status")
    robert = Person(login="robert", id=person("bob").id)
    people.forge.permit(robert, Permission.READ)
    people.say("/benchmark run", author=robert)

    assert frozenset() == people.asked()


def test_a_repository_that_was_transferred_is_asked_about_anew(people: PullWithPeople) -> None:
    """Who may in one may not in the other, and what was approved there is not approved here."""
    people.say("/benchmark status")
    there = Repository(full_name="umbrella/maxtext", installation=1, default_branch="main")
    people.forge.stand_in.state.full_name = there.full_name
    asyncio.run(people.handler.handle_command(people.told("/benchmark run", "bob", 900, repository=there)))

    assert "GET /repos/umbrella/maxtext/collaborators/bob/permission" in people.forge.requests


def test_a_person_may_give_twenty_commands_an_hour(people: PullWithPeople) -> None:
    """The next is told once when it opens again, the rest get a reaction alone; other people go on, and
    neither a restart nor another process forgets."""
    for _ in range(MAX_COMMANDS):
        people.say("/benchmark status")
        people.now += 1
        people.open_again()
    before = len(people.forge.requests)
    comments = [people.say("/benchmark run") for _ in range(3)]
    people.say("/benchmark run 03_dropout", "alice")

    told = [one for one in people.records() if one.refused]
    assert [CommentOrigin(comments[0])] == [one.origin for one in told]
    assert (
        "bob gave 20 commands within an hour, which is the most. The next one can be given at "
        in told[0].result
    )
    assert [["eyes", "-1"]] * 3 == [_reactions(people, comment) for comment in comments]
    assert ["GET /repos/acme/maxtext/collaborators/alice/permission"] == [
        one for one in people.forge.requests[before:] if one.endswith("/permission")
    ]
    assert DROPOUT == people.asked()


def test_the_limit_opens_again_when_it_says(people: PullWithPeople) -> None:
    """An hour after the oldest, for one command."""
    for _ in range(MAX_COMMANDS):
        people.say("/benchmark status")
        people.now += 60
    people.say("/benchmark run")
    assert frozenset() == people.asked()

    people.now += WINDOW_SECONDS - MAX_COMMANDS * 60 + 1
    people.say("/benchmark run 03_dropout")
    people.say("/benchmark run")
    assert DROPOUT == people.asked()


def test_labels_count_as_commands(people: PullWithPeople) -> None:
    """Putting and taking a label for ever does not ask for ever."""
    for _ in range(MAX_COMMANDS + 2):
        people.label("benchmark")
        people.now += 1
        people.label("benchmark", change=LabelChange.TAKEN)
        people.now += 1
    assert 1 == sum(one.refused for one in people.records())


def _without_permission_to_ask(database: Database) -> PullWithPeople:
    """The App may not ask what people may do."""
    people = PullWithPeople(database=database, forge=PlainGitHub(), configuration=ONLY_ASKED)
    refused = "Resource not accessible by integration"
    people.forge.stand_in.fail_next("GET", "/permission", status=403, message=refused)
    return people


def test_a_label_that_cannot_be_judged_is_told(database: Database) -> None:
    """And asks for nothing."""
    people = _without_permission_to_ask(database)
    people.label("benchmark")

    assert frozenset() == people.asked()
    assert people.records()[0].result.startswith("Refused: GitHub answered 403 to GET")


def test_what_cannot_be_carried_out_is_told(database: Database) -> None:
    """Nobody is left with eyes alone."""
    people = _without_permission_to_ask(database)
    comment = people.say("/benchmark run")

    assert ["eyes", "confused"] == _reactions(people, comment)
    assert people.records()[0].result.startswith("Not carried out: GitHub answered 403 to GET")


def test_an_admin_rotates_the_links(people: PullWithPeople) -> None:
    """Once for each command, whatever is delivered twice; others are refused, with what is needed."""
    row = RepositoryRow(
        full_name="acme/maxtext", installation=1, default_branch="main", private=True, active=True, id=5
    )
    people.database.write_now(repositories.save_repository, row)

    def epoch() -> int:
        return people.database.write_now(repositories.link_epoch, 5) or 0

    begun = epoch()
    for who in ("bob", "eve"):
        people.say("/benchmark rotate-links", who)
    assert begun == epoch()
    assert "bob has no admin permission, which rotate-links needs." in people.records()[0].result
    told = people.told("/benchmark rotate-links", "alice", 500)
    for _ in range(2):
        asyncio.run(people.handler.handle_command(told))
    assert begun + 1 == epoch()
    assert LINKS_ROTATED == people.records()[-1].result
    people.say("/benchmark rotate-links", "alice")
    assert begun + 2 == epoch()
