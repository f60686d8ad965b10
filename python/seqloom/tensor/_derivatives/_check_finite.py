"""check_finite: which operation gave the first NaN."""

from __future__ import annotations

from bisect import bisect_left
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.errors import NotFiniteError
from seqloom.tensor._autodiff import Traced
from seqloom.tensor._autodiff._node import is_followable
from seqloom.tensor._memory._origin import here
from seqloom.tensor._watch import watchers

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from seqloom.tensor._autodiff import Node
    from seqloom.tensor._backend import Array, Backend


@contextmanager
def check_finite(*, infinities: bool = True) -> Generator[None]:
    """Stops at the first operation that gives NaN or infinity, forward or backward.

    It looks at every result, so it is for finding a fault, not for daily use. Steps that
    are compiled are not looked into.

    Args:
        infinities: Whether an infinity is a fault as well as a NaN.

    Yields:
        Nothing; operations of this thread inside the block are looked at.

    Raises:
        NotFiniteError: An operation gave such a number; it names operation and line.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 0.0])
        >>> with sl.tensor.check_finite():
        ...     (x - x) / x  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        seqloom.errors.NotFiniteError: divide gave 1 NaN or infinity in float32[2]
    """
    watcher = _FiniteCheck(infinities=infinities)
    watchers.append(watcher)
    try:
        with np.errstate(all="ignore"):  # NumPy's own warning would say less
            yield
    finally:
        watchers.remove(watcher)


class _FiniteCheck:
    """Looks at each result of one thread, and remembers which line made which node."""

    def __init__(self, *, infinities: bool) -> None:
        self.test = "isfinite" if infinities else "isnan"
        self.thread = get_ident()
        # The last node of each operation, and the operation: nodes are numbered in order.
        self.last: list[int] = []
        self.operations: list[str] = []

    def applied(self, name: str, out: Any, backend: Backend) -> None:
        """Looks at what an operation gave."""
        if get_ident() != self.thread:
            return
        operation = f"{name} at {here()}"
        outs = cast("tuple[Any, ...]", out) if isinstance(out, tuple) else (out,)
        for each in outs:
            self._look(operation, each, backend)
            if isinstance(each, Traced):
                self.last.append(each.node.number)
                self.operations.append(operation)

    def pulled(self, node: Node, parts: Sequence[Array | None], inner: Backend) -> None:
        """Looks at the gradients by an operation's inputs."""
        if get_ident() != self.thread:
            return
        place = bisect_left(self.last, node.number)
        known = place < len(self.operations)
        name = self.operations[place] if known else getattr(node.rule, "name", "?")
        for part in parts:
            self._look(f"the gradient of {name}", part, inner)

    def _look(self, operation: str, array: Any, backend: Any) -> None:
        """Raises where an array holds what it should not."""
        while isinstance(array, Traced):
            array, backend = array.value, array.level.inner
        while not getattr(backend, "records", False) and "inner" in vars(backend):
            backend = backend.inner
        if getattr(backend, "records", False) or not _is_float_array(backend, array):
            return
        found = backend.to_numpy(getattr(backend, self.test)(array))
        wrong = int(found.sum()) if self.test == "isnan" else int((~found).sum())
        if wrong:
            what = "NaN" if self.test == "isnan" else "NaN or infinity"
            shape = list(array.shape)
            dtype = backend.dtype(array)
            raise NotFiniteError(f"{operation} gave {wrong} {what} in {dtype}{shape}")


def _is_float_array(backend: Any, array: Any) -> bool:
    """Whether something is an array that may hold NaN."""
    return hasattr(array, "shape") and is_followable(backend, array)
