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
from typing import TYPE_CHECKING, Any

from seqloom.errors import GradientError
from seqloom.tensor._autodiff._backward import pull_back
from seqloom.tensor._autodiff._functions import (
    BINARY,
    make_function,
    make_untracked,
    without_numbers,
)
from seqloom.tensor._autodiff._scan import scan_tracked
from seqloom.tensor._backend import Array, Backend, make_array
from seqloom.tensor._families import RULES
from seqloom.tensor._tape import TrackedArray, is_differentiable, make_node, track
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

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
        """Makes the function of that name on first use."""
        if name == "inner" or name.startswith("_"):
            raise AttributeError(name)  # while it is being copied, say
        if not callable(plain := getattr(self.inner, name)):
            return plain
        function = self._function(name)
        setattr(self, name, function)
        return function

    def _function(self, name: str) -> Callable[..., Any]:
        """Makes the function of that name on this level."""
        plain = getattr(self.inner, name)
        return make_function(self, name, plain, RULES.get(name), _bodies().get(name))

    def __reduce__(self) -> Any:
        """A copy is another level over the same backend."""
        return Autodiff, (self.inner,)

    def asarray(self, data: Any, dtype: Any = None, *, copy: bool | None = None) -> Array:
        """Makes an array of the data; a tracked array stays as it is."""
        if isinstance(data, TrackedArray):
            return data if dtype is None else self.astype(data, dtype)
        return self.inner.asarray(data, dtype=dtype, copy=copy)

    def to_numpy(self, x: Array) -> Any:
        """Returns the value as NumPy's array."""
        return self.inner.to_numpy(x.value if isinstance(x, TrackedArray) else x)

    def scan(self, body: Any, init: Any, xs: Any, **options: Any) -> Any:
        """Runs a loop whose body is recorded."""
        return scan_tracked(self, body, init, xs, **options)

    def leaf(self, value: Array) -> TrackedArray:
        """Makes a leaf of an array: operations on it are recorded.

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
        """Computes the gradients of a result by all leaves; consumes what was recorded.

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
        """Returns the inner array of an array of this level.

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
        """Returns the number by which the gradient by an array is found.

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
        """Makes a tensor on this backend.

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
    """Returns the default bodies of a backend's functions, by name."""
    own = {*vars(Autodiff), *_SUPPORT, "array_namespace", "from_numpy", "tensor"}
    names = (name for name in dir(Backend) if not name.startswith("_") and name not in own)
    return {name: body for name in names if callable(body := getattr(Backend, name))}
