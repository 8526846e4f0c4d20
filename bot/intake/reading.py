"""Reads the parts that deliveries and GitHub's answers share: accounts and repositories.

In:  fields. Out: `Person` and `Repository`; `Told` names a field that is missing.
"""

from bot.intake.fields import Fields
from bot.intake.pull import GHOST, Person, Repository


def read_person(fields: Fields, path: str) -> Person:
    """Read an account; null stands for a deleted one."""
    if fields.find(path) is None:
        return GHOST
    person = fields.within(path)
    login = person.text("login")
    is_bot = person.find("type") == "Bot" or login.endswith("[bot]")
    return Person(login=login, id=person.number("id"), is_bot=is_bot)


def read_repository(fields: Fields, installation: int) -> Repository:
    """Read a repository object, full or short."""
    return Repository(
        full_name=fields.text("full_name"),
        installation=installation,
        default_branch=fields.text_or_none("default_branch"),
        private=fields.flag("private"),
        id=fields.number_or_none("id"),
    )
