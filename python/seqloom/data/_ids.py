"""Ids of many records, made into texts when somebody looks at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, overload

from seqloom._rust import _native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from seqloom._ragged import Ragged


def ids_of(headers: Ragged) -> list[str]:
    """Reads headers up to their first blanks, as text."""
    return _native.header_ids(headers.data, headers.offsets)


class Ids(Sequence[str]):
    """The ids of a batch, which behave as a list of them does that nobody changes.

    Five hundred texts cost half of what a batch of short reads does, and many a loop looks
    at none: so they are made at the first look.

    Args:
        make: Makes the list.
        count: How many there are.

    Examples:
        >>> ids = Ids(lambda: ["x", "y"], 2)
        >>> len(ids), ids[1], ids, ids == ["x", "y"]
        (2, 'y', ['x', 'y'], True)
        >>> ["w"] + ids
        ['w', 'x', 'y']
    """

    __hash__ = None  # pyright: ignore[reportAssignmentType] - as a list has none
    __slots__ = ("__weakref__", "_count", "_list", "_make")

    def __init__(self, make: Callable[[], list[str]], count: int) -> None:
        self._make: Callable[[], list[str]] | None = make
        self._count = count
        self._list: list[str] = []

    @classmethod
    def of(cls, names: list[str]) -> Self:
        """Wraps ids that are texts already.

        Args:
            names: The ids.

        Returns:
            The same ids.

        Examples:
            >>> Ids.of(["x"])[0]
            'x'
        """
        return cls(lambda: names, len(names))

    def to_list(self) -> list[str]:
        """Gives the ids as a list, for JSON and the like.

        Returns:
            A list of its own.

        Examples:
            >>> Ids(lambda: ["x"], 1).to_list()
            ['x']
        """
        return [*self._made()]

    def _made(self) -> list[str]:
        """Makes the list at the first look."""
        make = self._make
        if make is not None:
            # Two threads may both make it; each sees a whole one.
            self._list = make()
            self._make = None
        return self._list

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._made()[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made())

    def __contains__(self, name: object) -> bool:
        return name in self._made()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Ids):
            return self._made() == other._made()
        return self._made() == other if isinstance(other, list) else NotImplemented

    def __add__(self, other: list[str] | Ids) -> list[str]:
        return [*self._made(), *other] if isinstance(other, _LISTS) else NotImplemented

    def __radd__(self, other: object) -> list[str]:
        return [*other, *self._made()] if isinstance(other, list) else NotImplemented

    def __repr__(self) -> str:
        return repr(self._made())

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy, here or in another process, needs no records.
        return list, (self._made(),)


_LISTS: Any = (list, Ids)
