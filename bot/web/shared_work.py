"""Work that is done once for all who ask at a time, for addresses that anybody may ask at will."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class SharedWork(Generic[Result]):
    """Runs `work` once at a time; what it gives began after it was asked for, so it is never stale."""

    def __init__(self, work: Callable[[], Awaitable[Result]]) -> None:
        self._work = work
        self._running: asyncio.Task[Result] | None = None
        self._next: asyncio.Task[Result] | None = None

    async def result(self) -> Result:
        """The result of a run that begins now, or when the present one has ended."""
        if self._next is None:
            self._next = asyncio.create_task(self._run_after(self._running))
        return await asyncio.shield(self._next)

    async def _run_after(self, before: "asyncio.Task[Result] | None") -> Result:
        if before is not None:
            await asyncio.wait({before})
        self._running, self._next = self._next, None
        return await self._work()
