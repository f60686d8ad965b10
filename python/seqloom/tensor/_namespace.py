"""The namespace that the Array API standard defines, for tensors of one backend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import ml_dtypes
import numpy as np

from seqloom.errors import ArgumentError, BackendError, SeqloomError
from seqloom.tensor._dispatch import apply, translate_error
from seqloom.tensor._namespace_functions import NamespaceFunctions
from seqloom.tensor._standard_functions import from_dlpack
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike

    from seqloom.tensor._families import ArrayFunctions

    DType: TypeAlias = np.dtype[np.generic]
    Shape: TypeAlias = int | Sequence[int]


_API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


# fmt: off
STANDARD_NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "complex64", "complex128",
)
# fmt: on
_MAX_AXES = 64  # limit of NumPy, PyTorch, and conversions from JAX to NumPy


@dataclass(frozen=True, slots=True)
class FloatLimits:
    """Limits of a float dtype, as Python floats."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IntegerLimits:
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


class Inspection:
    """Dtypes, devices and capabilities of a backend."""

    def __init__(self, backend: ArrayFunctions) -> None:
        self._backend = backend

    def capabilities(self) -> dict[str, Any]:
        """Return the optional features of the standard, as a dict."""
        options = {"boolean indexing": True, "data-dependent shapes": True}
        return {**options, "max dimensions": _MAX_AXES}

    def default_device(self) -> str:
        """Return the device of the backend."""
        return self._backend.device

    def devices(self) -> tuple[str, ...]:
        """Return a tuple with the only device of the backend."""
        return (self._backend.device,)

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """Return the default dtype of floats, complex numbers, integers and indices."""
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
        """Return the dtypes that the backend supports, or only those of some kinds."""
        del device
        types = {name: np.dtype(name) for name in STANDARD_NAMES if self._supports(name)}
        if kind is None:
            return types
        return {name: dtype for name, dtype in types.items() if np.isdtype(dtype, kind)}

    def _supports(self, name: str) -> bool:
        """Return whether the backend supports a dtype."""
        try:
            self._backend.zeros((), dtype=name)
        except SeqloomError:
            return False
        return True


