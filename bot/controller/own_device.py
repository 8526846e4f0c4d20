"""The device of a configuration as this installation uses it.

In:  the launch section. Out: a `Device` whose runs have names that no other installation derives.

Several installations may share a cluster, and may measure the same commits there: each would take the other's
jobs for its own, and delete them when it wants them no more. So a mark of the database goes into every key.
"""

from bot.config.suite import Launch
from bot.controller.jobs import Device, device_of, marked
from bot.storage import marks
from bot.storage.database import Database


async def own_device(database: Database, launch: Launch | None) -> Device | None:
    """The device; None where nothing is launched, or the part that describes it is not there."""
    device = device_of(launch) if launch else None
    if device is None:
        return None
    mark = await database.read(marks.read, marks.INSTALLATION)
    return marked(device, mark if mark is not None else await database.write(marks.installation))
