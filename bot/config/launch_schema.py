"""How runs are started: the keys below `launch`.

In:  nothing. Out: `LAUNCH`, a part of the one table in `bot.config.schema`.
"""

from bot.config.shapes import Choice, Key, Record, Text

# Seconds of the units that a timeout is written in.
UNITS = {"s": 1, "m": 60, "h": 3600}

DEFAULT_TIMEOUT = "60m"
DEFAULT_PRIORITY = "medium"

_WORD = Text(wants="a name without spaces", form=r"[^\x00-\x20]+", longest=500)
_TIMEOUT = Text(wants="a time such as 90s, 45m or 2h", form=r"[1-9][0-9]{0,5}[smh]", longest=7)

_XPK = Record(
    keys={
        "cluster": Key(shape=_WORD, about="The XPK cluster's name.", required="write the XPK cluster's name"),
        "project": Key(
            shape=_WORD, about="The Google Cloud project.", required="write the Google Cloud project"
        ),
        "zone": Key(
            shape=_WORD, about="The zone, such as us-east5-b.", required="write a zone such as us-east5-b"
        ),
        "device-type": Key(
            shape=_WORD, about="The device type, such as v6e-32.", required="write a type such as v6e-32"
        ),
        "docker-image": Key(
            shape=_WORD,
            about="The image that holds the code; {sha} stands for the full commit.",
            required='write an image such as "gcr.io/my-project/maxtext:{sha}"',
        ),
        "priority": Key(
            shape=Choice(("very-low", "low", "medium", "high", "very-high")),
            about="The Kueue priority of the workloads.",
            default=DEFAULT_PRIORITY,
        ),
        "timeout": Key(
            shape=_TIMEOUT, about="After this a run is stopped and counts as lost.", default=DEFAULT_TIMEOUT
        ),
    }
)

_LOCAL = Record(
    keys={
        "repository": Key(
            shape=Text(wants="the path of a git repository", form=r"[^\x00-\x1f]+", longest=1000),
            about="Path of the git repository that commits are checked out of.",
            required="write the path of a git repository on this machine",
        ),
        "timeout": Key(
            shape=_TIMEOUT, about="After this a run is stopped and counts as lost.", default=DEFAULT_TIMEOUT
        ),
    }
)

LAUNCH = Record(
    keys={
        "cluster": Key(
            shape=Choice(("xpk", "local")),
            about="What runs the cases: xpk, or local processes.",
            required="write cluster: xpk or cluster: local",
        ),
        "xpk": Key(shape=_XPK, about="How XPK is called."),
        "local": Key(shape=_LOCAL, about="How local processes are run."),
    }
)
