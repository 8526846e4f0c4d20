"""Which runs stand for the head, and which for what it is compared with."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.domain.commit import same_commit
from bot.domain.run import BaselineChoice, HeadChoice, RunRecord, RunState
from bot.planning.baseline import (
    HISTORY_RUNS,
    SAME_FILES_REASON,
    choose_baseline,
    choose_head,
    newest_history,
)

HEAD, BASE, OLD, OTHER = ("c" * 40, "b" * 40, "a" * 40, "d" * 40)

PUSHED = 1000.0


def _run(
    name: str, sha: str | None = None, started: float | None = None, state: RunState = RunState.ENDED
) -> RunRecord:
    return RunRecord(
        id=name, repository="o/r", case="04_int8", variant="linen", sha=sha, started=started, state=state
    )


def _baseline(*runs: RunRecord, ancestors: tuple[str, ...] = (OLD,)) -> BaselineChoice:
    return choose_baseline(runs, BASE, PUSHED, ancestors)


# --- the head ---


def test_all_runs_of_the_head_are_taken_newest_first() -> None:
    """Repeats count; a short sha names the same commit."""
    first, again = _run("1", HEAD, 1100), _run("2", HEAD[:7], 1200)
    assert HeadChoice(runs=(again, first)) == choose_head([first, again], HEAD, PUSHED)


def test_runs_of_other_commits_are_stale_and_never_the_heads() -> None:
    """Also where they began after the push: somebody ran an older commit."""
    before, after = _run("1", OLD, 900), _run("2", OLD, 1100)
    assert HeadChoice(stale=(after, before)) == choose_head([before, after], HEAD, PUSHED)


def test_without_a_recorded_commit_the_newest_since_the_push_is_taken_with_a_caveat() -> None:
    """Only one: two such runs may have measured two commits."""
    old, one, two = _run("1", None, 900), _run("2", None, 1100), _run("3", None, 1200)
    assert HeadChoice(runs=(two,), stale=(old,), commit_recorded=False) == choose_head(
        [old, one, two], HEAD, PUSHED
    )


def test_a_guess_is_not_made_where_newer_runs_record_their_commit() -> None:
    """This runner does record commits; a run without one is not known to be the head's."""
    recorded, unrecorded = _run("1", OLD, 1300), _run("2", None, 1200)
    assert HeadChoice(stale=(recorded,)) == choose_head([recorded, unrecorded], HEAD, PUSHED)


def test_a_run_of_unknown_start_is_never_guessed_to_be_the_heads() -> None:
    """It may be of any age."""
    assert HeadChoice() == choose_head([_run("1")], HEAD, PUSHED)


def test_no_runs_are_no_choice() -> None:
    """The row then says that there is no run."""
    assert HeadChoice() == choose_head([], HEAD, PUSHED)


# --- the baseline ---


def test_runs_of_the_merge_base_are_the_baseline() -> None:
    """All of them, newest first, whatever newer main runs there are."""
    one, two = _run("1", BASE, 900), _run("2", BASE[:12], 950)
    chosen = _baseline(one, two, _run("3", OLD, 999), _run("4", OTHER, 2000))
    assert BaselineChoice(sha=BASE, distance=0, why="the merge base", runs=(two, one)) == chosen


def test_else_the_nearest_ancestor_with_runs_is() -> None:
    """Distance counts commits before the merge base, which may itself be listed among its ancestors."""
    run = _run("1", OLD, 900)
    for ancestors in ((OTHER, HEAD, OLD), (BASE, OTHER, HEAD, OLD)):
        assert BaselineChoice(
            sha=OLD,
            distance=3,
            why="the nearest commit before the merge base that has runs",
            runs=(run,),
        ) == _baseline(run, ancestors=ancestors)
    assert "the nearest commit before the merge base that has runs" == _baseline(run).why


def test_else_the_newest_unrecorded_run_since_the_merge_base_is() -> None:
    """The clause says that its commit is not known."""
    early, late = _run("1", None, 900), _run("2", None, 1100)
    assert BaselineChoice(
        sha=None,
        distance=None,
        why="the newest run that began after the merge base was committed; no run of main records its commit",
        runs=(late,),
    ) == _baseline(early, late)


def test_else_the_newest_unrecorded_run_before_it_is() -> None:
    """Better an older run, said to be one, than none."""
    early, late = _run("1", None, 800), _run("2", None, 900)
    chosen = _baseline(early, late)
    assert ((late,), None) == (chosen.runs, chosen.sha)
    assert chosen.why.startswith("the newest run that began before the merge base was committed")


def test_a_clause_never_says_that_nothing_is_recorded_where_something_is() -> None:
    """A run of a commit that is no ancestor is recorded, and of no use."""
    chosen = _baseline(_run("1", OTHER, 1200), _run("2", None, 1100))
    assert (
        "the newest run that began after the merge base was committed; no run of main is recorded for the "
        "merge base or a commit before it, and some record none"
    ) == chosen.why


