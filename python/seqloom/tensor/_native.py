"""What NumPy can hold and no backend computes with: swapped bytes, texts, objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from seqloom.errors import DTypeError

# Most arrays are of these; what else is a number (half precision, say) is looked at.
NATIVE = frozenset(map(np.dtype, "?bBhHiIlLqQefdgFDG"))


def native(array: Any) -> Any:
    """An array of numbers in the machine's own order of bytes.

    Args:
        array: Any array.

    Returns:
        The array, or a copy with its bytes in order.

    Raises:
        DTypeError: It does not hold numbers.

    Examples:
        >>> native(np.array([1, 2], ">i4")).dtype.isnative
        True
    """
    dtype = array.dtype
    if dtype.kind in "OSUMmT" or dtype.type is np.void:
        raise DTypeError(
            f"a tensor holds numbers or truths, not {dtype}; give an array of those, such "
            "as encoded sequences, the labels' numbers, or one field of a table"
        )
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))
