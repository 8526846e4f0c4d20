"""What older versions did not keep beside a run, filled in when the program starts.

In:  the database, brought to its shape. Out: how many rows were filled, so that the caller goes on until none
is left; each part is one transaction, and one that is interrupted is begun again.
"""

import logging

from sqlalchemy import Connection

from bot.storage import runs, summaries

LOG = logging.getLogger(__name__)


def fill(connection: Connection) -> int:
    """Fill some rows; 0 where nothing is left."""
    summaries.fill_keys(connection)
    filled = summaries.fill(connection, runs.decode_once)
    if filled:
        LOG.info("runs of an older version were summarised", extra={"runs": filled})
    return filled
