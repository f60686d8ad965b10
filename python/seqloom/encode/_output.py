"""Arrays to write to: new ones, or the caller's, seen as bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import quote
from seqloom.errors import MissingExtraError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Shape = tuple[int, ...]

# NumPy does not have this type: an array of it is a torch tensor.
_BFLOAT16 = "bfloat16"


def to_bits(values: object, dtype: str) -> NDArray[Any]:
    """Converts numbers to a dtype, and returns their bits as unsigned integers."""
    if dtype != _BFLOAT16:
        return _view_bits(np.ascontiguousarray(values, dtype))
    wide = np.ascontiguousarray(values, np.float32).view(np.uint32)
    to_even = np.uint32(0x7FFF) + ((wide >> 16) & 1)
    return ((wide + to_even) >> 16).astype(np.uint16)


def to_values(bits: NDArray[Any], dtype: str) -> list[Any]:
    """Converts bits back to plain numbers: those that the dtype holds."""
    if dtype != _BFLOAT16:
        return bits.view(dtype).tolist()
    return (bits.astype(np.uint32) << 16).view(np.float32).tolist()


def prepare_output(
    shape: Shape, dtype: str, out: object = None
) -> tuple[Any, NDArray[Any]]:
    """Returns a new array, or the caller's, and its bits as a flat array."""
    if dtype == _BFLOAT16:
        return _prepare_tensor(shape, out)
    if out is None:
        made = np.empty(shape, dtype)
        return made, _view_bits(made.reshape(-1))
    if not hasattr(out, "__array__"):
        raise ShapeError(f"out must be an array or a torch tensor, got {quote(out)}")
    array = np.asarray(out)  # it shares the memory of the caller's
    flags = array.flags
    fits = array.shape == shape and array.dtype == dtype
    if not (fits and flags.c_contiguous and flags.writeable):
        raise ShapeError(_describe_misfit(shape, dtype, f"{array.dtype} {array.shape}"))
    return out, _view_bits(array.reshape(-1))


def _view_bits(array: NDArray[Any]) -> NDArray[Any]:
    """Returns the bits of numbers, without a copy."""
    return array.view(f"u{array.itemsize}")


def _prepare_tensor(shape: Shape, out: Any) -> tuple[Any, NDArray[Any]]:
    """Returns a new torch tensor, or the caller's, and its bits as a flat array."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(
            'dtype="bfloat16" gives torch tensors: pip install torch'
        ) from error
    made = torch.empty(shape, dtype=torch.bfloat16) if out is None else out
    is_tensor = isinstance(made, torch.Tensor) and made.dtype is torch.bfloat16
    if not (is_tensor and made.device.type == "cpu" and made.is_contiguous()):
        found: Any = getattr(out, "dtype", "no tensor")
        raise ShapeError(_describe_misfit(shape, _BFLOAT16, f"{found}"))
    if tuple(made.shape) != shape:
        raise ShapeError(_describe_misfit(shape, _BFLOAT16, f"{tuple(made.shape)}"))
    return made, made.detach().view(torch.int16).numpy().reshape(-1).view(np.uint16)


def _describe_misfit(shape: Shape, dtype: str, found: str) -> str:
    """Describes an output that does not fit."""
    return (
        f"out must be a writable, C-contiguous {dtype} array of shape {shape}, got {found}"
    )


def to_numpy(array: Any) -> NDArray[Any]:
    """Converts an array or a torch tensor, bfloat16 too, to an array of NumPy."""
    if str(getattr(array, "dtype", "")).endswith(_BFLOAT16):
        array = array.float()
    return np.asarray(array)
