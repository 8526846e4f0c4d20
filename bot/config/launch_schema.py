"""How runs are started: the keys below `launch`.

In:  nothing. Out: `LAUNCH`, a part of the one table in `bot.config.schema`.
"""

from bot.clusters import interface
from bot.config.shapes import Choice, Key, Number, Record, Text

# Seconds of the units that a timeout is written in.
UNITS = {"s": 1, "m": 60, "h": 3600}

# Mebibytes of the units that a memory is written in.
MEMORY_UNITS = {"M": 1, "G": 1024}

DEFAULT_TIMEOUT = "60m"

DEFAULT_PRIORITY = "medium"

DEFAULT_SLICES = 1

_CLUSTER = Text(wants="a name of small letters, digits and -", form=interface.CLUSTER_REGEX, longest=63)

_PROJECT = Text(wants="a project of small letters, digits and -", form=interface.PROJECT_REGEX, longest=100)

_ZONE = Text(wants="a zone such as us-east5-b", form=interface.ZONE_REGEX, longest=41)

_DEVICE = Text(wants="a device type such as v6e-32", form=interface.DEVICE_TYPE_REGEX, longest=41)

_SLICES = Number(wants="a whole number from 1 to 1000", least=1, most=1000, kind=int)

_IMAGE = Text(
    wants="an image such as gcr.io/p/maxtext:{sha}", form=interface.IMAGE_TEMPLATE_REGEX, longest=500
)

_MEMORY = Text(wants="a size such as 800M or 8G", form=r"[1-9][0-9]{0,5}[MG]", longest=7)

_TIMEOUT = Text(wants="a time such as 90s, 45m or 2h", form=r"[1-9][0-9]{0,5}[smh]", longest=7)

_XPK = Record(
    keys={
        "cluster": Key(
            shape=_CLUSTER, about="The XPK cluster's name.", required="write the XPK cluster's name"
        ),
        "project": Key(
            shape=_PROJECT, about="The Google Cloud project.", required="write the Google Cloud project"
        ),
        "zone": Key(
            shape=_ZONE, about="The zone, such as us-east5-b.", required="write a zone such as us-east5-b"
        ),
        "device-type": Key(
            shape=_DEVICE, about="The device type, such as v6e-32.", required="write a type such as v6e-32"
        ),
        "slices": Key(
            shape=_SLICES,
            about="How many slices of this type one run takes together.",
            default=DEFAULT_SLICES,
        ),
        "docker-image": Key(
            shape=_IMAGE,
            about="The image that holds the code; {sha} stands for the full commit.",
            required='write an image such as "gcr.io/my-project/maxtext:{sha}"',
        ),
        "priority": Key(
            shape=Choice(interface.PRIORITIES),
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
        "memory": Key(shape=_MEMORY, about="The address space a run may take; absent: what there is."),
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
