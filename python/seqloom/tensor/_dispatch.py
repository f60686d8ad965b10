"""`apply`, which calls a function of a backend on the arrays of tensors.

Backends are entry points of the group ``seqloom.backends``. An entry point is a class
whose constructor's arguments are a device and a number of threads.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, distribution, entry_points
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from seqloom._arguments import quote
from seqloom._threads import count_threads
from seqloom.errors import (
    ArgumentError,
    BackendError,
    DTypeError,
    MemoryLimitError,
    MissingExtraError,
    NumberRangeError,
    OperationError,
    OutOfRangeError,
    SeqloomError,
    ShapeError,
)
from seqloom.tensor._autocast import autocast_state, cast_arguments
from seqloom.tensor._families import ArrayFunctions
from seqloom.tensor._origin import ReleasedArray, frame_at
from seqloom.tensor._state import TensorState, fill_tensor, new_object

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from seqloom.tensor._families import Array
    from seqloom.tensor._state import Node


class Observer(Protocol):
    """Interface of objects that are notified of each operation, in its thread."""

    def on_apply(self, name: str, out: Any, backend: ArrayFunctions) -> None:
        """Receive the array or arrays that an operation computed."""
        ...

    def on_backward(
        self, node: Node, parts: Sequence[Array | None], inner: ArrayFunctions
    ) -> None:
        """Receive the gradients of the inputs of a recorded operation."""
        ...


# Functions over an axis of one tensor. Some libraries accept axis 0 of a tensor without
# axes, but the standard does not.
# fmt: off
_REDUCTION_FUNCTIONS = frozenset((
    "all", "any", "argmax", "argmin", "count_nonzero", "flip", "logsumexp", "max", "mean",
    "min", "prod", "repeat", "roll", "squeeze", "std", "sum", "take", "var",
))
_SCAN_FUNCTIONS = frozenset((
    "argsort", "cumulative_prod", "cumulative_sum", "logcumsumexp", "sort", "unstack",
    "vecdot",
))
# fmt: on
_AXIS_FUNCTIONS = _REDUCTION_FUNCTIONS | _SCAN_FUNCTIONS

# Observers of all operations. If the list is empty, an operation only tests the list.
observers: list[Observer] = []


def notify_observers(name: str, out: object, backend: ArrayFunctions) -> None:
    """Pass the result of an operation to all observers."""
    for observer in observers:
        observer.on_apply(name, out, backend)


def apply(name: str, *args: object, **options: Any) -> Any:
    """Call a function of the backend on tensors and constants.

    Args:
        name: Name of a function of `Backend`.
        *args: Tensors, lists of tensors, numbers, NumPy arrays, or keys of random
            numbers.
        **options: Keyword arguments of the function.

    Returns:
        A tensor, or a tuple if the function returns several arrays; a list in the result
        becomes a list of tensors.

    Raises:
        ShapeError: The shapes do not match; the message contains them.
        DTypeError: The operation does not support these dtypes.
        OutOfRangeError: An index or an axis is out of range.
        BackendError: No argument is a tensor, or two tensors are on different backends.

    Examples:
        >>> import seqloom as sl
        >>> sl.tensor.apply("exp", sl.tensor.backend("numpy").tensor([0.0])).item()
        1.0
    """
    if autocast_state.get() is not None:
        args = cast_arguments(name, args, apply)
    tensors = find_tensors(args)
    backend = find_shared_backend(tensors)
    try:
        if name in _AXIS_FUNCTIONS and not tensors[0].raw.shape:
            _require_axis(name, options.get("axis"))
        out = getattr(backend, name)(*[to_array(arg, backend) for arg in args], **options)
    except Exception as error:
        ours = translate_error(error, name, args, backend)
        if ours is error:
            raise
        raise ours from error
    if observers:
        notify_observers(name, out, backend)
    kind, frame = type(tensors[0]), frame_at(1)
    if not isinstance(out, (tuple, list)):
        return fill_tensor(new_object(kind), out, backend, frame)
    # `_wrap_result` is inlined for a single array, because a function call would be slower.
    return tuple(
        [
            _wrap_result(part, kind, backend, frame)
            if type(part) in _NESTED_TYPES
            else fill_tensor(new_object(kind), part, backend, frame)
            for part in cast("list[Any]", out)
        ]
    )


def _require_axis(name: str, axis: object) -> None:
    """Raise an error about `axis` for a tensor without axes, unless it means all axes."""
    if axis == () or (axis is None and name in _REDUCTION_FUNCTIONS):
        return
    which = "" if axis is None else f" {axis}"
    raise OutOfRangeError(
        f"{name}: a tensor without axes has no axis{which}; add an axis with "
        "x.reshape((1,)), or leave out axis= where the function allows it"
    )


# Result types that are not arrays: None, and lists or tuples of arrays.
_NESTED_TYPES = frozenset({type(None), list, tuple})


def _wrap_result(part: Any, kind: Any, backend: ArrayFunctions, frame: FrameType) -> Any:
    """Convert one result to tensors, also within nested lists and tuples."""
    if part is None:
        return None
    if type(part) not in _NESTED_TYPES:
        return fill_tensor(new_object(kind), part, backend, frame)
    return type(part)([_wrap_result(inner, kind, backend, frame) for inner in part])


def to_array(arg: Any, backend: ArrayFunctions) -> Any:
    """Convert an argument for a function of the backend, so that tensors become arrays."""
    if isinstance(arg, TensorState):
        return arg.raw
    if isinstance(arg, (list, tuple)):
        # NumPy integers in a list or tuple are sizes, axes or indices.
        raws = [
            item.item() if isinstance(item, np.integer) else to_array(item, backend)
            for item in cast("list[Any]", arg)
        ]
        return raws if isinstance(arg, list) else tuple(raws)
    if isinstance(arg, np.ndarray):  # copied, as callers may overwrite it
        return backend.asarray(arg, copy=True)
    return _convert_scalar(arg, backend) if isinstance(arg, np.generic) else arg


def _convert_scalar(scalar: Any, backend: ArrayFunctions) -> Any:
    """Convert a NumPy float to a Python float, and any other NumPy scalar to an array."""
    return float(scalar) if scalar.dtype.kind == "f" else backend.asarray(scalar)


def find_tensors(args: Any) -> list[TensorState]:
    """Return the tensors among arguments, also within lists and tuples."""
    found: list[TensorState] = []
    for arg in args:
        if isinstance(arg, TensorState):
            found.append(arg)
        elif type(arg) is list or type(arg) is tuple:
            found += find_tensors(arg)
    return found


def find_shared_backend(tensors: Sequence[TensorState]) -> ArrayFunctions:
    """Return the tensors' outermost backend; raise unless it wraps all their backends."""
    if not tensors:
        raise BackendError("no argument is a tensor; pass at least one")
    found = tensors[0].backend
    for tensor in tensors:
        if tensor.backend is not found:
            found = _choose_outer_backend(found, tensor.backend)
    return found


