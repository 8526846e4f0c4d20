"""The pages' own process: asked, left, restarted, ended; here a small program that does as it is told."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent

import httpx
import pytest
import uvloop

from bot.server import page_process
from bot.server.page_process import MAX_OPEN, PageProcess
from tests.peers.loopback import asgi_server

CHILD = dedent(
    """
    import asyncio, os, pathlib, socket, sys, threading
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, StreamingResponse
    from starlette.routing import Route

    told = sys.stdin.buffer.readline().decode().strip()
    folder = pathlib.Path(told)

    async def echo(request):
        body = await request.body()
        path = request.scope["raw_path"].decode()
        words = [request.method, path, request.url.query, request.client.host, body.decode()]
        words += [request.headers.get(name, "") for name in ("host", "cookie", "x-forwarded-proto")]
        return PlainTextResponse("|".join(words), status_code=201, headers={"x-pid": str(os.getpid())})

    async def slow(request):
        while not await request.is_disconnected():
            await asyncio.sleep(0.02)
        (folder / "left").touch()
        return PlainTextResponse("")

    async def stream(request):
        async def pieces():
            for _ in range(100):
                yield b"x" * 100_000
        return StreamingResponse(pieces())

    async def die(request):
        os._exit(3)

    async def hang(request):
        import time
        time.sleep(60)

    routes = [Route("/slow", slow), Route("/stream", stream), Route("/die", die), Route("/hang", hang)]
    routes.append(Route("/{path:path}", echo, methods=["GET", "POST", "HEAD", "PUT"]))
    app = Starlette(routes=routes)
    config = uvicorn.Config(app, log_config=None, forwarded_allow_ips="*", lifespan="off")
    server = uvicorn.Server(config)

    def end():
        sys.stdin.buffer.read()
        server.should_exit = True

    threading.Thread(target=end, daemon=True).start()
    server.run(sockets=[socket.socket(fileno=int(sys.argv[1]))])
    """
)

Scene = Callable[[PageProcess, httpx.AsyncClient], Awaitable[None]]


@asynccontextmanager
async def running(folder: Path, program: str = CHILD) -> AsyncIterator[tuple[PageProcess, httpx.AsyncClient]]:
    """A process of pages, and somebody who reads them."""
    pages = PageProcess((sys.executable, "-c", program), str(folder).encode(), os.environ)
    task = asyncio.create_task(pages.run_forever())
    transport = httpx.ASGITransport(pages, client=("192.0.2.7", 1234))
    async with httpx.AsyncClient(transport=transport, base_url="http://maxview.test", timeout=20) as client:
        try:
            yield pages, client
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await pages.aclose()


def play(folder: Path, scene: Scene, program: str = CHILD) -> None:
    """Run a scene to its end."""

    async def run() -> None:
        async with running(folder, program) as (pages, client):
            await scene(pages, client)

    asyncio.run(run())


def test_a_request_is_passed_on_as_it_came(tmp_path: Path) -> None:
    """Method, address, host, cookies and body arrive; the client is the one that the server saw, whatever the
    client says of itself."""

    async def scene(_pages: PageProcess, client: httpx.AsyncClient) -> None:
        headers = {"cookie": "a=b", "x-forwarded-for": "10.9.9.9", "x-forwarded-proto": "gopher"}
        answer = await client.post("/a%20b/%C3%A9?q=%2F&r=1", content=b"body", headers=headers)
        assert (201, "POST|/a%20b/%C3%A9|q=%2F&r=1|192.0.2.7|body|maxview.test|a=b|") == (
            answer.status_code,
            answer.text,
        )
        head = await client.head("/x")
        assert (201, b"") == (head.status_code, head.content)
        assert len((await client.get("/stream")).content) == 10_000_000

    play(tmp_path, scene)


def test_a_proxy_that_nobody_named_is_mentioned_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An operator who forgot the setting learns why all visitors count as one; strangers cannot cause it."""

    async def scene(pages: PageProcess, client: httpx.AsyncClient) -> None:
        forwarded = {"x-forwarded-for": "198.51.100.1"}
        stranger = httpx.ASGITransport(pages, client=("1.1.1.1", 1234))
        async with httpx.AsyncClient(transport=stranger, base_url="http://maxview.test", timeout=20) as other:
            await other.get("/a", headers=forwarded)
        assert "TRUSTED_PROXIES" not in caplog.text
        for _ in range(3):
            await client.get("/a", headers=forwarded)
        assert caplog.text.count("TRUSTED_PROXIES") == 1

    play(tmp_path, scene)


