"""A repository, the people who work with it, and what they may do there."""

from enum import StrEnum

from msgspec import Struct


class Repository(Struct, frozen=True, kw_only=True):
    """A repository as one installation of the App sees it; `full_name` is `owner/name`.

    `id` and `owner_id` are GitHub's numbers of it and of its owner's account."""

    full_name: str
    installation: int
    default_branch: str | None = None
    private: bool = False
    id: int | None = None
    owner_id: int | None = None


class Installation(Struct, frozen=True, kw_only=True):
    """One installation of the App; a suspended one can read nothing."""

    id: int
    suspended: bool


class Person(Struct, frozen=True, kw_only=True):
    """An account. A deleted one is `ghost` with the id 0."""

    login: str
    id: int
    is_bot: bool = False


GHOST = Person(login="ghost", id=0)


class Permission(StrEnum):
    """What a person may do with a repository; GitHub maps `maintain` to write and `triage` to read."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    @property
    def may_write(self) -> bool:
        """Whether this allows starting runs. Everyone has `read` on a public repository."""
        return self in {Permission.WRITE, Permission.ADMIN}
