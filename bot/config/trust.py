"""Who besides people with write permission may start runs.

In:  the value of the key `trust`, checked already. Out: `Trusted`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.config.shapes import Key, Number, Record, Several, Text


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedBot:
    """An App's account: it is trusted where login, id and type agree, since logins can be taken over."""

    login: str
    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedAccounts:
    """Bots that may start runs, and teams (`organisation/team`) whose members may."""

    bots: tuple[TrustedBot, ...] = ()
    teams: tuple[str, ...] = ()


# Copybara exports Google's changes as branches and drives their pull requests (its public account).
COPYBARA = TrustedBot(login="copybara-service[bot]", id=56741989)

DEFAULT_BOTS = (COPYBARA,)

DEFAULT_TRUSTED = TrustedAccounts(bots=DEFAULT_BOTS)

SHAPE = Record(
    keys={
        "bots": Key(
            shape=Several(
                Record(
                    keys={
                        "login": Key(
                            shape=Text(
                                wants="a bot's login such as copybara-service[bot]",
                                form=r"[A-Za-z0-9_-]+\[bot\]",
                                longest=100,
                            ),
                            about="The login, with [bot] at its end.",
                            required="write the login, such as copybara-service[bot]",
                        ),
                        "id": Key(
                            shape=Number(
                                wants="the account's number", least=1, most=10_000_000_000, kind=int
                            ),
                            about="The account's number, as api.github.com/users/LOGIN says it.",
                            required="write the account's number, as api.github.com/users/LOGIN says it",
                        ),
                    }
                )
            ),
            about="Bots whose commands and labels count; both login and id must agree.",
            default=[{"login": bot.login, "id": bot.id} for bot in DEFAULT_BOTS],
        ),
        "teams": Key(
            shape=Several(
                Text(
                    wants="a team such as my-org/performance",
                    form=r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_.-]+",
                    longest=200,
                )
            ),
            about="Teams whose members may start runs without write permission on the repository.",
        ),
    }
)


def read_trusted(part: Mapping[str, Any]) -> TrustedAccounts:
    """Bots that are not named are the default ones; an empty list trusts none."""
    bots = tuple(TrustedBot(**bot) for bot in part["bots"]) if "bots" in part else DEFAULT_BOTS
    return TrustedAccounts(bots=bots, teams=tuple(part.get("teams", ())))
