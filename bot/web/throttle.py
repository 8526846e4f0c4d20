"""Limits of readers: how much of the pages' processor time one of them gets, and how long a page may take.

In:  requests of pages, with the visitor that the middleware before this one identified. Out: the page's
answer, 429 to a reader who asks for too much, 503 where there are too many readers.

A signed-in person is counted as such, anybody else by address. Every reader has an allowance of seconds,
which the time that their pages take is charged to; requests wait their turn, one reader's after another's.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from math import ceil

import anyio.to_thread
from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.server.clients import client_key
from bot.web.auth.visitor import current_visitor

AT_ONCE = 4
"""Pages that are computed at the same time."""

THREADS = 6
"""Threads that compute pages and read logs; the rest waits."""

MAX_WAITING, MAX_WAITING_PER_READER = 64, 16
"""Requests that wait for their turn."""

TURN_SECONDS = 15.0
"""A request that has waited so long for its turn is told to come later."""

PAGE_SECONDS = 20.0
"""From its turn on, a page that has not begun to answer by then is given up."""

STUCK_SECONDS = 30.0
"""A thread that goes on for so long after its page was given up does not end by itself."""

ALLOWANCE_SECONDS, REFILL_PER_SECOND = 20.0, 0.5
"""What a reader may use at once, and what is added every second, up to that."""

COSTLY_SECONDS = 0.2
"""The least that a costly page is charged: it may be cheap here and dear elsewhere."""

COSTLY_ENDINGS = ("/log/search", "/compare-logs", "/history")

MAX_READERS = 10_000
"""Readers whose allowance is remembered; forgotten ones have a full one again."""


class ReaderRefusedError(Exception):
    """A reader is told to come later: the status, after how many seconds, and why."""

    def __init__(self, status: int, seconds: float, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.seconds = max(ceil(seconds), 1)
        self.why = why


class AbandonedError(Exception):
    """Nobody waits for this page any more."""


_ABANDONED: ContextVar[Callable[[], bool] | None] = ContextVar("abandoned", default=None)


def check_abandoned() -> None:
    """Raise `AbandonedError` if the reader has left or the page's time is over: for loops in threads."""
    abandoned = _ABANDONED.get()
    if abandoned is not None and abandoned():
        raise AbandonedError


def limit_threads() -> None:
    """Let no more than `THREADS` threads compute at a time; call it on the event loop."""
    anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS


class _Allowance(Struct):
    """Seconds that are left, as of a moment."""

    left: float
    at: float


class ReaderThrottle(Struct, kw_only=True):
    """The allowances of all readers, and the queue for a turn. `now` never goes back."""

    now: Callable[[], float] = time.monotonic
    _allowances: OrderedDict[str, _Allowance] = field(default_factory=OrderedDict)
    _waiting: OrderedDict[str, deque[asyncio.Future[None]]] = field(default_factory=OrderedDict)
    _taken: int = 0

    async def take_turn(self, reader: str, least: float = 0.0) -> "Turn":
        """A turn of this reader, charged by its time but at least so much; raises `ReaderRefusedError`."""
        left = self._allowance(reader).left
        if left <= 0:
            seconds = (COSTLY_SECONDS - left) / REFILL_PER_SECOND
            raise ReaderRefusedError(429, seconds, "You asked for more than one reader's share")
        await self._wait(reader)
        return Turn(throttle=self, reader=reader, least=least, begun=self.now())

    def end_turn(self, turn: "Turn") -> None:
        """Charge a turn, and give it to whoever is next."""
        self._allowance(turn.reader).left -= max(self.now() - turn.begun, turn.least)
        self._pass_on()

    def _allowance(self, reader: str) -> _Allowance:
        now = self.now()
        found = self._allowances.pop(reader, None) or _Allowance(ALLOWANCE_SECONDS, now)
        found.left = min(found.left + (now - found.at) * REFILL_PER_SECOND, ALLOWANCE_SECONDS)
        found.at = now
        self._allowances[reader] = found
        while len(self._allowances) > MAX_READERS:
            self._allowances.popitem(last=False)
        return found

    async def _wait(self, reader: str) -> None:
        if self._taken < AT_ONCE:
            self._taken += 1
            return
        waiting = self._waiting.get(reader, ())
        if len(waiting) >= MAX_WAITING_PER_READER:
            raise ReaderRefusedError(429, 2, "Too many of your requests wait already")
        if sum(map(len, self._waiting.values())) >= MAX_WAITING:
            raise ReaderRefusedError(503, 5, "Too many readers wait")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(reader, deque()).append(turn)
        try:
            async with asyncio.timeout(TURN_SECONDS):
                await turn
        except BaseException as problem:
            if turn.done() and not turn.cancelled():
                self._pass_on()
            else:
                self._leave(reader, turn)
            if isinstance(problem, TimeoutError):
                raise ReaderRefusedError(503, 5, "Too many readers wait") from problem
            raise

    def _leave(self, reader: str, turn: "asyncio.Future[None]") -> None:
        waiting = self._waiting.get(reader)
        if waiting is None:
            return
        with suppress(ValueError):
            waiting.remove(turn)
        if not waiting:
            del self._waiting[reader]

    def _pass_on(self) -> None:
        """Give a turn to the reader who is next; each has one request after the other's."""
        while self._waiting:
            reader, waiting = self._waiting.popitem(last=False)
            turn = waiting.popleft()
            if waiting:
                self._waiting[reader] = waiting
            if not turn.done():
                turn.set_result(None)
                return
        self._taken -= 1