def test_a_reader_who_leaves_ends_the_work(tmp_path: Path) -> None:
    """The page's process learns that nobody waits any more."""

    async def served() -> None:
        async with running(tmp_path) as (pages, client):
            await client.get("/ready")
            gone = asyncio.Event()

            async def receive() -> dict[str, object]:
                if not gone.is_set():
                    gone.set()
                    return {"type": "http.request", "body": b""}
                await asyncio.sleep(0.3)
                return {"type": "http.disconnect"}

            async def send(_message: object) -> None:
                """Nobody is there."""

            scope = {
                "type": "http",
                "method": "GET",
                "path": "/slow",
                "raw_path": b"/slow",
                "query_string": b"",
                "headers": [(b"host", b"a")],
                "client": ("192.0.2.7", 1),
            }
            await asyncio.wait_for(pages(scope, receive, send), 5)
            for _ in range(100):
                if (tmp_path / "left").exists():
                    return
                await asyncio.sleep(0.05)
            raise AssertionError("the page is still computed")

    asyncio.run(served())


def test_a_process_that_ends_is_replaced(tmp_path: Path) -> None:
    """The page that it was computing is told to be asked for again; the next one is answered by another."""

    async def scene(_pages: PageProcess, client: httpx.AsyncClient) -> None:
        first = (await client.get("/a")).headers["x-pid"]
        died = await client.get("/die")
        assert (503, "2") == (died.status_code, died.headers["retry-after"])
        second = (await client.get("/a")).headers["x-pid"]
        assert first != second

    play(tmp_path, scene)


def test_a_process_that_hangs_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives no answer in time, and is killed: a thread that does not end can only be ended so."""
    monkeypatch.setattr(page_process, "ANSWER_SECONDS", 1.5)

    async def scene(_pages: PageProcess, client: httpx.AsyncClient) -> None:
        first = (await _once(client)).headers["x-pid"]
        assert (await client.get("/hang")).status_code == 503
        assert first != (await _once(client)).headers["x-pid"]

    play(tmp_path, scene)


async def _once(client: httpx.AsyncClient) -> httpx.Response:
    """The first answer of the pages themselves."""
    for _ in range(100):
        answer = await client.get("/a")
        if answer.status_code == 201:
            return answer
        await asyncio.sleep(0.2)
    raise AssertionError("it does not come back")


SLOW_START = "import time; time.sleep(1.5)\n"


def test_a_process_that_is_long_in_starting_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers who had no answer in time do not end it: the next one would be as late."""
    monkeypatch.setattr(page_process, "ANSWER_SECONDS", 0.4)
    started = f"import os\nwith open({str(tmp_path / 'starts')!r}, 'a') as f: f.write('x')\n"

    async def scene(_pages: PageProcess, client: httpx.AsyncClient) -> None:
        statuses = [(await client.get("/a")).status_code for _ in range(3)]
        assert (await _once(client)).status_code == 201
        assert set(statuses) <= {201, 503}
        assert (tmp_path / "starts").read_text() == "x"

    play(tmp_path, scene, started + SLOW_START + CHILD)


