"""`Profile`, which measures each operation, and `check_finite`, which finds NaN."""

from __future__ import annotations

import json
import os
import threading
from bisect import bisect_left
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from threading import get_ident
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from seqloom._files import write_atomic
from seqloom.errors import BackendError, NotFiniteError
from seqloom.tensor._backend import EXTENSION_OPS, REQUIRED_OPS, Array, Backend
from seqloom.tensor._dispatch import observers
from seqloom.tensor._origin import current_line
from seqloom.tensor._state import TrackedArray, is_differentiable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from seqloom.tensor._families import Array, ArrayFunctions
    from seqloom.tensor._state import Node
    from seqloom.tensor._tensor import Tensor


# Functions that do not compute arrays, and are therefore not measured.
_UNMEASURED_METHODS = {"finfo", "iinfo", "isdtype", "result_type", "key_words"} | {
    *("adopt", "dtype", "nbytes", "sync")
}


class _Call(NamedTuple):
    """One measured call of a backend function."""

    name: str
    start: int  # in nanoseconds
    nanoseconds: int
    bytes: int
    thread: int


@dataclass(frozen=True)
class OperationProfile:
    """Measurements of all calls of one operation."""

    name: str
    calls: int
    seconds: float
    bytes: int


class Profile(Backend):
    """A backend that counts the calls of each operation, and measures their time and bytes.

    The profile computes with the functions of `inner`, on arrays of `inner`. If `inner`
    computes in the background, each call waits for its result, so that times are exact.
    A profile can be used like any backend, and can be wrapped by `Autodiff`.

    Args:
        inner: The backend to measure.

    Examples:
        >>> import seqloom as sl
        >>> P = sl.tensor.Profile(sl.tensor.backend("numpy"))
        >>> x = sl.tensor.Autodiff(P).tensor([[1.0, 2.0]], requires_grad=True)
        >>> _ = (x @ x.mT).sum().backward()
        >>> sorted(one.name for one in P.operations if "matmul" in one.name)
        ['matmul']
    """

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.name = inner.name  # arrays belong to the inner backend
        self.device, self.threads = inner.device, inner.threads
        self.float_dtype, self.defers = inner.float_dtype, inner.defers
        self._calls: list[_Call] = []
        for name in REQUIRED_OPS | EXTENSION_OPS | _UNMEASURED_METHODS:
            if hasattr(inner, name):
                function = getattr(inner, name)
                is_measured = name not in _UNMEASURED_METHODS
                setattr(self, name, self._wrap(name, function) if is_measured else function)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the inner backend without measuring it."""
        if name == "inner" or name.startswith("__"):
            # While an object is copied, its attributes do not exist yet.
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __reduce__(self) -> Any:
        """Copy or pickle the profile without its measurements."""
        return Profile, (self.inner,)

    def _wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that calls `function` and measures it."""
        inner, note = self.inner, self._calls.append  # append is thread-safe

        def call_and_measure(*args: object, **options: Any) -> Any:
            start = perf_counter_ns()
            out = function(*args, **options)
            inner.sync()
            taken = perf_counter_ns() - start
            size = _count_bytes(inner, out)
            note(_Call(name, start, taken, size, threading.get_ident()))
            return out

        return call_and_measure

    @property
    def operations(self) -> list[OperationProfile]:
        """Measurements by operation, slowest operation first.

        Each item has ``name``, ``calls``, ``seconds`` and ``bytes`` (of all results).

        Examples:
            >>> import seqloom as sl
            >>> P = sl.tensor.Profile(sl.tensor.backend("numpy"))
            >>> _ = P.tensor([1.0, 2.0]) + 1
            >>> sorted((one.name, one.calls, one.bytes) for one in P.operations)
            [('add', 1, 8), ('asarray', 1, 8)]
        """
        found: defaultdict[str, list[_Call]] = defaultdict(list)
        for call in list(self._calls):
            found[call.name].append(call)
        profiles = [
            OperationProfile(
                name,
                len(calls),
                sum(call.nanoseconds for call in calls) / 1e9,
                sum(call.bytes for call in calls),
            )
            for name, calls in found.items()
        ]
        return sorted(profiles, key=lambda profile: profile.seconds, reverse=True)

    def table(self) -> str:
        """Format the measurements as text, slowest operation first.

        Returns:
            One line per operation: calls, milliseconds, and megabytes of the results.

        Examples:
            >>> import seqloom as sl
            >>> P = sl.tensor.Profile(sl.tensor.backend("numpy"))
            >>> _ = P.tensor([1.0, 2.0]).sum()
            >>> P.table().splitlines()[0].split()
            ['operation', 'calls', 'ms', 'MB']
        """
        head = f"{'operation':<22}{'calls':>8}{'ms':>12}{'MB':>10}"
        rows = [
            f"{it.name:<22}{it.calls:>8}{1e3 * it.seconds:>12.3f}{it.bytes / 1e6:>10.3f}"
            for it in self.operations
        ]
        return "\n".join([head, *rows])

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Write each call as an event for chrome://tracing and Perfetto.

        Args:
            path: The JSON file to write; the file is complete or not written.

        Examples:
            >>> import json, seqloom as sl
            >>> from pathlib import Path
            >>> P = sl.tensor.Profile(sl.tensor.backend("numpy"))
            >>> _ = P.tensor([1.0]) + 1
            >>> P.trace("step.json")
            >>> len(json.loads(Path("step.json").read_text())["traceEvents"])
            2
        """
        events = [
            {
                "name": call.name,
                "ph": "X",
                "ts": call.start / 1e3,  # in microseconds
                "dur": call.nanoseconds / 1e3,
                "pid": os.getpid(),
                "tid": call.thread,
                "args": {"bytes": call.bytes},
            }
            for call in list(self._calls)
        ]
        trace = {"traceEvents": events, "displayTimeUnit": "ms"}
        write_atomic(path, json.dumps(trace).encode())

    def clear(self) -> None:
        """Delete the measurements, for example after a warm-up.

        Examples:
            >>> import seqloom as sl
            >>> P = sl.tensor.Profile(sl.tensor.backend("numpy"))
            >>> _ = P.tensor([1.0])
            >>> P.clear()
            >>> P.operations
            []
        """
        self._calls.clear()

    def tensor(
        self, data: Any, *, dtype: str | None = None, requires_grad: bool = False
    ) -> Tensor:
        """Create a tensor on this backend.

        Args:
            data: Numbers, nested lists, or an array.
            dtype: Name of the dtype; default: the dtype of the data.
            requires_grad: Must be False, because only an `Autodiff` that wraps this
                backend records operations.

        Returns:
            A tensor.

        Raises:
            BackendError: `requires_grad` is True.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.Profile(sl.tensor.backend("numpy")).tensor([1.0]).shape
            (1,)
        """
        if requires_grad:
            raise BackendError(
                f"{self} does not record gradients, so requires_grad must be False; create "
                "the tensor on sl.tensor.Autodiff(sl.tensor.Profile(backend))"
            )
        return super().tensor(data, dtype=dtype)

    def to_numpy(self, x: Array) -> Any:
        """Convert an array to a NumPy array."""
        return self.inner.to_numpy(x)

    def __repr__(self) -> str:
        return f"profile({self.inner})"


def _count_bytes(inner: Backend, out: object) -> int:
    """Return the number of bytes of an operation's results."""
    if isinstance(out, (list, tuple)):
        return sum(_count_bytes(inner, part) for part in cast("list[Any]", out))
    return inner.nbytes(out) if hasattr(out, "shape") else 0


