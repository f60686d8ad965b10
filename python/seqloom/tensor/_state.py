"""The state of a tensor, and the tape: nodes of recorded operations.

A tensor has an array, a backend, a node if it records gradients, and the line that made it.
A node has its parents and the raw arrays that its rule declares to save: no tensors, no
closures, so no cycles, and a result that is dropped frees all it recorded by reference
counting alone. Numbers rise, so a parent's is lower than its child's.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn, Protocol
from weakref import ref

from seqloom.errors import GradientError
from seqloom.tensor._origin import caller, innermost, user_files, user_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import CodeType, FrameType

    from seqloom.tensor._families import Array, ArrayFunctions, Rule
    from seqloom.tensor._families._keep import Like


_scope = innermost.get
new: Callable[[Any], Any] = object.__new__


class TensorState:
    """What functions below `Tensor` know of it.

    Args:
        raw: The backend's own array.
        backend: The backend that computes.

    Attributes:
        backend: The backend that computes.
    """

    # A tracked array is stored in its two parts, the inner array and the node, which
    # operators read directly; `raw` joins them when the whole is needed.
    __slots__ = (
        "__weakref__",
        "_code",
        "_like",
        "_node",
        "_offset",
        "_raw",
        "_table",
        "_value",
        "backend",
    )
    backend: Any
    _raw: Array | None  # None until it is needed
    _value: Array
    _node: Any  # a Node; None, as the table, if no level tracks it
    _table: dict[str, Callable[[Any, Any], Any]] | None  # the level's functions of two
    _like: Like | None  # shape and element type of the value, once they were needed
    _code: CodeType
    _offset: int

    def __init__(self, raw: Array, backend: Any) -> None:
        fill(self, raw, backend, caller(1))

    @property
    def raw(self) -> Array:
        """The backend's own array."""
        raw = self._raw
        if raw is None:
            raw = self._raw = track(self._value, self._node, self.backend)
        return raw

    def _describe(self) -> Like:
        """Return shape and element type of the value, and note them for the next call."""
        self._like = like = self._value.shape, self._value.dtype
        return like

    def _replace(self, instead: Array) -> None:
        """Drop the array, and puts something else in its position."""
        self._raw = self._value = instead
        self._node = self._table = self._like = None


def fill(tensor: Any, raw: Array, backend: Any, frame: FrameType) -> Any:
    """Fill a new tensor, notes the line that made it, and enters it in the open scope."""
    # `frame` is the innermost frame that may be the user's.
    tensor.backend, tensor._raw, tensor._like = backend, raw, None
    if type(raw) is TrackedArray and raw.level is backend:
        tensor._value, tensor._node, tensor._table = raw.value, raw.node, backend.of_two
    else:
        tensor._value, tensor._node, tensor._table = raw, None, None
    code = frame.f_code
    if code.co_filename not in user_files:
        frame = user_frame(frame)
        code = frame.f_code
    tensor._code, tensor._offset = code, frame.f_lasti
    scope = _scope()
    if scope is not None:
        scope.made.append(ref(tensor))
        if len(scope.made) > scope.limit:
            scope.thin()
    return tensor


# Numbers only ever rise; passes in several threads draw from it without sharing more.
node_numbers = count(1)

# What a node has saved once a backward pass has used it.
CONSUMED: Any = type("Consumed", (), {"__slots__": ()})()


class Level(Protocol):
    """What a tape needs to know of the `Autodiff` that records on it."""

    inner: Any  # the backend that computes
    of_two: dict[str, Callable[[Any, Any], Any]]  # its functions of two arrays


class Node:
    """One recorded operation; a leaf has no rule, an `OutputNode` belongs to another."""

    # No constructor: recording sets the four attributes itself, which is twice as fast.
    __slots__ = ("number", "parents", "rule", "saved")
    number: int  # its position in the order of recording
    rule: Rule | None  # how a gradient goes back
    parents: tuple[Node | None, ...]  # the node of each argument, None for a constant
    saved: Any  # by the rule


class OutputNode(Node):
    """One of several outputs of an operation."""

    __slots__ = ()
    saved: tuple[Node, int, int]  # the operation's node, which output, of how many


class TrackedArray:
    """An array of a level: one of the inner backend, and the node that made it."""

    __slots__ = ("level", "node", "value")
    value: Array
    node: Node
    level: Level

    # NumPy would silently make an array of objects out of it.
    __array_ufunc__ = None

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise GradientError(
            "NumPy would lose the gradient of an array that records gradients; use the "
            "tensor's own functions, or .detach() it first"
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
        return f"TrackedArray({self.value!r})"


def draw_number() -> int:
    """Return a number above those of all nodes so far and below those of later ones."""
    return next(node_numbers)


def make_node(rule: Rule | None, parents: tuple[Node | None, ...], saved: object) -> Node:
    """Make a node."""
    node = Node()
    node.number = next(node_numbers)
    node.rule = rule
    node.parents = parents
    node.saved = saved
    return node


def track(value: Array, node: Node, level: Level) -> TrackedArray:
    """Make an array of a level."""
    array = TrackedArray()
    array.value = value
    array.node = node
    array.level = level
    return array


def record(
    level: Level,
    rule: Rule,
    parents: tuple[Node | None, ...],
    saved: object,
    outs: tuple[Array, ...],
) -> tuple[Any, ...]:
    """Record an operation of several outputs; tracks those that the rule says."""
    node = make_node(rule, parents, saved)
    if rule.tracked == 1:
        return (track(outs[0], node, level), *outs[1:])
    count_tracked = min(rule.tracked, len(outs))
    return tuple(
        track(out, _output_node(node, position, count_tracked), level)
        if position < count_tracked and is_differentiable(level.inner, out)
        else out
        for position, out in enumerate(outs)
    )


def _output_node(node: Node, position: int, total: int) -> OutputNode:
    """Make the node of one output of several."""
    output = OutputNode()
    output.number = next(node_numbers)
    output.rule = None
    output.parents = (node,)
    output.saved = node, position, total
    return output


def is_differentiable(functions: ArrayFunctions, array: Array) -> bool:
    """Return whether an array holds floats or complex numbers, which have derivatives."""
    if array is None:
        return False
    dtype = functions.dtype(array)
    return dtype.kind in "fc" or "float" in dtype.name


def node_on(level: Level, array: Any) -> Node | None:
    """Return the node of an array, or None if this level does not track it."""
    is_tracked = isinstance(array, TrackedArray) and array.level is level
    return array.node if is_tracked else None


def outer_nodes(results: Iterable[TrackedArray], before: int) -> list[Node]:
    """Return the nodes, with a number up to `before`, that results were computed from."""
    found: dict[int, Node] = {}
    seen: set[int] = set()
    pending = [result.node for result in results]
    while pending:
        node = pending.pop()
        if node.number in seen:
            continue
        seen.add(node.number)
        if node.number <= before:
            found[node.number] = node
        else:
            pending.extend(parent for parent in node.parents if parent is not None)
    return list(found.values())
