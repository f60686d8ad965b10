"""A backend that follows what is computed on another one, and gives its gradients.

`Autodiff(inner)` has the names of `inner`. Each function computes on `inner` and, where an
argument is followed, adds a `Node` that knows its parents and the raw arrays that the
operation's rule declares to keep: no tensors, no closures, so no cycles, and a result that
is dropped frees all it recorded. `backward` walks the nodes from the newest to the oldest
and drops what each kept as it goes, so memory falls while it runs.
"""

from __future__ import annotations

import heapq
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import GradientError
from seqloom.tensor._backend import Array, Backend
from seqloom.tensor._rules import RULES, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._tensor import Tensor

_numbers = count(1)


class Node:
    """One recorded operation, or a leaf (``rule`` is None)."""

    __slots__ = ("needs", "number", "parents", "rule", "saved")

    def __init__(
        self, rule: Rule | None, parents: tuple[Node | None, ...], saved: Any
    ) -> None:
        self.number = next(_numbers)
        self.rule = rule
        self.parents = parents
        self.saved = saved


class Traced:
    """An array of the inner backend, and the node that made it."""

    __slots__ = ("level", "node", "value")

    def __init__(self, value: Array, node: Node, level: Autodiff) -> None:
        self.value = value
        self.node = node
        self.level = level

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


class Autodiff(Backend):
    """Makes any backend differentiable.

    Args:
        inner: The backend to compute on; another `Autodiff` too.

    Examples:
        >>> import seqloom as sl
        >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
        >>> x = A.tensor([1.0, 3.0], requires_grad=True)
        >>> (x * x).sum().backward().wrt(x)
        Tensor([2., 6.], shape=(2,), dtype=float32, backend=numpy)
    """

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.name = f"autodiff({inner.name})"
        self.threads = inner.threads
        for name in _bodies():
            setattr(self, name, self._function(name))

    def __getattr__(self, name: str) -> Any:
        """The function of that name, followed where it has a rule; made on first use."""
        if name == "inner" or name.startswith("_"):
            raise AttributeError(name)  # while it is being copied, say
        plain = getattr(self.inner, name)
        if not callable(plain):
            return plain
        function = self._function(name)
        setattr(self, name, function)
        return function

    def _function(self, name: str) -> Callable[..., Any]:
        """The inner function, followed by its rule, piece by piece, or not at all."""
        plain, rule = getattr(self.inner, name), RULES.get(name)
        if rule:
            return _followed(self, plain, rule)
        body = _bodies().get(name)
        return _piecewise(self, plain, body) if body else _unfollowed(self, plain)

    def __reduce__(self) -> Any:
        """A copy is another one over the same backend."""
        return Autodiff, (self.inner,)

    def index(self, x: Array, key: Any) -> Array:
        """``x[key]``, followed."""
        self.index = _followed(self, self.inner.index, RULES["index"])
        return self.index(x, key)

    def asarray(self, data: Any, dtype: str | None = None) -> Array:
        """An array of the data; a followed one as it is."""
        return data if isinstance(data, Traced) else self.inner.asarray(data, dtype=dtype)

    def to_numpy(self, x: Array) -> Any:
        """The value as NumPy's array."""
        return self.inner.to_numpy(x.value if isinstance(x, Traced) else x)

    def leaf(self, value: Array) -> Traced:
        """Begins to follow an array of the inner backend."""
        return Traced(value, Node(None, (), ()), self)

    def tensor(
        self, data: Any, *, dtype: str | None = None, requires_grad: bool = False
    ) -> Tensor:
        """A tensor on this backend, followed if `requires_grad`."""
        from seqloom.tensor._tensor import Tensor

        value = self.inner.asarray(data, dtype=dtype)
        return Tensor(self.leaf(value) if requires_grad else value, self)


@cache
def _bodies() -> dict[str, Callable[..., Any]]:
    """The default bodies of a backend's functions, by name."""
    own = set(vars(Autodiff)) | {"tensor"}
    names = (name for name in dir(Backend) if not name.startswith("_") and name not in own)
    return {name: body for name in names if callable(body := getattr(Backend, name))}


def _piecewise(
    level: Autodiff, plain: Callable[..., Any], body: Callable[..., Any]
) -> Callable[..., Any]:
    """A function without a rule: its default body on the level records each piece."""

    def call(*args: Any, **options: Any) -> Any:
        if any(_is_followed(level, arg) for arg in args):
            return body(level, *args, **options)
        return plain(*args, **options)

    return call


