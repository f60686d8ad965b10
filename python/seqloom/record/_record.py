"""Record: the arrays and metadata of a module or an optimiser."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.record._safetensors import Safetensors

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator


class Record(Mapping[str, Any]):
    """Arrays by path, with metadata.

    Args:
        arrays: NumPy arrays, or lazy ones, by path.
        metadata: Strings, numbers, lists and dicts, as in JSON.

    Attributes:
        metadata: The metadata.

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
        """Merges two records; on equal paths, the other's values win."""
        metadata = {**self.metadata, **other.metadata}
        return Record({**self._arrays, **other._arrays}, metadata=metadata)

    def with_prefix(self, prefix: str) -> Record:
        """Adds a prefix to each path.

        Args:
            prefix: Prefix, such as ``"model."``.

        Returns:
            A new record that shares the arrays.

        Examples:
            >>> list(Record({"weight": 1}).with_prefix("model."))
            ['model.weight']
        """
        return Record(
            {prefix + path: array for path, array in self.items()}, metadata=self.metadata
        )

    def under(self, prefix: str) -> Record:
        """Selects the arrays whose paths start with a prefix, and removes the prefix.

        Args:
            prefix: Prefix, such as ``"model."``.

        Returns:
            A new record that shares the arrays and the metadata.

        Examples:
            >>> list(Record({"model.weight": 1, "step": 2}).under("model."))
            ['weight']
        """
        chosen = {
            path[len(prefix) :]: array
            for path, array in self.items()
            if path.startswith(prefix)
        }
        return Record(chosen, metadata=self.metadata)

    def save(
        self, path: str | os.PathLike[str], recorder: Safetensors | None = None
    ) -> None:
        """Writes the record to a file, completely or not at all.

        Args:
            path: Path of the file. An older file is replaced when the new one is complete.
            recorder: Format of the file; default `Safetensors`.

        Raises:
            RecordError: The file could not hold a path, an array or the metadata unchanged.

        Examples:
            >>> import numpy as np
            >>> Record({"weight": np.zeros(1)}).save("model.safetensors")
        """
        (recorder or Safetensors()).write(Path(path), self._arrays, self.metadata)

    def __repr__(self) -> str:
        return f"Record of {len(self)} arrays"


def load(path: str | os.PathLike[str]) -> Record:
    """Opens a record file; each array is read and checked when it is used.

    Args:
        path: Path of a file that `Record.save` wrote.

    Returns:
        A record of lazy arrays; ``np.asarray(array)`` reads one.

    Raises:
        MissingFileError: The file does not exist.
        RecordError: The file is not a record, or it is damaged.

    Examples:
        >>> import numpy as np
        >>> Record({"bias": np.zeros(3)}).save("model.safetensors")
        >>> load("model.safetensors")["bias"].shape
        (3,)
    """
    arrays, metadata = Safetensors().read(Path(path))
    return Record(arrays, metadata=metadata)
