"""Autodiff: a backend that follows what is computed on another one.

`Autodiff(inner)` has the names of `inner`. Each function computes on `inner` and, where an
argument is followed, records a node by the operation's rule; a function without a rule runs
by its default body on the level itself, and records piece by piece; what has no derivative
(comparisons, making arrays) runs on the plain values. A level may lie over another: rules
are written in the functions of the inner backend alone, so the outer derivative is itself
followed by the inner level.
"""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

from seqloom.errors import GradientError
from seqloom.tensor._autodiff._backward import pull_back
from seqloom.tensor._autodiff._functions import BINARY, function_of, of_arrays, unfollowed
from seqloom.tensor._autodiff._node import Traced, is_followable, node_of, traced
from seqloom.tensor._backend import Array, Backend, array_of
from seqloom.tensor._rules import RULES

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._tensor import Tensor

_levels = count(1)

# What is asked of a backend beside its functions; the inner one answers.
_SUPPORT = ("adopt", "dtype", "key_words", "nbytes", "program", "sync", "to_numpy")


class Autodiff(Backend):
    """Makes any backend differentiable.

    Args:
        inner: The backend to compute on; another `Autodiff` too.

    Attributes:
        inner: That backend.
        number: Which level it is: no two in a process are the same.

    Examples:
        >>> import seqloom as sl
        >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
        >>> x = A.tensor([1.0, 3.0], requires_grad=True)
        >>> (x * x).sum().backward().wrt(x)
        Tensor([2., 6.], shape=(2,), dtype=float32, backend=numpy)
    """

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.number = next(_levels)
        self.name = f"autodiff({inner.name})"
        self.device, self.threads = inner.device, inner.threads
        self.float_dtype, self.defers = inner.float_dtype, inner.defers
        for name in _bodies():
            setattr(self, name, self._function(name))
        for name in _SUPPORT:
            if hasattr(inner, name):
                setattr(self, name, unfollowed(self, getattr(inner, name)))
        self.of_two = {name: of_arrays(getattr(inner, name)) for name in BINARY}
        # What is already there may be followed: nothing is written into.
        self.accumulate = self.add

    def __getattr__(self, name: str) -> Any:
        """The function of that name, followed where it has a rule; made on first use."""
        if name == "inner" or name.startswith("_"):
            raise AttributeError(name)  # while it is being copied, say
        if not callable(plain := getattr(self.inner, name)):
            return plain
        function = self._function(name)
        setattr(self, name, function)
        return function

    def _function(self, name: str) -> Callable[..., Any]:
        """The function of that name on this level."""
        plain = getattr(self.inner, name)
        return function_of(self, name, plain, RULES.get(name), _bodies().get(name))

    def __reduce__(self) -> Any:
        """A copy is another one over the same backend."""
        return Autodiff, (self.inner,)

    def asarray(self, data: Any, dtype: Any = None, *, copy: bool | None = None) -> Array:
        """An array of the data; a followed one as it is."""
        if isinstance(data, Traced):
            return data if dtype is None else self.astype(data, dtype)
        return self.inner.asarray(data, dtype=dtype, copy=copy)

    def to_numpy(self, x: Array) -> Any:
        """The value as NumPy's array."""
        return self.inner.to_numpy(x.value if isinstance(x, Traced) else x)

    def scan(self, body: Any, init: Any, xs: Any, **options: Any) -> Any:
        """A loop whose body is followed."""
        from seqloom.tensor._derivatives._scan import followed_scan

        return followed_scan(self, body, init, xs, **options)

    def leaf(self, value: Array) -> Traced:
        """Begins to follow an array of the inner backend.

        Args:
            value: An array of floats.

        Returns:
            An array of this level, which results can be differentiated by.

        Raises:
            GradientError: It holds no floats.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> A.leaf(A.inner.ones((2,))).shape
            (2,)
        """
        if not is_followable(self.inner, value):
            raise GradientError(
                f"an array of {self.inner.dtype(value)} cannot be followed: only numbers "
                'that change smoothly have a derivative; .astype("float32") it first'
            )
        return traced(value, node_of(None, (), ()), self)

    def gradients(
        self, raw: Traced, seed: Array, *, retain: bool = False
    ) -> dict[int, Array]:
        """The derivatives of a result, weighted; what was recorded is consumed.

        Args:
            raw: An array of this level.
            seed: The gradient by it, of its shape.
            retain: Leave what was recorded as it is, for another call.

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
        """The inner array of one of this level.

        Args:
            raw: An array, followed or not.

        Returns:
            An array of the inner backend.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> A.lower(A.leaf(A.inner.ones((1,)))).tolist()
            [1.0]
        """
        return raw.value if isinstance(raw, Traced) and raw.level is self else raw

    def leaf_number(self, raw: Any) -> int | None:
        """The number under which the gradient by an array is found.

        Args:
            raw: An array of this level.

        Returns:
            Its number, None where it is not followed.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> A.leaf_number(A.inner.ones((2,))) is None
            True
        """
        return raw.node.number if isinstance(raw, Traced) else None

    def tensor(
        self, data: Any, *, dtype: str | None = None, requires_grad: bool = False
    ) -> Tensor:
        """Makes a tensor on this backend.

        Args:
            data: Numbers, nested lists, or an array.
            dtype: The name of the element type; default: that of the data.
            requires_grad: Follow it, so that ``backward`` gives its gradient.

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
        from seqloom.tensor._tensor import Tensor

        value = array_of(data, dtype, self.inner)
        return Tensor(self.leaf(value) if requires_grad else value, self)


@cache
def _bodies() -> dict[str, Callable[..., Any]]:
    """The default bodies of a backend's functions, by name."""
    own = {*vars(Autodiff), *_SUPPORT, "tensor", "from_numpy"}
    names = (name for name in dir(Backend) if not name.startswith("_") and name not in own)
    return {name: body for name in names if callable(body := getattr(Backend, name))}