class ArrayNamespace(NamespaceFunctions):
    """Functions, dtypes and constants of the Array API standard, for tensors.

    ``x.__array_namespace__()`` returns the namespace of the backend of `x`. Functions
    of tensors accept tensors of any backend. Functions that create a tensor use this
    backend. The default float dtype is the `float_dtype` of the backend, and ``device``
    can only be the device of the backend.
    """

    __array_api_version__ = _API_VERSIONS[-1]
    e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None
    int8, int16, int32, int64 = map(np.dtype, ("int8", "int16", "int32", "int64"))
    uint8, uint16, uint32, uint64 = map(np.dtype, ("uint8", "uint16", "uint32", "uint64"))
    float32, float64 = np.dtype("float32"), np.dtype("float64")
    complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")

    def __init__(self, backend: ArrayFunctions) -> None:
        self._backend = backend
        self.__name__ = f"seqloom.tensor on {backend.name}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayNamespace) and other._backend is self._backend

    def __hash__(self) -> int:
        return hash((ArrayNamespace, id(self._backend)))

    def __repr__(self) -> str:
        return f"<array namespace: {self.__name__}>"

    # Creation functions; `device` can only be the device of the backend.

    def asarray(
        self,
        obj: object,
        /,
        *,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        copy: bool | None = None,
    ) -> Tensor:
        """Create a tensor from the data."""
        self._require_device(device)
        if not isinstance(obj, Tensor):
            if copy is False:
                raise ArgumentError(
                    f"asarray: copy=False needs a tensor, got {type(obj).__name__}"
                )
            made = self._backend.tensor(obj, dtype=dtype)
            narrow = dtype is None and made.dtype.kind == "c" and not hasattr(obj, "dtype")
            return made.astype(self._complex_dtype) if narrow else made
        obj = obj if obj.backend is self._backend else obj.to(self._backend)
        return obj if dtype is None or obj.dtype == dtype else obj.astype(dtype)

    def from_dlpack(
        self, x: object, /, *, device: str | None = None, copy: bool | None = None
    ) -> Tensor:
        """Create a tensor from an array of another library."""
        self._require_device(device)
        del copy  # memory is shared if possible, because tensors are immutable
        return from_dlpack(x, backend=self._backend)

    def arange(
        self,
        start: float,
        /,
        stop: float | None = None,
        step: float = 1,
        *,
        dtype: DTypeLike | None = None,
        device: str | None = None,
    ) -> Tensor:
        """Create evenly spaced numbers from `start` to `stop`, excluding `stop`."""
        return self._make_tensor("arange", start, stop, step, dtype=dtype, device=device)

    def empty(
        self, shape: Shape, *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Tensor:
        """Create a tensor with uninitialised values."""
        return self._make_tensor("empty", shape, dtype=dtype, device=device)

    def zeros(
        self, shape: Shape, *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Tensor:
        """Create a tensor of zeros."""
        return self._make_tensor("zeros", shape, dtype=dtype, device=device)

    def ones(
        self, shape: Shape, *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Tensor:
        """Create a tensor of ones."""
        return self._make_tensor("ones", shape, dtype=dtype, device=device)

    def full(
        self,
        shape: Shape,
        fill_value: complex,
        *,
        dtype: DTypeLike | None = None,
        device: str | None = None,
    ) -> Tensor:
        """Create a tensor filled with one value."""
        if isinstance(fill_value, complex) and dtype is None:
            dtype = self._complex_dtype
        return self._make_tensor("full", shape, fill_value, dtype=dtype, device=device)

    def eye(
        self,
        n_rows: int,
        n_cols: int | None = None,
        /,
        *,
        k: int = 0,
        dtype: DTypeLike | None = None,
        device: str | None = None,
    ) -> Tensor:
        """Create a matrix with ones on a diagonal."""
        return self._make_tensor("eye", n_rows, n_cols, k=k, dtype=dtype, device=device)

    def linspace(
        self,
        start: complex,
        stop: complex,
        /,
        num: int,
        *,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        endpoint: bool = True,
    ) -> Tensor:
        """Create `num` evenly spaced numbers, usually including both ends."""
        return self._make_tensor(
            "linspace", start, stop, num, dtype=dtype, device=device, endpoint=endpoint
        )

    def empty_like(
        self, x: Tensor, /, *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Tensor:
        """Create an uninitialised tensor with the shape and dtype of `x`."""
        return self.empty(x.shape, dtype=dtype or x.dtype, device=device)

    def zeros_like(
        self, x: Tensor, /, *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Tensor:
        """Create a tensor of zeros with the shape and dtype of `x`."""
        return self.zeros(x.shape, dtype=dtype or x.dtype, device=device)

    def ones_like(
        self, x: Tensor, /, *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Tensor:
        """Create a tensor of ones with the shape and dtype of `x`."""
        return self.ones(x.shape, dtype=dtype or x.dtype, device=device)

    def full_like(
        self,
        x: Tensor,
        /,
        fill_value: complex,
        *,
        dtype: DTypeLike | None = None,
        device: str | None = None,
    ) -> Tensor:
        """Create a tensor filled with one value, with the shape and dtype of `x`."""
        return self.full(x.shape, fill_value, dtype=dtype or x.dtype, device=device)

    @property
    def _complex_dtype(self) -> str:
        """Default dtype of complex numbers."""
        return "complex64" if self._backend.float_dtype == "float32" else "complex128"

    def _make_tensor(
        self, name: str, *args: object, device: str | None = None, **options: object
    ) -> Tensor:
        self._require_device(device)
        try:
            return Tensor(getattr(self._backend, name)(*args, **options), self._backend)
        except Exception as error:
            if (ours := translate_error(error, name, args, self._backend)) is error:
                raise
            raise ours from error

    def _require_device(self, device: str | None) -> None:
        """Raise if the device is not the device of the backend."""
        if device not in {None, self._backend.device}:
            raise BackendError(
                f"device must be {self._backend.device!r} in this namespace, got "
                f"{device!r}; for another device use the namespace of its backend, "
                "sl.tensor.backend(name)"
            )

    # Dtypes.

    def __array_namespace_info__(self) -> Inspection:
        return Inspection(self._backend)

    @staticmethod
    def astype(
        x: Tensor, dtype: Any, /, *, copy: bool = True, device: Any = None
    ) -> Tensor:
        """Convert a tensor to another dtype; `copy` has no effect."""
        del copy
        found = x if x.dtype == dtype else apply("astype", x, dtype)
        return found if device is None else found.to_device(device)

    @staticmethod
    def can_cast(from_: Any, to: Any, /) -> Any:
        """Return whether the standard allows promotion from one dtype to another."""
        return np.can_cast(np.dtype(getattr(from_, "dtype", from_)), np.dtype(to))

    @staticmethod
    def finfo(type: Any, /) -> FloatLimits:  # noqa: A002  # the standard's name
        """Return the limits of a float dtype, or of the real part of a complex dtype."""
        dtype = np.dtype(getattr(type, "dtype", type))
        if dtype.kind == "c":
            dtype = np.dtype(f"float{dtype.itemsize * 4}")
        limits = cast("Callable[[Any], Any]", ml_dtypes.finfo)(dtype)
        names = ("eps", "max", "min", "smallest_normal")
        found = {name: float(getattr(limits, name)) for name in names}
        return FloatLimits(limits.bits, **found, dtype=dtype)

    @staticmethod
    def iinfo(type: Any, /) -> IntegerLimits:  # noqa: A002  # the standard's name
        """Return the limits of an integer dtype."""
        dtype = np.dtype(getattr(type, "dtype", type))
        limits = np.iinfo(dtype)
        return IntegerLimits(limits.bits, int(limits.max), int(limits.min), dtype)

    def isdtype(self, dtype: Any, kind: Any) -> Any:
        """Return whether a dtype belongs to a kind, such as ``"integral"``."""
        return self._backend.isdtype(np.dtype(dtype), kind)

    def result_type(self, *arrays_and_dtypes: Any) -> DType:
        """Return the dtype of a result computed from tensors, dtypes and Python numbers."""
        if not arrays_and_dtypes:
            raise ArgumentError("result_type needs at least one tensor, type or number")
        raws = [arg.raw if isinstance(arg, Tensor) else arg for arg in arrays_and_dtypes]
        return np.dtype(self._backend.result_type(*raws))


# The attribute is set after the class body, because in the class body `bool` would hide
# the built-in type.
ArrayNamespace.bool = np.dtype("bool")  # pyright: ignore[reportAttributeAccessIssue]


def get_namespace(backend: ArrayFunctions, api_version: Any) -> ArrayNamespace:
    """Return the namespace of a backend, which is the same for all API versions."""
    if api_version not in {None, *_API_VERSIONS}:
        raise ArgumentError(
            f"api_version must be one of {', '.join(_API_VERSIONS)}, got {api_version!r}"
        )
    return ArrayNamespace(backend)