@contextmanager
def check_finite(*, infinities: bool = True) -> Generator[None]:
    """Raise an error at the first operation that computes NaN or infinity.

    The block checks every result and every gradient. Checking every result is slow, so
    use the block only to find an error. Operations inside compiled steps are not
    checked.

    Args:
        infinities: If True, infinity is an error too.

    Yields:
        None. The block only checks operations of the current thread.

    Raises:
        NotFiniteError: An operation computed NaN or infinity; the message names the
            operation and the line.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 0.0])
        >>> with sl.tensor.check_finite():
        ...     (x - x) / x  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        seqloom.errors.NotFiniteError: divide gave 1 NaN or infinity in float32[2]
    """
    check = _FiniteCheck(infinities=infinities)
    observers.append(check)
    try:
        with np.errstate(all="ignore"):  # NumPy's warnings do not name the line
            yield
    finally:
        observers.remove(check)


class _FiniteCheck:
    """Observer that checks the operations of one thread, and stores their names."""

    def __init__(self, *, infinities: bool) -> None:
        self.test = "isfinite" if infinities else "isnan"
        self.thread = get_ident()
        # The last node number of each operation, in increasing order.
        self.last: list[int] = []
        self.operations: list[str] = []

    def on_apply(self, name: str, out: Any, backend: ArrayFunctions) -> None:
        """Check the result of an operation."""
        if get_ident() != self.thread:
            return
        operation = f"{name} at {current_line()}"
        outs = cast("tuple[Any, ...]", out) if isinstance(out, tuple) else (out,)
        for array in outs:
            self._check(operation, array, backend)
            if isinstance(array, TrackedArray):
                self.last.append(array.node.number)
                self.operations.append(operation)

    def on_backward(
        self, node: Node, parts: Sequence[Array | None], inner: ArrayFunctions
    ) -> None:
        """Check the gradients of an operation's inputs."""
        if get_ident() != self.thread:
            return
        position = bisect_left(self.last, node.number)
        is_known = position < len(self.operations)
        name = self.operations[position] if is_known else getattr(node.rule, "name", "?")
        for part in parts:
            self._check(f"the gradient of {name}", part, inner)

    def _check(self, operation: str, array: Any, backend: ArrayFunctions) -> None:
        """Raise if an array contains NaN or infinity."""
        while isinstance(array, TrackedArray):
            array, backend = array.value, array.level.inner
        while not getattr(backend, "records", False) and "inner" in vars(backend):
            backend = backend.inner
        is_array = hasattr(array, "shape") and is_differentiable(backend, array)
        if getattr(backend, "records", False) or not is_array:
            return
        found = backend.to_numpy(getattr(backend, self.test)(array))
        wrong = int(found.sum()) if self.test == "isnan" else int((~found).sum())
        if wrong:
            what = "NaN" if self.test == "isnan" else "NaN or infinity"
            shape = list(array.shape)
            dtype = backend.dtype(array)
            raise NotFiniteError(f"{operation} gave {wrong} {what} in {dtype}{shape}")
