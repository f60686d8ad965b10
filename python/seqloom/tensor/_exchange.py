"""Conversion of tensors to NumPy, Python, other libraries, pickles and text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from seqloom.errors import ArgumentError, GradientError, ShapeError
from seqloom.tensor._dispatch import translate_error
from seqloom.tensor._elements import NATIVE_DTYPES
from seqloom.tensor._origin import ReleasedArray
from seqloom.tensor._state import TensorState, TrackedArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._families import ArrayFunctions

_T = TypeVar("_T", bound=TensorState)

# A tensor with more elements is abbreviated when it is printed.
_MAX_PRINTED = 100
# NumPy functions that need only a tensor's shape, so the tensor may be tracked.
_SHAPE_FUNCTIONS = frozenset((np.shape, np.ndim, np.size))


def to_numpy(tensor: TensorState) -> Any:
    """Return the values as a read-only NumPy array."""
    try:
        values = tensor.backend.to_numpy(tensor.raw)
    except Exception as error:
        if (ours := translate_error(error, "numpy", (tensor,), tensor.backend)) is error:
            raise
        raise ours from error
    return _make_read_only(values)


def _make_read_only(values: Any) -> Any:
    """Return a view of an array that cannot be made writeable."""
    # A read-only view can be made writeable again; a read-only buffer cannot.
    dtype = values.dtype
    if dtype not in NATIVE_DTYPES:  # Python buffers do not support bfloat16
        integers = values.view(f"u{dtype.itemsize}")
        return _make_read_only(integers).view(dtype)
    return np.asarray(memoryview(values).toreadonly())


def call_numpy(function: Callable[..., Any], args: object, options: object) -> Any:
    """Call a NumPy function on the values of tensors, as read-only arrays."""
    as_array = _zeros_of_shape if function in _SHAPE_FUNCTIONS else np.asarray
    return function(*_to_arrays(args, as_array), **_to_arrays(options, as_array))


def _zeros_of_shape(x: Any) -> Any:
    """Return an array with the shape of a tensor, without its values."""
    return np.broadcast_to(np.int8(0), x.shape)


def _to_arrays(args: Any, as_array: Callable[[Any], Any]) -> Any:
    """Convert tensors to arrays, also within lists, tuples and dicts."""
    if isinstance(args, TensorState):
        return as_array(args)
    if type(args) is dict:
        items = cast("dict[str, Any]", args).items()
        return {name: _to_arrays(arg, as_array) for name, arg in items}
    if type(args) in (list, tuple):
        return type(args)(_to_arrays(arg, as_array) for arg in args)
    return args


def detach(tensor: _T) -> _T:
    """Return the tensor on the innermost backend, which does not record gradients."""
    raw, backend = tensor.raw, tensor.backend
    while (lower := getattr(backend, "lower", None)) is not None:
        raw, backend = lower(raw), backend.inner
    return type(tensor)(raw, backend)


def require_constant(tensor: _T, purpose: str) -> _T:
    """Return the detached tensor; raise if it records gradients."""
    if isinstance(tensor.raw, TrackedArray):
        raise GradientError(
            f"{purpose} would lose the gradient of a tensor that records gradients; "
            "call .detach() on it first"
        )
    return detach(tensor)


def export_dlpack(tensor: TensorState, *, copy: bool | None, **options: Any) -> Any:
    """Export a copy, because some libraries ignore the read-only flag of DLPack."""
    if copy is False:
        raise ArgumentError(
            "DLPack exports a copy, because the other library could write to the tensor; "
            "remove copy=False, or share read-only memory with x.numpy()"
        )
    given = {name: value for name, value in options.items() if value is not None}
    plain = require_constant(tensor, "DLPack")
    try:
        return plain.backend.asarray(plain.raw, copy=True).__dlpack__(**given)
    except Exception as error:
        raise translate_error(error, "__dlpack__", (tensor,), tensor.backend) from error


def dlpack_device(tensor: TensorState) -> tuple[int, int]:
    """Return the device's type and number, as DLPack defines them."""
    raw = require_constant(tensor, "DLPack").raw
    is_scalar = isinstance(raw, np.generic)
    return (np.asarray(cast("Any", raw)) if is_scalar else raw).__dlpack_device__()


def reduce_for_pickle(tensor: TensorState) -> tuple[Any, ...]:
    """Return the pickled form: the values as a NumPy array, and the backend."""
    plain = require_constant(tensor, "a pickle or a deep copy")
    return _again, (type(tensor), np.array(to_numpy(plain)), plain.backend)


def _again(kind: type[_T], values: Any, backend: ArrayFunctions) -> _T:
    """Unpickle a tensor; existing pickles refer to this function by name."""
    return kind(backend.asarray(values), backend)


def format_tensor(tensor: TensorState, spec: str) -> str:
    """Format a tensor without axes as a number, and any other tensor as `str` does."""
    shape = tuple(tensor.raw.shape)
    if not shape:
        return format(to_numpy(tensor).item(), spec)
    if not spec:
        return str(tensor)
    raise ShapeError(
        f"the format {spec!r} is for one number, and this tensor has shape {shape}; take "
        "one number with x[...].item(), or all with x.tolist()"
    )


def format_repr(tensor: TensorState) -> str:
    """Return the `repr` of a tensor: values, shape, dtype, device and backend."""
    if isinstance(tensor.raw, ReleasedArray):
        return f"Tensor(released, created at {tensor.raw.line})"
    backend = tensor.backend
    device = "" if backend.device == "cpu" else f", device={backend.device}"
    dtype = backend.dtype(tensor.raw)
    facts = f"shape={tuple(tensor.raw.shape)}, dtype={dtype}{device}, backend={backend}"
    return f"Tensor({_print_values(tensor)}, {facts})"


def _print_values(tensor: TensorState) -> str:
    """Format the values for printing; while a step is captured, there are no values."""
    if getattr(tensor.backend, "records", False):
        return "not yet computed"
    values = to_numpy(detach(tensor))
    return np.array2string(values, separator=", ", threshold=_MAX_PRINTED, prefix="Tensor(")
