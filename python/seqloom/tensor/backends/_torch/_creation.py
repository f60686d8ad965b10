"""Making torch's arrays, and their element types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import torch
from torch import Tensor

from seqloom.errors import DTypeError
from seqloom.tensor._elements import (
    NATIVE_DTYPES,
    require_range_fits,
    require_representable,
    to_native,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from numpy.typing import DTypeLike, NDArray

    from seqloom.tensor._backend import Backend

    # A name, a NumPy type, one of torch's, or a type of Python.
    DType: TypeAlias = DTypeLike | torch.dtype
    Size: TypeAlias = Sequence[int] | int
    Number: TypeAlias = int | float | complex


# fmt: off
_NAMES = (
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
    "float16", "float32", "float64", "complex64", "complex128",
)
# NumPy has these types of ml_dtypes only; older versions of torch lack some.
_NARROW = (
    "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu",
)
# fmt: on
_TO_NUMPY: dict[torch.dtype, np.dtype[Any]] = {
    getattr(torch, name): np.dtype(name) for name in _NAMES
} | {
    getattr(torch, name): np.dtype(getattr(ml_dtypes, name))
    for name in _NARROW
    if hasattr(torch, name)
}
# Apart from the types: torch.compile of 2.10 and 2.11 cannot read a dictionary of those.
_OF_NAME = {ours.name: theirs for theirs, ours in _TO_NUMPY.items()}
_TO_TORCH: dict[Any, torch.dtype] = {float: torch.float32, int: torch.int64}
for _theirs, _ours in _TO_NUMPY.items():
    _TO_TORCH.update({_ours: _theirs, _ours.type: _theirs})


def to_torch(dtype: DType) -> torch.dtype:
    """Return the torch type of a name, a NumPy type, or itself."""
    if isinstance(dtype, torch.dtype):
        return dtype
    if isinstance(dtype, str) and dtype in _OF_NAME:
        return _OF_NAME[dtype]
    try:
        return _TO_TORCH[dtype]
    except (KeyError, TypeError):
        raise DTypeError(
            f"torch has no element type {dtype!r}; use one such as float32"
        ) from None


def to_numpy_type(dtype: torch.dtype) -> np.dtype[Any]:
    """Return the NumPy type of a torch type."""
    return _TO_NUMPY[dtype]


_UNSIGNED = frozenset((torch.uint16, torch.uint32, torch.uint64))


def asarray(
    b: Backend, data: Any, dtype: DType | None = None, *, copy: bool | None = None
) -> Tensor:
    """Return an array of the data on the device; Python's floats become `float_dtype`."""
    if not isinstance(data, Tensor):
        # Data as NumPy's array, in which Python's floats are of `float_dtype`.
        array = to_native(np.asarray(data))
        given = isinstance(data, (np.ndarray, np.generic)) or array.dtype != np.float64
        data = _from_numpy(b, (array if given else array.astype(np.dtype(b.float_dtype))))
    kind = data.dtype if dtype is None else to_torch(dtype)
    found = data.detach().to(b.device, kind, non_blocking=not copy)
    return found.clone() if copy and found.data_ptr() == data.data_ptr() else found


def empty(b: Backend, shape: Size, *, dtype: DType | None = None) -> Tensor:
    """Memory that holds anything."""
    return torch.empty(_sizes(shape), dtype=_kind(b, dtype), device=b.device)


def zeros(b: Backend, shape: Size, dtype: DType | None = None) -> Tensor:
    """Zeros."""
    return torch.zeros(_sizes(shape), dtype=_kind(b, dtype), device=b.device)


def ones(b: Backend, shape: Size, dtype: DType | None = None) -> Tensor:
    """Ones."""
    return torch.ones(_sizes(shape), dtype=_kind(b, dtype), device=b.device)


def full(
    b: Backend, shape: Size, value: Number | Tensor, *, dtype: DType | None = None
) -> Tensor:
    """One value everywhere."""
    if isinstance(value, Tensor):
        kind = value.dtype if dtype is None else to_torch(dtype)
        return value.to(kind).expand(_sizes(shape)).clone()
    if dtype is None and not isinstance(value, float):
        dtype = torch.bool if isinstance(value, bool) else torch.int64
    kind = _kind(b, dtype)
    require_representable(value, to_numpy_type(kind))
    return torch.full(_sizes(shape), value, dtype=kind, device=b.device)


