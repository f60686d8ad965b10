"""PyTorch's gradient engine with the interface of `Autodiff`."""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

import torch

from seqloom.errors import GradientError
from seqloom.tensor._backend import Array, Backend, make_array
from seqloom.tensor._derivatives import is_custom_engine
from seqloom.tensor._families import _attention, _random
from seqloom.tensor._tensor import Tensor

_leaf_numbers = count(1)


class TorchEngine(Backend):
    """An engine that differentiates the torch backend with PyTorch autograd."""

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.name = f"torch_engine({inner.name})"
        self.device, self.threads = inner.device, inner.threads
        self.float_dtype = inner.float_dtype
        self.is_engine = True  # read by `is_custom_engine`
        self._leaves: WeakValueDictionary[int, Any] = WeakValueDictionary()
        for name in _names():
            setattr(self, name, getattr(inner, name))
        self.accumulate = inner.add  # not in place: autograd may have saved the target

    def __getattr__(self, name: str) -> Any:
        """Return the inner function, because PyTorch records its operations."""
        if name == "inner" or name.startswith("_"):
            raise AttributeError(name)  # `inner` is missing, for example during a copy
        return getattr(self.inner, name)

    def __reduce__(self) -> Any:
        """Create a new engine over the same backend when this engine is copied."""
        return TorchEngine, (self.inner,)

    def asarray(self, data: Any, dtype: Any = None, *, copy: bool | None = None) -> Array:
        """Create an array."""
        return self.inner.asarray(data, dtype=dtype, copy=copy)

    def to_numpy(self, x: Array) -> Any:
        """Return the value as a NumPy array."""
        return self.inner.to_numpy(x.detach() if hasattr(x, "detach") else x)

    def stop_gradient(self, x: Array) -> Array:
        """Return the array, detached from autograd."""
        return x.detach()

    def dropout(self, x: Array, key: Any, rate: float) -> Array:
        """Compute with standard operations, which have PyTorch gradients."""
        return _random.dropout(self, x, key, rate)

    def attention(
        self,
        q: Array,
        k: Array,
        v: Array,
        mask: Any = None,
        key: Any = None,
        **options: Any,
    ) -> Any:
        """Compute attention; with dropout, use operations that PyTorch differentiates."""
        if options.get("dropout") and key is not None:
            return _attention.attention(self, q, k, v, mask, key, **options)
        return self.inner.attention(q, k, v, mask, None, **options)

    def leaf(self, value: Array) -> Array:
        """Return the array as a leaf, whose operations are recorded."""
        # PyTorch records a view as a new node, so the autograd engine still tracks it.
        is_tracked = value.requires_grad
        leaf = value.view_as(value) if is_tracked else value.detach().requires_grad_()
        self._leaves[self._number_of(leaf)] = leaf
        return leaf

    def gradients(
        self, raw: Array, seed: Array, *, retain: bool = False
    ) -> dict[int, Array]:
        """Compute the gradients of a result with respect to all leaves."""
        leaves = dict(self._leaves)
        is_nested = is_custom_engine(self.inner)
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
        """Return the number that identifies the gradient of an array."""
        if not getattr(raw, "requires_grad", False):
            return None
        return self._number_of(raw)

    def _number_of(self, raw: Any) -> int:
        """Assign a number to an array for its lifetime."""
        if not hasattr(raw, "seqloom_number"):
            raw.seqloom_number = next(_leaf_numbers)
        return raw.seqloom_number

    def lower(self, raw: Array) -> Array:
        """Return a result as an array of the inner backend."""
        return raw if is_custom_engine(self.inner) else raw.detach()

    def tensor(
        self, data: Any, *, dtype: str | None = None, requires_grad: bool = False
    ) -> Tensor:
        """Create a tensor on this backend."""
        value = make_array(data, dtype, self.inner)
        return Tensor(self.leaf(value) if requires_grad else value, self)


@cache
def _names() -> tuple[str, ...]:
    """Return the functions of a backend that have a default implementation."""
    own = {*vars(TorchEngine), "accumulate", "array_namespace", "from_numpy"}
    return tuple(
        name
        for name in dir(Backend)
        if not name.startswith("_") and name not in own and callable(getattr(Backend, name))
    )