def _forget_outcome(task: "asyncio.Task[None]") -> None:
    """Nobody waits for it; asyncio would log an exception that nobody looked at."""
    if not task.cancelled():
        task.exception()


class Turn(Struct, kw_only=True):
    """One of the pages that are computed at the same time."""

    throttle: ReaderThrottle
    reader: str
    least: float
    begun: float
    ended: bool = False

    def end(self) -> None:
        """Somebody else may have it; ending it twice is once."""
        if not self.ended:
            self.ended = True
            self.throttle.end_turn(self)


ProblemPage = Callable[[Request, int, str, str], Response]

SLOW_DOWN = "Too many requests"


class ThrottleMiddleware:
    """Gives every request of a page its turn, ends those that take too long, and those whose reader left."""

    def __init__(
        self, app: ASGIApp, *, throttle: ReaderThrottle, problem: ProblemPage, stuck: Callable[[str], None]
    ) -> None:
        self._app = app
        self._throttle = throttle
        self._problem = problem
        self._stuck = stuck

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        page = _Page(self._app, scope, receive, send, self._stuck)
        try:
            await page.answer(self._throttle, reader_of(request), _least_charge(scope["path"]))
        except ReaderRefusedError as refused:
            answer = self._problem(request, refused.status, SLOW_DOWN, f"{refused.why}. Try again later.")
            answer.headers["Retry-After"] = str(refused.seconds)
            await answer(scope, receive, send)


def reader_of(request: Request) -> str:
    """Whom a request is counted to: a person who signed in, or else an address."""
    visitor = current_visitor(request)
    if visitor is not None and visitor.login is not None:
        return f"@{visitor.login}"
    return client_key(request.client.host if request.client else "")


def _least_charge(path: str) -> float:
    return COSTLY_SECONDS if path.endswith(COSTLY_ENDINGS) else 0.0


class _Page:
    """One request. Its turn lasts until the answer begins, or its work ends, whether or not anybody waits."""

    def __init__(
        self, app: ASGIApp, scope: Scope, receive: Receive, send: Send, stuck: Callable[[str], None]
    ) -> None:
        self._app = app
        self._stuck = stuck
        self._scope = scope
        self._receive = receive
        self._send = send
        self._body: asyncio.Queue[Message] = asyncio.Queue(maxsize=1)
        self._began = asyncio.Event()
        self._abandoned = False
        self._complete = False

    async def answer(self, throttle: ReaderThrottle, reader: str, least: float) -> None:
        """Answer it; raises `ReaderRefusedError` as long as nothing was sent."""
        leaving = asyncio.create_task(self._listen())
        try:
            turn = await self._turn(throttle, reader, least, leaving)
            if turn is not None:
                await self._answer_in(turn, leaving)
        finally:
            self._abandoned = True
            leaving.cancel()

    async def _turn(
        self, throttle: ReaderThrottle, reader: str, least: float, leaving: "asyncio.Task[None]"
    ) -> Turn | None:
        """The turn, once it comes; None if the reader leaves before."""
        waiting = asyncio.create_task(throttle.take_turn(reader, least))
        try:
            await asyncio.wait({waiting, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not waiting.done():
                waiting.cancel()
        if waiting.done():
            return await waiting
        return None

    async def _answer_in(self, turn: Turn, leaving: "asyncio.Task[None]") -> None:
        _ABANDONED.set(self._is_abandoned)
        working = asyncio.create_task(self._work(turn))
        beginning = asyncio.create_task(self._began.wait())
        try:
            await asyncio.wait(
                {working, beginning, leaving}, timeout=PAGE_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            if self._began.is_set():
                turn.end()
                await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if working.done() or self._complete:
                await working
            elif not leaving.done():
                raise ReaderRefusedError(503, 30, "This page takes too long")
        finally:
            beginning.cancel()
            self._abandoned = True
            if not working.done():
                # It is not cancelled: a thread would go on all the same, and nobody would count it.
                working.add_done_callback(_forget_outcome)
                asyncio.get_running_loop().call_later(STUCK_SECONDS, self._end_if_stuck, working)

    async def _work(self, turn: Turn) -> None:
        try:
            await self._app(self._scope, self._next_message, self._pass_answer)
        finally:
            turn.end()

    def _end_if_stuck(self, working: "asyncio.Task[None]") -> None:
        if not working.done():
            self._stuck(self._scope["path"])

    def _is_abandoned(self) -> bool:
        return self._abandoned

    async def _listen(self) -> None:
        """Pass the request's body on, until the reader leaves."""
        while (message := await self._receive())["type"] != "http.disconnect":
            await self._body.put(message)
        self._abandoned = True

    async def _next_message(self) -> Message:
        return {"type": "http.disconnect"} if self._abandoned else await self._body.get()

    async def _pass_answer(self, message: Message) -> None:
        if self._abandoned:
            raise AbandonedError
        self._began.set()
        self._complete = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)