def _choose_outer_backend(one: ArrayFunctions, other: ArrayFunctions) -> ArrayFunctions:
    """Return the outer of two backends; raise if neither backend wraps the other."""
    if includes_backend(one, other):
        return one
    if includes_backend(other, one):
        return other
    raise BackendError(
        f"the tensors are on different backends, {_full_backend_name(one)} and "
        f"{_full_backend_name(other)}; create both on the same backend, or move one with "
        ".to()"
    )


def includes_backend(outer: ArrayFunctions, inner: ArrayFunctions) -> bool:
    """Return whether `outer` is `inner` or wraps `inner`."""
    while outer is not inner:
        within = getattr(outer, "inner", None)
        if within is None:
            return not hasattr(inner, "inner") and outer.name == inner.name
        outer = within
    return True


def _full_backend_name(backend: ArrayFunctions) -> str:
    """Return the name of a backend, with the level number of an `Autodiff`."""
    number = getattr(backend, "number", None)
    return backend.name if number is None else f"{backend.name} (level {number})"


_ENTRY_POINTS = "seqloom.backends"


def find_backend(
    name: object, *, num_threads: int | None = None, deterministic: bool = False
) -> Any:
    """Return the backend that has a name; return a backend unchanged."""
    if isinstance(name, ArrayFunctions):
        backend: ArrayFunctions = name
        if num_threads is not None and count_threads(num_threads) != backend.threads:
            raise ArgumentError(
                f"the backend {backend.name} has {backend.threads} threads, num_threads is "
                f'{num_threads}; pass the name instead: backend="{backend.name}"'
            )
        return backend
    if not isinstance(name, str):
        raise ArgumentError(f'backend must be a name such as "numpy", got {quote(name)}')
    library, _, device = name.partition(":")
    return _new_backend(library, device or None, count_threads(num_threads), deterministic)


# Backends by full name. Two names of one device, such as "torch" and "torch:cpu", share
# a backend.
_backends: dict[tuple[str, int, bool], Any] = {}


@cache
def _new_backend(
    library: str,
    device: str | None,
    threads: int,
    deterministic: bool,  # noqa: FBT001
) -> Any:
    """Create one backend for each name, device, number of threads and determinism."""
    kind = _load_backend_class(library)
    if deterministic and not hasattr(kind, "deterministic"):
        raise BackendError(f"the backend {library} cannot compute deterministically")
    options = {"deterministic": True} if deterministic else {}
    made = kind(device, threads=threads, **options)
    return _backends.setdefault((made.name, threads, deterministic), made)


