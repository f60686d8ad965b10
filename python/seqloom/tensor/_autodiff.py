"""Autodiff: a backend that records the operations of another backend for gradients.

`Autodiff(inner)`, called a level, has the same functions as `inner`, and computes them
on `inner`. If an argument is tracked, the function also records a node, which contains
the gradient rule of the function. A function without a gradient rule runs its default
implementation, whose operations the level records one by one. A function without a
derivative, such as a comparison, is not recorded. Levels can be nested for higher
derivatives: gradient rules compute on the inner backend, so an inner level records the
computation of the outer derivative.
"""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import GradientError
from seqloom.tensor._backend import Array, Backend, make_array
from seqloom.tensor._backward import backprop, scan_tracked
from seqloom.tensor._families import GRAD_RULES
from seqloom.tensor._state import (
    Node,
    TrackedArray,
    is_differentiable,
    make_node,
    node_numbers,
    record,
    track_array,
)
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._families import Rule
    from seqloom.tensor._state import Level

    Function = Callable[..., Any]


_level_numbers = count(1)

# Backend methods that are not functions of arrays; they are called on the inner
# backend.
_INNER_METHODS = ("adopt", "dtype", "key_words", "nbytes", "program", "sync", "to_numpy")


class Autodiff(Backend):
    """A backend that adds gradients to another backend.

    Args:
        inner: The backend that computes, which may be another `Autodiff`.

    Attributes:
        inner: The backend that computes.
        number: Number of the level, unique in the process.

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
        for name in _list_defaults():
            setattr(self, name, self._function(name))
        for name in _INNER_METHODS:
            if hasattr(inner, name):
                setattr(self, name, make_untracked(self, getattr(inner, name)))
        self.binary = {
            name: get_array_variant(getattr(inner, name)) for name in BINARY_NAMES
        }
        # A tracked array cannot be overwritten, so the sum is stored in a new array.
        self.accumulate = self.add

    def __getattr__(self, name: str) -> Any:
        """Create a function of the level on first use."""
        if name == "inner" or name.startswith("_"):
            # While an object is copied, its attributes do not exist yet.
            raise AttributeError(name)
        if not callable(plain := getattr(self.inner, name)):
            return plain
        function = self._function(name)
        setattr(self, name, function)
        return function

    def _function(self, name: str) -> Callable[..., Any]:
        plain = getattr(self.inner, name)
        return make_function(
            self, name, plain, GRAD_RULES.get(name), _list_defaults().get(name)
        )

    def __reduce__(self) -> Any:
        """Copy or pickle the level as a new level on the same backend."""
        return Autodiff, (self.inner,)

    def asarray(self, data: Any, dtype: Any = None, *, copy: bool | None = None) -> Array:
        """Create an array from the data; return a tracked array unchanged."""
        if isinstance(data, TrackedArray):
            return data if dtype is None else self.astype(data, dtype)
        return self.inner.asarray(data, dtype=dtype, copy=copy)

    def to_numpy(self, x: Array) -> Any:
        """Return the value of a tracked or plain array as a NumPy array."""
        return self.inner.to_numpy(x.value if isinstance(x, TrackedArray) else x)

    def scan(self, body: Any, init: Any, xs: Any, **options: Any) -> Any:
        """Run a loop, and record the loop if an argument is tracked."""
        return scan_tracked(self, body, init, xs, **options)

    def leaf(self, value: Array) -> TrackedArray:
        """Wrap an array as a tracked array, so that operations on it are recorded.

        Args:
            value: An array of floats of the inner backend.

        Returns:
            An array of this level.

        Raises:
            GradientError: The array does not contain floats.

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
        return track_array(value, make_node(None, (), ()), self)

    def gradients(
        self, raw: TrackedArray, seed: Array, *, retain: bool = False
    ) -> dict[int, Array]:
        """Compute the gradients of a result with respect to all leaves.

        Args:
            raw: The result, an array of this level.
            seed: The gradient with respect to the result, in the shape of the result.
            retain: If True, the recorded operations can be used again; by default, they
                are freed.

        Returns:
            Gradients as arrays of the inner backend, by `leaf_number`.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> x = A.leaf(A.inner.ones((2,)))
            >>> A.gradients(A.sum(x), A.inner.ones(()))[A.leaf_number(x)].tolist()
            [1.0, 1.0]
        """
        return backprop([raw], [seed], retain=retain)

    def lower(self, raw: Any) -> Array:
        """Return the array of the inner backend that an array of this level wraps.

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
        """Return the number that identifies the gradient of an array.

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
        """Create a tensor on this backend.

        Args:
            data: Numbers, nested lists, or an array.
            dtype: Name of the dtype; default: the dtype of the data.
            requires_grad: If True, record operations on the tensor, so that ``backward``
                computes its gradient.

        Returns:
            A tensor.

        Raises:
            GradientError: `requires_grad` is True for integers or booleans.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> (A.tensor(3.0, requires_grad=True) * 2).item()
            6.0
        """
        value = make_array(data, dtype, self.inner)
        return Tensor(self.leaf(value) if requires_grad else value, self)


