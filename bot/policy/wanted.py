"""The policy that the repositories served today would need, by their own configurations, to sign or not."""

from msgspec import Struct

from bot.config import CONFIG_PATH, read_suite
from bot.domain.forge import Forge
from bot.domain.repository import Repository
from bot.errors import InternalError, UserError
from bot.policy.grants import PolicyEntry
from bot.policy.suggest import entry_line, policy_text, wanted_entry
from bot.storage import repositories
from bot.storage.database import Database
from bot.storage.repositories import RepositoryRow

READ_CAREFULLY = """\
# What the repositories served today would need. Sign only what their owners may do: everybody who can push to
# the default branch of a repository decides what its lines are used for."""


class WantedPolicy(Struct, frozen=True, kw_only=True):
    """An entry for each repository that needs one, and a remark on each other."""

    entries: tuple[PolicyEntry, ...]
    remarks: tuple[str, ...]

    @property
    def text(self) -> str:
        """The policy's file, with the remarks as comments."""
        remarks = (f"# {remark}" for remark in self.remarks)
        return "\n".join((READ_CAREFULLY, *remarks, policy_text(self.entries)))


async def wanted_policy(database: Database, forge: Forge) -> WantedPolicy:
    """Ask GitHub for the configuration of each repository that is served."""
    entries, remarks = [], []
    for row in await database.read(repositories.list_repositories):
        if not row.active:
            continue
        found = await _wanted_entry(forge, row)
        if isinstance(found, PolicyEntry):
            entries.append(found)
        else:
            remarks.append(f"{row.full_name}: {found}")
    return WantedPolicy(entries=tuple(entries), remarks=tuple(remarks))


async def _wanted_entry(forge: Forge, row: RepositoryRow) -> PolicyEntry | str:
    """What the repository's configuration needs, or why nothing is suggested."""
    repository = Repository(full_name=row.full_name, installation=row.installation)
    try:
        text = await forge.file(repository, CONFIG_PATH, row.default_branch or "HEAD")
    except (UserError, InternalError) as problem:
        return f"its configuration cannot be read: {_one_line(str(problem))}"
    if text is None:
        return f"it has no {CONFIG_PATH}"
    try:
        entry = wanted_entry(row.full_name, read_suite(text))
    except UserError as problem:
        return f"its configuration is not valid: {_one_line(problem.text)}"
    return entry if entry_line(entry) else "it asks for nothing that can be granted"


def _one_line(text: str) -> str:
    """A line of a comment, whatever somebody wrote into their file."""
    line = text.splitlines()[0] if text else ""
    return "".join(letter if letter.isprintable() else " " for letter in line)
