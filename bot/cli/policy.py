"""`maxview policy [check | suggest | forget]`: what repositories may make this server do.

`check` prints a policy as a table, or every problem with its line. `suggest` asks GitHub for the
configurations of the repositories that the server serves, and prints the policy that they would need.
`forget` lets a name of the policy be resolved anew.
"""

import argparse
import asyncio
import os
import time
from pathlib import Path

from bot.cli.arguments import one_line_errors
from bot.cli.server_store import ServerStore, open_database
from bot.cli.terminal import DIM, GOOD, Screen
from bot.errors import UserError
from bot.github.client import GitHubClient
from bot.policy.grants import LocalJobs, Policy, PolicyEntry, XpkGrant
from bot.policy.loader import load_policy
from bot.policy.wanted import WantedPolicy, wanted_policy
from bot.settings import Settings, read_settings
from bot.storage import policy as stored
from bot.storage.database import Database

EPILOG = """\
A policy is a YAML file that the setting POLICY of maxview serve names; it is read at the start:

  version: 1
  repositories:                  # absent: the account that owns the App may upload, nobody anything else
    - match: my-org/*            # or OWNER/REPOSITORY; resolved once to GitHub's numbers, so that a rename, a
                                 # transfer or a new owner of the name gets nothing
      sources: ["gs://my-bucket/runs/*", "file:/data/runs/*"]
      launch:
        xpk:
          - {project: my-project, zone: us-east5-b, cluster: v6e-32-bench, device-types: [v6e-32],
             max-slices: 2, max-priority: medium, images: ["gcr.io/my-project/"]}
        local: sandboxed         # no | sandboxed | unsandboxed
      upload: true
      budget: {chip_hours_per_day: 500}   # a day, of all repositories of the entry together

Several entries may hold for a repository: it may do what any of them grants, within every budget.
DATA_DIR, artifacts, database, private key and the policy itself are never granted.

examples:
  maxview policy check policy.yml
  maxview policy suggest > policy.yml     with the settings of maxview serve
  maxview policy forget my-org/my-repo    it was deleted and made again: ask GitHub whose the name is now
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The actions."""
    parser.epilog = EPILOG
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser("check", help="who may do what, or what is wrong with the file")
    check.add_argument("file", nargs="?", type=Path, help="the policy (default: the file that POLICY names)")
    actions.add_parser("suggest", help="the policy that the repositories served today would need")
    forget = actions.add_parser("forget", help="resolve a name of the policy anew at its next use")
    forget.add_argument("match", metavar="MATCH", help="as the policy writes it: OWNER/REPOSITORY or OWNER/*")
    for action in actions.choices.values():
        one_line_errors(action)


def main(args: argparse.Namespace) -> int:
    """Run the action. Raises `UserError` with the problems of a policy."""
    match args.action:
        case "check":
            _check(args.file)
        case "suggest":
            _suggest(read_settings(os.environ))
        case _:
            _forget(args.match)
    return 0


def _check(file: Path | None) -> None:
    named = os.environ.get("POLICY", "").strip()
    if file is None and not named:
        raise UserError("no policy is named: give a file, or set POLICY")
    path = file or Path(named)
    show_policy(Screen(), str(path), load_policy(path))


def show_policy(screen: Screen, name: str, policy: Policy) -> None:
    """Who may do what."""
    screen.headline("✅", f"{name}: valid", GOOD)
    if policy.entries is None:
        screen.paragraph("The account that owns the App may upload runs. Nothing is read or launched.")
    elif not policy.entries:
        screen.paragraph("Nobody may do anything.")
    else:
        rows = [row for entry in policy.entries for row in _rows(entry)]
        screen.table(("who", "may", "what"), "lll", rows)
    screen.paragraph("The server's own data, keys, artifacts and database are never granted.", DIM)


def _rows(entry: PolicyEntry) -> list[tuple[str, str, str]]:
    may = [("read", source) for source in entry.sources]
    may += [("launch", _xpk_words(grant)) for grant in entry.xpk]
    may += [("launch", f"on this machine, {entry.local.value}")] if entry.local is not LocalJobs.NO else []
    may += [("upload", "runs")] if entry.upload else []
    if may and entry.chip_hours_per_day is not None:
        may.append(("spend", f"{entry.chip_hours_per_day:g} chip-hours a day, all its repositories together"))
    first, *others = may or [("do", "nothing")]
    return [(entry.match, *first), *(("", *other) for other in others)]


def _xpk_words(grant: XpkGrant) -> str:
    devices, images = ", ".join(grant.device_types), ", ".join(grant.images)
    slices = f"up to {grant.max_slices} slices of " if grant.max_slices > 1 else ""
    where = f"{grant.project}/{grant.zone}/{grant.cluster}"
    return f"on {where}: {slices}{devices}, priority {grant.max_priority} at most, images {images}"


def _suggest(settings: Settings) -> None:
    store = ServerStore(database_url=settings.database_url, data_dir=settings.data_dir)
    with open_database(store) as (_, database):
        print(asyncio.run(_wanted_policy(settings, database)).text, end="")


async def _wanted_policy(settings: Settings, database: Database) -> WantedPolicy:
    github = GitHubClient(
        app_id=settings.app_id, private_key=settings.private_key, api_url=settings.api_url, now=time.time
    )
    try:
        return await wanted_policy(database, github)
    finally:
        await github.aclose()


def _forget(match: str) -> None:
    with open_database(ServerStore.of(os.environ)) as (_, database):
        if not _forgotten(database, match):
            raise UserError(f"{match} has no numbers stored: a name is resolved at its first use")
    print(f"{match}: GitHub is asked whose the name is at its next use")


def _forgotten(database: Database, match: str) -> bool:
    return asyncio.run(database.write(stored.forget_match, match))
