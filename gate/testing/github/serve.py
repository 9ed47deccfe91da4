"""The fake over a real socket of this machine, and as a transport for httpx without one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import httpx

from gate.testing.github.app import FakeGitHub
from gate.testing.github.wire import Answer, Call

Watch = Callable[[Call, Answer], None]
"""Told of every call and its answer, before it goes out; what it raises ends a test."""


@contextmanager
def served(github: FakeGitHub, port: int = 0) -> Iterator[str]:
    """Its address, for as long as the block runs."""
    server = _Server(("127.0.0.1", port), _handler(github))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="github-server")
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def transport(github: FakeGitHub, watch: Watch | None = None) -> httpx.MockTransport:
    """The same without a socket; delays are slept by the caller's loop, up to the client's own patience."""

    async def handle(request: httpx.Request) -> httpx.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        call = Call(request.method, request.url.raw_path.decode(), headers, await request.aread())
        given = github.answer(call)
        patience = request.extensions.get("timeout", {}).get("read")
        if patience is not None and given.delay > patience:
            await anyio.sleep(patience)
            raise httpx.ReadTimeout("no answer in time", request=request)
        await anyio.sleep(given.delay)
        if given.lost:
            raise httpx.ReadError("connection reset by peer", request=request)
        if watch is not None:
            watch(call, given)
        return httpx.Response(given.status, content=given.body, headers=dict(given.headers))

    return httpx.MockTransport(handle)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def _handler(github: FakeGitHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            given = github.answer(Call(self.command, self.path, headers, body))
            time.sleep(given.delay)
            if given.lost:
                self.close_connection = True
                return
            self.send_response(given.status)
            for name, value in given.headers.items():
                self.send_header(name, value)
            if given.status not in (204, 304):
                self.send_header("Content-Length", str(len(given.body)))
            self.end_headers()
            self.wfile.write(given.body)

        do_GET = do_POST = do_DELETE = do_PATCH = answer  # noqa: N815 - names that http.server looks for

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its base class names it so
            """Calls are kept in `FakeGitHub.log` and not printed."""

    return Handler
