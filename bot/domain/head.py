"""What GitHub says about the head of a pull request or branch."""

from dataclasses import dataclass

from bot.domain.commit import Commit


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadFacts:
    """Where a head left its base, what it touches, the commits behind that, the head's own date, and the
    hash of its files."""

    merge_base: Commit
    ancestors: tuple[str, ...]
    changed_paths: tuple[str, ...]
    committed_at: float
    tree: str | None = None
