"""Visitor: is called for each part of a module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.nn._stored import Param, Stored

if TYPE_CHECKING:
    from collections.abc import Iterable

    from seqloom.nn._stored import Buffer


class Visitor:
    """Is called by `Module.visit`; a subclass defines the methods that it needs.

    Examples:
        >>> import seqloom as sl
        >>> class Depth(sl.nn.Visitor):
        ...     def enter(self, path, module):
        ...         print(path or "(itself)", type(module).__name__)
        >>> sl.nn.Sequential(sl.nn.Linear(2, 1)).visit(Depth())
        (itself) Sequential
        layers.0 Linear
    """

    # `module` is a `Module`. That file imports this one, so the type is not written here.

    def enter(self, path: str, module: Any) -> None:
        """Is called for a module, before its parts.

        Args:
            path: Path of the module; empty for the outermost.
            module: The module.

        Examples:
            >>> import seqloom as sl
            >>> sl.nn.Visitor().enter("", sl.nn.Dropout(0.5))
        """

    def leave(self, path: str, module: Any) -> None:
        """Is called for a module, after its parts.

        Args:
            path: Path of the module; empty for the outermost.
            module: The module.

        Examples:
            >>> import seqloom as sl
            >>> sl.nn.Visitor().leave("", sl.nn.Dropout(0.5))
        """

    def parameter(self, path: str, param: Param) -> None:
        """Is called for a parameter.

        Args:
            path: Path of the parameter.
            param: The parameter.

        Examples:
            >>> import seqloom as sl
            >>> sl.nn.Visitor().parameter("weight", sl.nn.Linear(1, 1).weight)
        """

    def buffer(self, path: str, buffer: Buffer) -> None:
        """Is called for a buffer.

        Args:
            path: Path of the buffer.
            buffer: The buffer.

        Examples:
            >>> import seqloom as sl
            >>> sl.nn.Visitor().buffer("mean", sl.nn.Buffer((1,), sl.nn.Fill(0.0)))
        """


def show_parts(visitor: Visitor, parts: Iterable[tuple[str, Any]]) -> None:
    """Calls a visitor for parts that are sorted: each module before its own parts."""
    open_modules: list[tuple[str, Any]] = []
    for path, part in parts:
        while open_modules and not path.startswith(f"{open_modules[-1][0]}."):
            visitor.leave(*open_modules.pop())
        if isinstance(part, Param):
            visitor.parameter(path, part)
        elif isinstance(part, Stored):
            visitor.buffer(path, part)  # pyright: ignore[reportArgumentType]
        else:
            visitor.enter(path, part)
            open_modules.append((path, part))
    while open_modules:
        visitor.leave(*open_modules.pop())
