"""The ids of a batch, which are decoded to strings on first access."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from seqloom._arguments import quote
from seqloom._rust import _native
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from seqloom._ragged import Ragged


def headers_to_ids(headers: Ragged) -> list[str]:
    """Return the ids: the text of each header up to the first blank."""
    return _native.header_ids(headers.data, headers.offsets)


class UndecodedId:
    """Placeholder for the elements of an `Ids` list before the ids are decoded.

    C code that reads the memory of a list directly fails on this placeholder, instead of
    silently reading an empty list.
    """


_UNDECODED_ID: Any = UndecodedId()


class Ids(list[str]):
    """The ids of a batch: a list of strings, which are decoded on first access.

    Decoding 500 ids takes as long as encoding a batch of short reads, and many training
    loops never use ids. Calling ``len`` also decodes the ids. Copying or pickling an
    ``Ids`` object creates a plain list. Use ``to_list()`` for C code that reads the memory
    of lists directly (``msgspec``, ``orjson``).

    Args:
        names: The ids, or a function that returns the ids.
        count: The number of ids, if ``names`` is a function.

    Raises:
        ArgumentError: ``names`` is a function and ``count`` is missing, or ``names`` is a
            list and ``count`` is given.

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
                    "names is a function, so count must be the number of its ids; got None"
                )
            if count:  # decoded on first access
                super().append(_UNDECODED_ID)
                self._make = names
        elif isinstance(names, str) or not hasattr(names, "__iter__"):
            raise ArgumentError(f"names must be a list of ids, got {quote(names)}")
        elif count is None:
            super().__init__(names)
        else:
            raise ArgumentError(
                "count is only for a function that returns ids; omit it for a list"
            )

    @classmethod
    def of(cls, names: list[str]) -> Self:
        """Create an `Ids` object from a list of strings.

        Args:
            names: The ids.

        Returns:
            The ids, as an `Ids` object.

        Examples:
            >>> Ids.of(["x"])[0]
            'x'
        """
        return cls(names)

    def to_list(self) -> list[str]:
        """Return a plain list of the ids.

        Returns:
            A new list.

        Examples:
            >>> type(Ids(lambda: ["x"], 1).to_list())
            <class 'list'>
        """
        return [*self]

    def look(self) -> None:
        """Decode the ids if necessary.

        Examples:
            >>> Ids(lambda: ["x"], 1).look()
        """
        make = self._make
        if make is not None:
            # Two threads may decode at the same time, because both write the same
            # strings.
            super().__setitem__(slice(None), make())
            self._make = None

    def __reduce_ex__(self, _: Any) -> tuple[Any, ...]:
        # Pickle the decoded ids instead of the records that they are decoded from.
        return list, (self.to_list(),)

    def __radd__(self, other: object) -> list[str]:
        return [*other, *self] if isinstance(other, list) else NotImplemented


def _make_decoding_method(name: str) -> Any:
    """Return a list method that first decodes the ids of the list and of its arguments."""
    method = getattr(list, name)

    def decodes(self: Ids, *arguments: Any, **options: Any) -> Any:
        self.look()
        for other in arguments:
            if isinstance(other, Ids):
                other.look()
        return method(self, *arguments, **options)

    decodes.__name__, decodes.__doc__ = name, method.__doc__
    return decodes


# List methods that need no decoding, because they do not read the elements.
_NONDECODING_METHODS = frozenset(
    ("__new__", "__init__", "__getattribute__", "__hash__", "__class_getitem__", "__doc__")
)
for _name in list.__dict__.keys() - _NONDECODING_METHODS:
    setattr(Ids, _name, _make_decoding_method(_name))
