"""Whose report an address asks for: a pull request's, or that of a branch watched without one.

In:  an address. Out: `Asked`: the number that the report is kept under, and the links to it.
"""

import re
from dataclasses import dataclass

from starlette.requests import Request

from bot.storage import branches
from bot.storage.database import Database
from bot.web.ground.access import Absent, Unclear, Visit

LARGEST_PULL = 2**31 - 1
LONGEST_BRANCH = 255
SHA = re.compile(r"[0-9a-f]{4,64}")

NOT_WATCHED = (
    "Branches that triggers.branches of the configuration names have a report from their next push on; "
    "a branch with a pull request has it there."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One report. `number` is below zero for a `branch`, `head` an older head commit that is asked for, and
    `ref` how a comparison names it."""

    number: int
    head: str | None
    name: str
    words: str
    github: str
    ref: str
    branch: str | None = None
    notice: str = ""

    def document(self, here: Visit, head: str | None) -> str:
        """The address of a head's report as JSON."""
        if self.branch is not None:
            return here.links.branch_json(here.repository, self.branch, head)
        return here.links.pull_json(here.repository, self.number, head)


async def asked_report(request: Request, database: Database, here: Visit) -> Asked:
    """What is asked for; `Absent` where it can be nothing, `Unclear` where the branch is not known."""
    head = request.query_params.get("head") or None
    if head and not SHA.fullmatch(head):
        raise Absent
    if (branch := request.path_params.get("branch")) is not None:
        return await _branch(database, here, branch, head)
    number = request.path_params["number"]
    if not 0 < number <= LARGEST_PULL:
        raise Absent
    return Asked(
        number=number,
        head=head,
        name=f"#{number}",
        words=f"Pull request #{number}",
        github=here.links.pull_on_github(here.repository, number),
        ref=f"pr/{number}",
    )


async def _branch(database: Database, here: Visit, branch: str, head: str | None) -> Asked:
    if len(branch) > LONGEST_BRANCH or "\x00" in branch:
        raise Absent
    number = await database.read(branches.number_of, here.repository, branch)
    pull = await database.read(branches.pull_of, here.repository, branch)
    if number is None and pull is not None:
        raise Unclear(f"The branch {branch} has a pull request", f"Its report is that of #{pull}.")
    if number is None:
        raise Unclear(f"The branch {branch} is not watched", NOT_WATCHED)
    return Asked(
        number=number,
        head=head,
        name=here.text(branch),
        words=f"Branch {here.text(branch)}",
        github=here.links.branch_on_github(here.repository, branch),
        ref=branch,
        branch=branch,
        notice=f"Pull request #{pull} speaks for this branch now; newer reports are there." if pull else "",
    )
