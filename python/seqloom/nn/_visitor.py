"""Visitor: who is shown the parts of a module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.nn._stored import Param, Stored

if TYPE_CHECKING:
    from collections.abc import Iterable

    from seqloom.nn._module import Module
    from seqloom.nn._stored import Buffer


class Visitor:
    """Is shown a module's parts by `Module.visit`; a subclass writes what it cares for.

    Examples:
        >>> import seqloom as sl
        >>> class Depth(sl.nn.Visitor):
        ...     def enter(self, path, module):
        ...         print(path or "(itself)", type(module).__name__)
        >>> sl.nn.Sequential(sl.nn.Linear(2, 1)).visit(Depth())
        (itself) Sequential
        layers.0 Linear
    """

    def enter(self, path: str, module: Module) -> None:
        """A module, before what is in it.

        Args:
            path: Where it stands; empty for the outermost.
            module: It.

        Examples:
            >>> import seqloom as sl
            >>> sl.nn.Visitor().enter("", sl.nn.Dropout(0.5))
        """

    def leave(self, path: str, module: Module) -> None:
        """A module, after what is in it.

        Args:
            path: Where it stands; empty for the outermost.
            module: It.

        Examples:
            >>> import seqloom as sl
            >>> sl.nn.Visitor().leave("", sl.nn.Dropout(0.5))
        """

    def parameter(self, path: str, param: Param) -> None:
        """A parameter.

        Args:
            path: Where it stands.
            param: It.

        Examples:
            >>> import seqloom as sl
            >>> sl.nn.Visitor().parameter("weight", sl.nn.Linear(1, 1).weight)
        """

    def buffer(self, path: str, buffer: Buffer) -> None:
        """A buffer.

        Args:
            path: Where it stands.
            buffer: It.

        Examples:
            >>> import seqloom as sl
            >>> sl.nn.Visitor().buffer("mean", sl.nn.Buffer((1,), sl.nn.Fill(0.0)))
        """


def tour(visitor: Visitor, parts: Iterable[tuple[str, Any]]) -> None:
    """Shows parts that stand parents first, and leaves each module after its own."""
    inside: list[tuple[str, Any]] = []
    for path, part in parts:
        while inside and not path.startswith(f"{inside[-1][0]}."):
            visitor.leave(*inside.pop())
        if isinstance(part, Param):
            visitor.parameter(path, part)
        elif isinstance(part, Stored):
            visitor.buffer(path, part)  # pyright: ignore[reportArgumentType]
        else:
            visitor.enter(path, part)
            inside.append((path, part))
    while inside:
        visitor.leave(*inside.pop())
