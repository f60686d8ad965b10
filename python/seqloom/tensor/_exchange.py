"""Values out of a tensor: to NumPy, to Python, to another library, to text.

Plain functions of a tensor; `Tensor` has the methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from seqloom.errors import ArgumentError, GradientError, ShapeError
from seqloom.tensor._dispatch import translate
from seqloom.tensor._elements import NATIVE
from seqloom.tensor._origin import Released
from seqloom.tensor._state import TensorState, TrackedArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._families import ArrayFunctions

_T = TypeVar("_T", bound=TensorState)

# Larger tensors print only their edges.
_MOST_PRINTED = 100
# What NumPy reads from a shape alone, which it may know of any tensor.
_OF_SHAPES = frozenset((np.shape, np.ndim, np.size))


def to_numpy(tensor: TensorState) -> Any:
    """Return the values as an array that cannot be written to."""
    try:
        values = tensor.backend.to_numpy(tensor.raw)
    except Exception as error:
        if (ours := translate(error, "numpy", (tensor,), tensor.backend)) is error:
            raise
        raise ours from error
    return _make_read_only(values)


def _make_read_only(values: Any) -> Any:
    """Return the same memory as an array that cannot be made writeable."""
    # A read-only view can be made writeable again; a read-only buffer cannot.
    dtype = values.dtype
    if dtype not in NATIVE:  # bfloat16, say: Python's buffers have no name for it
        integers = values.view(f"u{dtype.itemsize}")
        return _make_read_only(integers).view(dtype)
    return np.asarray(memoryview(values).toreadonly())


def call_numpy(function: Callable[..., Any], args: object, options: object) -> Any:
    """Call a NumPy function on the values of tensors, as arrays that it cannot write."""
    as_array = _empty_of_shape if function in _OF_SHAPES else np.asarray
    return function(*_to_arrays(args, as_array), **_to_arrays(options, as_array))


def _empty_of_shape(x: Any) -> Any:
    """Make an array of a tensor's shape, without its values."""
    return np.broadcast_to(np.int8(0), x.shape)


def _to_arrays(args: Any, as_array: Callable[[Any], Any]) -> Any:
    """Replace tensors by arrays, also within lists, tuples and dicts."""
    if isinstance(args, TensorState):
        return as_array(args)
    if type(args) is dict:
        items = cast("dict[str, Any]", args).items()
        return {name: _to_arrays(arg, as_array) for name, arg in items}
    if type(args) in (list, tuple):
        return type(args)(_to_arrays(arg, as_array) for arg in args)
    return args


def detach(tensor: _T) -> _T:
    """Return the same values on the innermost backend, which records nothing."""
    raw, backend = tensor.raw, tensor.backend
    while (lower := getattr(backend, "lower", None)) is not None:
        raw, backend = lower(raw), backend.inner
    return type(tensor)(raw, backend)


def require_constant(tensor: _T, purpose: str) -> _T:
    """Return the detached tensor; refuses one that records gradients."""
    if isinstance(tensor.raw, TrackedArray):
        raise GradientError(
            f"{purpose} would lose the gradient of a tensor that records gradients; "
            "call .detach() on it first"
        )
    return detach(tensor)


def export_dlpack(tensor: TensorState, *, copy: bool | None, **options: Any) -> Any:
    """Export a copy: not every library respects DLPack's flag for read-only memory."""
    if copy is False:
        raise ArgumentError(
            "a tensor is exported by DLPack as a copy, because the other library could "
            "write to it; leave out copy=False, or share read-only memory by x.numpy()"
        )
    given = {name: value for name, value in options.items() if value is not None}
    plain = require_constant(tensor, "DLPack")
    try:
        return plain.backend.asarray(plain.raw, copy=True).__dlpack__(**given)
    except Exception as error:
        raise translate(error, "__dlpack__", (tensor,), tensor.backend) from error


def dlpack_device(tensor: TensorState) -> tuple[int, int]:
    """Return DLPack's numbers of the device."""
    raw = require_constant(tensor, "DLPack").raw
    is_scalar = isinstance(raw, np.generic)
    return (np.asarray(cast("Any", raw)) if is_scalar else raw).__dlpack_device__()


def reduce_for_pickle(tensor: TensorState) -> tuple[Any, ...]:
    """Return what a pickle holds: the values, as NumPy's, and the backend."""
    plain = require_constant(tensor, "a pickle or a deep copy")
    return _again, (type(tensor), np.array(to_numpy(plain)), plain.backend)


def _again(kind: type[_T], values: Any, backend: ArrayFunctions) -> _T:
    """Make the tensor of a pickle; pickles of earlier versions know it by this name."""
    return kind(backend.asarray(values), backend)


def format_tensor(tensor: TensorState, spec: str) -> str:
    """Format a tensor without axes as its number, as in torch; any other as its text."""
    shape = tuple(tensor.raw.shape)
    if not shape:
        return format(to_numpy(tensor).item(), spec)
    if not spec:
        return str(tensor)
    raise ShapeError(
        f"the format {spec!r} is for one number, and this tensor has shape {shape}; take "
        "one number by x[...].item(), or all by x.tolist()"
    )


def represent(tensor: TensorState) -> str:
    """Return a tensor's text: values, shape, element type, device and backend."""
    if isinstance(tensor.raw, Released):
        return f"Tensor(released, made at {tensor.raw.line})"
    backend = tensor.backend
    device = "" if backend.device == "cpu" else f", device={backend.device}"
    dtype = backend.dtype(tensor.raw)
    facts = f"shape={tuple(tensor.raw.shape)}, dtype={dtype}{device}, backend={backend}"
    return f"Tensor({_print_values(tensor)}, {facts})"


def _print_values(tensor: TensorState) -> str:
    """Print the values; a tensor of a step being captured has none yet."""
    if getattr(tensor.backend, "records", False):
        return "not yet computed"
    values = to_numpy(detach(tensor))
    return np.array2string(
        values, separator=", ", threshold=_MOST_PRINTED, prefix="Tensor("
    )
