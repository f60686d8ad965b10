"""Creation of PyTorch arrays, and conversion of dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import torch
from torch import Tensor

from seqloom.errors import DTypeError
from seqloom.tensor._elements import (
    NATIVE_DTYPES,
    require_range_in_dtype,
    require_representable,
    to_native,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from numpy.typing import DTypeLike, NDArray

    from seqloom.tensor._backend import Backend

    # a name, a NumPy dtype, a torch dtype, or a Python type
    DType: TypeAlias = DTypeLike | torch.dtype
    Size: TypeAlias = Sequence[int] | int
    Number: TypeAlias = int | float | complex


# fmt: off
_TYPE_NAMES = (
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
    "float16", "float32", "float64", "complex64", "complex128",
)
# NumPy has these dtypes only through ml_dtypes; older versions of torch lack some.
_SMALL_FLOATS = (
    "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu",
)
# fmt: on
_NUMPY_DTYPES: dict[torch.dtype, np.dtype[Any]] = {
    getattr(torch, name): np.dtype(name) for name in _TYPE_NAMES
} | {
    getattr(torch, name): np.dtype(getattr(ml_dtypes, name))
    for name in _SMALL_FLOATS
    if hasattr(torch, name)
}
# The table has names as keys, because torch.compile 2.10 and 2.11 cannot trace a
# dictionary with types as keys.
_DTYPES_BY_NAME = {ours.name: theirs for theirs, ours in _NUMPY_DTYPES.items()}
_TORCH_DTYPES: dict[Any, torch.dtype] = {float: torch.float32, int: torch.int64}
for _theirs, _ours in _NUMPY_DTYPES.items():
    _TORCH_DTYPES.update({_ours: _theirs, _ours.type: _theirs})


def to_torch(dtype: DType) -> torch.dtype:
    """Convert a name, NumPy dtype, Python type or torch dtype to a torch dtype."""
    if isinstance(dtype, torch.dtype):
        return dtype
    if isinstance(dtype, str) and dtype in _DTYPES_BY_NAME:
        return _DTYPES_BY_NAME[dtype]
    try:
        return _TORCH_DTYPES[dtype]
    except (KeyError, TypeError):
        raise DTypeError(
            f"torch has no element type {dtype!r}; use one such as float32"
        ) from None


def to_numpy_type(dtype: torch.dtype) -> np.dtype[Any]:
    """Convert a torch dtype to a NumPy dtype."""
    return _NUMPY_DTYPES[dtype]


_UNSIGNED_TYPES = frozenset((torch.uint16, torch.uint32, torch.uint64))


def asarray(
    b: Backend, data: Any, dtype: DType | None = None, *, copy: bool | None = None
) -> Tensor:
    """Copy data to an array on the device; Python floats become `float_dtype`."""
    if not isinstance(data, Tensor):
        # convert to a NumPy array first, with Python floats as `float_dtype`
        array = to_native(np.asarray(data))
        given = isinstance(data, (np.ndarray, np.generic)) or array.dtype != np.float64
        data = _from_numpy(b, (array if given else array.astype(np.dtype(b.float_dtype))))
    kind = data.dtype if dtype is None else to_torch(dtype)
    found = data.detach().to(b.device, kind, non_blocking=not copy)
    return found.clone() if copy and found.data_ptr() == data.data_ptr() else found


def empty(b: Backend, shape: Size, *, dtype: DType | None = None) -> Tensor:
    """Return an uninitialised array."""
    return torch.empty(_to_tuple(shape), dtype=_choose_dtype(b, dtype), device=b.device)


def zeros(b: Backend, shape: Size, dtype: DType | None = None) -> Tensor:
    """Return an array of zeros."""
    return torch.zeros(_to_tuple(shape), dtype=_choose_dtype(b, dtype), device=b.device)


def ones(b: Backend, shape: Size, dtype: DType | None = None) -> Tensor:
    """Return an array of ones."""
    return torch.ones(_to_tuple(shape), dtype=_choose_dtype(b, dtype), device=b.device)


def full(
    b: Backend, shape: Size, value: Number | Tensor, *, dtype: DType | None = None
) -> Tensor:
    """Return an array filled with one value."""
    if isinstance(value, Tensor):
        kind = value.dtype if dtype is None else to_torch(dtype)
        return value.to(kind).expand(_to_tuple(shape)).clone()
    if dtype is None and not isinstance(value, float):
        dtype = torch.bool if isinstance(value, bool) else torch.int64
    kind = _choose_dtype(b, dtype)
    require_representable(value, to_numpy_type(kind))
    return torch.full(_to_tuple(shape), value, dtype=kind, device=b.device)


def arange(
    b: Backend,
    start: float,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """Return evenly spaced numbers."""
    if stop is None:
        start, stop = 0, start
    floats = any(isinstance(bound, float) for bound in (start, stop, step))
    kind = torch.int64 if dtype is None and not floats else _choose_dtype(b, dtype)
    require_range_in_dtype(start, stop, step, to_numpy_type(kind))
    if (stop - start) * step < 0:  # for an empty range, torch.arange raises an error
        return torch.empty(0, dtype=kind, device=b.device)
    if kind.is_complex:  # torch.arange does not support this dtype
        made = b.arange(start, stop, step, dtype=kind.to_real())
        return made.to(kind)
    if kind in _UNSIGNED_TYPES:  # torch.arange does not support this dtype
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
    """Return a matrix with ones on a diagonal."""
    columns = rows if columns is None else columns
    across = torch.arange(columns, device=b.device)
    down = torch.arange(rows, device=b.device)[:, None]
    return (across - down == k).to(_choose_dtype(b, dtype))


def from_dlpack(b: Backend, x: Any) -> Tensor:
    """Convert another library's array to a torch array, without a copy if possible."""
    return torch.from_dlpack(x).detach().to(b.device)


