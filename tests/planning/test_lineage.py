"""Branches, change lists, pull requests and commits on main find each other."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.planning.lineage import (
    Landing,
    LandingEvidence,
    LandingHead,
    MainCommit,
    change_of_branch,
    find_landings,
    read_trailers,
)
from tests.github.git_repository import GitRepository

REPOSITORY = "acme/maxtext"

REVIEW = "COPYBARA_INTEGRATE_REVIEW=https://github.com/acme/maxtext/pull/31 from ada:fast {sha}"


@pytest.mark.parametrize(
    ("branch", "change"),
    [
        ("test_936672580", 936672580),
        ("exported_pr_936672580", 936672580),
        ("test_0936672580", None),
        ("test_936672580_fix", None),
        ("test_", None),
        ("feat/test_936672580", None),
        ("main", None),
    ],
)
def test_the_change_list_stands_in_the_name_of_an_exported_branch(branch: str, change: int | None) -> None:
    """People's branches that look like one name no change list."""
    assert change == change_of_branch(branch)


def test_the_last_trailer_of_a_kind_counts() -> None:
    """A message that quotes another commit's trailers above its own is not taken for that one."""
    message = "Roll back\n\n> PiperOrigin-RevId: 1\nPiperOrigin-RevId: 2\n\nPiperOrigin-RevId: 3\r\n"
    assert 3 == read_trailers(message, REPOSITORY).change


@pytest.mark.parametrize(
    ("message", "pull"),
    [
        ("Merge pull request #31 from ada:fast\n\nPiperOrigin-RevId: 7", 31),
        ("Merge pull request #31 from ada/fast", 31),
        ("Make attention faster (#31)", 31),
        ("Make attention faster (#31)\n\n* one\n* two (#9)", 31),
        ("Fixes #31", None),
        ("(#31)", None),
        ("See (#31) for more", None),
        (f"Fast\n\nFUTURE_{REVIEW.format(sha='a' * 40)}", 31),
        (f"Fast (#5)\n\n{REVIEW.format(sha='a' * 40)}", 31),
        (REVIEW.format(sha="a" * 39), None),
        (REVIEW.format(sha="a" * 40).replace("acme/maxtext", "eve/other"), None),
    ],
)
def test_a_message_names_the_pull_request_it_took_in(message: str, pull: int | None) -> None:
    """By Copybara's trailer, else by the title of a merge or a squash; another repository's is nobody's."""
    assert pull == read_trailers(message, REPOSITORY).pull


@given(st.text())
def test_any_message_is_read(message: str) -> None:
    """Whatever people write."""
    read_trailers(message, REPOSITORY)
    read_trailers(f"{message}\nPiperOrigin-RevId: 5", REPOSITORY)


class History:
    """A main with one first commit, and what the tests put beside and onto it."""

    def __init__(self, path: Path) -> None:
        self.git = GitRepository(path)
        self.first = self.git.write("main", {"a.py": "1"})

    def head(self, branch: str, text: str, number: int | None = None, message: str = "Change") -> LandingHead:
        """A branch off main's newest commit, and where it stands."""
        sha = self.git.write(branch, {"a.py": text}, self.git.head("main"), message=message)
        change = read_trailers(message, REPOSITORY).change
        return LandingHead(
            sha=sha, branch=branch, number=number, tree=self.git.commit(sha).tree, change=change
        )

    def landed(self, *heads: LandingHead) -> dict[str, Landing]:
        """What main says of the heads, listed as GitHub does: of merges both sides, by time, newest first."""
        reached, ahead = set(), [self.git.head("main")]
        while ahead:
            if (sha := ahead.pop()) not in reached:
                reached.add(sha)
                ahead += self.git.commit(sha).parents
        commits = sorted(map(self.git.commit, reached), key=lambda one: -one.committed_at)
        return dict(
            find_landings(
                heads,
                [
                    MainCommit(sha=one.sha, tree=one.tree, parents=one.parents, message=one.message)
                    for one in commits
                ],
                REPOSITORY,
            )
        )


