"""Tells which episodes of a log are attempts of one run, and which are other hosts of it.

In:  `Episode`s in the order of the log.
Out: `grouped`: one list of attempts per run; `chosen`: the collector of the format that an episode is in.

A log may hold thousands of starts: each is held only against the runs that share a name with it.
"""

from bot.logs.collector import Collector
from bot.logs.episode import Episode

Names = tuple[object, object]  # the workload's and the run's, `None` where the log does not say


def grouped(episodes: list[Episode]) -> list[list[Episode]]:
    """The attempts of each run, in order; what no training program said is left out."""
    groups: list[list[Episode]] = []
    names: list[Names] = []  # of each group's last attempt
    places: dict[tuple[int, object], dict[int, None]] = {}  # the groups that ever had a name
    for episode in filter(is_run, episodes):
        episode.turn()
        own = _names(episode)
        keys = [(kind, name) for kind, name in enumerate(own) if name is not None]
        near = sorted({n for key in keys for n in places.get(key, ())})
        same = [n for n in near if _alike(names[n], own) and not _apart(groups[n][-1], episode)][:1]
        at = same[0] if same else len(groups)
        if not same:
            groups.append([episode])
            names.append(own)
        elif _at_once(groups[at][-1], episode):
            _join(groups[at][-1], episode)
            names[at] = _names(groups[at][-1])
        else:
            groups[at].append(episode)
            names[at] = own
        for key in keys:
            places.setdefault(key, {})[at] = None
    return groups


def is_run(episode: Episode) -> bool:
    """Whether a training program left these words."""
    return episode.telling or episode.framed or any(trouble.training for trouble, _ in episode.troubles)


def chosen(episode: Episode) -> Collector | None:
    """The collector of the format that this episode is in; of the fullest one where none is certain."""
    collectors = list(episode.collectors.values())
    if not episode.telling and not episode.framed:
        return None
    own = [collector for collector in collectors if not collector.form.library and _steps(collector)]
    return max(own or collectors, key=lambda c: (_steps(c), c.telling, len(c.hosts)), default=None)


def _steps(collector: Collector) -> int:
    return sum(host.track.seen for host in collector.hosts.values())


def _names(episode: Episode) -> Names:
    collector = chosen(episode)
    hosts = collector.hosts.values() if collector else ()
    return (
        next((host.said.workload for host in hosts if host.said.workload), None),
        next((host.said.run_name for host in hosts if host.said.run_name), None),
    )


def _alike(first: Names, second: Names) -> bool:
    """Whether both have the same workload or the same run name."""
    return any(a is not None and a == b for a, b in zip(first, second, strict=True))


def _apart(first: Episode, second: Episode) -> bool:
    """Whether a page says that they are of two commits."""
    return first.commit is not None and second.commit is not None and first.commit != second.commit


def _at_once(first: Episode, second: Episode) -> bool:
    """Whether the second began before the first had ended: another host, its log pasted behind."""
    times = [mark.time for mark in first.frame_marks if mark.time is not None]
    return second.began is not None and len(times) > 1 and second.began < max(times)


def _join(first: Episode, second: Episode) -> None:
    """Add another host's words to those of the first."""
    first.exit_codes |= second.exit_codes
    first.first_troubles += second.troubles
    for name, collector in second.collectors.items():
        mine = first.collectors.setdefault(name, collector)
        if mine is not collector:
            mine.telling += collector.telling
            for key, host in collector.hosts.items():
                host.order = len(mine.hosts)
                mine.hosts[f"{key} of log {host.order}" if key in mine.hosts else key] = host
