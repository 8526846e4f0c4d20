"""Exact commits as folders."""

import os
from pathlib import Path

import pytest
from dulwich.objects import Blob, Commit, Tree
from dulwich.repo import Repo

from bot.clusters.checkout import GitCommit, check_out, create_repository, write_commit
from bot.errors import UserError

AUTHOR = "A <a@example.com>"


def commit_of(repository: Path, files: dict[str, bytes], parents: list[str] | None = None) -> GitCommit:
    """A commit on main with these files."""
    return write_commit(
        repository, branch="main", files=files, message="m", author=AUTHOR, at=1, parents=parents or []
    )


def commit_with(repository: Path, name: bytes, mode: int, content: bytes) -> str:
    """A commit with one entry of any name and mode, as an attacker would write it."""
    with Repo(str(repository)) as opened:
        blob, tree, commit = Blob.from_string(content), Tree(), Commit()
        tree.add(name, mode, blob.id)
        commit.tree, commit.message = tree.id, b"m"
        commit.author = commit.committer = AUTHOR.encode()
        commit.author_time = commit.commit_time = commit.author_timezone = commit.commit_timezone = 0
        for each in (blob, tree, commit):
            opened.object_store.add_object(each)
        return commit.id.decode()


def test_a_checkout_holds_the_commits_files_and_no_others(tmp_path: Path) -> None:
    """The folder is what was committed, not what the branch points to by now."""
    create_repository(tmp_path / "r.git")
    old = commit_of(tmp_path / "r.git", {"a/b/c.py": b"1", "d": b"\x00\xff"})
    commit_of(tmp_path / "r.git", {"e": b"2"}, [old.sha])
    check_out(tmp_path / "r.git", old.sha, tmp_path / "out")
    found = {str(p.relative_to(tmp_path / "out")): p for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert {name: path.read_bytes() for name, path in found.items()} == {"a/b/c.py": b"1", "d": b"\x00\xff"}


def test_the_same_arguments_make_the_same_commit(tmp_path: Path) -> None:
    """Recording is a function of its arguments."""
    create_repository(tmp_path / "1.git")
    create_repository(tmp_path / "2.git")
    assert commit_of(tmp_path / "1.git", {"a": b"1"}) == commit_of(tmp_path / "2.git", {"a": b"1"})


def test_programs_stay_executable_and_links_stay_links(tmp_path: Path) -> None:
    """Modes survive; a link to outside is not followed while writing."""
    create_repository(tmp_path / "r.git")
    program = commit_with(tmp_path / "r.git", b"run", 0o100755, b"#!/bin/sh\n")
    check_out(tmp_path / "r.git", program, tmp_path / "program")
    assert os.access(tmp_path / "program" / "run", os.X_OK)
    link = commit_with(tmp_path / "r.git", b"link", 0o120000, b"../secret")
    check_out(tmp_path / "r.git", link, tmp_path / "link")
    assert str((tmp_path / "link" / "link").readlink()) == "../secret"


@pytest.mark.parametrize("name", [b"..", b".git", b".GIT"])
def test_names_that_lead_outside_are_refused(tmp_path: Path, name: bytes) -> None:
    """A tree can hold any name; a folder may not."""
    create_repository(tmp_path / "r.git")
    sha = commit_with(tmp_path / "r.git", name, 0o100644, b"x")
    with pytest.raises(UserError, match="cannot be written"):
        check_out(tmp_path / "r.git", sha, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    """No repository, no commit, not a commit: each in one sentence."""
    with pytest.raises(UserError, match="no git repository"):
        check_out(tmp_path / "nowhere", "0" * 40, tmp_path / "out")
    create_repository(tmp_path / "r.git")
    made = commit_of(tmp_path / "r.git", {"a": b"1"})
    for sha in ("0" * 40, "zz", made.sha[:7]):
        with pytest.raises(UserError, match="has no commit"):
            check_out(tmp_path / "r.git", sha, tmp_path / "out")
    with pytest.raises(UserError, match="is not a commit"):
        check_out(tmp_path / "r.git", made.tree, tmp_path / "out")
    assert [tmp_path / "r.git"] == list(tmp_path.iterdir())


def commit_of_tree(repository: Path, *entries: tuple[bytes, int, bytes], levels: int = 0) -> str:
    """A commit with these entries, or with ten folders in each other's place for each of `levels`."""
    with Repo(str(repository)) as opened:
        tree, commit = Tree(), Commit()
        for name, mode, content in entries:
            blob = Blob.from_string(content)
            opened.object_store.add_object(blob)
            tree.add(name, mode, blob.id)
        opened.object_store.add_object(tree)
        for _ in range(levels):
            above = Tree()
            for number in range(10):
                above.add(b"%d" % number, 0o040000, tree.id)
            tree = above
            opened.object_store.add_object(tree)
        commit.tree, commit.message = tree.id, b"m"
        commit.author = commit.committer = AUTHOR.encode()
        commit.author_time = commit.commit_time = commit.author_timezone = commit.commit_timezone = 0
        opened.object_store.add_object(commit)
        return commit.id.decode()


def test_a_link_is_not_written_through_a_link(tmp_path: Path) -> None:
    """A name with a slash in it: one entry is a link to outside, the other a link below that."""
    create_repository(tmp_path / "r.git")
    (tmp_path / "outside").mkdir()
    outside = str(tmp_path / "outside").encode()
    sha = commit_of_tree(tmp_path / "r.git", (b"a", 0o120000, outside), (b"a/b", 0o120000, b"/etc/passwd"))
    with pytest.raises(UserError, match="a file below a link"):
        check_out(tmp_path / "r.git", sha, tmp_path / "out")
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_tree_that_cannot_be_a_folder_is_told(tmp_path: Path) -> None:
    """The same name for a file and a folder, and a name that is too long."""
    create_repository(tmp_path / "r.git")
    entries = ((b"a", 0o100644, b""), (b"a/b", 0o100644, b"")), ((b"x" * 300, 0o100644, b""),)
    for each in entries:
        sha = commit_of_tree(tmp_path / "r.git", *each)
        with pytest.raises(UserError, match="names that cannot be written"):
            check_out(tmp_path / "r.git", sha, tmp_path / "out")


def test_a_git_bomb_is_refused(tmp_path: Path) -> None:
    """A few hundred bytes that name a million files, or folders alone, and a commit that is too large."""
    create_repository(tmp_path / "r.git")
    bomb = commit_of_tree(tmp_path / "r.git", (b"a", 0o100644, b""), levels=6)
    hollow = commit_of_tree(tmp_path / "r.git", levels=40)
    for sha in (bomb, hollow):
        with pytest.raises(UserError, match="more than 200000 files and folders"):
            check_out(tmp_path / "r.git", sha, tmp_path / "out")
    large = commit_of(tmp_path / "r.git", {"a": b"x" * 600, "b": b"x" * 600}).sha
    with pytest.raises(UserError, match="more than 1000 bytes"):
        check_out(tmp_path / "r.git", large, tmp_path / "out", max_bytes=1000)
    assert [tmp_path / "r.git"] == list(tmp_path.iterdir())
