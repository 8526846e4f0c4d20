"""What comes of approving a fork's head, and of accepting a verdict.

In:  a command. Out: an `Answer`. Pure.
"""

from bot.config import Suite
from bot.controller.scene import Answer, Given, key, keys, named, no_launch, refusal
from bot.intake import command, meaning
from bot.intake.trust import Approval
from bot.report.acknowledged import grounds
from bot.report.model import Acknowledgement
from bot.report.states import word


def approve(given: Given, one: command.Approve, suite: Suite) -> Answer:
    """Bind the approval to the commit and to its files; anything but the head as it stands is refused."""
    pull, tree = given.scene.pull, given.scene.tree
    if why := no_launch(suite):
        return refusal(why)
    if not pull.from_fork:
        return Answer(result="No approval is needed: the head is on a branch of this repository.")
    if not pull.head_sha.startswith(one.sha):
        return refusal(
            f"{one.sha[:12]} is not the head. If you have read {pull.head_sha[:7]}, "
            f"write “/benchmark approve {pull.head_sha}”."
        )
    if one.sha != pull.head_sha:
        return refusal(
            f"{one.sha[:12]} is only the beginning of the head, and a commit that begins so can be made by "
            f"whoever pushes. If you have read it, write “/benchmark approve {pull.head_sha}”."
        )
    if tree is None:
        return refusal(f"GitHub did not say which files {pull.head_sha[:7]} holds: write the command again.")
    by = given.intent.author.login
    approval = Approval(head_sha=pull.head_sha, tree=tree, by=by, made=given.intent.created_at)
    result = f"{pull.head_sha[:7]} may run, as it is; a push of other files needs an approval of its own."
    return Answer(result=result, approval=approval)


def acknowledge(given: Given, one: command.Acknowledge, meant: meaning.Resolved, suite: Suite) -> Answer:
    """Accept the verdicts of these cases that have something to accept."""
    head = given.scene.pull.head_sha
    asked = keys(meant)
    rows = [row for row in given.scene.rows if key(row) in asked]
    if not rows:
        return refusal(f"{named(asked, suite)}: there is no verdict on {head[:7]} yet, so nothing to accept.")
    bases = [(row, why) for row in rows if (why := grounds(row)) is not None]
    if not bases:
        stands = ", ".join(dict.fromkeys(word(row.state, given.scene.pull.base_branch) for row in rows))
        return refusal(f"{named(asked, suite)}: {stands}, so there is nothing to accept.")
    accepted = tuple(
        Acknowledgement(
            case=row.case,
            variant=row.variant,
            verdict=row.state,
            head_sha=head,
            by=given.intent.author.login,
            reason=one.reason,
            made=given.intent.created_at,
            grounds=why,
        )
        for row, why in bases
    )
    what = named(frozenset(key(row) for row, _ in bases), suite)
    result = f"{what}: accepted, for as long as it says the same for the same reason and gets no worse."
    return Answer(result=result, acknowledgements=accepted)
