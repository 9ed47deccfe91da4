"""A small engine over HTTP on loopback: one list call for all workloads, or one call each.

`python -m bench.server LEGS...` prints its port and serves until its standard input closes.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def workload(leg: str) -> dict[str, object]:
    """One workload as the engine reports it."""
    return {"id": leg, "name": leg, "phase": "Running", "exit_code": None, "message": "", "restarts": 0}


class Handler(BaseHTTPRequestHandler):
    """GET /workloads and GET /workloads/ID. Connections are kept open, as real engines do."""

    protocol_version = "HTTP/1.1"
    # Without it each small answer waits for the peer's delayed acknowledgement.
    disable_nagle_algorithm = True
    legs: tuple[str, ...] = ()

    def do_GET(self) -> None:
        """Answer one request."""
        name = self.path.removeprefix("/workloads").strip("/")
        if name and name not in self.legs:
            self.send_error(404)
            return
        body = json.dumps(workload(name) if name else {"items": [workload(leg) for leg in self.legs]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        """Say nothing: the terminal is the report's."""


def main() -> None:
    """Serve until the parent closes our standard input, so that nothing is left behind."""
    Handler.legs = tuple(sys.argv[1:])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
