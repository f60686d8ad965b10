"""A part of a computation that is recorded as one operation.

Its inputs are all that was followed before it began: arguments, and what a closure brings
along, such as the parameters of a layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._autodiff import Traced
from seqloom.tensor._derivatives._levels import depth
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from seqloom.tensor._autodiff import Node


def outer_nodes(results: Iterable[Traced], before: int) -> list[Node]:
    """The nodes, not newer than `before`, that results were made of."""
    found: dict[int, Node] = {}
    seen: set[int] = set()
    waiting = [result.node for result in results]
    while waiting:
        node = waiting.pop()
        if node.number in seen:
            continue
        seen.add(node.number)
        if node.number <= before:
            found[node.number] = node
        else:
            waiting.extend(parent for parent in node.parents if parent is not None)
    return list(found.values())


def followed_by(level: Any, values: Sequence[Any]) -> list[Any]:
    """The tensors among values that a level follows."""
    return [
        value
        for value in values
        if isinstance(value, Tensor) and isinstance(value.raw, Traced)
        if value.raw.level is level
    ]


def outermost(values: Sequence[Any]) -> Any:
    """The outermost level that follows one of the values, or None."""
    raws = [value.raw for value in values if isinstance(value, Tensor)]
    levels = [raw.level for raw in raws if isinstance(raw, Traced)]
    return max(levels, key=depth, default=None)
