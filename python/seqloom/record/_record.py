"""Record: what a module or an optimiser keeps, apart from how it is written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.record._safetensors import Safetensors

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator


class Record(Mapping[str, Any]):
    """Arrays by path, and facts beside them.

    Args:
        arrays: NumPy arrays, or lazy ones, by path.
        metadata: Facts that JSON can hold.

    Attributes:
        metadata: Those facts.

    Examples:
        >>> import numpy as np
        >>> record = Record({"weight": np.ones(2)}, metadata={"epoch": 3})
        >>> record.save("last.safetensors")
        >>> np.asarray(load("last.safetensors")["weight"]).tolist()
        [1.0, 1.0]
    """

    def __init__(
        self, arrays: Mapping[str, Any], *, metadata: Mapping[str, Any] | None = None
    ) -> None:
        self._arrays = dict(arrays)
        self.metadata = dict(metadata or {})

    def __getitem__(self, path: str) -> Any:
        return self._arrays[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __or__(self, other: Record) -> Record:
        """Both records in one; the other's values win."""
        metadata = {**self.metadata, **other.metadata}
        return Record({**self._arrays, **other._arrays}, metadata=metadata)

    def with_prefix(self, prefix: str) -> Record:
        """The same arrays, each path behind a prefix.

        Args:
            prefix: Such as ``"model."``.

        Returns:
            A new record that shares the arrays.

        Examples:
            >>> list(Record({"weight": 1}).with_prefix("model."))
            ['model.weight']
        """
        return Record(
            {prefix + path: each for path, each in self.items()}, metadata=self.metadata
        )

    def under(self, prefix: str) -> Record:
        """The arrays whose paths begin with a prefix, without it.

        Args:
            prefix: Such as ``"model."``.

        Returns:
            A new record that shares the arrays and the facts.

        Examples:
            >>> list(Record({"model.weight": 1, "step": 2}).under("model."))
            ['weight']
        """
        chosen = {
            path[len(prefix) :]: each
            for path, each in self.items()
            if path.startswith(prefix)
        }
        return Record(chosen, metadata=self.metadata)

    def save(
        self, path: str | os.PathLike[str], recorder: Safetensors | None = None
    ) -> None:
        """Writes the record to a file, whole or not at all.

        Args:
            path: The file; an older one is replaced only when the new one is on the disk.
            recorder: How to write it; default `Safetensors`.

        Raises:
            RecordError: A name, an array or a fact would not come back as it is.

        Examples:
            >>> import numpy as np
            >>> Record({"weight": np.zeros(1)}).save("model.safetensors")
        """
        (recorder or Safetensors()).write(Path(path), self._arrays, self.metadata)

    def __repr__(self) -> str:
        return f"Record of {len(self)} arrays"


def load(path: str | os.PathLike[str]) -> Record:
    """Opens a record; each array is read when it is asked for, and checked.

    Args:
        path: What `Record.save` wrote.

    Returns:
        A mapping of path to lazy array; ``np.asarray(value)`` reads it.

    Raises:
        MissingFileError: There is no such file.
        RecordError: It is not a record, or it was damaged.

    Examples:
        >>> import numpy as np
        >>> Record({"bias": np.zeros(3)}).save("model.safetensors")
        >>> load("model.safetensors")["bias"].shape
        (3,)
    """
    arrays, metadata = Safetensors().read(Path(path))
    return Record(arrays, metadata=metadata)
