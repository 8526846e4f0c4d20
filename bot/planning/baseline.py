"""Which runs count for the head commit, and which for the commit it is compared with.

A run of another commit is never taken for the head's. Each choice says why it was made.
"""

from collections.abc import Sequence

from bot.domain.commit import same_commit
from bot.domain.run import BaselineChoice, HeadChoice, RunRecord, RunState

HISTORY_RUNS = 40
"""Newest main runs that are read: the 30 that the noise is measured from, and some before them, which
distinguish a level change of main from noise."""

SAME_FILES_REASON = "a commit with the very files of the merge base"


def choose_head(
    runs: Sequence[RunRecord], head_sha: str, pushed_at: float, *, tree: str | None = None
) -> HeadChoice:
    """The runs of `head_sha`, or of another commit with the same files (`tree` is their hash, where known).

    `pushed_at` is when the head was pushed, in Unix seconds."""
    newest_first = _newest_first(runs)
    own = tuple(run for run in newest_first if _is_of_commit(run, head_sha, tree))
    stale = tuple(
        run for run in newest_first if run not in own and _is_of_other_commit(run, head_sha, pushed_at)
    )
    if own:
        return HeadChoice(runs=own, stale=stale)
    since = [run for run in newest_first if _started_since(run, pushed_at)]
    if since and all(run.sha is None for run in since):
        return HeadChoice(runs=(since[0],), stale=stale, commit_recorded=False)
    return HeadChoice(stale=stale)


def choose_baseline(
    runs: Sequence[RunRecord],
    merge_base: str,
    merge_base_time: float,
    ancestors: Sequence[str],
    *,
    branch: str = "main",
    tree: str | None = None,
) -> BaselineChoice:
    """The ended runs of the merge base, else of its nearest ancestor that has some, else the best guess.

    `runs` are of the base branch, called `branch` in texts, or of the merge base's files, whose hash is
    `tree`; `merge_base_time` is when the merge base was committed, in Unix seconds; `ancestors` are the
    commits before it, nearest first."""
    ended = [run for run in _newest_first(runs) if run.state is RunState.ENDED]
    line = [merge_base, *(sha for sha in ancestors if not same_commit(sha, merge_base))]
    for distance, sha in enumerate(line):
        files = tree if distance == 0 else None
        if own := tuple(run for run in ended if _is_of_commit(run, sha, files)):
            if any(same_commit(run.sha, sha) for run in own):
                return BaselineChoice(sha=sha, distance=distance, why=_distance_reason(distance), runs=own)
            return BaselineChoice(sha=own[0].sha, distance=0, why=SAME_FILES_REASON, runs=own)
    if any(run.sha is None for run in ended):
        return _guess_baseline(ended, merge_base_time, branch)
    return BaselineChoice(sha=None, distance=None, why=_absence_reason(len(ended), len(line), branch))


def newest_history(runs: Sequence[RunRecord]) -> Sequence[RunRecord]:
    """The newest `HISTORY_RUNS` ended runs of one case key on the base branch, oldest first."""
    ended = [run for run in _newest_first(runs) if run.state is RunState.ENDED]
    return tuple(reversed(ended[:HISTORY_RUNS]))


def _guess_baseline(newest_first: Sequence[RunRecord], merge_base_time: float, branch: str) -> BaselineChoice:
    unrecorded = [run for run in newest_first if run.sha is None]
    after = [run for run in unrecorded if _started_since(run, merge_base_time)]
    nobody = len(unrecorded) == len(newest_first)
    why = (
        f"no run of {branch} records its commit"
        if nobody
        else f"no run of {branch} is recorded for the merge base or a commit before it, and some record none"
    )
    when = "began after" if after else "began before"
    return BaselineChoice(
        sha=None,
        distance=None,
        why=f"the newest run that {when} the merge base was committed; {why}",
        runs=((after or unrecorded)[0],),
    )


def _distance_reason(distance: int) -> str:
    if distance == 0:
        return "the merge base"
    return "the nearest commit before the merge base that has runs"


def _absence_reason(ended: int, looked_at: int, branch: str) -> str:
    if not ended:
        return f"no finished run of {branch} was found"
    were = "was" if ended == 1 else "were"
    before = _count_phrase(looked_at - 1, "commit")
    found = f"{_count_phrase(ended, 'run')} of {branch} {were} found"
    return f"{found}, none of the merge base or the {before} before it"


def _count_phrase(number: int, of: str) -> str:
    return f"1 {of}" if number == 1 else f"{number} {of}s"


def _is_of_commit(run: RunRecord, sha: str, tree: str | None) -> bool:
    return same_commit(run.sha, sha) or (tree is not None and run.tree == tree)


def _is_of_other_commit(run: RunRecord, head_sha: str, pushed_at: float) -> bool:
    if run.sha is not None:
        return not same_commit(run.sha, head_sha)
    return run.started is not None and run.started < pushed_at


def _started_since(run: RunRecord, moment: float) -> bool:
    return run.started is not None and run.started >= moment


def _newest_first(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """By start, then by id, so that the order is stable; runs of unknown start come last."""
    return sorted(
        runs, key=lambda run: (-(run.started if run.started is not None else float("-inf")), run.id)
    )
