"""What one run of each case costs on a device: from the base branch's runs, else from the time limit.

In:  a repository, its base branch, a suite and the device. Out: prices by `case/variant`.
"""

from bot.config import Suite
from bot.controller.asking import suite_keys
from bot.controller.jobs import Device
from bot.runs.pattern import slug
from bot.runs.price import Price, price_of
from bot.storage import prices
from bot.storage.database import Database


async def price_list(
    database: Database, repository: str, branch: str, suite: Suite, device: Device
) -> dict[str, Price | None]:
    """The price of one run of every case and variant; None where nobody knows."""
    took = await database.read(prices.of_branch, repository, slug(branch), devices=device.chips)
    return {
        key: price_of(took.get(key, ()), chips=device.chips, timeout_seconds=device.timeout_seconds)
        for key in suite_keys(suite)
    }