def _is_followed(level: Autodiff, arg: Any) -> bool:
    """Whether an argument is an array of this level, or holds one."""
    if isinstance(arg, (list, tuple)):
        return any(_is_followed(level, each) for each in cast("list[Any]", arg))
    return type(arg) is Traced and arg.level is level


def _unfollowed(level: Autodiff, plain: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose result has no derivative."""

    def call(*args: Any, **options: Any) -> Any:
        return plain(*(_value(level, arg) for arg in args), **options)

    return call


def _value(level: Autodiff, arg: Any) -> Any:
    """The inner array of an argument."""
    if type(arg) is Traced and arg.level is level:
        return arg.value
    if isinstance(arg, (list, tuple)):
        return [_value(level, item) for item in cast("list[Any]", arg)]
    return arg


def _followed(level: Autodiff, plain: Callable[..., Any], rule: Rule) -> Callable[..., Any]:
    """A function that records itself where an argument is followed."""
    if rule.of_sequence:
        return _followed_sequence(level, plain, rule)

    def call(*args: Any, **options: Any) -> Any:
        nodes = tuple(
            arg.node if type(arg) is Traced and arg.level is level else None for arg in args
        )
        if not any(nodes):
            return plain(*args, **options)
        values = tuple(
            arg.value if node is not None else arg
            for arg, node in zip(args, nodes, strict=True)
        )
        return _record(level, rule, nodes, values, plain(*values, **options), options)

    return call


def _followed_sequence(
    level: Autodiff, plain: Callable[..., Any], rule: Rule
) -> Callable[..., Any]:
    """As `_followed`, for a function whose first argument is a list of arrays."""

    def call(arrays: Sequence[Any], **options: Any) -> Any:
        nodes = tuple(
            each.node if type(each) is Traced and each.level is level else None
            for each in arrays
        )
        values = tuple(_value(level, each) for each in arrays)
        out = plain(values, **options)
        return _record(level, rule, nodes, values, out, options) if any(nodes) else out

    return call


def _record(
    level: Autodiff,
    rule: Rule,
    nodes: tuple[Node | None, ...],
    values: tuple[Any, ...],
    out: Any,
    options: dict[str, Any],
) -> Any:
    """Keeps what the rule declares, and wraps the result (of several, the first)."""
    needs = tuple(node is not None for node in nodes)
    node = Node(rule, nodes, rule.save(values, out, needs, options))
    if isinstance(out, tuple):
        return (Traced(out[0], node, level), *out[1:])
    return Traced(out, node, level)


def backward(root: Traced, seed: Array) -> dict[int, Array]:
    """The derivatives of `root`, weighted by `seed`, by the number of each leaf.

    Args:
        root: The result.
        seed: The gradient by it, of its shape.

    Returns:
        Arrays of the inner backend.

    Raises:
        GradientError: The recorded operations were consumed by an earlier call.
    """
    inner = root.level.inner
    pending: list[tuple[int, Node]] = [(-root.node.number, root.node)]
    grads: dict[int, Array] = {root.node.number: seed}
    owned: set[int] = (
        set()
    )  # gradients that only this walk knows, so it may write into them
    leaves: dict[int, Array] = {}
    while pending:
        node = heapq.heappop(pending)[1]
        grad = grads.pop(node.number)
        if node.rule is None:
            leaves[node.number] = grad
            continue
        for parent, part in zip(node.parents, _pull(inner, node, grad), strict=False):
            if parent is not None:
                _arrive(inner, parent, part, grads, owned, pending)
    return leaves


def _pull(inner: Backend, node: Node, grad: Array) -> Sequence[Array]:
    """The gradients by the node's inputs; what the node kept is dropped."""
    if node.saved is None:
        raise GradientError(
            "this result's gradients were already taken, and what it recorded is freed; "
            "compute it again before another backward"
        )
    saved, node.saved = node.saved, None
    needs = tuple(parent is not None for parent in node.parents)
    return node.rule.pull(inner, saved, grad, needs)  # pyright: ignore[reportOptionalMemberAccess]


def _arrive(
    inner: Backend,
    parent: Node,
    part: Array,
    grads: dict[int, Array],
    owned: set[int],
    pending: list[tuple[int, Node]],
) -> None:
    """Adds one contribution: the first moves in, later ones are summed."""
    number = parent.number
    if number not in grads:
        grads[number] = part
        heapq.heappush(pending, (-number, parent))
    elif number in owned:
        grads[number] = inner.accumulate(grads[number], part)
    else:
        grads[number] = inner.add(grads[number], part)
        owned.add(number)
