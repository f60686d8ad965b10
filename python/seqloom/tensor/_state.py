"""Classes for the attributes of a tensor, and for nodes, which record operations.

A tensor stores an array, a backend, the line that created the tensor and, if the tensor
is tracked, a node. A node has parents and the arrays that its rule saves. A node does
not refer to tensors or closures. Without reference cycles, reference counting frees the
nodes of an unused result. Node numbers increase, so a parent has a lower number than
its children.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn, Protocol
from weakref import ref

from seqloom.errors import GradientError
from seqloom.tensor._origin import find_user_frame, frame_at, innermost, user_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import CodeType, FrameType

    from seqloom.tensor._families import Array, ArrayFunctions, Rule
    from seqloom.tensor._families._keep import ArgSpec


_get_scope = innermost.get
new_object: Callable[[Any], Any] = object.__new__


class TensorState:
    """Base class of `Tensor`: its attributes, without its operators and methods.

    Args:
        raw: The array of the backend's library.
        backend: The backend that computes.

    Attributes:
        backend: The backend that computes.
    """

    # The inner array and the node of a tracked array are stored separately, because
    # operators read them directly. `raw` combines them when needed.
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
    _raw: Array | None  # cached; None until needed
    _value: Array
    _node: Any  # a `Node`; `_node` and `_table` are None if the tensor is not tracked
    _table: dict[str, Callable[[Any, Any], Any]] | None  # the level's binary functions
    _like: ArgSpec | None  # cached shape and dtype
    _code: CodeType
    _offset: int

    def __init__(self, raw: Array, backend: Any) -> None:
        fill_tensor(self, raw, backend, frame_at(1))

    @property
    def raw(self) -> Array:
        """Array of the backend's library."""
        raw = self._raw
        if raw is None:
            raw = self._raw = track_array(self._value, self._node, self.backend)
        return raw

    def _get_spec(self) -> ArgSpec:
        """Return and cache the shape and dtype of the value."""
        self._like = like = self._value.shape, self._value.dtype
        return like

    def _replace(self, instead: Array) -> None:
        """Replace the array, and remove the node."""
        self._raw = self._value = instead
        self._node = self._table = self._like = None


def fill_tensor(tensor: Any, raw: Array, backend: Any, frame: FrameType) -> Any:
    """Set the attributes of a new tensor, and add the tensor to the current scope."""
    # `frame` is the innermost frame that may be user code.
    tensor.backend, tensor._raw, tensor._like = backend, raw, None
    if type(raw) is TrackedArray and raw.level is backend:
        tensor._value, tensor._node, tensor._table = (raw.value, raw.node, backend.binary)
    else:
        tensor._value, tensor._node, tensor._table = raw, None, None
    code = frame.f_code
    if code.co_filename not in user_files:
        frame = find_user_frame(frame)
        code = frame.f_code
    tensor._code, tensor._offset = code, frame.f_lasti
    scope = _get_scope()
    if scope is not None:
        scope.made.append(ref(tensor))
        if len(scope.made) > scope.limit:
            scope.prune()
    return tensor


# Increasing node numbers. This counter is the only recording state that
# threads share.
node_numbers = count(1)

# Marks a node whose saved values a backward pass has used and freed.
CONSUMED_VALUES: Any = type("Consumed", (), {"__slots__": ()})()


class Level(Protocol):
    """Attributes of an `Autodiff` that are needed to record operations."""

    inner: Any  # The backend that computes.
    binary: dict[str, Callable[[Any, Any], Any]]  # functions of two arrays, by name


class Node:
    """One recorded operation, or a leaf, whose `rule` is None."""

    # The class has no constructor, because setting four attributes inline is twice as
    # fast.
    __slots__ = ("number", "parents", "rule", "saved")
    number: int  # position in the order of recording
    rule: Rule | None  # gradient rule
    parents: tuple[Node | None, ...]  # node of each argument; None for a constant
    saved: Any  # values that the rule saved


class OutputNode(Node):
    """Node of one of several outputs, whose parent is the node of the operation."""

    __slots__ = ()
    # the node of the operation, the index of this output, and the number of outputs
    saved: tuple[Node, int, int]


class TrackedArray:
    """Array of a level: an array of the inner backend, and the node that computed it."""

    __slots__ = ("level", "node", "value")
    value: Array
    node: Node
    level: Level

    # Without this, NumPy would silently create an array of objects.
    __array_ufunc__ = None

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise GradientError(
            "NumPy would lose the gradient of an array that records gradients; use the "
            "tensor's own functions, or .detach() it first"
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value."""
        return self.value.shape

    @property
    def dtype(self) -> Any:
        """Dtype of the value."""
        return self.value.dtype

    @property
    def ndim(self) -> int:
        """Number of axes of the value."""
        return self.value.ndim

    def __repr__(self) -> str:
        return f"TrackedArray({self.value!r})"


def next_number() -> int:
    """Return a number between the numbers of earlier and later nodes."""
    return next(node_numbers)


def make_node(rule: Rule | None, parents: tuple[Node | None, ...], saved: object) -> Node:
    node = Node()
    node.number = next(node_numbers)
    node.rule = rule
    node.parents = parents
    node.saved = saved
    return node


def track_array(value: Array, node: Node, level: Level) -> TrackedArray:
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
    """Record an operation with several outputs, and track the differentiable ones."""
    node = make_node(rule, parents, saved)
    if rule.tracked == 1:
        return (track_array(outs[0], node, level), *outs[1:])
    count_tracked = min(rule.tracked, len(outs))
    return tuple(
        track_array(out, _output_node(node, position, count_tracked), level)
        if position < count_tracked and is_differentiable(level.inner, out)
        else out
        for position, out in enumerate(outs)
    )


def _output_node(node: Node, position: int, total: int) -> OutputNode:
    """Create the node of one of several outputs."""
    output = OutputNode()
    output.number = next(node_numbers)
    output.rule = None
    output.parents = (node,)
    output.saved = node, position, total
    return output


def is_differentiable(functions: ArrayFunctions, array: Array) -> bool:
    """Return whether an array contains floats or complex numbers."""
    if array is None:
        return False
    dtype = functions.dtype(array)
    return dtype.kind in "fc" or "float" in dtype.name


def get_node(level: Level, array: Any) -> Node | None:
    """Return the node of an array, or None if this level does not track it."""
    is_tracked = isinstance(array, TrackedArray) and array.level is level
    return array.node if is_tracked else None


def outer_nodes(results: Iterable[TrackedArray], before: int) -> list[Node]:
    """Return the nodes with numbers up to `before` on which newer nodes depend."""
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
