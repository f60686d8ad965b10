"""A local object server that counts its responses and can simulate faults."""

import re
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast
from urllib.parse import unquote, urlsplit


class ObjectServer(ThreadingHTTPServer):
    """An HTTP handler that serves objects by name, completely or by byte ranges."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.turn = threading.Lock()
        self.forget()

    def forget(self):
        """Start without objects, faults and recorded requests."""
        self.objects: dict[str, bytes] = {}
        self.asked: list[tuple[str, range]] = []
        self.sent = self.at_once = self.most_at_once = 0
        self.seconds = 0.0
        # Number of responses that are errors, end early, or contain other bytes.
        self.unavailable = self.dropped = self.shifted = 0
        self.has_ranges = self.has_tags = True

    def url(self, name):
        """Return the URL of an object."""
        return f"http://127.0.0.1:{self.server_port}/{name}"

    def put(self, path, name=None):
        """Add the bytes of a file; return its URL."""
        self.objects[name or path.name] = path.read_bytes()
        return self.url(name or path.name)

    def spend(self, fault):
        """Return whether the next response is a fault, and count the faults."""
        with self.turn:
            left = getattr(self, fault)
            setattr(self, fault, max(0, left - 1))
        return left > 0


@contextmanager
def serving():
    """Run a server during the test."""
    with ObjectServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    @property
    def store(self):
        """The objects and the faults."""
        return cast("ObjectServer", self.server)

    def log_message(self, format, *args):  # noqa: A002 - the library's name
        """Do not log requests."""

    def do_GET(self):
        """Answer a request, and count concurrent requests."""
        with self.store.turn:
            self.store.at_once += 1
            self.store.most_at_once = max(self.store.most_at_once, self.store.at_once)
        time.sleep(self.store.seconds)
        with self.store.turn:
            self.store.at_once -= 1
        with suppress(ConnectionError):
            self._answer()

    def _answer(self):
        body = self.store.objects.get(unquote(urlsplit(self.path).path[1:]))
        if body is None or self.store.spend("unavailable"):
            return self.send_error(404 if body is None else 503)
        asked = self._range(len(body))
        if asked is None:
            return self._send(200, body, range(len(body)))
        if not asked:
            return self.send_error(416)
        return self._send(206, body, asked)

    def _range(self, size):
        """Return the requested byte range, or None for all bytes."""
        text = self.headers["Range"]
        if text is None or not self.store.has_ranges:
            return None
        first, last = re.fullmatch(r"bytes=(\d+)-(\d+)", text).groups()
        return range(int(first), min(int(last) + 1, size))

    def _send(self, code, body, asked):
        with self.store.turn:
            self.store.asked.append((self.path, asked))
        part = body[asked.start : asked.stop]
        self.send_response(code)
        self.send_header("Content-Length", str(len(part)))
        if self.store.has_tags:
            self.send_header("ETag", f'"{hash(body)}"')
        if code == 206:
            first = asked.start + self.store.spend("shifted")
            last = first + len(part) - 1
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(body)}")
        self.end_headers()
        if self.store.spend("dropped"):
            part = part[: len(part) // 2]
            self.close_connection = True
        with self.store.turn:
            self.store.sent += len(part)
        self.wfile.write(part)
