"""check_finite: which operation computed the first NaN."""

from __future__ import annotations

from bisect import bisect_left
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.errors import NotFiniteError
from seqloom.tensor._dispatch import observers
from seqloom.tensor._origin import current_line
from seqloom.tensor._tape import TrackedArray, is_differentiable

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from seqloom.tensor._families import Array
    from seqloom.tensor._tape import Node


@contextmanager
def check_finite(*, infinities: bool = True) -> Generator[None]:
    """Raises an error at the first operation that computes NaN or infinity.

    It checks every result and every gradient, which is slow: use it to find a fault. It
    does not check inside compiled steps.

    Args:
        infinities: Whether infinity is an error too, not only NaN.

    Yields:
        Nothing; operations of this thread inside the block are checked.

    Raises:
        NotFiniteError: An operation computed such a number; names the operation and line.

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
        with np.errstate(all="ignore"):  # NumPy's own warning would say less
            yield
    finally:
        observers.remove(check)


class _FiniteCheck:
    """Checks each result of one thread, and remembers which line made which node."""

    def __init__(self, *, infinities: bool) -> None:
        self.test = "isfinite" if infinities else "isnan"
        self.thread = get_ident()
        # The last node of each operation, and the operation: nodes are numbered in order.
        self.last: list[int] = []
        self.operations: list[str] = []

    def on_apply(self, name: str, out: Any, backend: Any) -> None:
        """Checks the result of an operation."""
        if get_ident() != self.thread:
            return
        operation = f"{name} at {current_line()}"
        outs = cast("tuple[Any, ...]", out) if isinstance(out, tuple) else (out,)
        for array in outs:
            self._check(operation, array, backend)
            if isinstance(array, TrackedArray):
                self.last.append(array.node.number)
                self.operations.append(operation)

    def on_pull(self, node: Node, parts: Sequence[Array | None], inner: Any) -> None:
        """Checks the gradients by an operation's inputs."""
        if get_ident() != self.thread:
            return
        position = bisect_left(self.last, node.number)
        is_known = position < len(self.operations)
        name = self.operations[position] if is_known else getattr(node.rule, "name", "?")
        for part in parts:
            self._check(f"the gradient of {name}", part, inner)

    def _check(self, operation: str, array: Any, backend: Any) -> None:
        """Raises the error if an array contains NaN or infinity."""
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
