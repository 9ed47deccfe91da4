"""The server over a real socket of this machine, and as a transport for httpx without one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import httpx

from gate.testing.safe.app import Safe
from gate.testing.safe.wire import Call

BEAT = 0.05


@contextmanager
def served(safe: Safe, port: int = 0) -> Iterator[str]:
    """Its address, for as long as the block runs. Every pod is ended at the end."""
    server = _Server(("127.0.0.1", port), _handler(safe))
    ending = threading.Event()
    threads = [
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": BEAT}, name="safe-server"),
        threading.Thread(target=_tick, args=(safe, ending), name="safe-clock"),
    ]
    for thread in threads:
        thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        ending.set()
        server.shutdown()
        for thread in threads:
            thread.join()
        server.server_close()
        safe.close()


def transport(safe: Safe) -> httpx.MockTransport:
    """The same without a socket; delays are slept by the caller's loop."""

    async def handle(request: httpx.Request) -> httpx.Response:
        target = request.url.raw_path.decode()
        call = Call(request.method, target, {k.lower(): v for k, v in request.headers.items()}, await request.aread())
        answer = safe.answer(call)
        patience = request.extensions.get("timeout", {}).get("read")
        if patience is not None and answer.delay > patience:
            await anyio.sleep(patience)
            raise httpx.ReadTimeout("no answer in time", request=request)
        await anyio.sleep(answer.delay)
        if answer.cut:
            raise httpx.ReadError("connection reset by peer", request=request)
        return httpx.Response(answer.status, content=answer.body, headers={"Content-Type": answer.content_type})

    return httpx.MockTransport(handle)


def _tick(safe: Safe, ending: threading.Event) -> None:
    while not ending.wait(BEAT):
        safe.advance()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def _handler(safe: Safe) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            found = safe.answer(Call(self.command, self.path, headers, body))
            time.sleep(found.delay)
            if found.cut:
                self.close_connection = True
                return
            self.send_response(found.status)
            self.send_header("Content-Type", found.content_type)
            self.send_header("Content-Length", str(len(found.body)))
            self.end_headers()
            self.wfile.write(found.body)

        do_GET = do_POST = do_DELETE = do_PATCH = answer  # noqa: N815 - names that http.server looks for

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its base class names it so
            """Requests are kept in `Safe.calls` and not printed."""

    return Handler
