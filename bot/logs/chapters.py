"""Cuts a log into episodes: one per start of a program.

In:  statements in the order of the log.
Out: `Chapters.episodes`.

Hosts that print into one log at the same time are one episode: their starts lie close together, and the
first of them has not come to its end, nor trained, when the next one starts.
"""

from bot.logs.episode import Episode
from bot.logs.facts import Mark
from bot.logs.formats import Format
from bot.logs.sighting import Sighting
from bot.logs.statement import Began, Claimed, Statement

TOGETHER = 120.0
"""Seconds between the starts of two hosts of one run: pods of a job set are scheduled together."""
EPISODES = 4_096
"""Starts of which anything is kept."""


class Chapters:
    """The episodes of one log, in order."""

    def __init__(self) -> None:
        self.episodes = [Episode()]
        self.turns = 0  # while it stays the same, statements go where the ones before them went
        self._starts = 0
        self._claims: list[str] = []  # of the page, in the order of its runs
        self._claim: str | None = None  # of the run that begins next

    def hear(self, said: Statement, seen: Sighting, form: Format | None, *, telling: bool) -> None:
        """Take the next statement."""
        if isinstance(said, Claimed | Began):
            self.turns += 1
        match said:
            case Claimed(commits=(only,)):
                self._claim = only
                return
            case Claimed(commits=commits):
                self._claims = self._claims or list(commits)
                return
            case Began():
                self._begin(said, seen.prefix.host)
            case _:
                pass
        episode = self.episodes[-1]
        if not episode.framed and not episode.commit and not isinstance(said, Mark):
            self._claim_for(episode)
        episode.hear(said, seen.prefix, form, telling=telling)

    def _begin(self, said: Began, host: str) -> None:
        current = self.episodes[-1]
        if not self._joins(current, said, host):
            if (current.framed or current.telling) and len(self.episodes) < EPISODES:
                self.episodes.append(Episode())
            current = self.episodes[-1]
            self._claim_for(current)
        current.starters.add(host)

    def _joins(self, current: Episode, said: Began, host: str) -> bool:
        """Whether this start is another host of the current episode."""
        if current.backwards and current.began is None:
            return True
        if not current.framed or current.ended or current.began is None or said.time is None:
            return False
        if abs(said.time - current.began) > TOGETHER:
            return False
        if host:
            return host not in current.starters
        return not current.steps_seen and not current.troubles

    def _claim_for(self, episode: Episode) -> None:
        """The page's word on the commit: the header right before the run, else the title's, in order."""
        if self._claim is not None:
            episode.commit, self._claim = self._claim, None
            self._starts += 1
        elif self._starts < len(self._claims):
            episode.commit = self._claims[self._starts]
            self._starts += 1
