"""Arrays to write to: new ones, or the caller's, seen as bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import MissingExtraError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Shape = tuple[int, ...]

# NumPy has no such type: an array of it is a torch tensor.
_BFLOAT16 = "bfloat16"


def bits_of(values: Any, dtype: str) -> NDArray[Any]:
    """Says how an array of a type holds some numbers.

    Args:
        values: Numbers.
        dtype: The type, bfloat16 among them.

    Returns:
        The same numbers' bits, as unsigned integers of the type's size.

    Examples:
        >>> [hex(bits) for bits in bits_of([1, 0.5], "bfloat16")]
        ['0x3f80', '0x3f00']
    """
    if dtype != _BFLOAT16:
        return _unsigned(np.ascontiguousarray(values, dtype))
    wide = np.ascontiguousarray(values, np.float32).view(np.uint32)
    to_even = np.uint32(0x7FFF) + ((wide >> 16) & 1)
    return ((wide + to_even) >> 16).astype(np.uint16)


def writable(shape: Shape, dtype: str, out: Any = None) -> tuple[Any, NDArray[Any]]:
    """Makes an array, or checks the caller's.

    Args:
        shape: Its shape.
        dtype: Its type; ``"bfloat16"`` gives a torch tensor.
        out: The caller's array or torch tensor, if there is one.

    Returns:
        The array, and its bits end to end.

    Raises:
        ShapeError: ``out`` does not fit.

    Examples:
        >>> made, bits = writable((2, 3), "float32")
        >>> made.shape, bits.dtype, bits.shape
        ((2, 3), dtype('uint32'), (6,))
    """
    if dtype == _BFLOAT16:
        return _writable_tensor(shape, out)
    if out is None:
        made = np.empty(shape, dtype)
        return made, _unsigned(made.reshape(-1))
    array = _shared(out)
    flags = array.flags
    fits = array.shape == shape and array.dtype == dtype
    if not (fits and flags.c_contiguous and flags.writeable):
        raise ShapeError(_misfit(shape, dtype, f"{array.dtype} {array.shape}"))
    return out, _unsigned(array.reshape(-1))


def _shared(out: Any) -> NDArray[Any]:
    """Sees the caller's array or torch tensor as an array in the same memory."""
    if not hasattr(out, "__array__"):
        raise ShapeError(f"out must be an array or a torch tensor, got {type(out)}")
    return np.asarray(out)


def _unsigned(array: NDArray[Any]) -> NDArray[Any]:
    """Sees numbers as their bits."""
    return array.view(f"u{array.itemsize}")


def _writable_tensor(shape: Shape, out: Any) -> tuple[Any, NDArray[Any]]:
    """Makes or checks a torch tensor, and lends its bits."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(
            'dtype="bfloat16" gives torch tensors: pip install "seqloom[torch]"'
        ) from error
    made = torch.empty(shape, dtype=torch.bfloat16) if out is None else out
    is_tensor = isinstance(made, torch.Tensor) and made.dtype is torch.bfloat16
    if not (is_tensor and made.device.type == "cpu" and made.is_contiguous()):
        found: Any = getattr(out, "dtype", "no tensor")
        raise ShapeError(_misfit(shape, _BFLOAT16, f"{found}"))
    if tuple(made.shape) != shape:
        raise ShapeError(_misfit(shape, _BFLOAT16, f"{tuple(made.shape)}"))
    return made, made.detach().view(torch.int16).numpy().reshape(-1).view(np.uint16)


def _misfit(shape: Shape, dtype: str, found: str) -> str:
    """Says what was wanted and what was given."""
    return (
        f"out must be a C-contiguous {dtype} array of shape {shape} that can be written "
        f"to, got {found}"
    )


def numbers_of(array: Any) -> NDArray[Any]:
    """Reads an array or a torch tensor, bfloat16 too, as one of NumPy's.

    Args:
        array: The numbers.

    Returns:
        The same numbers, copied only where NumPy has no such type.

    Examples:
        >>> numbers_of([[1, 2]]).shape
        (1, 2)
    """
    if str(getattr(array, "dtype", "")).endswith(_BFLOAT16):
        array = array.float()
    return np.asarray(array)
