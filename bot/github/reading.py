"""Reads GitHub's objects into our words.

In:  fields of an answer. Out: pull requests, commits, comments, files; `Told` names a field that
     is missing.
"""

import base64
import binascii

from bot.errors import Told
from bot.intake.fields import Fields
from bot.intake.pull import Comment, Commit, Permission, Pull
from bot.intake.reading import read_person


def read_pull(fields: Fields, repository: str) -> Pull:
    """Read a pull request, alone or out of a list (which says `merged_at` but not `merged`)."""
    return Pull(
        repository=repository,
        number=fields.number("number"),
        title=fields.text("title"),
        open=fields.text("state") == "open",
        merged=fields.find("merged_at") is not None or fields.flag("merged"),
        draft=fields.flag("draft"),
        head_sha=fields.text("head.sha"),
        head_branch=fields.text("head.ref"),
        head_repository=fields.text_or_none("head.repo.full_name"),
        base_branch=fields.text("base.ref"),
        base_sha=fields.text("base.sha"),
        author=read_person(fields, "user"),
        updated_at=fields.time("updated_at"),
        labels=_labels(fields),
    )


def _labels(fields: Fields) -> tuple[str, ...] | None:
    if fields.find("labels") is None:
        return None
    return tuple(label.text("name") for label in fields.each("labels"))


def read_commit(fields: Fields) -> Commit:
    """Read a commit of the repository's API (its inner `commit` is git's own)."""
    return Commit(
        sha=fields.text("sha"),
        committed_at=fields.time("commit.committer.date"),
        message=fields.text("commit.message"),
        tree=fields.text_or_none("commit.tree.sha"),
        parents=tuple(parent.text("sha") for parent in fields.each("parents")),
    )


def read_comment(fields: Fields) -> Comment:
    """Read a comment of an issue or pull request."""
    return Comment(
        id=fields.number("id"),
        author=read_person(fields, "user"),
        body=fields.text_or_none("body") or "",
        app_id=fields.number_or_none("performed_via_github_app.id"),
        created_at=fields.time("created_at"),
    )


def read_paths(fields: Fields) -> tuple[str, ...]:
    """The path of a changed file, and the one it had before where it was renamed."""
    before = fields.text_or_none("previous_filename")
    return (fields.text("filename"), *([before] if before else []))


# Roles as GitHub names them elsewhere, and the permission they amount to.
_ROLES = {
    "push": Permission.WRITE,
    "maintain": Permission.WRITE,
    "pull": Permission.READ,
    "triage": Permission.READ,
}


def read_permission(fields: Fields) -> Permission:
    """Read a collaborator's permission; what is not known counts as none."""
    said = fields.text("permission")
    return Permission(said) if said in set(Permission) else _ROLES.get(said, Permission.NONE)


def read_file(fields: Fields, path: str) -> str:
    """The text of a file; `Told` where it is too long for the API, or not text."""
    if fields.find("encoding") != "base64":
        raise Told(f"{path} is longer than 1 MB: GitHub does not give it whole")
    try:
        return base64.b64decode(fields.text("content")).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        raise Told(f"{path} is not text in UTF-8") from None
