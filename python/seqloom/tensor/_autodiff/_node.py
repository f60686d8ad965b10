"""What is recorded: nodes, and the arrays that carry them.

A node knows its parents and the raw arrays that its rule declares to keep: no tensors, no
closures, so no cycles, and a result that is dropped frees all it recorded by reference
counting alone. Numbers rise, so a parent's is lower than its child's.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn

from seqloom.errors import GradientError

if TYPE_CHECKING:
    from seqloom.tensor._autodiff._level import Autodiff
    from seqloom.tensor._backend import Array
    from seqloom.tensor._rules import Rule

# Numbers only ever rise; passes in several threads draw from it without sharing more.
numbers = count(1)

# What a node has kept once a backward pass has used it.
CONSUMED: Any = type("Consumed", (), {"__slots__": ()})()


class Node:
    """One recorded operation; a leaf has no rule, and an `Output` belongs to another.

    Attributes:
        number: Its place in the order of recording.
        rule: How a gradient goes back.
        parents: The node of each argument, None for a constant.
        saved: What the rule keeps.
    """

    # No constructor: recording sets the four attributes itself, which is twice as fast.
    __slots__ = ("number", "parents", "rule", "saved")
    number: int
    rule: Rule | None
    parents: tuple[Node | None, ...]
    saved: Any


class Output(Node):
    """One of the outputs of an operation: ``saved`` is its node, which one, of how many."""

    __slots__ = ()
    saved: tuple[Node, int, int]


class Traced:
    """An array of a level: one of the inner backend, and the node that made it.

    Attributes:
        value: The inner array.
        node: What was recorded of it.
        level: The `Autodiff` that follows it.
    """

    __slots__ = ("level", "node", "value")
    value: Array
    node: Node
    level: Autodiff

    # NumPy would make an array of objects out of it, without a word.
    __array_ufunc__ = None

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise GradientError(
            "NumPy would lose the gradient of an array that is followed; use the tensor's "
            "own functions, or .detach() it first"
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value."""
        return self.value.shape

    @property
    def dtype(self) -> Any:
        """The element type of the value."""
        return self.value.dtype

    @property
    def ndim(self) -> int:
        """The number of axes of the value."""
        return self.value.ndim

    def __repr__(self) -> str:
        return f"Traced({self.value!r})"


def newest() -> int:
    """A number above those of all nodes made so far and below those made later."""
    return next(numbers)


def node_of(rule: Rule | None, parents: tuple[Node | None, ...], saved: Any) -> Node:
    """Makes a node."""
    node = Node()
    node.number = next(numbers)
    node.rule = rule
    node.parents = parents
    node.saved = saved
    return node


def traced(value: Array, node: Node, level: Autodiff) -> Traced:
    """Makes an array of a level."""
    made = Traced()
    made.value = value
    made.node = node
    made.level = level
    return made


def record(
    level: Autodiff,
    rule: Rule,
    parents: tuple[Node | None, ...],
    saved: Any,
    outs: tuple[Array, ...],
) -> tuple[Any, ...]:
    """Records an operation of several outputs.

    Args:
        level: Who follows.
        rule: How gradients go back.
        parents: The node of each argument.
        saved: What the rule keeps.
        outs: The results, inner arrays.

    Returns:
        The results; the first ``rule.followed`` that hold floats are followed.
    """
    node = node_of(rule, parents, saved)
    if rule.followed == 1:
        return (traced(outs[0], node, level), *outs[1:])
    several = min(rule.followed, len(outs))
    return tuple(
        traced(out, _output(node, place, several), level)
        if place < several and is_followable(level.inner, out)
        else out
        for place, out in enumerate(outs)
    )


def _output(node: Node, place: int, several: int) -> Output:
    """The node of one output of several."""
    made = Output()
    made.number = next(numbers)
    made.rule = None
    made.parents = (node,)
    made.saved = node, place, several
    return made


def is_followable(inner: Any, array: Array) -> bool:
    """Says whether an array holds numbers that a derivative exists by."""
    if array is None:
        return False
    dtype = inner.dtype(array)
    return dtype.kind in "fc" or "float" in dtype.name
