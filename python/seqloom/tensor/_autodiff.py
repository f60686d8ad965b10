"""Autodiff: a backend that records what is computed on another one.

`Autodiff(inner)`, a level, has the functions of `inner`. Each computes on `inner` and, if
an argument is tracked, records a node by the operation's rule. A function without a rule
runs its default body on the level itself, which records each piece. A function without a
derivative (comparisons, making arrays) runs on the plain values. A level may lie over
another: rules use the functions of the inner backend only, so the inner level records the
outer derivative.
"""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import GradientError
from seqloom.tensor._backend import Array, Backend, make_array
from seqloom.tensor._backward import pull_back, scan_tracked
from seqloom.tensor._families import RULES
from seqloom.tensor._state import (
    Node,
    TrackedArray,
    is_differentiable,
    make_node,
    node_numbers,
    record,
    track,
)
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._families import Rule
    from seqloom.tensor._state import Level

    Function = Callable[..., Any]  # of arrays


_level_numbers = count(1)

# Methods of a backend that are no functions of arrays; the inner one answers them.
_SUPPORT = ("adopt", "dtype", "key_words", "nbytes", "program", "sync", "to_numpy")


class Autodiff(Backend):
    """Makes any backend differentiable.

    Args:
        inner: The backend to compute on; another `Autodiff` too.

    Attributes:
        inner: That backend.
        number: The number of the level, unique in the process.

    Examples:
        >>> import seqloom as sl
        >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
        >>> x = A.tensor([1.0, 3.0], requires_grad=True)
        >>> (x * x).sum().backward().wrt(x)
        Tensor([2., 6.], shape=(2,), dtype=float32, backend=numpy)
    """

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.number = next(_level_numbers)
        self.name = f"autodiff({inner.name})"
        self.device, self.threads = inner.device, inner.threads
        self.float_dtype, self.defers = inner.float_dtype, inner.defers
        for name in _bodies():
            setattr(self, name, self._function(name))
        for name in _SUPPORT:
            if hasattr(inner, name):
                setattr(self, name, make_untracked(self, getattr(inner, name)))
        self.of_two = {name: without_numbers(getattr(inner, name)) for name in BINARY}
        # The first summand may be tracked, so it is not written into.
        self.accumulate = self.add

    def __getattr__(self, name: str) -> Any:
        """Make the function of that name on first use."""
        if name == "inner" or name.startswith("_"):
            raise AttributeError(name)  # while it is being copied, say
        if not callable(plain := getattr(self.inner, name)):
            return plain
        function = self._function(name)
        setattr(self, name, function)
        return function

    def _function(self, name: str) -> Callable[..., Any]:
        """Make the function of that name on this level."""
        plain = getattr(self.inner, name)
        return make_function(self, name, plain, RULES.get(name), _bodies().get(name))

    def __reduce__(self) -> Any:
        """Return a copy is another level over the same backend."""
        return Autodiff, (self.inner,)

    def asarray(self, data: Any, dtype: Any = None, *, copy: bool | None = None) -> Array:
        """Make an array of the data; a tracked array stays as it is."""
        if isinstance(data, TrackedArray):
            return data if dtype is None else self.astype(data, dtype)
        return self.inner.asarray(data, dtype=dtype, copy=copy)

    def to_numpy(self, x: Array) -> Any:
        """Return the value as NumPy's array."""
        return self.inner.to_numpy(x.value if isinstance(x, TrackedArray) else x)

    def scan(self, body: Any, init: Any, xs: Any, **options: Any) -> Any:
        """Run a loop whose body is recorded."""
        return scan_tracked(self, body, init, xs, **options)

    def leaf(self, value: Array) -> TrackedArray:
        """Make a leaf of an array: operations on it are recorded.

        Args:
            value: An array of floats of the inner backend.

        Returns:
            An array of this level.

        Raises:
            GradientError: The array contains no floats.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> A.leaf(A.inner.ones((2,))).shape
            (2,)
        """
        if not is_differentiable(self.inner, value):
            raise GradientError(
                f"requires_grad needs floats, got {self.inner.dtype(value)}, which has no "
                'derivative; convert it first: .astype("float32")'
            )
        return track(value, make_node(None, (), ()), self)

    def gradients(
        self, raw: TrackedArray, seed: Array, *, retain: bool = False
    ) -> dict[int, Array]:
        """Compute the gradients of a result by all leaves; consumes what was recorded.

        Args:
            raw: The result, an array of this level.
            seed: The gradient by the result, of its shape.
            retain: Whether the recorded operations stay usable for another call.

        Returns:
            Arrays of the inner backend by the number of each leaf.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> x = A.leaf(A.inner.ones((2,)))
            >>> A.gradients(A.sum(x), A.inner.ones(()))[A.leaf_number(x)].tolist()
            [1.0, 1.0]
        """
        return pull_back([raw], [seed], retain=retain)

    def lower(self, raw: Any) -> Array:
        """Return the inner array of an array of this level.

        Args:
            raw: An array, tracked or not.

        Returns:
            An array of the inner backend.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> A.lower(A.leaf(A.inner.ones((1,)))).tolist()
            [1.0]
        """
        return raw.value if isinstance(raw, TrackedArray) and raw.level is self else raw

    def leaf_number(self, raw: Any) -> int | None:
        """Return the number by which the gradient by an array is found.

        Args:
            raw: An array of this level.

        Returns:
            The number, or None if the array is not tracked.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> A.leaf_number(A.inner.ones((2,))) is None
            True
        """
        return raw.node.number if isinstance(raw, TrackedArray) else None

    def tensor(
        self, data: Any, *, dtype: str | None = None, requires_grad: bool = False
    ) -> Tensor:
        """Make a tensor on this backend.

        Args:
            data: Numbers, nested lists, or an array.
            dtype: The name of the element type; default: that of the data.
            requires_grad: Whether to record operations on it, so that ``backward``
                computes its gradient.

        Returns:
            A tensor.

        Raises:
            GradientError: ``requires_grad`` for integers or booleans.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> (A.tensor(3.0, requires_grad=True) * 2).item()
            6.0
        """
        value = make_array(data, dtype, self.inner)
        return Tensor(self.leaf(value) if requires_grad else value, self)


