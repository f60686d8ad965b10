"""The `Tensor` class, and `Gradients`, the result of a backward pass."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any, NoReturn, Self

from seqloom.errors import ArgumentError, GradientError, ShapeError
from seqloom.tensor import _exchange as exchange
from seqloom.tensor._conversions import TensorConversions
from seqloom.tensor._dispatch import apply, find_shared_backend, includes_backend
from seqloom.tensor._elements import normalize_key
from seqloom.tensor._operators import At, binary_op, grad_op, right_op, unary_op
from seqloom.tensor._tensor_methods import ArrayMethods

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from seqloom.tensor._families import Array


class Tensor(ArrayMethods, TensorConversions):
    """An array of a backend, with operators and methods.

    Tensors are immutable: operations return new tensors. Operators broadcast and
    promote dtypes as the Array API standard specifies; a Python number is converted to
    the tensor's dtype. Indexing works as in NumPy. Create tensors with a backend's
    ``tensor`` method.

    Args:
        raw: The array of the backend's library.
        backend: The backend that computes.

    Attributes:
        raw: The array of the backend's library.
        backend: The backend that computes.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> (x @ x + 1).sum(axis=0)
        Tensor([24., 34.], shape=(2,), dtype=float32, backend=numpy)
    """

    __slots__ = ()

    # Because of `__array_ufunc__`, an operator between a NumPy array and a tensor calls
    # the tensor's method. NumPy ufuncs reject tensors, because they would silently lose
    # the gradient.

    __array_ufunc__ = None
    __add__, __radd__ = grad_op("add"), right_op("add")
    __sub__, __rsub__ = grad_op("subtract"), right_op("subtract")
    __mul__, __rmul__ = grad_op("multiply"), right_op("multiply")
    __truediv__, __rtruediv__ = grad_op("divide"), right_op("divide")
    __floordiv__, __rfloordiv__ = binary_op("floor_divide"), right_op("floor_divide")
    __mod__, __rmod__ = binary_op("remainder"), right_op("remainder")
    __pow__, __rpow__ = grad_op("pow"), right_op("pow")
    __matmul__, __rmatmul__ = grad_op("matmul"), right_op("matmul")
    __and__, __rand__ = binary_op("bitwise_and"), right_op("bitwise_and")
    __or__, __ror__ = binary_op("bitwise_or"), right_op("bitwise_or")
    __xor__, __rxor__ = binary_op("bitwise_xor"), right_op("bitwise_xor")
    __lshift__ = binary_op("bitwise_left_shift")
    __rlshift__ = right_op("bitwise_left_shift")
    __rshift__ = binary_op("bitwise_right_shift")
    __rrshift__ = right_op("bitwise_right_shift")
    __lt__, __le__ = binary_op("less"), binary_op("less_equal")
    __gt__, __ge__ = binary_op("greater"), binary_op("greater_equal")
    __eq__, __ne__ = binary_op("equal"), binary_op("not_equal")
    __neg__, __pos__, __abs__ = unary_op("negative"), unary_op("positive"), unary_op("abs")
    __invert__ = unary_op("bitwise_invert")
    __hash__ = object.__hash__

    # Methods for shape and dtype.

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self._value.shape)

    def __len__(self) -> int:
        if not self._value.shape:
            raise ShapeError("a tensor without axes has no length")
        return self._value.shape[0]

    def __repr__(self) -> str:
        return exchange.format_repr(self)

    # Methods for indexing.

    @property
    def at(self) -> At[Self]:
        """Update elements in a copy: ``x.at[key].set(values)`` or ``.add(values)``.

        The methods ``set`` and ``add`` return a new tensor. `values` is a number, an
        array or a tensor that broadcasts to the elements. If the key contains an index
        twice, ``add`` adds both values.

        Examples:
            >>> import seqloom as sl
            >>> x = sl.tensor.backend("numpy").tensor([1.0, 2.0, 3.0])
            >>> x.at[0].set(9.0).tolist(), x.at[1:].add(x[:2]).tolist()
            ([9.0, 2.0, 3.0], [1.0, 3.0, 5.0])
        """
        return At(self)

    def __getitem__(self, key: Any) -> Self:
        return apply("index", self, normalize_key(key, self.shape))

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise ArgumentError(
            "tensors are immutable. Instead, x.at[key].set(value) returns a new tensor "
            "with replaced elements, and x.at[key].add(value) adds to the elements"
        )

    def __iter__(self) -> Iterator[Self]:
        return (self[index] for index in range(len(self)))

    def backward(self, gradient: Any = None) -> Gradients:
        """Compute the gradients of this tensor with respect to all its leaves.

        The backward pass frees the recorded operations. To call ``backward`` again,
        compute the tensor again.

        Args:
            gradient: The gradient with respect to this tensor: a tensor, an array or a list
                of the same shape. The default is 1 if this tensor is a scalar.

        Returns:
            The gradients; ``.wrt(x)`` returns the gradient with respect to `x`.

        Raises:
            GradientError: This tensor depends on no leaf, or is not a scalar and
                `gradient` is missing, or an earlier call freed the recorded operations.
            ShapeError: The shape of `gradient` differs from that of this tensor.
            DTypeError: `gradient` does not contain numbers.
            BackendError: `gradient` is a tensor of a different library.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> x = A.tensor(3.0, requires_grad=True)
            >>> (x**2).backward().wrt(x).item()
            6.0
        """
        level = self.backend
        # Read the shape first, because that raises if the tensor was released.
        shape = self.shape
        if not hasattr(level, "leaf_number") or level.leaf_number(self.raw) is None:
            raise GradientError(
                "backward needs a tensor that was computed from leaves; create the leaves "
                "with Autodiff(backend).tensor(..., requires_grad=True)"
            )
        arrays = level.gradients(self.raw, self._seed(gradient, shape))
        return Gradients(arrays, level.inner)

    def _seed(self, gradient: Any, shape: tuple[int, ...]) -> Array:
        """Return the initial gradient as an array of the inner backend."""
        level = self.backend
        if gradient is None:
            if shape:
                raise GradientError(
                    "backward needs a scalar, or the argument gradient; this tensor has "
                    f"shape {shape}"
                )
            return level.inner.ones((), dtype=self.dtype)
        if not isinstance(gradient, Tensor):
            gradient = level.inner.tensor(gradient)
        if gradient.shape != shape:
            raise ShapeError(
                f"gradient must have the tensor's shape {shape}, got {gradient.shape}"
            )
        if gradient.dtype != self.dtype:
            gradient = gradient.astype(self.dtype)
        find_shared_backend([self, gradient])  # raises for unrelated backends
        is_inner = includes_backend(level.inner, gradient.backend)
        return gradient.raw if is_inner else level.lower(gradient.raw)


class Gradients:
    """The gradients of one backward pass; tensors do not store gradients.

    Args:
        arrays: The gradient arrays, by the number of the leaf or the id of the
            parameter.
        backend: The backend of the arrays.
        inputs: Further tensors, each paired with its gradient or None; optimisers
            ignore these tensors.

    Examples:
        >>> import seqloom as sl
        >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
        >>> x = A.tensor([3.0, 4.0], requires_grad=True)
        >>> grads = (x * x).sum().backward()
        >>> grads.norm(), len(grads)
        (10.0, 1)
    """

    __slots__ = ("_arrays", "_inputs", "backend")

    def __init__(
        self,
        arrays: dict[int, Array],
        backend: Any,
        *,
        inputs: Sequence[tuple[Tensor, Array | None]] = (),
    ) -> None:
        self._arrays = arrays
        self._inputs = inputs
        self.backend = backend

    def wrt(self, leaf: Any) -> Tensor:
        """Return the gradient with respect to a leaf.

        Args:
            leaf: A tensor created with ``requires_grad=True``, or a parameter.

        Returns:
            A tensor with the shape of `leaf`, on the backend without gradient
            recording.

        Raises:
            GradientError: The result does not depend on `leaf`.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> x = A.tensor([3.0], requires_grad=True)
            >>> (2 * x).sum().backward().wrt(x).item()
            2.0
        """
        known = [array for tensor, array in self._inputs if tensor is leaf]
        found = known[0] if known else self.get(_get_leaf_number(leaf))
        if found is None:
            raise GradientError(
                "the result does not depend on this tensor, or the tensor does not record "
                "gradients (requires_grad=True)"
            )
        return Tensor(found, self.backend)

    def get(self, number: int | None) -> Array | None:
        """Return the gradient array of a parameter id or leaf number.

        Args:
            number: The parameter id or leaf number. For the number None, the result is
                None.

        Returns:
            The array, or None if the result does not depend on the leaf.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.Gradients({}, sl.tensor.backend("numpy")).get(1) is None
            True
        """
        return None if number is None else self._arrays.get(number)

    def arrays(self) -> list[Array]:
        """Return all gradients, as arrays of the backend.

        Returns:
            The gradients of leaves and parameters, then those of further inputs.

        Examples:
            >>> import seqloom as sl
            >>> B = sl.tensor.backend("numpy")
            >>> len(sl.tensor.Gradients({1: B.zeros((2,))}, B).arrays())
            1
        """
        inputs = [array for _, array in self._inputs if array is not None]
        return [*self._arrays.values(), *inputs]

    def norm(self) -> float:
        """Compute the Euclidean norm of all gradients together.

        Returns:
            The square root of the sum of squares.

        Examples:
            >>> import seqloom as sl
            >>> B = sl.tensor.backend("numpy")
            >>> sl.tensor.Gradients({1: B.asarray([3.0, 4.0])}, B).norm()
            5.0
        """
        b = self.backend
        squares = (b.to_numpy(b.sum(b.square(array))) for array in self._arrays.values())
        return math.sqrt(sum(float(square) for square in squares))

    def clip(
        self, norm: Any = None, *, value: float | None = None, of: Any = None
    ) -> Gradients:
        """Clip the gradients, by their common norm or by value.

        Args:
            norm: The maximum norm (Pascanu et al. 2013). All gradients are scaled by the
                same factor.
            value: The maximum absolute value, instead of `norm`. Elements with a larger
                absolute value are set to this value, with their sign.
            of: A module: only the gradients of the module are clipped, by the norm of
                these gradients. Default: all gradients.

        Returns:
            New gradients.

        Raises:
            ArgumentError: Both `norm` and `value` are given, or neither is given, or
                the limit is not a number above 0.

        Examples:
            >>> import seqloom as sl
            >>> B = sl.tensor.backend("numpy")
            >>> grads = sl.tensor.Gradients({1: B.asarray([3.0, 4.0])}, B)
            >>> round(grads.clip(1.0).norm(), 3)
            1.0
            >>> grads.clip(value=3.5).arrays()[0].tolist()
            [3.0, 3.5]
        """
        limit = _require_limit(norm, value)
        wanted = None if of is None else {param.id for _, param in of.parameters()}
        chosen = [n for n in self._arrays if wanted is None or n in wanted]
        if not chosen:
            return self
        arrays = [self._arrays[n] for n in chosen]
        if value is None:
            clipped, _ = self.backend.clip_by_global_norm(arrays, limit)
        else:
            clipped = [self.backend.clip(array, -limit, limit) for array in arrays]
        found = {**self._arrays, **dict(zip(chosen, clipped, strict=True))}
        return Gradients(found, self.backend, inputs=self._inputs)

    def multiply(self, factor: float) -> Gradients:
        """Multiply all gradients by a number, including those of further inputs.

        Args:
            factor: The number.

        Returns:
            New gradients.

        Examples:
            >>> import seqloom as sl
            >>> B = sl.tensor.backend("numpy")
            >>> grads = sl.tensor.Gradients({1: B.asarray([3.0, 4.0])}, B)
            >>> grads.multiply(0.5).get(1).tolist()
            [1.5, 2.0]
        """
        times = self.backend.multiply
        arrays = {number: times(array, factor) for number, array in self._arrays.items()}
        inputs = [
            (tensor, None if array is None else times(array, factor))
            for tensor, array in self._inputs
        ]
        return Gradients(arrays, self.backend, inputs=inputs)

    def __iter__(self) -> Iterator[int]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return f"Gradients of {len(self)} leaves on {self.backend}"


def _require_limit(norm: Any, value: Any) -> Any:
    """Check the arguments of `Gradients.clip`, and return the limit."""
    if (norm is None) == (value is None):
        raise ArgumentError(
            "clip needs a norm or a value, such as clip(1.0) or clip(value=0.5), got "
            f"norm={norm} and value={value}"
        )
    if isinstance(norm, Tensor):
        return norm.raw
    name, limit = ("norm", norm) if value is None else ("value", value)
    if not isinstance(limit, Real) or not float(limit) > 0:
        raise ArgumentError(f"{name} must be a number above 0, got {limit!r}")
    return limit


def _get_leaf_number(leaf: Any) -> int | None:
    """Return the number or id under which `Gradients` stores a leaf's gradient."""
    if hasattr(leaf, "id"):
        return leaf.id
    find = getattr(getattr(leaf, "backend", None), "leaf_number", None)
    return None if find is None else find(leaf.raw)
