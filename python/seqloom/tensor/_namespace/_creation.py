"""Functions of the standard that make tensors, on one backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from seqloom.errors import ArgumentError, BackendError
from seqloom.tensor._native_error import translate
from seqloom.tensor._standard_functions import from_dlpack
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    Shape: TypeAlias = int | Sequence[int]


class NamespaceCreation:
    """Functions that make tensors on one backend; `device` may only be the backend's."""

    _backend: Any

    def asarray(
        self,
        obj: object,
        /,
        *,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        copy: bool | None = None,
    ) -> Tensor:
        """Makes a tensor of the data."""
        self._require_device(device)
        if not isinstance(obj, Tensor):
            if copy is False:
                raise ArgumentError(
                    f"asarray: copy=False needs a tensor, got {type(obj).__name__}"
                )
            made = self._backend.tensor(obj, dtype=dtype)
            narrow = dtype is None and made.dtype.kind == "c" and not hasattr(obj, "dtype")
            return made.astype(self._complex) if narrow else made
        obj = obj if obj.backend is self._backend else obj.to(self._backend)
        return obj if dtype is None or obj.dtype == dtype else obj.astype(dtype)

    def from_dlpack(
        self, x: object, /, *, device: str | None = None, copy: bool | None = None
    ) -> Tensor:
        """Makes a tensor of another library's array."""
        self._require_device(device)
        del copy  # it shares where it can; a tensor does not change
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
        """Makes numbers at equal distances, before `stop`."""
        return self._make("arange", start, stop, step, dtype=dtype, device=device)

    def empty(
        self, shape: Shape, *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Tensor:
        """Makes a tensor of arbitrary values."""
        return self._make("empty", shape, dtype=dtype, device=device)

    def zeros(
        self, shape: Shape, *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Tensor:
        """Makes zeros."""
        return self._make("zeros", shape, dtype=dtype, device=device)

    def ones(
        self, shape: Shape, *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Tensor:
        """Makes ones."""
        return self._make("ones", shape, dtype=dtype, device=device)

    def full(
        self,
        shape: Shape,
        fill_value: complex,
        *,
        dtype: DTypeLike | None = None,
        device: str | None = None,
    ) -> Tensor:
        """Makes a tensor of one value everywhere."""
        if isinstance(fill_value, complex) and dtype is None:
            dtype = self._complex
        return self._make("full", shape, fill_value, dtype=dtype, device=device)

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
        """Makes a matrix with ones on a diagonal."""
        return self._make("eye", n_rows, n_cols, k=k, dtype=dtype, device=device)

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
        """Makes `num` numbers at equal distances from `start` to `stop`."""
        return self._make(
            "linspace", start, stop, num, dtype=dtype, device=device, endpoint=endpoint
        )

    def empty_like(
        self, x: Tensor, /, *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Tensor:
        """Makes a tensor of arbitrary values, of x's shape and type."""
        return self.empty(x.shape, dtype=dtype or x.dtype, device=device)

    def zeros_like(
        self, x: Tensor, /, *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Tensor:
        """Makes zeros, of x's shape and type."""
        return self.zeros(x.shape, dtype=dtype or x.dtype, device=device)

    def ones_like(
        self, x: Tensor, /, *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Tensor:
        """Makes ones, of x's shape and type."""
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
        """Makes a tensor of one value everywhere, of x's shape and type."""
        return self.full(x.shape, fill_value, dtype=dtype or x.dtype, device=device)

    @property
    def _complex(self) -> str:
        """The element type of Python's complex numbers."""
        return "complex64" if self._backend.float_dtype == "float32" else "complex128"

    def _make(
        self, name: str, *args: object, device: str | None = None, **options: object
    ) -> Tensor:
        """Makes a tensor by the backend's function."""
        self._require_device(device)
        try:
            return Tensor(getattr(self._backend, name)(*args, **options), self._backend)
        except Exception as error:
            if (ours := translate(error, name, args, self._backend)) is error:
                raise
            raise ours from error

    def _require_device(self, device: str | None) -> None:
        """Refuses a device that is not the backend's."""
        if device not in {None, self._backend.device}:
            raise BackendError(
                f"device must be {self._backend.device!r} in this namespace, got "
                f"{device!r}; for another device use the namespace of its backend, "
                "sl.tensor.backend(name)"
            )