@cache
def _bodies() -> dict[str, Callable[..., Any]]:
    """Return the default bodies of a backend's functions, by name."""
    own = {*vars(Autodiff), *_SUPPORT, "array_namespace", "from_numpy", "tensor"}
    names = (name for name in dir(Backend) if not name.startswith("_") and name not in own)
    return {name: body for name in names if callable(body := getattr(Backend, name))}


# Functions of two arrays without options, called most often: recorded by the shortest way.
BINARY = frozenset(
    ("add", "subtract", "multiply", "divide", "pow", "maximum", "minimum", "matmul")
)


def make_function(
    level: Level, name: str, plain: Function, rule: Rule | None, body: Function | None
) -> Function:
    """Make a level's function: recorded by its rule, by its pieces, or not at all."""
    if rule and rule.tracked:
        if rule.of_sequence:
            # Makes a function whose first argument is a list of arrays.
            def of_arrays(*arrays: Array, **options: object) -> Array:
                return plain(list(arrays), **options)

            record_call = _record_calls(level, of_arrays, rule)

            def call(arrays: Sequence[Array], **options: object) -> Array:
                return record_call(*arrays, **options)

            return call
        record_calls = _record_calls_of_two if name in BINARY else _record_calls
        call = record_calls(level, plain, rule)
        return _floats_only(level, call) if name == "astype" else call
    if body is None or rule:
        return make_untracked(level, plain)

    def call_pieces(*args: Array, **options: object) -> Array:
        is_tracked = _is_tracked(level, args)
        return body(level, *args, **options) if is_tracked else plain(*args, **options)

    return call_pieces


def _record_calls_of_two(level: Level, plain: Function, rule: Rule) -> Function:
    """Make a function of two arrays and no options that records its calls."""
    save, of_arrays = rule.save, without_numbers(plain)

    # `node_on`, `make_node` and `track` are written out: this runs at each step.
    def call(left: Array, right: Array) -> Array:
        one = left.node if type(left) is TrackedArray and left.level is level else None
        two = right.node if type(right) is TrackedArray and right.level is level else None
        if one is None or two is None:
            if one is two:
                return plain(left, right)
            values = (left, right.value) if one is None else (left.value, right)
            out = plain(*values)
        else:
            values = left.value, right.value
            out = of_arrays(*values)
        node, array = Node(), TrackedArray()
        node.number, node.rule, node.parents = next(node_numbers), rule, (one, two)
        node.saved = save(values, out, (one is not None, two is not None), {})
        array.value, array.node, array.level = out, node, level
        return array

    return call


def without_numbers(plain: Function) -> Function:
    """Return the faster form of a function of two for arrays only, not Python numbers."""
    return getattr(plain, "of_arrays", plain)


def _record_calls(level: Level, plain: Function, rule: Rule) -> Function:
    """Make a function of any number of arrays that records its calls."""

    def call(*args: Array, **options: object) -> Array:
        nodes = tuple(
            [
                arg.node if type(arg) is TrackedArray and arg.level is level else None
                for arg in args
            ]
        )
        if not any(nodes):
            return plain(*args, **options)
        pairs = zip(args, nodes, strict=True)
        values = tuple([arg if node is None else arg.value for arg, node in pairs])
        out = plain(*values, **options)
        needs = tuple([node is not None for node in nodes])
        saved = rule.save(values, out, needs, options)
        if isinstance(out, (tuple, list)):
            return record(level, rule, nodes, saved, tuple(cast("list[Array]", out)))
        return track(out, make_node(rule, nodes, saved), level)

    return call


def _floats_only(level: Level, call: Function) -> Function:
    """Make a function whose result may be integers, which are not tracked."""

    def call_and_check(*args: Array, **options: object) -> Array:
        out = call(*args, **options)
        if type(out) is TrackedArray and not is_differentiable(level.inner, out.value):
            return out.value
        return out

    return call_and_check


def _is_tracked(level: Level, arg: Array) -> bool:
    """Return whether an argument is a tracked array of this level, or contains one."""
    if isinstance(arg, (list, tuple)):
        return any(_is_tracked(level, part) for part in cast("list[Array]", arg))
    return type(arg) is TrackedArray and arg.level is level


def make_untracked(level: Level, plain: Function) -> Function:
    """Make a function whose result has no derivative."""

    def call(*args: Array, **options: object) -> Array:
        return plain(*[_inner(level, arg) for arg in args], **options)

    return call


def _inner(level: Level, arg: Array) -> Array:
    """Return the inner array of an argument, also within lists and tuples."""
    if type(arg) is TrackedArray and arg.level is level:
        return arg.value
    if isinstance(arg, (list, tuple)):
        values = [_inner(level, item) for item in cast("list[Array]", arg)]
        return values if isinstance(arg, list) else tuple(values)
    return arg