def test_runs_that_have_not_ended_are_no_baseline() -> None:
    """They are waited for elsewhere."""
    chosen = _baseline(_run("1", BASE, 1100, RunState.RUNNING), _run("2", OLD, 900))
    assert OLD == chosen.sha


def test_why_there_is_no_baseline_is_said() -> None:
    """Nothing at all, or nothing that fits."""
    assert "no finished run of main was found" == _baseline().why
    assert (
        "1 run of main was found, none of the merge base or the 1 commit before it"
        == _baseline(_run("1", OTHER)).why
    )


def test_history_is_the_newest_ended_runs_oldest_first() -> None:
    """As many as the noise is measured from."""
    runs = [_run(f"{n:02}", OLD, float(n)) for n in range(30)]
    running = _run("99", BASE, 99.0, RunState.RUNNING)
    assert tuple(runs[-HISTORY_RUNS:]) == newest_history([running, *reversed(runs)])


# --- properties ---

_SHAS = st.sampled_from([HEAD, HEAD[:7], HEAD[:6], BASE, OLD, OTHER, OTHER[:9], None])

_RUNS = st.lists(
    st.builds(
        _run,
        st.uuids().map(str),
        _SHAS,
        st.none() | st.floats(0, 2000),
        st.sampled_from([RunState.ENDED, RunState.RUNNING]),
    ),
    max_size=8,
)


@given(_RUNS.flatmap(lambda runs: st.tuples(st.just(runs), st.permutations(runs))))
def test_the_order_runs_come_in_changes_nothing(both: tuple[list[RunRecord], list[RunRecord]]) -> None:
    """A listing and a database order them differently."""
    runs, shuffled = both
    assert choose_head(runs, HEAD, PUSHED) == choose_head(shuffled, HEAD, PUSHED)
    assert _baseline(*runs) == _baseline(*shuffled)


@given(_RUNS)
def test_no_run_of_another_commit_is_ever_the_heads(runs: list[RunRecord]) -> None:
    """The promise the whole report rests on."""
    chosen = choose_head(runs, HEAD, PUSHED)
    assert all(run.sha is None or same_commit(run.sha, HEAD) for run in chosen.runs)
    assert not set(chosen.runs) & set(chosen.stale)
    assert chosen.commit_recorded or (len(chosen.runs) == 1 and chosen.runs[0].sha is None)


@given(_RUNS)
def test_a_baseline_with_a_commit_has_only_runs_of_it(runs: list[RunRecord]) -> None:
    """And one without has a single run that records none, or nothing."""
    chosen = _baseline(*runs)
    assert (chosen.sha is None) == (chosen.distance is None)
    assert chosen.sha is None or all(same_commit(run.sha, chosen.sha) for run in chosen.runs)
    assert chosen.sha is not None or [None] * len(chosen.runs) == [run.sha for run in chosen.runs]
    assert len(chosen.runs) <= 1 or chosen.sha is not None


@given(st.text("0123456789abcdef", min_size=1, max_size=40), st.integers(0, 40))
def test_a_commit_is_named_by_its_first_seven_digits_or_more(sha: str, digits: int) -> None:
    """Fewer could name many."""
    short = sha[:digits]
    assert (len(short) >= 7) == same_commit(short.upper(), sha) == same_commit(sha, short)
    assert not same_commit(None, sha)


def test_runs_of_the_same_files_stand_for_the_head() -> None:
    """A rebased head with the same files need not be measured again; its runs keep their own commit."""
    moved = replace(_run("1", OLD), tree="t1")
    other = replace(_run("2", OLD), tree="t2")
    choice = choose_head([moved, other], HEAD, PUSHED, tree="t1")
    assert [one.id for one in choice.runs] == ["1"]
    assert [one.id for one in choice.stale] == ["2"]
    assert choice.commit(HEAD) == OLD
    assert choose_head([moved], HEAD, PUSHED).runs == ()


def test_a_head_with_runs_of_its_own_claims_its_own_commit() -> None:
    """Runs of both commits are pooled, and the head's name stands for them."""
    both = [replace(_run("1", OLD), tree="t1"), _run("2", HEAD[:7])]
    assert choose_head(both, HEAD, PUSHED, tree="t1").commit(HEAD) == HEAD
    assert choose_head([], HEAD, PUSHED).commit(HEAD) == HEAD


def test_runs_of_the_merge_bases_files_are_its_own() -> None:
    """They are named by the commit that they measured, and said to be so."""
    moved = replace(_run("1", OLD), tree="t1")
    choice = choose_baseline([moved], BASE, PUSHED, (), tree="t1")
    assert (choice.sha, choice.distance, choice.why) == (OLD, 0, SAME_FILES_REASON)
