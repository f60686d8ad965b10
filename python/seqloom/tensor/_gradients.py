"""What a backward pass returns: a container, nothing on the tensors themselves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.errors import GradientError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._tensor import Tensor


class Gradients:
    """Gradients by the leaves of one computation.

    Args:
        arrays: The arrays by the number of the leaf, or the id of the parameter.
        backend: Whose arrays they are.
        inputs: Further tensors, each with its gradient or None; no optimiser sees them.

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
        backend: Backend,
        *,
        inputs: Sequence[tuple[Tensor, Array | None]] = (),
    ) -> None:
        self._arrays = arrays
        self._inputs = inputs
        self.backend = backend

    def wrt(self, leaf: Any) -> Tensor:
        """The gradient by a leaf.

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
        from seqloom.tensor._tensor import Tensor

        known = [array for tensor, array in self._inputs if tensor is leaf]
        found = known[0] if known else self.get(_number(leaf))
        if found is None:
            raise GradientError(
                "the result does not depend on this tensor, or it was not followed"
            )
        return Tensor(found, self.backend)

    def get(self, number: int | None) -> Array | None:
        """The array by the id of a parameter or the number of a leaf.

        Args:
            number: The id.

        Returns:
            The array, or None where the result does not depend on it.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.Gradients({}, sl.tensor.backend("numpy")).get(1) is None
            True
        """
        return None if number is None else self._arrays.get(number)

    def arrays(self) -> list[Array]:
        """All gradients, arrays of the backend.

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
        """The Euclidean norm over all of them.

        Returns:
            The root of the sum of squares.

        Examples:
            >>> import seqloom as sl
            >>> B = sl.tensor.backend("numpy")
            >>> sl.tensor.Gradients({1: B.asarray([3.0, 4.0])}, B).norm()
            5.0
        """
        b = self.backend
        squares = (b.to_numpy(b.sum(b.square(each))) for each in self._arrays.values())
        return math.sqrt(sum(float(each) for each in squares))

    def clip(self, norm: float) -> Gradients:
        """Scaled down together, so that their norm is at most `norm`.

        Args:
            norm: The largest norm allowed (Pascanu et al. 2013).

        Returns:
            New gradients; of the same values where they are small enough.

        Examples:
            >>> import seqloom as sl
            >>> B = sl.tensor.backend("numpy")
            >>> grads = sl.tensor.Gradients({1: B.asarray([3.0, 4.0])}, B)
            >>> round(grads.clip(1.0).norm(), 3)
            1.0
        """
        if not self._arrays:
            return self
        scaled, _ = self.backend.clip_by_global_norm([*self._arrays.values()], norm)
        clipped = dict(zip(self._arrays, scaled, strict=True))
        return Gradients(clipped, self.backend, inputs=self._inputs)

    def __iter__(self) -> Iterator[int]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return f"Gradients of {len(self)} leaves on {self.backend}"


def _number(leaf: Any) -> int | None:
    """The number under which a leaf's gradient is kept."""
    if hasattr(leaf, "id"):
        return leaf.id
    find = getattr(getattr(leaf, "backend", None), "leaf_number", None)
    return None if find is None else find(leaf.raw)
