"""Servers on the loopback interface, or none, on a free port and for as long as a test needs it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@contextmanager
def serving(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """Have requests handled; yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def serving_folder(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve the files of a folder; yield the address, and the paths that are asked for, in order."""
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_values: object) -> None:
            """Say nothing: the requests are on record."""

        def do_GET(self) -> None:
            asked.append(self.path)
            super().do_GET()

    with serving(partial(Handler, directory=str(folder))) as address:
        yield address, asked


@contextmanager
def closed_port() -> Iterator[str]:
    """Yield an address that refuses every connection, and that nobody else is given meanwhile."""
    with socket.socket() as bound_but_not_listening:
        bound_but_not_listening.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound_but_not_listening.getsockname()[1]}"
