"""Gradients by torch's own engine, behind the interface of `Autodiff`."""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from seqloom.errors import BackendError, GradientError
from seqloom.tensor._backend import Array, Backend, array_of

if TYPE_CHECKING:
    from seqloom.tensor._tensor import Tensor

_numbers = count(1)


class TorchAutograd(Backend):
    """Makes the torch backend differentiable by torch's own tape.

    It gives what `Autodiff` gives, ``backward`` and `Gradients` and ``value_and_grad``, and
    shows that another engine fits behind the same names.

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
                f"torch's engine follows torch's arrays, not those of {inner}"
            )
        self.inner = inner
        self.name = f"torch_autograd({inner.name})"
        self.device, self.threads = inner.device, inner.threads
        self.float_dtype = inner.float_dtype
        self.follows = True
        self._leaves: WeakValueDictionary[int, Any] = WeakValueDictionary()
        for name in _names():
            setattr(self, name, getattr(inner, name))
        self.accumulate = inner.add  # what it writes into may be on the tape

    def __getattr__(self, name: str) -> Any:
        """Torch follows by itself, so each function is the inner one."""
        if name == "inner" or name.startswith("_"):
            raise AttributeError(name)  # while it is being copied, say
        return getattr(self.inner, name)

    def __reduce__(self) -> Any:
        """A copy is another one over the same backend."""
        return TorchAutograd, (self.inner,)

    def asarray(self, data: Any, dtype: Any = None, *, copy: bool | None = None) -> Array:
        """An array of the data."""
        return self.inner.asarray(data, dtype=dtype, copy=copy)

    def to_numpy(self, x: Array) -> Any:
        """The value as NumPy's array."""
        return self.inner.to_numpy(x.detach() if hasattr(x, "detach") else x)

    def stop_gradient(self, x: Array) -> Array:
        """The same values, which torch no longer follows."""
        return x.detach()

    def dropout(self, x: Array, key: Any, rate: float) -> Array:
        """As everywhere; in pieces, since torch cannot look into our own kernel."""
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
        """As everywhere; with dropout in pieces."""
        if options.get("dropout") and key is not None:
            return Backend.attention(self, q, k, v, mask, key, **options)
        return self.inner.attention(q, k, v, mask, None, **options)

    def leaf(self, value: Array) -> Array:
        """Begins to follow an array.

        Args:
            value: An array of floats.

        Returns:
            An array that results can be differentiated by.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.TorchAutograd(sl.tensor.backend("torch"))
            >>> A.leaf(A.inner.ones((2,))).requires_grad
            True
        """
        # A view is another node for torch, and what the outer engine follows stays so.
        inside = value.requires_grad
        leaf = value.view_as(value) if inside else value.detach().requires_grad_()
        self._leaves[self._numbered(leaf)] = leaf
        return leaf

    def gradients(
        self, raw: Array, seed: Array, *, retain: bool = False
    ) -> dict[int, Array]:
        """The derivatives of a result, weighted; what was recorded is consumed.

        Args:
            raw: A result.
            seed: The gradient by it, of its shape.
            retain: Leave what was recorded as it is, for another call.

        Returns:
            Arrays by the number of each leaf.

        Raises:
            GradientError: Torch refuses, because it was consumed before, say.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.TorchAutograd(sl.tensor.backend("torch"))
            >>> x = A.leaf(A.inner.ones((2,)))
            >>> A.gradients(A.sum(x), A.inner.ones(()))[A.leaf_number(x)].tolist()
            [1.0, 1.0]
        """
        import torch

        leaves = dict(self._leaves)
        again = "follows" in vars(self.inner)
        try:
            parts = torch.autograd.grad(
                *(raw, list(leaves.values()), seed),
                retain_graph=retain or again,
                create_graph=again,
                allow_unused=True,
            )
        except RuntimeError as error:
            raise GradientError(f"torch's engine: {error}") from error
        found: Any = zip(leaves, parts, strict=True)
        return {number: part for number, part in found if part is not None}

    def leaf_number(self, raw: Any) -> int | None:
        """The number under which the gradient by an array is found.

        Args:
            raw: An array.

        Returns:
            Its number, None where torch does not follow it.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.TorchAutograd(sl.tensor.backend("torch"))
            >>> A.leaf_number(A.inner.ones((2,))) is None
            True
        """
        if not getattr(raw, "requires_grad", False):
            return None
        return self._numbered(raw)

    def _numbered(self, raw: Any) -> int:
        """The number that an array keeps for good."""
        if not hasattr(raw, "seqloom_number"):
            raw.seqloom_number = next(_numbers)
        return raw.seqloom_number

    def lower(self, raw: Array) -> Array:
        """A result as the inner backend has it.

        Args:
            raw: An array.

        Returns:
            The same values, no longer followed by this engine.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.TorchAutograd(sl.tensor.backend("torch"))
            >>> A.lower(A.leaf(A.inner.ones((2,)))).requires_grad
            False
        """
        return raw if "follows" in vars(self.inner) else raw.detach()

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

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.TorchAutograd(sl.tensor.backend("torch"))
            >>> (A.tensor(3.0, requires_grad=True) * 2).item()
            6.0
        """
        from seqloom.tensor._tensor import Tensor

        value = array_of(data, dtype, self.inner)
        return Tensor(self.leaf(value) if requires_grad else value, self)


@cache
def _names() -> tuple[str, ...]:
    """The functions of a backend that have a default body."""
    own = {*vars(TorchAutograd), "accumulate", "from_numpy"}
    return tuple(
        name
        for name in dir(Backend)
        if not name.startswith("_") and name not in own and callable(getattr(Backend, name))
    )
