"""``x.at[key]``: a new tensor with some elements of another replaced, or added to."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from seqloom.tensor._dispatch import apply
from seqloom.tensor._element_types import require_in_range
from seqloom.tensor._index import normalize_key
from seqloom.tensor._state import TensorState

_T = TypeVar("_T", bound=TensorState)


class At(Generic[_T]):
    """A tensor that waits for the key: ``x.at[key]``."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: _T) -> None:
        self._tensor = tensor

    def __getitem__(self, key: Any) -> IndexedElements[_T]:
        shape = tuple(self._tensor.raw.shape)
        return IndexedElements(self._tensor, normalize_key(key, shape))


class IndexedElements(Generic[_T]):
    """Some elements of a tensor; values broadcast to them."""

    __slots__ = ("_key", "_tensor")

    def __init__(self, tensor: _T, key: Any) -> None:
        self._tensor = tensor
        self._key = key

    def set(self, values: Any) -> _T:
        """Returns a new tensor with these elements replaced."""
        return apply("slice_update", self._tensor, self._key, self._convert(values))

    def add(self, values: Any) -> _T:
        """Returns a new tensor with values added to these elements."""
        return apply("slice_add", self._tensor, self._key, self._convert(values))

    def _convert(self, values: Any) -> Any:
        """Returns the values as a tensor of the same element type."""
        tensor: Any = self._tensor
        require_in_range(values, tensor.dtype)
        if not isinstance(values, type(tensor)):
            values = tensor.backend.tensor(values)
        return values if values.dtype == tensor.dtype else values.astype(tensor.dtype)