def find_entry_point(library: str) -> EntryPoint:
    """Return the entry point of a backend; raise if no installed package provides it."""
    # Search this package first, then all installed distributions, because reading the
    # entry points of one distribution is about 100 times faster.
    own = distribution("seqloom").entry_points.select(group=_ENTRY_POINTS)
    entries = own if library in own.names else entry_points(group=_ENTRY_POINTS)
    if library not in entries.names:
        known = ", ".join(sorted(own.names | entries.names))
        raise BackendError(f"no backend is called {library!r}; installed are {known}")
    return entries[library]


def _load_backend_class(library: str) -> Any:
    """Import the class of a backend."""
    try:
        return find_entry_point(library).load()
    except ImportError as error:
        if (error.name or "").startswith("seqloom"):
            raise  # An import error in seqloom is a bug, not a missing library.
        package = (error.name or library).partition(".")[0]
        raise MissingExtraError(
            f"the backend {library} needs {package}, which is not installed: pip install "
            f"{package}"
        ) from error


# Phrases in a library's error message, and the matching exception. The first match
# wins.
_ERROR_WORDS: tuple[tuple[tuple[str, ...], type[SeqloomError]], ...] = (
    (("out of memory", "can't allocate memory", "resource_exhausted"), MemoryLimitError),
    (("out of bounds", "out of range"), OutOfRangeError),
    (("expected numbers from 0 to", "expected classes from 0 to"), OutOfRangeError),
    (("incompatible types for broadcasting",), ShapeError),  # JAX's shape error
    (("dtype", "scalar type", "input type", " cast", "not implemented for"), DTypeError),
    (("shape", "broadcast", "dimension", "size", "axes", "axis", "length"), ShapeError),
)

# Phrases in libraries' messages about reductions of empty arrays.
_EMPTY_PHRASES = ("zero-size array", "non-zero size", "empty sequence", "numel() == 0")

# The exception to which a Python exception is converted if its message matches no
# phrase.
_ERROR_TYPES: tuple[tuple[type[Exception], type[SeqloomError]], ...] = (
    (MemoryError, MemoryLimitError),
    (OverflowError, NumberRangeError),
    (IndexError, OutOfRangeError),
    (TypeError, DTypeError),
    (ValueError, ArgumentError),
)


def translate_error(
    error: Exception, name: str, args: tuple[Any, ...], backend: ArrayFunctions
) -> SeqloomError:
    """Convert another library's exception to a `SeqloomError`."""
    if isinstance(error, SeqloomError):
        return error
    for arg in args:
        _reject_released(arg)
        if (foreign := _foreign_error(arg, name, backend)) is not None:
            return foreign
    inputs = ", ".join(map(_describe_argument, args))
    # Use only the first line, because further lines are advice for users of the
    # library.
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return _choose_error(error)(f"{name}({inputs}) on {backend}: {reason}")


def translate_data_error(
    error: Exception, data: object, backend: ArrayFunctions
) -> SeqloomError:
    """Convert an exception that was raised for data that are not an array."""
    subject = data if hasattr(data, "shape") else cast("Any", type(data))
    return translate_error(error, "tensor", (subject,), backend)


def _reject_released(arg: object) -> None:
    """Raise if an argument is a released tensor."""
    if isinstance(raw := getattr(arg, "raw", arg), ReleasedArray):
        raw.raise_released()
    if isinstance(arg, (list, tuple)):
        for part in cast("list[Any]", arg):
            _reject_released(part)


def _foreign_error(arg: object, name: str, backend: ArrayFunctions) -> SeqloomError | None:
    """Return an error if a PyTorch array is mixed with tensors of another library."""
    library = type(arg).__module__.partition(".")[0]
    if name == "tensor" or library != "torch" or library in str(backend):
        return None
    return BackendError(
        f"{name} got a torch array ({type(arg).__name__}) with tensors on {backend}; "
        "convert it to a tensor of the same backend: backend.tensor(array)"
    )


def _choose_error(error: Exception) -> type[SeqloomError]:
    """Choose the subclass of SeqloomError that matches an exception."""
    text = str(error).lower()
    if any(words in text for words in _EMPTY_PHRASES):
        return ShapeError
    by_class = next((ours for kind, ours in _ERROR_TYPES if isinstance(error, kind)), None)
    if by_class in (MemoryLimitError, NumberRangeError, OutOfRangeError):
        return by_class
    by_words = (ours for words, ours in _ERROR_WORDS if any(word in text for word in words))
    return next(by_words, by_class or OperationError)


def _describe_argument(arg: Any) -> str:
    """Describe an argument for a message."""
    if isinstance(arg, (list, tuple)):
        left, right = "[]" if isinstance(arg, list) else "()"
        return left + ", ".join(map(_describe_argument, cast("list[Any]", arg))) + right
    if hasattr(arg, "shape"):
        return f"{getattr(arg, 'dtype', '')}{list(arg.shape)}"
    return repr(arg)