def arange(
    b: Backend,
    start: float,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """Numbers at equal distances."""
    if stop is None:
        start, stop = 0, start
    floats = any(isinstance(bound, float) for bound in (start, stop, step))
    kind = torch.int64 if dtype is None and not floats else _kind(b, dtype)
    require_range_fits(start, stop, step, to_numpy_type(kind))
    if (stop - start) * step < 0:  # which torch refuses
        return torch.empty(0, dtype=kind, device=b.device)
    if kind.is_complex:  # which torch has no steps of
        made = b.arange(start, stop, step, dtype=kind.to_real())
        return made.to(kind)
    if kind in _UNSIGNED:  # for which torch has no kernel
        return torch.arange(start, stop, step, dtype=torch.int64, device=b.device).to(kind)
    return torch.arange(start, stop, step, dtype=kind, device=b.device)


def eye(
    b: Backend,
    rows: int,
    columns: int | None = None,
    *,
    k: int = 0,
    dtype: DType | None = None,
) -> Tensor:
    """Ones on a diagonal."""
    columns = rows if columns is None else columns
    across = torch.arange(columns, device=b.device)
    down = torch.arange(rows, device=b.device)[:, None]
    return (across - down == k).to(_kind(b, dtype))


def from_dlpack(b: Backend, x: Any) -> Tensor:
    """Return an array of any library, where it lies already if it can."""
    return torch.from_dlpack(x).detach().to(b.device)


def to_numpy(x: Tensor) -> NDArray[np.generic]:
    """Return the array as NumPy's; from another device, a copy."""
    x = x.detach().cpu()
    ours = to_numpy_type(x.dtype)
    if ours in NATIVE_DTYPES:
        return x.numpy()
    whole = torch.int16 if ours.itemsize == 2 else torch.int8  # noqa: PLR2004 - bytes
    return x.contiguous().view(whole).numpy().view(ours)


def dtype(x: Tensor) -> np.dtype[Any]:
    """Return the element type as NumPy's."""
    return to_numpy_type(x.dtype)


def nbytes(x: Tensor) -> int:
    """Return the memory of an array."""
    return x.numel() * x.element_size()


def astype(x: Tensor, dtype: DType, *, copy: bool = True) -> Tensor:
    """Return the values in another type; where it is the same, the array itself."""
    del copy  # arrays are values
    return x.to(to_torch(dtype))


def finfo(dtype: DType | Tensor) -> torch.finfo:
    """Return the limits of a float type."""
    return torch.finfo(to_torch(dtype.dtype if isinstance(dtype, Tensor) else dtype))


def iinfo(dtype: DType | Tensor) -> torch.iinfo:
    """Return the limits of an integer type."""
    return torch.iinfo(to_torch(dtype.dtype if isinstance(dtype, Tensor) else dtype))


def isdtype(dtype: DType, kind: str | tuple[str, ...]) -> bool:
    """Return whether a type is of a kind, as in the standard."""
    found = to_torch(dtype)
    if kind == "bool":
        return found is torch.bool  # without NumPy, which torch.compile cannot follow
    ours = to_numpy_type(found)
    return np.isdtype(ours if ours in NATIVE_DTYPES else np.dtype(np.float16), kind)


def result_type(*args: Tensor | Number | DType) -> np.dtype[Any]:
    """What a result of these has; numbers are weak."""
    numbers = [arg for arg in args if isinstance(arg, (int, float, complex))]
    kinds = [
        arg.dtype if isinstance(arg, Tensor) else to_torch(arg)
        for arg in args
        if not isinstance(arg, (int, float, complex))
    ]
    found = kinds[0] if kinds else torch.bool
    for kind in kinds[1:]:
        found = torch.promote_types(found, kind)
    for number in numbers:
        found = torch.result_type(torch.empty((1,), dtype=found), number)
    return to_numpy_type(found)


def _kind(b: Backend, dtype: DType | None) -> torch.dtype:
    """Return a type, or that of floats."""
    return to_torch(b.float_dtype if dtype is None else dtype)


def _from_numpy(b: Backend, array: Any) -> Tensor:
    """Return a NumPy array as torch's, sharing memory where both can."""
    if array.dtype not in NATIVE_DTYPES and array.dtype.isnative:
        whole = _from_numpy(b, array.view(f"i{array.dtype.itemsize}"))
        return whole.view(to_torch(array.dtype))
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    shared = native.flags.writeable and all(step >= 0 for step in native.strides)
    return torch.from_numpy(native if shared else native.copy())


def _sizes(shape: Size) -> tuple[int, ...]:
    """Return a shape as a tuple."""
    return (shape,) if isinstance(shape, int) else tuple(shape)
