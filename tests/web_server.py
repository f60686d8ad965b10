"""A static file server that counts the bytes it has sent."""

import functools
import http.server
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Handler(http.server.SimpleHTTPRequestHandler):
    """An HTTP handler that serves files, and counts the bytes of each path."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Do not log requests."""

    def copyfile(self, source: Any, outputfile: Any) -> None:
        """Send a file."""
        content = source.read()
        assert isinstance(self.server, Server)
        self.server.sent[self.path] = len(content)
        outputfile.write(content)


class Server(http.server.ThreadingHTTPServer):
    """Address of the server, and the bytes sent for each path."""

    def __init__(self, folder: Path) -> None:
        self.sent: dict[str, int] = {}
        super().__init__(
            ("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))
        )
        self.address = f"http://127.0.0.1:{self.server_port}/"


@contextmanager
def serving(folder: Path) -> Generator[Server]:
    """Serve a folder as static files."""
    with Server(folder) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
