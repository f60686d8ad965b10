"""A backend that counts, times and weighs what another one does."""

from __future__ import annotations

import json
import os
import threading
from collections import defaultdict
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from seqloom._files import write_atomic
from seqloom.errors import BackendError
from seqloom.tensor._backend import EXTENSION, REQUIRED, Array, Backend

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._tensor import Tensor

_FACTS = frozenset(("dtype", "finfo", "iinfo", "isdtype", "result_type", "key_words"))


class _Event(NamedTuple):
    """One call."""

    name: str
    start: int  # nanoseconds
    nanoseconds: int
    bytes: int
    thread: int


@dataclass(frozen=True)
class OperationProfile:
    """What one operation took in all its calls.

    Attributes:
        name: The function's name.
        calls: How often it was called.
        seconds: How long these calls took.
        bytes: What its results occupy.

    Examples:
        >>> import seqloom as sl
        >>> P = sl.tensor.Profile(sl.tensor.backend("numpy"))
        >>> _ = P.tensor([1.0, 2.0]) + 1
        >>> [(each.name, each.calls, each.bytes) for each in P.operations if each.bytes]
        [('asarray', 1, 8), ('add', 1, 8)]
    """

    name: str
    calls: int
    seconds: float
    bytes: int


class Profile(Backend):
    """Measures what a backend does: calls, time and bytes by operation.

    It has the functions of `inner` and gives its results; arrays of both may meet. Where
    `inner` works in the background, each call waits for its result, so that its time is
    its own. It goes wherever a backend does, below `Autodiff` too.

    Args:
        inner: The backend to measure.

    Examples:
        >>> import seqloom as sl
        >>> P = sl.tensor.Profile(sl.tensor.backend("numpy"))
        >>> x = sl.tensor.Autodiff(P).tensor([[1.0, 2.0]], requires_grad=True)
        >>> _ = (x @ x.mT).sum().backward()
        >>> sorted(each.name for each in P.operations if "matmul" in each.name)
        ['matmul']
    """

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.name = inner.name  # its arrays are those of `inner`
        self.device, self.threads = inner.device, inner.threads
        self.float_dtype, self.defers = inner.float_dtype, inner.defers
        self._events: list[_Event] = []
        for name in (REQUIRED | EXTENSION) - _FACTS:
            if hasattr(inner, name):
                setattr(self, name, self._timed(name, getattr(inner, name)))

    def __getattr__(self, name: str) -> Any:
        """What is not measured is the inner backend's."""
        if name == "inner" or name.startswith("__"):
            raise AttributeError(name)  # while it is being copied, say
        return getattr(self.inner, name)

    def __reduce__(self) -> Any:
        """A copy is another one over the same backend; it has measured nothing yet."""
        return Profile, (self.inner,)

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The inner function, with a note of each call."""
        inner, note = self.inner, self._events.append  # which threads may share

        def call(*args: Any, **options: Any) -> Any:
            start = perf_counter_ns()
            out = function(*args, **options)
            inner.sync()
            taken = perf_counter_ns() - start
            note(_Event(name, start, taken, _bytes(inner, out), threading.get_ident()))
            return out

        return call

    @property
    def operations(self) -> list[OperationProfile]:
        """What was measured so far, the longest first."""
        found: defaultdict[str, list[_Event]] = defaultdict(list)
        for event in list(self._events):
            found[event.name].append(event)
        every = [_summed(name, events) for name, events in found.items()]
        return sorted(every, key=lambda each: each.seconds, reverse=True)

    def table(self) -> str:
        """The measurements as text, the longest first.

        Returns:
            A line for each operation: calls, milliseconds, megabytes of its results.

        Examples:
            >>> import seqloom as sl
            >>> P = sl.tensor.Profile(sl.tensor.backend("numpy"))
            >>> _ = P.tensor([1.0, 2.0]).sum()
            >>> P.table().splitlines()[0].split()
            ['operation', 'calls', 'ms', 'MB']
        """
        head = f"{'operation':<22}{'calls':>8}{'ms':>12}{'MB':>10}"
        return "\n".join([head, *map(_line, self.operations)])

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Writes each call as an event that chrome://tracing and Perfetto show.

        Args:
            path: The JSON file to write; it appears whole or not at all.

        Examples:
            >>> import json, seqloom as sl
            >>> from pathlib import Path
            >>> P = sl.tensor.Profile(sl.tensor.backend("numpy"))
            >>> _ = P.tensor([1.0]) + 1
            >>> P.trace("step.json")
            >>> len(json.loads(Path("step.json").read_text())["traceEvents"])
            2
        """
        events = [_chrome(event) for event in list(self._events)]
        whole = {"traceEvents": events, "displayTimeUnit": "ms"}
        write_atomic(path, json.dumps(whole).encode())

    def clear(self) -> None:
        """Forgets what was measured, after a warm-up for example.

        Examples:
            >>> import seqloom as sl
            >>> P = sl.tensor.Profile(sl.tensor.backend("numpy"))
            >>> _ = P.tensor([1.0])
            >>> P.clear()
            >>> P.operations
            []
        """
        self._events.clear()

    def tensor(
        self, data: Any, *, dtype: str | None = None, requires_grad: bool = False
    ) -> Tensor:
        """Makes a tensor on this backend.

        Args:
            data: Numbers, nested lists, or an array.
            dtype: The name of the element type; default: that of the data.
            requires_grad: Only an `Autodiff` over this backend follows a tensor.

        Returns:
            A tensor.

        Raises:
            BackendError: ``requires_grad``.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.Profile(sl.tensor.backend("numpy")).tensor([1.0]).shape
            (1,)
        """
        if requires_grad:
            raise BackendError(
                f"{self} follows nothing; an engine goes over what measures: "
                "sl.tensor.Autodiff(sl.tensor.Profile(backend)).tensor(…)"
            )
        return super().tensor(data, dtype=dtype)

    # What a backend must have, and what is a fact rather than work.

    def to_numpy(self, x: Array) -> Any:
        """The array as NumPy's."""
        return self.inner.to_numpy(x)

    def adopt(self, x: Array, source: Backend) -> Array:
        """An array of another backend as one of the inner one."""
        return self.inner.adopt(x, source)

    def sync(self) -> None:
        """Waits until all that was asked for is computed."""
        self.inner.sync()

    def nbytes(self, x: Array) -> int:
        """The memory of an array."""
        return self.inner.nbytes(x)

    def dtype(self, x: Array) -> Any:
        """The element type of an array."""
        return self.inner.dtype(x)

    def __repr__(self) -> str:
        return f"profile({self.inner})"


def _bytes(inner: Backend, out: Any) -> int:
    """The memory of an operation's results."""
    if isinstance(out, (list, tuple)):
        return sum(_bytes(inner, each) for each in cast("list[Any]", out))
    return inner.nbytes(out) if hasattr(out, "shape") else 0


def _summed(name: str, events: list[_Event]) -> OperationProfile:
    """All calls of one operation."""
    seconds = sum(event.nanoseconds for event in events) / 1e9
    return OperationProfile(name, len(events), seconds, sum(e.bytes for e in events))


def _line(each: OperationProfile) -> str:
    """One operation as a line of the table."""
    milliseconds, megabytes = 1e3 * each.seconds, each.bytes / 1e6
    return f"{each.name:<22}{each.calls:>8}{milliseconds:>12.3f}{megabytes:>10.3f}"


def _chrome(event: _Event) -> dict[str, Any]:
    """One call in the words of Chrome's trace format; times are microseconds."""
    return {
        "name": event.name,
        "ph": "X",
        "ts": event.start / 1e3,
        "dur": event.nanoseconds / 1e3,
        "pid": os.getpid(),
        "tid": event.thread,
        "args": {"bytes": event.bytes},
    }
