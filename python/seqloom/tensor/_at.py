"""``x.at[key]``: a new tensor with some places of another replaced, or added to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._dispatch import apply
from seqloom.tensor._index import plain_key
from seqloom.tensor._integer_range import require_in_range

if TYPE_CHECKING:
    from seqloom.tensor._tensor import Tensor


class At:
    """The places of a tensor, waiting for a key.

    Args:
        tensor: Whose places.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 2.0, 3.0])
        >>> x.at[0].set(9.0).tolist(), x.at[1:].add(x[:2]).tolist()
        ([9.0, 2.0, 3.0], [1.0, 3.0, 5.0])
    """

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def __getitem__(self, key: Any) -> Places:
        return Places(self._tensor, plain_key(key, self._tensor.shape))


class Places:
    """Some places of a tensor."""

    __slots__ = ("_key", "_tensor")

    def __init__(self, tensor: Tensor, key: Any) -> None:
        self._tensor = tensor
        self._key = key

    def set(self, values: Any) -> Tensor:
        """The tensor with these places replaced.

        Args:
            values: A number, an array or a tensor that broadcasts to the places.

        Returns:
            A new tensor of the old one's type.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 2.0]).at[0].set(5.0).tolist()
            [5.0, 2.0]
        """
        return apply("slice_update", self._tensor, self._key, self._given(values))

    def add(self, values: Any) -> Tensor:
        """The tensor with something added at these places, as often as each is named.

        Args:
            values: A number, an array or a tensor that broadcasts to the places.

        Returns:
            A new tensor of the old one's type.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 2.0]).at[0].add(5.0).tolist()
            [6.0, 2.0]
        """
        return apply("slice_add", self._tensor, self._key, self._given(values))

    def _given(self, values: Any) -> Any:
        """The values as an array of the tensor's type."""
        tensor = self._tensor
        require_in_range(values, tensor.dtype)
        if not isinstance(values, type(tensor)):
            values = tensor.backend.tensor(values)
        return values if values.dtype == tensor.dtype else values.astype(tensor.dtype)
