"""Gradients: what the backward pass of a tensor returns."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError, GradientError
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from seqloom.tensor._families import Array


class Gradients:
    """Gradients by the leaves of one computation; tensors themselves store none.

    Args:
        arrays: The arrays by the number of the leaf, or the id of the parameter.
        backend: The backend of the arrays.
        inputs: Further tensors, each with its gradient or None; optimisers ignore them.

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
        """Returns the gradient by a leaf.

        Args:
            leaf: A tensor made with ``requires_grad=True``, or a parameter.

        Returns:
            A tensor of the leaf's shape, on the plain backend.

        Raises:
            GradientError: The result does not depend on it.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> x = A.tensor([3.0], requires_grad=True)
            >>> (2 * x).sum().backward().wrt(x).item()
            2.0
        """
        known = [array for tensor, array in self._inputs if tensor is leaf]
        found = known[0] if known else self.get(_leaf_number(leaf))
        if found is None:
            raise GradientError(
                "the result does not depend on this tensor, or the tensor does not record "
                "gradients (requires_grad=True)"
            )
        return Tensor(found, self.backend)

    def get(self, number: int | None) -> Array | None:
        """Returns the array by the id of a parameter or the number of a leaf.

        Args:
            number: The id or number; None is allowed.

        Returns:
            The array, or None if the result does not depend on it.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.Gradients({}, sl.tensor.backend("numpy")).get(1) is None
            True
        """
        return None if number is None else self._arrays.get(number)

    def arrays(self) -> list[Array]:
        """Returns all gradients, as arrays of the backend.

        Returns:
            Those by leaves and parameters, then those by further inputs.

        Examples:
            >>> import seqloom as sl
            >>> B = sl.tensor.backend("numpy")
            >>> len(sl.tensor.Gradients({1: B.zeros((2,))}, B).arrays())
            1
        """
        inputs = [array for _, array in self._inputs if array is not None]
        return [*self._arrays.values(), *inputs]

    def norm(self) -> float:
        """Computes the Euclidean norm of all gradients together.

        Returns:
            The root of the sum of squares.

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
        """Makes gradients smaller: by their common norm, or each number by itself.

        Args:
            norm: The largest norm allowed (Pascanu et al. 2013); all gradients are scaled
                by one factor.
            value: The largest absolute value allowed, in place of `norm`; each number that
                is beyond it becomes it.
            of: A module: only the gradients of its parameters are clipped, by their own
                norm; default: all.

        Returns:
            New gradients; of the same values if they are small enough.

        Raises:
            ArgumentError: Both or none of `norm` and `value` are given, or it is not a
                number above 0.

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
        """Multiplies all gradients by a number, those by inputs too.

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
    """Returns the limit of `Gradients.clip`; a norm may be a tensor."""
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


def _leaf_number(leaf: Any) -> int | None:
    """Returns the number by which a leaf's gradient is found."""
    if hasattr(leaf, "id"):
        return leaf.id
    find = getattr(getattr(leaf, "backend", None), "leaf_number", None)
    return None if find is None else find(leaf.raw)
