"""``x.at[key]``: a new tensor with some elements of another replaced, or added to."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from seqloom.tensor._dispatch import apply
from seqloom.tensor._index import normalize_key
from seqloom.tensor._integer_range import require_in_range
from seqloom.tensor._state import TensorState

_T = TypeVar("_T", bound=TensorState)


class At(Generic[_T]):
    """Waits for the key: ``x.at[key]``.

    Args:
        tensor: The tensor to index.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 2.0, 3.0])
        >>> x.at[0].set(9.0).tolist(), x.at[1:].add(x[:2]).tolist()
        ([9.0, 2.0, 3.0], [1.0, 3.0, 5.0])
    """

    __slots__ = ("_tensor",)

    def __init__(self, tensor: _T) -> None:
        self._tensor = tensor

    def __getitem__(self, key: Any) -> IndexedElements[_T]:
        shape = tuple(self._tensor.raw.shape)
        return IndexedElements(self._tensor, normalize_key(key, shape))


class IndexedElements(Generic[_T]):
    """Some elements of a tensor."""

    __slots__ = ("_key", "_tensor")

    def __init__(self, tensor: _T, key: Any) -> None:
        self._tensor = tensor
        self._key = key

    def set(self, values: Any) -> _T:
        """Returns the tensor with these elements replaced.

        Args:
            values: A number, an array or a tensor that broadcasts to the elements.

        Returns:
            A new tensor of the same element type.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 2.0]).at[0].set(5.0).tolist()
            [5.0, 2.0]
        """
        return apply("slice_update", self._tensor, self._key, self._convert(values))

    def add(self, values: Any) -> _T:
        """Returns the tensor with values added; several times if the key repeats an index.

        Args:
            values: A number, an array or a tensor that broadcasts to the elements.

        Returns:
            A new tensor of the same element type.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 2.0]).at[0].add(5.0).tolist()
            [6.0, 2.0]
        """
        return apply("slice_add", self._tensor, self._key, self._convert(values))

    def _convert(self, values: Any) -> Any:
        """Returns the values as a tensor of the same element type."""
        tensor: Any = self._tensor
        require_in_range(values, tensor.dtype)
        if not isinstance(values, type(tensor)):
            values = tensor.backend.tensor(values)
        return values if values.dtype == tensor.dtype else values.astype(tensor.dtype)
