"""One pass over a loader."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from seqloom.data.loader._failure import checked

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


class Iteration(Iterator[Any]):
    """Hands out what is left of an epoch; an exception in an item does not end it.

    Args:
        batches: The batches, ``Raised`` where one could not be made.
        count: Tells how many batches the epoch has.

    Examples:
        >>> from seqloom.data import DataLoader
        >>> batches = iter(DataLoader([1, 2, 3], batch_size=2))
        >>> len(batches), next(batches).tolist()
        (2, [1, 2])
    """

    def __init__(self, batches: Generator[Any], count: Callable[[], int]) -> None:
        self._batches = batches
        self._count = count

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return checked(next(self._batches))

    def __len__(self) -> int:
        return self._count()

    def close(self) -> None:
        """Ends the pass early, and the threads that work ahead for it.

        Examples:
            >>> from seqloom.data import DataLoader
            >>> iter(DataLoader([1, 2, 3])).close()
        """
        self._batches.close()


def warn_of_length(dataset: Any, said: int) -> None:
    """Warns that an iterable gives more than its ``len`` says."""
    warnings.warn(
        f"{type(dataset).__name__} says by its len that an epoch has {said:,} batches, and "
        "gives more: mend its __len__; where each of several workers has a copy of the "
        "dataset, each copy must give another part",
        UserWarning,
        stacklevel=3,
    )
