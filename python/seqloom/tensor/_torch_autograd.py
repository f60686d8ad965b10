"""Gradients by torch's own engine, with the interface of `Autodiff`."""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import Any, TypeGuard
from weakref import WeakValueDictionary

from seqloom.errors import BackendError, GradientError
from seqloom.tensor._backend import Array, Backend, make_array
from seqloom.tensor._tensor import Tensor

_leaf_numbers = count(1)


class TorchAutograd(Backend):
    """Makes the torch backend differentiable by torch's own tape.

    It supports ``backward``, `Gradients` and ``value_and_grad``, as `Autodiff` does, and
    shows that another engine fits the same interface.

    Args:
        inner: The torch backend; another `TorchAutograd` for second derivatives.

    Attributes:
        inner: That backend.

    Raises:
        BackendError: The backend does not compute with torch.

    Examples:
        >>> import seqloom as sl
        >>> A = sl.tensor.TorchAutograd(sl.tensor.backend("torch"))
        >>> x = A.tensor([1.0, 3.0], requires_grad=True)
        >>> (x * x).sum().backward().wrt(x).numpy().tolist()
        [2.0, 6.0]
    """

    def __init__(self, inner: Backend) -> None:
        if not inner.name.startswith("torch"):
            raise BackendError(
                f"TorchAutograd needs a torch backend, got {inner}; "
                "sl.tensor.Autodiff works on any backend"
            )
        self.inner = inner
        self.name = f"torch_autograd({inner.name})"
        self.device, self.threads = inner.device, inner.threads
        self.float_dtype = inner.float_dtype
        self.is_engine = True  # records by itself: see `is_own_engine`
        self._leaves: WeakValueDictionary[int, Any] = WeakValueDictionary()
        for name in _names():
            setattr(self, name, getattr(inner, name))
        self.accumulate = inner.add  # what it writes into may be on the tape

    def __getattr__(self, name: str) -> Any:
        """Torch records by itself, so each function is the inner one."""
        if name == "inner" or name.startswith("_"):
            raise AttributeError(name)  # while it is being copied, say
        return getattr(self.inner, name)

    def __reduce__(self) -> Any:
        """A copy is another engine over the same backend."""
        return TorchAutograd, (self.inner,)

    def asarray(self, data: Any, dtype: Any = None, *, copy: bool | None = None) -> Array:
        """Makes an array of the data."""
        return self.inner.asarray(data, dtype=dtype, copy=copy)

    def to_numpy(self, x: Array) -> Any:
        """Returns the value as NumPy's array."""
        return self.inner.to_numpy(x.detach() if hasattr(x, "detach") else x)

    def stop_gradient(self, x: Array) -> Array:
        """Returns the same values, which torch no longer tracks."""
        return x.detach()

    def dropout(self, x: Array, key: Any, rate: float) -> Array:
        """Computes in pieces, because torch cannot differentiate our own kernel."""
        return Backend.dropout(self, x, key, rate)

    def attention(
        self,
        q: Array,
        k: Array,
        v: Array,
        mask: Any = None,
        key: Any = None,
        **options: Any,
    ) -> Any:
        """Computes in pieces if there is dropout, as `dropout` does."""
        if options.get("dropout") and key is not None:
            return Backend.attention(self, q, k, v, mask, key, **options)
        return self.inner.attention(q, k, v, mask, None, **options)

    def leaf(self, value: Array) -> Array:
        """Makes a leaf of an array: operations on it are recorded.

        Args:
            value: An array of floats.

        Returns:
            An array of this engine.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.TorchAutograd(sl.tensor.backend("torch"))
            >>> A.leaf(A.inner.ones((2,))).requires_grad
            True
        """
        # A view is another node for torch, and stays tracked by the outer engine.
        is_tracked = value.requires_grad
        leaf = value.view_as(value) if is_tracked else value.detach().requires_grad_()
        self._leaves[self._number_of(leaf)] = leaf
        return leaf

    def gradients(
        self, raw: Array, seed: Array, *, retain: bool = False
    ) -> dict[int, Array]:
        """Computes the gradients of a result by all leaves; consumes what was recorded.

        Args:
            raw: The result.
            seed: The gradient by the result, of its shape.
            retain: Whether the recorded operations stay usable for another call.

        Returns:
            Arrays by the number of each leaf.

        Raises:
            GradientError: Torch refuses; the operations were consumed before, say.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.TorchAutograd(sl.tensor.backend("torch"))
            >>> x = A.leaf(A.inner.ones((2,)))
            >>> A.gradients(A.sum(x), A.inner.ones(()))[A.leaf_number(x)].tolist()
            [1.0, 1.0]
        """
        import torch

        leaves = dict(self._leaves)
        is_nested = is_own_engine(self.inner)
        try:
            parts = torch.autograd.grad(
                *(raw, list(leaves.values()), seed),
                retain_graph=retain or is_nested,
                create_graph=is_nested,
                allow_unused=True,
            )
        except RuntimeError as error:
            raise GradientError(f"torch's engine failed: {error}") from error
        found: Any = zip(leaves, parts, strict=True)
        return {number: part for number, part in found if part is not None}

    def leaf_number(self, raw: Any) -> int | None:
        """Returns the number by which the gradient by an array is found.

        Args:
            raw: An array.

        Returns:
            The number, or None if torch does not track the array.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.TorchAutograd(sl.tensor.backend("torch"))
            >>> A.leaf_number(A.inner.ones((2,))) is None
            True
        """
        if not getattr(raw, "requires_grad", False):
            return None
        return self._number_of(raw)

    def _number_of(self, raw: Any) -> int:
        """Numbers an array once, for its lifetime."""
        if not hasattr(raw, "seqloom_number"):
            raw.seqloom_number = next(_leaf_numbers)
        return raw.seqloom_number

    def lower(self, raw: Array) -> Array:
        """Returns a result as an array of the inner backend.

        Args:
            raw: An array.

        Returns:
            The same values, no longer tracked by this engine.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.TorchAutograd(sl.tensor.backend("torch"))
            >>> A.lower(A.leaf(A.inner.ones((2,)))).requires_grad
            False
        """
        return raw if is_own_engine(self.inner) else raw.detach()

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

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.TorchAutograd(sl.tensor.backend("torch"))
            >>> (A.tensor(3.0, requires_grad=True) * 2).item()
            6.0
        """
        value = make_array(data, dtype, self.inner)
        return Tensor(self.leaf(value) if requires_grad else value, self)


def is_own_engine(backend: object) -> TypeGuard[TorchAutograd]:
    """Whether a backend records gradients on a tape of its own, not by `Autodiff`."""
    # Not getattr: backends over another one pass unknown names on to it.
    return "is_engine" in vars(backend)


@cache
def _names() -> tuple[str, ...]:
    """Returns the functions of a backend that have a default body."""
    own = {*vars(TorchAutograd), "accumulate", "array_namespace", "from_numpy"}
    return tuple(
        name
        for name in dir(Backend)
        if not name.startswith("_") and name not in own and callable(getattr(Backend, name))
    )
