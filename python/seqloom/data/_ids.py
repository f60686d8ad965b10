"""Ids of many records, made into texts when somebody looks at them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from seqloom._arguments import quote
from seqloom._rust import _native
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from seqloom._ragged import Ragged


def ids_of(headers: Ragged) -> list[str]:
    """Read headers up to their first blanks, as text."""
    return _native.header_ids(headers.data, headers.offsets)


class UnreadId:
    """Stands in a list of ids before somebody looks at it.

    Code in C that reads a list's memory without asking the list meets it, and refuses it:
    so such code fails with this name, and never sees an empty list.
    """


_UNREAD: Any = UnreadId()


class Ids(list[str]):
    """The ids of a batch: a list of texts, which are made at the first look.

    Five hundred texts cost as much as encoding a batch of short reads does, and many a loop
    looks at none. ``len`` is a look too. A copy or a pickle is a plain list; ``to_list()``
    gives one to an encoder in C that reads lists without asking them (``msgspec``,
    ``orjson``).

    Args:
        names: The ids, or what makes the list of them.
        count: How many there are; only where ``names`` makes them.

    Raises:
        ArgumentError: A function is given without a count, or an iterable with one.

    Examples:
        >>> ids = Ids(lambda: ["x", "y"], 2)
        >>> len(ids), ids[1], ids, ids == ["x", "y"]
        (2, 'y', ['x', 'y'], True)
        >>> ["w"] + ids
        ['w', 'x', 'y']
        >>> Ids(["x", "y"])
        ['x', 'y']
    """

    __slots__ = ("__weakref__", "_make")

    def __init__(
        self, names: Iterable[str] | Callable[[], list[str]] = (), count: int | None = None
    ) -> None:
        self._make: Callable[[], list[str]] | None = None
        if callable(names):
            if count is None:
                raise ArgumentError(
                    "count must be the number of ids that the function makes, got None"
                )
            if count:  # the texts are made at the first look
                super().append(_UNREAD)
                self._make = names
        elif isinstance(names, str) or not hasattr(names, "__iter__"):
            raise ArgumentError(f"names must be a list of ids, got {quote(names)}")
        elif count is None:
            super().__init__(names)
        else:
            raise ArgumentError(
                "count is for a function that makes ids; omit it for a list"
            )

    @classmethod
    def of(cls, names: list[str]) -> Self:
        """Wrap ids that are texts already.

        Args:
            names: The ids.

        Returns:
            The same ids.

        Examples:
            >>> Ids.of(["x"])[0]
            'x'
        """
        return cls(names)

    def to_list(self) -> list[str]:
        """Return the ids as a plain list.

        Returns:
            A list of its own.

        Examples:
            >>> type(Ids(lambda: ["x"], 1).to_list())
            <class 'list'>
        """
        return [*self]

    def look(self) -> None:
        """Make the texts, where nobody has looked yet.

        Examples:
            >>> Ids(lambda: ["x"], 1).look()
        """
        make = self._make
        if make is not None:
            # Two threads may both make them: the same texts at the same positions.
            super().__setitem__(slice(None), make())
            self._make = None

    def __reduce_ex__(self, _: Any) -> tuple[Any, ...]:
        # A copy, here or in another process, needs no records.
        return list, (self.to_list(),)

    def __radd__(self, other: object) -> list[str]:
        return [*other, *self] if isinstance(other, list) else NotImplemented


def _looking(name: str) -> Any:
    """Make a method of lists look first, at other ids that it is given too."""
    method = getattr(list, name)

    def looks(self: Ids, *arguments: Any, **options: Any) -> Any:
        self.look()
        for other in arguments:
            if isinstance(other, Ids):
                other.look()
        return method(self, *arguments, **options)

    looks.__name__, looks.__doc__ = name, method.__doc__
    return looks


# What makes a list, or is the class's own; everything else reads or writes what is in it.
_APART = frozenset(
    ("__new__", "__init__", "__getattribute__", "__hash__", "__class_getitem__", "__doc__")
)
for _name in list.__dict__.keys() - _APART:
    setattr(Ids, _name, _looking(_name))