def to_numpy(x: Tensor) -> NDArray[np.generic]:
    """Convert an array to a NumPy array, without a copy if the array is on a CPU."""
    x = x.detach().cpu()
    ours = to_numpy_type(x.dtype)
    if ours in NATIVE_DTYPES:
        return x.numpy()
    whole = torch.int16 if ours.itemsize == 2 else torch.int8  # noqa: PLR2004 - bytes
    return x.contiguous().view(whole).numpy().view(ours)


def dtype(x: Tensor) -> np.dtype[Any]:
    """Return the dtype of an array as a NumPy dtype."""
    return to_numpy_type(x.dtype)


def nbytes(x: Tensor) -> int:
    """Return the number of bytes of an array."""
    return x.numel() * x.element_size()


def astype(x: Tensor, dtype: DType, *, copy: bool = True) -> Tensor:
    """Convert an array to another dtype; return it unchanged if it has this dtype."""
    del copy  # no copy is needed, because arrays are immutable
    return x.to(to_torch(dtype))


def finfo(dtype: DType | Tensor) -> torch.finfo:
    """Return the limits of a float dtype."""
    return torch.finfo(to_torch(dtype.dtype if isinstance(dtype, Tensor) else dtype))


def iinfo(dtype: DType | Tensor) -> torch.iinfo:
    """Return the limits of an integer dtype."""
    return torch.iinfo(to_torch(dtype.dtype if isinstance(dtype, Tensor) else dtype))


def isdtype(dtype: DType, kind: str | tuple[str, ...]) -> bool:
    """Return whether a dtype belongs to a kind that the Array API standard defines."""
    found = to_torch(dtype)
    if kind == "bool":
        return found is torch.bool  # torch.compile cannot trace NumPy functions
    ours = to_numpy_type(found)
    return np.isdtype(ours if ours in NATIVE_DTYPES else np.dtype(np.float16), kind)


def result_type(*args: Tensor | Number | DType) -> np.dtype[Any]:
    """Return the dtype of a result; Python numbers are converted to the arrays' dtype."""
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


def _choose_dtype(b: Backend, dtype: DType | None) -> torch.dtype:
    """Return the given dtype, or the default float dtype for None."""
    return to_torch(b.float_dtype if dtype is None else dtype)


def _from_numpy(b: Backend, array: Any) -> Tensor:
    """Convert a NumPy array to a torch tensor, without a copy if possible."""
    if array.dtype not in NATIVE_DTYPES and array.dtype.isnative:
        whole = _from_numpy(b, array.view(f"i{array.dtype.itemsize}"))
        return whole.view(to_torch(array.dtype))
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    shared = native.flags.writeable and all(step >= 0 for step in native.strides)
    return torch.from_numpy(native if shared else native.copy())


def _to_tuple(shape: Size) -> tuple[int, ...]:
    """Return a shape as a tuple; an integer is the length of one axis."""
    return (shape,) if isinstance(shape, int) else tuple(shape)
