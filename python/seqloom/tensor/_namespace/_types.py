"""Element types, constants, and the standard's inspection of a library."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from seqloom.errors import ArgumentError, SeqloomError
from seqloom.tensor._dispatch import apply
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    DType = np.dtype[Any]

# fmt: off
NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "complex64", "complex128",
)
# fmt: on
_MOST_AXES = 64  # of NumPy's and of torch's arrays, and of what jax shows as NumPy's


@dataclass(frozen=True, slots=True)
class FloatLimits:
    """The limits of a float type, as Python's floats."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IntegerLimits:
    """The limits of an integer type."""

    bits: int
    max: int
    min: int
    dtype: DType


class Inspection:
    """The types, devices and capabilities of a backend."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def capabilities(self) -> dict[str, Any]:
        """Returns the optional parts of the standard, and whether the backend has them."""
        options = {"boolean indexing": True, "data-dependent shapes": True}
        return {**options, "max dimensions": _MOST_AXES}

    def default_device(self) -> str:
        """Returns the device of the backend."""
        return self._backend.device

    def devices(self) -> tuple[str, ...]:
        """Returns the device of the backend: each device has its own backend."""
        return (self._backend.device,)

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """Returns the element types of Python's numbers."""
        del device
        usual = np.dtype(self._backend.float_dtype)
        wide = "complex64" if usual == np.float32 else "complex128"
        integer = self._backend.dtype(self._backend.asarray(0))
        return {
            "real floating": usual,
            "complex floating": np.dtype(wide),
            "integral": integer,
            "indexing": integer,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """Returns the element types of the backend, of one kind or several."""
        del device
        types = {name: np.dtype(name) for name in NAMES if self._has(name)}
        if kind is None:
            return types
        return {name: dtype for name, dtype in types.items() if np.isdtype(dtype, kind)}

    def _has(self, name: str) -> bool:
        """Whether the backend has a type."""
        try:
            self._backend.zeros((), dtype=name)
        except SeqloomError:
            return False
        return True


class NamespaceTypes:
    """Types, constants, and functions of types."""

    _backend: Any

    e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None
    int8, int16, int32, int64 = map(np.dtype, ("int8", "int16", "int32", "int64"))
    uint8, uint16, uint32, uint64 = map(np.dtype, ("uint8", "uint16", "uint32", "uint64"))
    float32, float64 = np.dtype("float32"), np.dtype("float64")
    complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")

    def __array_namespace_info__(self) -> Inspection:
        return Inspection(self._backend)

    @staticmethod
    def astype(
        x: Tensor, dtype: Any, /, *, copy: bool = True, device: Any = None
    ) -> Tensor:
        """Converts to another element type; `copy` has no effect on tensors."""
        del copy
        found = x if x.dtype == dtype else apply("astype", x, dtype)
        return found if device is None else found.to_device(device)

    @staticmethod
    def can_cast(from_: Any, to: Any, /) -> Any:
        """Whether the standard promotes one type to another."""
        return np.can_cast(np.dtype(getattr(from_, "dtype", from_)), np.dtype(to))

    @staticmethod
    def finfo(type: Any, /) -> FloatLimits:  # noqa: A002  # the standard's name
        """Returns the limits of a float type; of a complex one, those of its parts."""
        dtype = np.dtype(getattr(type, "dtype", type))
        if dtype.kind == "c":
            dtype = np.dtype(f"float{dtype.itemsize * 4}")
        limits = cast("Callable[[Any], Any]", ml_dtypes.finfo)(dtype)
        names = ("eps", "max", "min", "smallest_normal")
        found = {name: float(getattr(limits, name)) for name in names}
        return FloatLimits(limits.bits, **found, dtype=dtype)

    @staticmethod
    def iinfo(type: Any, /) -> IntegerLimits:  # noqa: A002  # the standard's name
        """Returns the limits of an integer type."""
        dtype = np.dtype(getattr(type, "dtype", type))
        limits = np.iinfo(dtype)
        return IntegerLimits(limits.bits, int(limits.max), int(limits.min), dtype)

    def isdtype(self, dtype: Any, kind: Any) -> Any:
        """Whether a type is of a kind."""
        return self._backend.isdtype(np.dtype(dtype), kind)

    def result_type(self, *arrays_and_dtypes: Any) -> DType:
        """Returns the type of a result of these; Python's numbers take the others' type."""
        if not arrays_and_dtypes:
            raise ArgumentError("result_type needs at least one tensor, type or number")
        raws = [arg.raw if isinstance(arg, Tensor) else arg for arg in arrays_and_dtypes]
        return np.dtype(self._backend.result_type(*raws))


# Last, since it would hide Python's own inside the class.
NamespaceTypes.bool = np.dtype("bool")  # pyright: ignore[reportAttributeAccessIssue]
