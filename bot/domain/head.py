"""What GitHub says about the head of a pull request or branch."""

from msgspec import Struct

from bot.domain.commit import Commit


class HeadFacts(Struct, frozen=True, kw_only=True):
    """A head's merge base, the ancestors of that, the paths that the change touches, the head's commit time,
    and the hash of its files."""

    merge_base: Commit
    ancestors: tuple[str, ...]
    changed_paths: tuple[str, ...]
    committed_at: float
    tree: str | None = None
