"""An ASGI application on loopback, in a thread.

In:  an application. Out: its address, while it serves; streams that are still open are cut at the end.
"""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette


@contextmanager
def serving(application: Starlette) -> Iterator[str]:
    """The address of the served application."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    config = uvicorn.Config(application, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    server, loop = uvicorn.Server(config), asyncio.new_event_loop()
    thread = threading.Thread(target=lambda: loop.run_until_complete(server.serve(sockets=[listener])))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        loop.close()
        listener.close()
