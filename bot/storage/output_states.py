"""The states of a pull request's comment and check, as columns of its row."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, assert_never

from bot.domain.published import (
    MAX_COMMENT_DELETIONS,
    CheckRun,
    CheckState,
    CheckTarget,
    CommentState,
    CommitStatus,
    DirtyCheck,
    DirtyComment,
    NoCheck,
    NoComment,
    PostedCheck,
    PostedComment,
    RemovedComment,
    UnknownCheckRun,
)


class CheckForm(StrEnum):
    """The kind of check of a commit on GitHub: a check run, or a commit status, which has no id."""

    CHECK = "check"
    STATUS = "status"


class OutputState(StrEnum):
    """What we know of a comment or check on GitHub: nothing (it was never written, or a write may have been
    cut off), that it is as we wrote it, or that somebody edited or deleted it or GitHub reset it."""

    UNKNOWN = "unknown"
    WRITTEN = "written"
    CHANGED = "changed"


def comment_state(row: Mapping[Any, Any]) -> CommentState:
    """The comment's state, from the row."""
    comment_id, deletions = row["comment_id"], row["comment_deletions"]
    if deletions >= MAX_COMMENT_DELETIONS:
        return RemovedComment()
    if comment_id is None:
        return NoComment()
    if row["comment_state"] != OutputState.WRITTEN:
        return DirtyComment(id=comment_id, severity=row["comment_severity"], deletions=deletions)
    return PostedComment(
        id=comment_id,
        digest=row["comment_digest"],
        severity=row["comment_severity"],
        change_digest=row["comment_change_digest"] or "",
        written_at=row["comment_written"] or 0.0,
        deletions=deletions,
    )


def comment_values(state: CommentState) -> dict[str, Any]:
    """The columns of a comment's state."""
    values: dict[str, Any] = {
        "comment_state": OutputState.UNKNOWN,
        "comment_id": None,
        "comment_digest": None,
        "comment_severity": 0,
        "comment_change_digest": None,
        "comment_written": None,
        "comment_deletions": 0,
    }
    match state:
        case NoComment():
            return values
        case RemovedComment():
            return {**values, "comment_deletions": MAX_COMMENT_DELETIONS}
        case DirtyComment():
            known = {"comment_severity": state.severity, "comment_deletions": state.deletions}
            return {**values, "comment_id": state.id, **known}
        case PostedComment():
            return {
                "comment_state": OutputState.WRITTEN,
                "comment_id": state.id,
                "comment_digest": state.digest,
                "comment_severity": state.severity,
                "comment_change_digest": state.change_digest,
                "comment_written": state.written_at,
                "comment_deletions": state.deletions,
            }
        case _:
            assert_never(state)


def check_state(row: Mapping[Any, Any]) -> CheckState:
    """The check's state, from the row."""
    head_sha, form, pending = row["check_head"], row["check_kind"], bool(row["check_pending"])
    if head_sha is None or form is None:
        return NoCheck()
    target = _target(CheckForm(form), row["check_id"])
    if row["check_state"] != OutputState.WRITTEN:
        return DirtyCheck(head_sha=head_sha, target=target, pending=pending)
    return PostedCheck(head_sha=head_sha, target=target, digest=row["check_digest"], pending=pending)


def _target(form: CheckForm, check_id: int | None) -> CheckTarget:
    if form is CheckForm.STATUS:
        return CommitStatus()
    return UnknownCheckRun() if check_id is None else CheckRun(check_id)


def check_values(state: CheckState) -> dict[str, Any]:
    """The columns of a check's state."""
    if isinstance(state, NoCheck):
        return {
            "check_state": OutputState.UNKNOWN,
            "check_kind": None,
            "check_id": None,
            "check_head": None,
            "check_digest": None,
            "check_pending": None,
        }
    posted = isinstance(state, PostedCheck)
    return {
        "check_state": OutputState.WRITTEN if posted else OutputState.UNKNOWN,
        "check_kind": form_of(state.target),
        "check_id": state.target.id if isinstance(state.target, CheckRun) else None,
        "check_head": state.head_sha,
        "check_digest": state.digest if isinstance(state, PostedCheck) else None,
        "check_pending": state.pending,
    }


def form_of(target: CheckTarget) -> CheckForm:
    """What the target is on GitHub."""
    match target:
        case CheckRun() | UnknownCheckRun():
            return CheckForm.CHECK
        case CommitStatus():
            return CheckForm.STATUS
        case _:
            assert_never(target)
