"""LazyArray: an array in a file, which is read when it is used."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from seqloom.record._source import RecordSource

    # Returns the checksum of a type, a shape, an array and the hash of each of its MiB.
    Sum = Callable[[NDArray[Any], bytes], str]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where an array lies in a source, in one or several spans, and its checksum."""

    source: RecordSource
    spans: Sequence[tuple[int, int]]
    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    expected: str | None  # None: the file has no checksums
    checksum: Sum

    def to_lazy(self) -> LazyArray:
        """Returns a lazy array that is read from here."""
        read, check = self.read, None
        if self.source.is_mapped:
            # Later changes of the file would be seen in spite of a check.
            read, check = self.view, self.read
        return LazyArray(self.source.name, self.path, self.shape, self.dtype, read, check)

    def view(self) -> NDArray[Any]:
        """Returns a view of the source, unchecked; an array of several spans is read."""
        if len(self.spans) != 1:
            return self.read()
        return self.source.view(*self.spans[0]).view(self.dtype).reshape(self.shape)

    def read(self) -> NDArray[Any]:
        """Reads the array, and checks it."""
        data, hashes = self._take()
        array = data.view(self.dtype).reshape(self.shape)
        if self.expected is not None and self.checksum(array, hashes) != self.expected:
            raise RecordError(
                f"{self.source.name}: {self.path} is damaged (its checksum differs)"
            )
        return array

    def _take(self) -> tuple[NDArray[np.uint8], bytes]:
        """Returns the bytes and the hash of each MiB; all spans but the last are of MiB."""
        if len(self.spans) == 1:
            return self.source.take(*self.spans[0])
        data = np.empty(sum(stop - start for start, stop in self.spans), np.uint8)
        hashes = b""
        end = 0
        for start, stop in self.spans:
            begin, end = end, end + stop - start
            hashes += self.source.fill(start, data[begin:end])
        return data, hashes
