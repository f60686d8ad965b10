"""Headless Chromium, controlled through its debugging pipe without a package."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

# Starts a program with the given file descriptors as 3 and 4.
RENAME_SCRIPT = """
import fcntl, os, sys
one, other = (fcntl.fcntl(int(it), fcntl.F_DUPFD, 100) for it in sys.argv[1:3])
os.dup2(one, 3), os.dup2(other, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
# Timeout of a protocol call, although pages of this project load within seconds.
TIMEOUT_SECONDS = 120
BROWSER_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find() -> str | None:
    """Return the path of Chromium on this machine."""
    return next((path for name in BROWSER_NAMES if (path := shutil.which(name))), None)


class Page:
    """One browser tab, used as a context manager."""

    def __init__(self, folder: Path, *, width: int = 1200, dark: bool = False) -> None:
        self.folder, self.width, self.dark = folder, width, dark
        self.number = 0
        self.session: str | None = None
        self.messages: list[str] = []
        self.requests: list[str] = []

    def __enter__(self) -> Self:
        self._start()
        try:
            self._attach()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _attach(self) -> None:
        """Open a tab with the requested size and colour scheme."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "DOM", "Network", "Log"):
            self.ask(f"{domain}.enable")
        sizes = {"width": self.width, "height": 900, "deviceScaleFactor": 1}
        self.ask("Emulation.setDeviceMetricsOverride", mobile=self.width < 600, **sizes)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.writer)
        os.close(self.reader)

    def _start(self) -> None:
        """Start the browser, which reads from descriptor 3 and writes to 4."""
        theirs, self.writer = os.pipe()
        self.reader, other = os.pipe()
        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
        ]
        quiet = [
            "--no-first-run",
            "--disable-background-networking",
            "--disable-dev-shm-usage",
        ]
        command = [str(find()), *options, *quiet, f"--user-data-dir={self.folder}"]
        moved = [sys.executable, "-c", RENAME_SCRIPT, str(theirs), str(other), *command]
        null = subprocess.DEVNULL
        self.process = subprocess.Popen(
            moved, pass_fds=(theirs, other), stdout=null, stderr=null
        )
        os.close(theirs)
        os.close(other)
        self.rest = b""

    def ask(self, method: str, **given: Any) -> dict[str, Any]:
        """Call a method of Chromium's debugging protocol."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": given}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + TIMEOUT_SECONDS
        while (answer := self._next(method, until)).get("id") != self.number:
            self._note(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _next(self, method: str, until: float) -> dict[str, Any]:
        """Wait for a message until a deadline."""
        while b"\0" not in self.rest:
            left = max(0.0, until - time.monotonic())
            if not select.select([self.reader], [], [], left)[0]:
                raise TimeoutError(
                    f"{method}: Chromium (process {self.process.pid}) has not answered for "
                    f"{TIMEOUT_SECONDS} seconds; {self.messages}"
                )
            piece = os.read(self.reader, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        """Record errors of the page and its requests."""
        params = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        if event.get("method") in {"Runtime.exceptionThrown", "Log.entryAdded"}:
            self.messages.append(json.dumps(params))

    def open(self, url: str) -> None:
        """Open a page."""
        self.ask("Page.navigate", url=url)
        self.wait(f"location.href == {url!r} && document.readyState == 'complete'")

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression on the page."""
        given = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        result = self.ask("Runtime.evaluate", **given)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def wait(self, expression: str, seconds: float = 60) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + seconds
        while not self.value(expression):
            if time.monotonic() > until:
                state = self.value("document.body.innerText")
                raise TimeoutError(f"{expression} stayed false; {self.messages}\n{state}")
            time.sleep(0.05)

    def choose(self, selector: str, path: Path) -> None:
        """Select a file in a file input."""
        root = self.ask("DOM.getDocument")["root"]["nodeId"]
        node = self.ask("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.ask("DOM.setFileInputFiles", files=[str(path)], nodeId=node)

    def press(self, key: str, code: int) -> None:
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            given = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
            self.ask("Input.dispatchKeyEvent", **given, **text)

    def picture(self, path: Path) -> None:
        """Write a screenshot of the whole page as PNG."""
        height = self.value("document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": self.width, "height": height, "scale": 1}
        made = self.ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(made["data"]))
