"""A real browser without a driver: chromium, spoken to over two pipes in its own protocol."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0


def find_browser() -> str | None:
    """Find a browser of the chromium family."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a headless browser, and everything it complained about."""

    def __init__(self, program: str, folder: Path) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # The protocol is spoken on the descriptors 3 and 4, where the shell puts the pipes.
        start = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        self._process = subprocess.Popen(
            ["bash", "-c", start, "bash", program, *SWITCHES, f"--user-data-dir={folder}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(to_read, to_write),
        )
        os.close(to_read)
        os.close(to_write)
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; keep events that come in between."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def _receive(self) -> dict[str, Any]:
        """Read the next message."""
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self._read, 1 << 16) if ready else b""
            if not data:
                raise RuntimeError("the browser does not answer")
            self._rest += data
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def open(self, path: Path) -> None:
        """Open a file and wait until it is loaded."""
        self.open_address(path.resolve().as_uri())

    def open_address(self, url: str) -> None:
        """Open a page and wait until it is loaded."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive())

    def run(self, script: str) -> Any:
        """Evaluate JavaScript on the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def complaints(self) -> list[dict[str, Any]]:
        """Return console messages, exceptions, refused actions and dialogs of the page."""
        self.run("0")
        loud = {
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Log.entryAdded",
            "Page.javascriptDialogOpening",
        }
        return [event for event in self.events if event["method"] in loud]

    def requests(self) -> list[str]:
        """Return the addresses asked for since the page opened."""
        self.run("0")
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        self._process.wait(PATIENCE)
        os.close(self._write)
        os.close(self._read)


def open_browser(folder: Path) -> Iterator[Browser]:
    """Yield a browser for the fixtures of tests; without one, skip or, where asked to, fail."""
    program = find_browser()
    if program is None:
        if os.environ.get("FEATUREWRIGHT_NEEDS_BROWSER"):
            pytest.fail("no chromium was found, and FEATUREWRIGHT_NEEDS_BROWSER asks for one")
        pytest.skip("no chromium: install it to test pages in a browser")
    opened = Browser(program, folder)
    yield opened
    opened.close()