@pytest.fixture
def history(tmp_path: Path) -> History:
    """A new repository."""
    return History(tmp_path / "git")


def test_a_change_that_is_submitted_as_it_was_exported_is_the_same_commit(history: History) -> None:
    """The head of the branch becomes main's."""
    head = history.head("test_8", "4", 31, "More\n\nPiperOrigin-RevId: 8")
    history.git.write("main", {"a.py": "5"}, head.sha, message="Later")
    landing = history.landed(head)[head.sha]
    assert (LandingEvidence.SAME_COMMIT, head.sha) == (landing.known, landing.commit.sha)


def test_a_change_submitted_under_another_number_is_known_by_its_files(history: History) -> None:
    """A change list is renumbered when it is submitted; what was measured is still what landed."""
    head = history.head("test_5", "2", 30, "Fast\n\nPiperOrigin-RevId: 5")
    history.git.write("main", {"a.py": "2"}, message="Fast\n\nPiperOrigin-RevId: 9")
    landing = history.landed(head)[head.sha]
    assert (LandingEvidence.SAME_FILES, True) == (landing.known, landing.same_files)


def test_a_change_rebased_before_it_landed_is_known_by_its_number_alone(history: History) -> None:
    """Main had moved on: the files are others, so its runs are not main's."""
    head = history.head("test_5", "2", 30, "Fast\n\nPiperOrigin-RevId: 5")
    history.git.write("main", {"b.py": "0"})
    history.git.write("main", {"a.py": "2"}, message="Fast\n\nPiperOrigin-RevId: 5")
    landing = history.landed(head)[head.sha]
    assert (LandingEvidence.SAME_CHANGE, False) == (landing.known, landing.same_files)


def test_a_pull_request_from_outside_is_known_by_the_head_that_was_imported(history: History) -> None:
    """Copybara's trailer names it; a later push to the pull request is another head."""
    head = history.head("fast", "2", 31)
    later = history.head("fast", "3", 31)
    history.git.write("main", {"b.py": "0"})
    message = f"Fast\n\n{REVIEW.format(sha=head.sha)}\nPiperOrigin-RevId: 9"
    history.git.write("main", {"a.py": "2"}, message=message)
    found = history.landed(head, later)
    assert [LandingEvidence.IMPORTED_HEAD, LandingEvidence.SAME_PULL] == [
        found[one.sha].known for one in (head, later)
    ]
    assert [False, False] == [found[one.sha].same_files for one in (head, later)]


def test_a_merge_of_two_parents_lands_its_second(history: History) -> None:
    """Where main had not moved the merge holds the very files of the head."""
    head = history.head("fast", "2", 31)
    merge = "Merge pull request #31 from ada:fast\n\nPiperOrigin-RevId: 9"
    history.git.write("main", {"a.py": "2"}, history.git.head("main"), head.sha, message=merge)
    landing = history.landed(head)[head.sha]
    assert (LandingEvidence.MERGED, True) == (landing.known, landing.same_files)
    other = history.head("slow", "4", 32)
    history.git.write("main", {"b.py": "1"})
    merge = "Merge pull request #32 from ada:slow"
    history.git.write("main", {"a.py": "4"}, history.git.head("main"), other.sha, message=merge)
    landing = history.landed(other)[other.sha]
    assert (LandingEvidence.MERGED, False) == (landing.known, landing.same_files)


def test_what_a_merge_brought_along_never_was_main(history: History) -> None:
    """GitHub lists the merged head among main's commits; its files lack what main had gained meanwhile."""
    head = history.head("fast", "2", 31)
    earlier = LandingHead(sha=head.sha, branch="test_5", tree=head.tree)
    history.git.write("main", {"b.py": "1"})
    merge = "Merge pull request #31 from ada:fast\n\nPiperOrigin-RevId: 9"
    merged = history.git.write("main", {"a.py": "2"}, history.git.head("main"), head.sha, message=merge)
    for one in (head, earlier):
        landing = history.landed(one)[one.sha]
        assert (LandingEvidence.MERGED, merged, False) == (
            landing.known,
            landing.commit.sha,
            landing.same_files,
        )


