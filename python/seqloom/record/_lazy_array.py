"""LazyArray: an array in a file, which is read when it is used."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class LazyArray:
    """An array in a file, which is read and checked when it is used.

    ``numpy.asarray(array)`` reads it. Of a file that was loaded with ``mapped=True``, and
    of bytes in memory, the result is a view that cannot be written; that of a mapped file
    is checked by `verify` only.

    Attributes:
        file: Path of the file; ``"bytes"`` in memory.
        path: Path of the array in the record.
        shape: Lengths of the axes.
        dtype: Element type.
        read: Function that reads the array.
        check: Function that reads the array and checks it; None: `read` does.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> sl.record.Record({"bias": np.ones(2)}).save("model.safetensors")
        >>> np.asarray(sl.record.load("model.safetensors")["bias"]).sum()
        np.float64(2.0)
    """

    file: str
    path: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[], NDArray[Any]] = field(repr=False)
    check: Callable[[], object] | None = field(default=None, repr=False)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001  # NumPy's protocol
        array = self.read()
        fresh = array.copy() if copy and not array.flags.writeable else array
        return fresh if dtype is None else fresh.astype(dtype, copy=False)

    def verify(self) -> None:
        """Reads the array and checks it.

        Raises:
            RecordError: It is damaged.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> sl.record.Record({"bias": np.ones(2)}).save("model.safetensors")
            >>> sl.record.load("model.safetensors", mapped=True)["bias"].verify()
        """
        (self.check or self.read)()

    @property
    def nbytes(self) -> int:
        """Number of bytes."""
        return prod(self.shape) * self.dtype.itemsize
