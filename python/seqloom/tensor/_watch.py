"""Who is told of each operation: normally nobody, so that asking costs one test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._autodiff import Node
    from seqloom.tensor._backend import Array, Backend


class Watcher(Protocol):
    """What is told of operations, in the thread that runs them."""

    def applied(self, name: str, out: Any, backend: Backend) -> None:
        """An operation has given an array, or several."""
        ...

    def pulled(self, node: Node, parts: Sequence[Array | None], inner: Backend) -> None:
        """A recorded operation has given the gradients by its inputs."""
        ...


watchers: list[Watcher] = []