def test_requests_that_waited_for_one_process_do_not_end_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them is late at another moment, while another process is already starting."""
    monkeypatch.setattr(page_process, "ANSWER_SECONDS", 1.5)
    started = f"import os\nwith open({str(tmp_path / 'starts')!r}, 'a') as f: f.write('x')\n"

    async def scene(_pages: PageProcess, client: httpx.AsyncClient) -> None:
        await _once(client)
        waiting = [asyncio.create_task(client.get("/hang"))]
        for _ in range(8):
            await asyncio.sleep(0.3)
            waiting.append(asyncio.create_task(client.get("/a")))
        await asyncio.gather(*waiting)
        await _once(client)
        assert (tmp_path / "starts").read_text() == "xx"

    play(tmp_path, scene, started + CHILD)


def test_readers_who_left_keep_nobody_waiting(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Their connections wait for a process to take them; there is room for more, and nothing is logged."""

    async def scene() -> None:
        async with running(tmp_path, "import time; time.sleep(600)") as (pages, _client), asyncio.timeout(60):
            for _ in range(2 * MAX_OPEN // 20):
                await asyncio.gather(*(_leave_at_once(pages) for _ in range(20)))

    uvloop.run(scene())
    assert caplog.text == ""


async def _leave_at_once(pages: PageProcess) -> None:
    messages: list[dict[str, object]] = [{"type": "http.disconnect"}, {"type": "http.request", "body": b""}]

    async def receive() -> dict[str, object]:
        return messages.pop()

    async def send(_message: object) -> None:
        """Nobody is there."""

    scope = {
        "type": "http",
        "method": "GET",
        "raw_path": b"/a",
        "query_string": b"",
        "headers": [(b"host", b"a")],
        "client": ("192.0.2.8", 1),
    }
    await pages(scope, receive, send)


def test_one_client_cannot_hold_all_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond its share of open pages a client is told 429, all of them together 503."""
    monkeypatch.setattr(page_process, "MAX_OPEN", 4)
    monkeypatch.setattr(page_process, "MAX_OPEN_PER_CLIENT", 3)

    async def scene(pages: PageProcess, client: httpx.AsyncClient) -> None:
        await client.get("/ready")
        holding = [asyncio.create_task(client.get("/slow")) for _ in range(3)]
        await asyncio.sleep(0.3)
        assert (await client.get("/a")).status_code == 429
        transport = httpx.ASGITransport(pages, client=("192.0.2.8", 1234))
        async with httpx.AsyncClient(transport=transport, base_url="http://maxview.test") as other:
            assert (await other.get("/a")).status_code == 201
            holding.append(asyncio.create_task(other.get("/slow")))
            await asyncio.sleep(0.3)
            assert (await other.get("/a")).status_code == 503
            for task in holding:
                task.cancel()
            await asyncio.gather(*holding, return_exceptions=True)
            assert (await other.get("/a")).status_code == 201

    play(tmp_path, scene)


def test_a_long_body_is_refused(tmp_path: Path) -> None:
    """Pages take forms, nothing longer."""

    async def scene(_pages: PageProcess, client: httpx.AsyncClient) -> None:
        assert (await client.put("/a", content=b"x" * 70_000)).status_code == 413

    play(tmp_path, scene)


def test_nothing_is_left_of_it(tmp_path: Path) -> None:
    """At the server's end the process and its socket are gone."""
    left: list[tuple[int, Path]] = []

    async def scene(pages: PageProcess, client: httpx.AsyncClient) -> None:
        pid = int((await client.get("/a")).headers["x-pid"])
        assert pages.folder.is_dir()
        assert pages.folder.stat().st_mode & 0o077 == 0
        left.append((pid, pages.folder))

    play(tmp_path, scene)
    ((pid, folder),) = left
    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_real_server_passes_pages_on(tmp_path: Path) -> None:
    """Over a real connection too, keep-alive and streams included."""

    async def scene(pages: PageProcess, client: httpx.AsyncClient) -> None:
        await client.get("/ready")
        loop = asyncio.get_running_loop()

        async def application(scope: object, receive: object, send: object) -> None:
            call = pages(scope, receive, send)  # type: ignore[arg-type]
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, loop))

        with asgi_server(application) as url:  # type: ignore[arg-type]

            def ask() -> list[int]:
                with httpx.Client(base_url=url) as browser:
                    return [len(browser.get(path).content) for path in ("/stream", "/a", "/stream")]

            first, _, last = await asyncio.to_thread(ask)
        assert (first, last) == (10_000_000, 10_000_000)

    play(tmp_path, scene)
