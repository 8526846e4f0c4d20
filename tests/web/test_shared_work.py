"""Many ask at once, and the work is done once."""

import asyncio

import pytest

from bot.web.shared_work import SharedWork


def test_all_who_ask_meanwhile_share_the_next_run() -> None:
    """A thousand questions cost two runs, one at a time; each was begun after it was asked for."""
    begun = ended = at_once = 0

    async def work() -> int:
        nonlocal begun, ended, at_once
        begun += 1
        at_once = max(at_once, begun - ended)
        await asyncio.sleep(0.02)
        ended += 1
        return begun

    async def scene() -> list[int]:
        shared = SharedWork(work)
        first = asyncio.create_task(shared.result())
        await asyncio.sleep(0.01)
        return [await first, *await asyncio.gather(*(shared.result() for _ in range(1000)))]

    assert asyncio.run(scene()) == [1] + [2] * 1000
    assert (begun, at_once) == (2, 1)


def test_a_failed_run_fails_those_who_shared_it_and_nobody_else() -> None:
    """The next question begins anew; who stops waiting stops nobody."""
    fails = True

    async def work() -> str:
        await asyncio.sleep(0.01)
        if fails:
            raise LookupError
        return "done"

    async def scene() -> str:
        nonlocal fails
        shared = SharedWork(work)
        failing = await asyncio.gather(*(shared.result() for _ in range(3)), return_exceptions=True)
        assert [type(one) for one in failing] == [LookupError] * 3
        fails = False
        left, stayed = [asyncio.create_task(shared.result()) for _ in range(2)]
        await asyncio.sleep(0)
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left
        return await stayed

    assert asyncio.run(scene()) == "done"
