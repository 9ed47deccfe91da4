"""A scripted Messages API on 127.0.0.1 for the real Claude CLI: each `POST /v1/messages` takes the next step.

    with MessagesApi() as api:
        api.script([text("hello"), status(429), hang(60)])
        ... run the CLI with api.env ...
        api.prompts()

In the CLI's requests `{"role": "system"}` messages stand inside `messages`, and user messages in a row are merged:
never take the last message for the prompt.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Step = Mapping[str, Any]
"""One answer: text, tool, status, hang (seconds of silence), half (silence in the middle of a text)."""


def text(words: str, **usage: int) -> Step:
    """A plain answer."""
    return {"text": words, "usage": usage}


def bash(command: str, **extra: Any) -> Step:
    """Ask for a shell command."""
    return {"tool": {"name": "Bash", "input": {"command": command, "description": "a command", **extra}}}


def kill_cli() -> Step:
    """Ask for a command that kills the CLI, after the second in which it writes its conversation down.

    Killed at once, it is sometimes not found again.
    """
    return bash("timeout 1 tail -f /dev/null; kill -KILL $PPID")


def status(code: int, message: str = "refused") -> Step:
    """An HTTP error."""
    return {"status": code, "message": message}


def hang(seconds: float) -> Step:
    """Accept the request and say nothing."""
    return {"hang": seconds}


def half(words: str, seconds: float) -> Step:
    """Half of a text, then silence."""
    return {"text": words, "half": seconds}


class MessagesApi:
    """The server, in threads of this process. `requests`: bodies of the `/v1/messages` calls so far."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.arrived = threading.Event()
        """Set at each request: tests wait for it and clear it."""
        self.closing = threading.Event()
        self._steps: list[Step] = []
        self._default = text("ok")
        self._lock = threading.Lock()
        self._server = _Server(self)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def env(self) -> dict[str, str]:
        """What points the CLI here: a dummy key, and no patience."""
        return {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self._server.server_address[1]}",
            "ANTHROPIC_API_KEY": "test-key",
            "CLAUDE_CODE_MAX_RETRIES": "0",
        }

    def script(self, steps: Sequence[Step], default: Step | None = None) -> None:
        """Replace what comes next."""
        with self._lock:
            self._steps = list(steps)
            self._default = default or text("ok")

    def take(self, body: dict[str, Any]) -> Step:
        """The next step, for `body`."""
        with self._lock:
            self.requests.append(body)
            step = self._steps.pop(0) if self._steps else self._default
        self.arrived.set()
        return step

    def prompts(self, request: int = -1) -> list[str]:
        """Texts of the user's messages in a request, in order, without the reminders that the CLI adds."""
        found = []
        for message in self.requests[request]["messages"]:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            if message["role"] == "user":
                found += [
                    b["text"].strip() for b in blocks if b["type"] == "text" and "<system-reminder>" not in b["text"]
                ]
        return found


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, api: MessagesApi) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api = api

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The CLI resets its connections when it ends, and tests kill it."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def do_HEAD(self) -> None:
        self._json(200, {})

    def do_GET(self) -> None:
        self._json(404, {"type": "error", "error": {"type": "not_found_error", "message": self.path}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.partition("?")[0] != "/v1/messages":
            self._json(404, {"type": "error", "error": {"type": "not_found_error", "message": self.path}})
            return
        step = self.server.api.take(body)
        if "hang" in step:
            self.server.api.closing.wait(step["hang"])
            self.close_connection = True
        elif "status" in step:
            error = {"type": "api_error", "message": step["message"]}
            self._json(step["status"], {"type": "error", "error": error})
        elif body.get("stream"):
            self._stream(body, step)
        else:
            message = {**_message(body, step), "content": _blocks(step), "stop_reason": _stop_reason(step)}
            self._json(200, message)

    def _json(self, code: int, value: Mapping[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, body: Mapping[str, Any], step: Step) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        message = _message(body, step)
        self._event({"type": "message_start", "message": message})
        for index, block in enumerate(_blocks(step)):
            empty = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
            self._event({"type": "content_block_start", "index": index, "content_block": empty})
            for delta in _deltas(block):
                self._event({"type": "content_block_delta", "index": index, "delta": delta})
                if "half" in step:
                    self.server.api.closing.wait(step["half"])
                    self.close_connection = True
                    return
            self._event({"type": "content_block_stop", "index": index})
        end = {"stop_reason": _stop_reason(step), "stop_sequence": None}
        self._event({"type": "message_delta", "delta": end, "usage": message["usage"]})
        self._event({"type": "message_stop"})
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, event: Mapping[str, Any]) -> None:
        data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        self.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")
        self.wfile.flush()


def _message(body: Mapping[str, Any], step: Step) -> dict[str, Any]:
    usage = {
        "input_tokens": 11,
        "output_tokens": 7,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        **step.get("usage", {}),
    }
    return {
        "id": f"msg_{uuid.uuid4().hex[:20]}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "none"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _blocks(step: Step) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": step["text"]}] if "text" in step else []
    if tool := step.get("tool"):
        blocks.append({"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", **tool})
    return blocks


def _stop_reason(step: Step) -> str:
    return "tool_use" if "tool" in step else "end_turn"


def _deltas(block: Mapping[str, Any]) -> list[dict[str, Any]]:
    if block["type"] == "tool_use":
        return [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    middle = max(1, len(block["text"]) // 2)
    parts = (block["text"][:middle], block["text"][middle:])
    return [{"type": "text_delta", "text": part} for part in parts if part]
