"""Headless Chromium, driven over a pipe by its DevTools protocol: no driver, no port, no download.

with Chromium() as browser:
    page = browser.open(path, width=1400, height=900, dark=False)
    page.evaluate("document.title")
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

Message = dict[str, Any]
PATIENCE = 60.0
EXECUTABLES = ("chromium", "chromium-browser")
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # root has no other way, and it opens nothing but our own files
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)
KEYS = {"ArrowDown": 40, "ArrowUp": 38, "Enter": 13, "Escape": 27, "Tab": 9, "Home": 36, "End": 35}


def executable() -> str:
    """Chromium's path. Raises AssertionError with what to do: a browser test never passes without a browser."""
    found = next(filter(None, map(shutil.which, EXECUTABLES)), None)
    assert found is not None, "chromium is missing: `make browser` installs it (Debian: apt-get install chromium)"
    return found


class Chromium:
    """One browser process with a profile of its own."""

    def __enter__(self) -> Self:
        self._profile = tempfile.TemporaryDirectory(prefix="gate-browser-", ignore_cleanup_errors=True)
        low_to, self._write = os.pipe()
        self._read, low_from = os.pipe()
        # Out of the way of 3 and 4, which one of them may be itself.
        to_browser, from_browser = (fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 10) for low in (low_to, low_from))
        # Chromium reads commands from descriptor 3 and answers on 4.
        script = f'exec "$@" 3<&{to_browser} 4>&{from_browser} {to_browser}<&- {from_browser}>&-'
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                script,
                "bash",
                executable(),
                *FLAGS,
                f"--user-data-dir={self._profile.name}",
                "about:blank",
            ],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for end in (low_to, low_from, to_browser, from_browser):
            os.close(end)
        self._buffer = b""
        self._count = 0
        self.events: list[Message] = []
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.send("Browser.close", patience=10.0)
            self._process.wait(10)
        except (TimeoutError, OSError, EOFError, subprocess.TimeoutExpired):
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(10)
        finally:
            os.close(self._write)
            os.close(self._read)
            self._profile.cleanup()

    def open(self, path: Path, *, width: int = 1400, height: int = 900, dark: bool = False) -> Page:
        """The file in a new tab of this size, once its script has run to its end."""
        target = self.send("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        page.size(width, height)
        scheme = "dark" if dark else "light"
        page.send("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        page.send("Page.navigate", {"url": path.absolute().as_uri()})
        page.until("document.documentElement?.dataset.ready === 'yes'")
        return page

    # --- the protocol --------------------------------------------------------------------------------

    def send(
        self, method: str, params: Message | None = None, session: str | None = None, patience: float = PATIENCE
    ) -> Any:
        """Call `method` and return its result. Raises TimeoutError, or AssertionError for the browser's own error."""
        self._count += 1
        body: Message = {"id": self._count, "method": method, "params": params or {}}
        if session is not None:
            body["sessionId"] = session
        os.write(self._write, json.dumps(body).encode() + b"\0")
        end = time.monotonic() + patience
        while True:
            message = self._receive(end - time.monotonic())
            if message.get("id") == self._count:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            self.events.append(message)

    def _receive(self, patience: float) -> Message:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, patience))
            if not ready:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self._read, 1 << 20)
            if not piece:
                raise EOFError("the browser is gone")
            self._buffer += piece
        raw, _, self._buffer = self._buffer.partition(b"\0")
        message: Message = json.loads(raw)
        return message


class Page:
    """One tab."""

    def __init__(self, browser: Chromium, session: str) -> None:
        self._browser = browser
        self._session = session

    def send(self, method: str, params: Message | None = None) -> Any:
        """Call a method of the protocol on this tab."""
        return self._browser.send(method, params, self._session)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression (or what its promise brings). AssertionError where it throws."""
        answer = self.send("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True})
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, expression: str, patience: float = PATIENCE) -> None:
        """Wait until the expression is true."""
        end = time.monotonic() + patience
        while not self.evaluate(expression):
            assert time.monotonic() < end, f"never: {expression}"
            time.sleep(0.02)  # the page tells of nothing

    def key(self, key: str) -> None:
        """Press and release one key."""
        text = key if len(key) == 1 else "\r" if key == "Enter" else ""
        code = KEYS.get(key, ord(key[0].upper()))
        body: Message = {"key": key, "windowsVirtualKeyCode": code, "text": text}
        self.send("Input.dispatchKeyEvent", {"type": "keyDown" if text else "rawKeyDown", **body})
        self.send("Input.dispatchKeyEvent", {"type": "keyUp", "key": key, "windowsVirtualKeyCode": code})

    def size(self, width: int, height: int) -> None:
        """Give the tab this size, in CSS pixels."""
        body = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", body)

    def picture(self, path: Path) -> None:
        """Write what is seen as a PNG."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", {"format": "png"})["data"]))

    def first_paint(self) -> float:
        """Seconds from navigation to the first contentful paint."""
        entries = "performance.getEntriesByName('first-contentful-paint')"
        self.until(f"{entries}.length > 0")
        return float(self.evaluate(f"{entries}[0].startTime")) / 1000

    def complaints(self) -> list[str]:
        """Everything the page said on its console, threw, or was forbidden."""
        self.evaluate("1")  # what came before is heard by then
        found: list[str] = []
        for event in self._own():
            params = event["params"]
            match event["method"]:
                case "Runtime.consoleAPICalled":
                    found.append(str([arg.get("value") for arg in params["args"]]))
                case "Runtime.exceptionThrown":
                    found.append(str(params["exceptionDetails"].get("exception", params["exceptionDetails"])))
                case "Log.entryAdded":
                    found.append(params["entry"]["text"])
        return found

    def requests(self) -> list[str]:
        """Every address the page asked for, its own first."""
        self.evaluate("1")
        return [
            event["params"]["request"]["url"] for event in self._own() if event["method"] == "Network.requestWillBeSent"
        ]

    def _own(self) -> list[Message]:
        return [event for event in self._browser.events if event.get("sessionId") == self._session]
