"""Collects what a log says about one start of a program.

In:  statements with the prefix they stood under.
Out: an `Episode`, bounded in memory whatever the log holds.
"""

from collections import deque

from bot.logs.collector import HOSTS, MARKS, Collector
from bot.logs.facts import Environment, Mark, MarkKind
from bot.logs.formats import Format
from bot.logs.prefix import Prefix
from bot.logs.statement import CUT, Began, Doubt, Ended, Exited, Finished, Quit, Statement, Trouble, Unsure
from bot.logs.track import turned

TROUBLES = 20
"""Possible causes kept from the start, and again from the end."""


class Episode:
    """Everything between one start and the next."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.framed = False
        self.ended = False
        self.commit: str | None = None
        self.starters: set[str] = set()
        self.frame_marks: list[Mark] = []
        self.exit_codes: dict[int, None] = {}
        self.quits: list[str] = []
        self.doubts: dict[str, None] = {}
        self.first_troubles: list[tuple[Trouble, int]] = []
        self.last_troubles: deque[tuple[Trouble, int]] = deque(maxlen=TROUBLES)
        self.finished = False
        self._covered = 0  # the byte up to which the last trouble's own text reaches
        self.collectors: dict[str, Collector] = {}

    @property
    def telling(self) -> bool:
        """Whether anything here belongs to a known format."""
        return any(collector.telling for collector in self.collectors.values())

    @property
    def backwards(self) -> bool:
        """Whether this log begins with its newest line."""
        hosts = (host for c in self.collectors.values() for host in c.hosts.values())
        return any(host.track.backwards for host in hosts)

    def turn(self) -> None:
        """Put the steps into the order in which they happened."""
        for collector in self.collectors.values():
            for host in collector.hosts.values():
                if host.track.backwards:
                    host.track = turned(host.track)

    @property
    def troubles(self) -> list[tuple[Trouble, int]]:
        """Possible causes, each with the number of step lines before it."""
        return [*self.first_troubles, *self.last_troubles]

    @property
    def steps_seen(self) -> int:
        """Step lines of the host that printed most of them."""
        hosts = (host for c in self.collectors.values() for host in c.hosts.values())
        return max((host.track.seen for host in hosts), default=0)

    def hear(self, said: Statement, prefix: Prefix, form: Format | None, *, telling: bool) -> None:
        """Take one statement; `form` is `None` for what is said in any format."""
        collector = self._collector(form)
        match said:
            case Began() | Ended() | Exited() | Quit() | Finished() | Doubt():
                self._frame(said)
            case Trouble():
                self._trouble(said)
            case Mark(kind=MarkKind.START | MarkKind.END):
                if len(self.frame_marks) < MARKS:
                    self.frame_marks.append(said)
            case Environment(commit=str()):
                self.commit = self.commit or said.commit
            case Unsure(step=step) if collector:
                host = collector.host(prefix)
                if host is not None and host.track.same_shape(step):
                    collector.hear(step, prefix)
                    collector.telling += 1
                else:
                    self.doubts[CUT] = None
            case _ if collector:
                collector.telling += telling
                collector.hear(said, prefix)
            case _:
                pass

    def _collector(self, form: Format | None) -> Collector | None:
        if form is None:
            return None
        if form.name not in self.collectors:
            self.collectors[form.name] = Collector(form)
        return self.collectors[form.name]

    def _frame(self, said: Began | Ended | Exited | Quit | Finished | Doubt) -> None:
        match said:
            case Began():
                self.framed = True
                self.began = said.time if self.began is None else self.began
            case Ended():
                self.framed = self.ended = True
            case Exited():
                if len(self.exit_codes) < HOSTS:
                    self.exit_codes[said.code] = None
            case Quit():
                self.quits.append(said.reason)
                del self.quits[TROUBLES:]
            case Finished():
                self.finished = True
            case Doubt():
                self.doubts[said.text] = None

    def _trouble(self, said: Trouble) -> None:
        if said.offset < self._covered:
            return
        self._covered = said.end
        many = len(self.first_troubles) >= TROUBLES
        (self.last_troubles if many else self.first_troubles).append((said, self.steps_seen))
