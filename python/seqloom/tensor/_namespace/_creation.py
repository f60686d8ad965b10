"""Functions of the standard that make tensors, on one backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError, BackendError
from seqloom.tensor._from_dlpack import from_dlpack
from seqloom.tensor._native_error import translated
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._backend import Backend

    Shape = int | Sequence[int]


class Creation:
    """What makes tensors; `device` may only name the backend's own."""

    _backend: Backend

    def asarray(
        self,
        obj: Any,
        /,
        *,
        dtype: Any = None,
        device: Any = None,
        copy: bool | None = None,
    ) -> Tensor:
        """A tensor of the data."""
        self._require_here(device)
        if not isinstance(obj, Tensor):
            if copy is False:
                raise ArgumentError("asarray: only a tensor is taken without a copy")
            made = self._backend.tensor(obj, dtype=dtype)
            narrow = dtype is None and made.dtype.kind == "c" and not hasattr(obj, "dtype")
            return made.astype(self._complex) if narrow else made
        obj = obj if obj.backend is self._backend else obj.to(self._backend)
        return obj if dtype is None or obj.dtype == dtype else obj.astype(dtype)

    def from_dlpack(
        self, x: Any, /, *, device: Any = None, copy: bool | None = None
    ) -> Tensor:
        """A tensor of another library's array."""
        self._require_here(device)
        del copy  # it shares where it can; a tensor does not change
        return from_dlpack(x, backend=self._backend)

    def arange(
        self,
        start: float,
        /,
        stop: float | None = None,
        step: float = 1,
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> Tensor:
        """Numbers at equal distances."""
        return self._made("arange", start, stop, step, dtype=dtype, device=device)

    def empty(self, shape: Shape, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Memory that holds anything."""
        return self._made("empty", shape, dtype=dtype, device=device)

    def zeros(self, shape: Shape, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Zeros."""
        return self._made("zeros", shape, dtype=dtype, device=device)

    def ones(self, shape: Shape, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Ones."""
        return self._made("ones", shape, dtype=dtype, device=device)

    def full(
        self, shape: Shape, fill_value: Any, *, dtype: Any = None, device: Any = None
    ) -> Tensor:
        """One value everywhere."""
        if isinstance(fill_value, complex) and dtype is None:
            dtype = self._complex
        return self._made("full", shape, fill_value, dtype=dtype, device=device)

    def eye(
        self,
        n_rows: int,
        n_cols: int | None = None,
        /,
        *,
        k: int = 0,
        dtype: Any = None,
        device: Any = None,
    ) -> Tensor:
        """Ones on a diagonal."""
        return self._made("eye", n_rows, n_cols, k=k, dtype=dtype, device=device)

    def linspace(
        self,
        start: complex,
        stop: complex,
        /,
        num: int,
        *,
        dtype: Any = None,
        device: Any = None,
        endpoint: bool = True,
    ) -> Tensor:
        """So many numbers at equal distances from `start` to `stop`."""
        options = {"dtype": dtype, "device": device, "endpoint": endpoint}
        return self._made("linspace", start, stop, num, **options)

    def empty_like(self, x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Memory that holds anything, of x's shape and type."""
        return self.empty(x.shape, dtype=dtype or x.dtype, device=device)

    def zeros_like(self, x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Zeros of x's shape and type."""
        return self.zeros(x.shape, dtype=dtype or x.dtype, device=device)

    def ones_like(self, x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Ones of x's shape and type."""
        return self.ones(x.shape, dtype=dtype or x.dtype, device=device)

    def full_like(
        self, x: Tensor, /, fill_value: Any, *, dtype: Any = None, device: Any = None
    ) -> Tensor:
        """One value everywhere, of x's shape and type."""
        return self.full(x.shape, fill_value, dtype=dtype or x.dtype, device=device)

    @property
    def _complex(self) -> str:
        """The type that Python's complex numbers become."""
        return "complex64" if self._backend.float_dtype == "float32" else "complex128"

    def _made(self, name: str, *args: Any, device: Any = None, **options: Any) -> Tensor:
        """A tensor of what the backend's function makes."""
        self._require_here(device)
        try:
            return Tensor(getattr(self._backend, name)(*args, **options), self._backend)
        except Exception as error:
            if (ours := translated(error, name, args, self._backend)) is error:
                raise
            raise ours from error

    def _require_here(self, device: Any) -> None:
        """Refuses a device that is not the backend's."""
        if device not in {None, self._backend.device}:
            raise BackendError(
                f"this namespace makes tensors on {self._backend.device!r}, not on "
                f"{device!r}: make them on sl.tensor.backend(name) of that device"
            )