@cache
def _list_defaults() -> dict[str, Callable[..., Any]]:
    """Return the default implementations of all functions of a backend, by name."""
    own = {*vars(Autodiff), *_INNER_METHODS, "array_namespace", "from_numpy", "tensor"}
    names = (name for name in dir(Backend) if not name.startswith("_") and name not in own)
    return {name: body for name in names if callable(body := getattr(Backend, name))}


# Functions of two arrays without options. The recording of these functions is inlined,
# because they are called most often.
BINARY_NAMES = frozenset(
    ("add", "subtract", "multiply", "divide", "pow", "maximum", "minimum", "matmul")
)


def make_function(
    level: Level, name: str, plain: Function, rule: Rule | None, body: Function | None
) -> Function:
    """Create a function of a level, which records its calls if it has a derivative."""
    if rule and rule.tracked:
        if rule.of_sequence:
            # The first argument of the function is a list of arrays.
            def array_variant(*arrays: Array, **options: object) -> Array:
                return plain(list(arrays), **options)

            record = _record_calls(level, array_variant, rule)

            def record_call(arrays: Sequence[Array], **options: object) -> Array:
                return record(*arrays, **options)

            return record_call
        record_calls = _record_binary_calls if name in BINARY_NAMES else _record_calls
        call = record_calls(level, plain, rule)
        return _track_only_floats(level, call) if name == "astype" else call
    if body is None or rule:
        return make_untracked(level, plain)

    def call_default_implementation(*args: Array, **options: object) -> Array:
        is_tracked = _is_tracked(level, args)
        return body(level, *args, **options) if is_tracked else plain(*args, **options)

    return call_default_implementation


def _record_binary_calls(level: Level, plain: Function, rule: Rule) -> Function:
    """Wrap a function of two arrays so that its calls are recorded."""
    save, array_variant = rule.save, get_array_variant(plain)

    # `get_node`, `make_node` and `track` are inlined, because this runs for each
    # operation.
    def record_call(left: Array, right: Array) -> Array:
        one = left.node if type(left) is TrackedArray and left.level is level else None
        two = right.node if type(right) is TrackedArray and right.level is level else None
        if one is None or two is None:
            if one is two:
                return plain(left, right)
            values = (left, right.value) if one is None else (left.value, right)
            out = plain(*values)
        else:
            values = left.value, right.value
            out = array_variant(*values)
        node, array = Node(), TrackedArray()
        node.number, node.rule, node.parents = next(node_numbers), rule, (one, two)
        node.saved = save(values, out, (one is not None, two is not None), {})
        array.value, array.node, array.level = out, node, level
        return array

    return record_call


def get_array_variant(plain: Function) -> Function:
    """Return a binary function's faster variant that only accepts arrays, if it has one."""
    return getattr(plain, "array_variant", plain)


def _record_calls(level: Level, plain: Function, rule: Rule) -> Function:
    """Wrap a function of any number of arrays so that its calls are recorded."""

    def record_call(*args: Array, **options: object) -> Array:
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
        return track_array(out, make_node(rule, nodes, saved), level)

    return record_call


def _track_only_floats(level: Level, call: Function) -> Function:
    """Wrap a function so that integer results, which have no gradient, are untracked."""

    def record_call(*args: Array, **options: object) -> Array:
        out = call(*args, **options)
        if type(out) is TrackedArray and not is_differentiable(level.inner, out.value):
            return out.value
        return out

    return record_call


def _is_tracked(level: Level, arg: Array) -> bool:
    """Return whether an argument is a tracked array of this level, or contains one."""
    if isinstance(arg, (list, tuple)):
        return any(_is_tracked(level, part) for part in cast("list[Array]", arg))
    return type(arg) is TrackedArray and arg.level is level


def make_untracked(level: Level, plain: Function) -> Function:
    """Wrap a function so that its calls are not recorded."""

    def call_untracked(*args: Array, **options: object) -> Array:
        return plain(*[_unwrap_tracked(level, arg) for arg in args], **options)

    return call_untracked


def _unwrap_tracked(level: Level, arg: Array) -> Array:
    """Replace tracked arrays, also in lists and tuples, by their inner arrays."""
    if type(arg) is TrackedArray and arg.level is level:
        return arg.value
    if isinstance(arg, (list, tuple)):
        values = [_unwrap_tracked(level, item) for item in cast("list[Array]", arg)]
        return values if isinstance(arg, list) else tuple(values)
    return arg