def test_a_fast_forward_lands_every_commit(history: History) -> None:
    """Main then stood at each of them."""
    head = history.head("fast", "2", 31)
    history.git.write("main", {"c.py": "1"}, head.sha)
    landing = history.landed(head)[head.sha]
    assert (LandingEvidence.SAME_COMMIT, True) == (landing.known, landing.same_files)


def test_an_empty_listing_says_nothing() -> None:
    """Of a repository without a commit."""
    assert {} == find_landings([LandingHead(sha="a" * 40, branch="x")], [], REPOSITORY)


def test_a_squash_by_github_lands_the_pull_request_in_its_title(history: History) -> None:
    """The branch had three commits; its last had the files of the squash."""
    head = history.head("fast", "2", 31)
    history.git.write("main", {"a.py": "2"}, message="Make attention faster (#31)")
    assert LandingEvidence.SAME_FILES is history.landed(head)[head.sha].known
    other = history.head("slow", "4", 32)
    history.git.write("main", {"b.py": "1"})
    history.git.write("main", {"a.py": "4"}, message="Make it slower (#32)")
    landing = history.landed(other)[other.sha]
    assert (LandingEvidence.SAME_PULL, False) == (landing.known, landing.same_files)


def test_a_change_that_was_rolled_back_and_landed_again_is_the_newest(history: History) -> None:
    """Among equal signs the newest commit counts."""
    head = history.head("test_5", "2", 30, "Fast\n\nPiperOrigin-RevId: 5")
    history.git.write("main", {"a.py": "2"}, message="Fast\n\nPiperOrigin-RevId: 5")
    history.git.write("main", {"a.py": "1"}, message="Roll back\n\nPiperOrigin-RevId: 6")
    again = history.git.write("main", {"a.py": "2"}, message="Fast, again\n\nPiperOrigin-RevId: 7")
    assert again == history.landed(head)[head.sha].commit.sha


def test_a_head_without_a_sign_has_not_landed(history: History) -> None:
    """Nothing is guessed from titles."""
    head = history.head("fast", "2", 31, "Make attention faster")
    history.git.write("main", {"a.py": "3"}, message="Make attention faster")
    assert {} == history.landed(head)


def test_the_surest_sign_outweighs_a_newer_commit() -> None:
    """A pull request that is only spoken of later landed where its very files did; of equals the newest."""
    head = LandingHead(sha="a" * 40, branch="fast", number=31, tree="t1")
    commits = [
        MainCommit(sha="4" * 40, tree="t4", parents=("3" * 40,), message="Mend it (#31)"),
        MainCommit(sha="3" * 40, tree="t1", parents=("2" * 40,), message="Again"),
        MainCommit(sha="2" * 40, tree="t2", parents=("1" * 40,), message="Take it back"),
        MainCommit(sha="1" * 40, tree="t1", parents=("0" * 40,), message="Fast"),
    ]
    found = find_landings([head], commits, REPOSITORY)[head.sha]
    assert (LandingEvidence.SAME_FILES, "3" * 40) == (found.known, found.commit.sha)


def test_what_the_oldest_commit_was_made_on_did_not_land_with_it() -> None:
    """Main already held it, further back than was read."""
    head = LandingHead(sha="0" * 40, branch="fast", number=31)
    oldest = MainCommit(sha="1" * 40, tree="t1", parents=("0" * 40, "9" * 40), message="Merge")
    assert {} == find_landings([head], [oldest], REPOSITORY)
    assert (
        LandingEvidence.MERGED
        is find_landings([LandingHead(sha="9" * 40, branch="b")], [oldest], REPOSITORY)["9" * 40].known
    )
