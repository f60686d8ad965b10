"""`apply`: tensors in, the backend's function on their arrays, tensors out.

Backends are entry points of the group ``seqloom.backends``: a name, and a class that is
called with a device and a number of threads.
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
from seqloom.tensor._autocast import cast_arguments, casting
from seqloom.tensor._families import ArrayFunctions
from seqloom.tensor._origin import Released, caller
from seqloom.tensor._state import TensorState, fill, new

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from seqloom.tensor._families import Array
    from seqloom.tensor._state import Node


class Observer(Protocol):
    """Receives each operation, in the thread that runs it."""

    def on_apply(self, name: str, out: Any, backend: ArrayFunctions) -> None:
        """Receive the array or arrays that an operation has computed."""
        ...

    def on_pull(
        self, node: Node, parts: Sequence[Array | None], inner: ArrayFunctions
    ) -> None:
        """Receive the gradients by the inputs of a recorded operation."""
        ...


# Functions over an axis of one tensor. Libraries differ in what they make of a tensor that
# has none: the standard has no axis 0 of it.
# fmt: off
_REDUCTIONS = frozenset((
    "all", "any", "argmax", "argmin", "count_nonzero", "flip", "logsumexp", "max", "mean",
    "min", "prod", "repeat", "roll", "squeeze", "std", "sum", "take", "var",
))
_SCANS = frozenset((
    "argsort", "cumulative_prod", "cumulative_sum", "logcumsumexp", "sort", "unstack",
    "vecdot",
))
# fmt: on
_OVER_AXES = _REDUCTIONS | _SCANS

# Normally empty, so that an operation pays for one test only.
observers: list[Observer] = []


def notify(name: str, out: object, backend: ArrayFunctions) -> None:
    """Pass the result of an operation to all observers."""
    for observer in observers:
        observer.on_apply(name, out, backend)


def apply(name: str, *args: object, **options: Any) -> Any:
    """Call the backend's function of that name on tensors and constants.

    Args:
        name: A function of `Backend`.
        *args: Tensors, lists of tensors, numbers, NumPy arrays, keys.
        **options: Keyword arguments of the function.

    Returns:
        A tensor, or a tuple if the function returns several arrays; a list among them
        becomes a list of tensors.

    Raises:
        ShapeError: The shapes do not fit together; the message names them.
        DTypeError: The operation does not take these element types.
        OutOfRangeError: An index or an axis is out of range.
        BackendError: No argument is a tensor, or two tensors are on different backends.

    Examples:
        >>> import seqloom as sl
        >>> sl.tensor.apply("exp", sl.tensor.backend("numpy").tensor([0.0])).item()
        1.0
    """
    if casting.get() is not None:
        args = cast_arguments(name, args, apply)
    tensors = tensors_in(args)
    backend = find_shared_backend(tensors)
    try:
        if name in _OVER_AXES and not tensors[0].raw.shape:
            _require_axis(name, options.get("axis"))
        out = getattr(backend, name)(*[to_raw(arg, backend) for arg in args], **options)
    except Exception as error:
        ours = translate(error, name, args, backend)
        if ours is error:
            raise
        raise ours from error
    if observers:
        notify(name, out, backend)
    kind, frame = type(tensors[0]), caller(1)
    if not isinstance(out, (tuple, list)):
        return fill(new(kind), out, backend, frame)
    # `_wrap` written out for the usual case: a call costs more than the test.
    return tuple(
        [
            _wrap(part, kind, backend, frame)
            if type(part) in _NESTED
            else fill(new(kind), part, backend, frame)
            for part in cast("list[Any]", out)
        ]
    )


def _require_axis(name: str, axis: object) -> None:
    """Refuse an axis of a tensor that has none; None and () are all of them."""
    if axis == () or (axis is None and name in _REDUCTIONS):
        return
    which = "" if axis is None else f" {axis}"
    raise OutOfRangeError(
        f"{name}: a tensor without axes has no axis{which}; give it one by "
        "x.reshape((1,)), or leave out axis= where the function allows it"
    )


# Results among several that are no array: nothing, or arrays of their own.
_NESTED = frozenset({type(None), list, tuple})


def _wrap(part: Any, kind: Any, backend: ArrayFunctions, frame: FrameType) -> Any:
    """Make tensors of one result: of an array, or of each in nested lists and tuples."""
    if part is None:
        return None
    if type(part) not in _NESTED:
        return fill(new(kind), part, backend, frame)
    return type(part)([_wrap(inner, kind, backend, frame) for inner in part])


def to_raw(arg: Any, backend: ArrayFunctions) -> Any:
    """Return what a backend's function takes: arrays in place of tensors."""
    if isinstance(arg, TensorState):
        return arg.raw
    if isinstance(arg, (list, tuple)):
        # An integer among several is a size, an axis or an index.
        raws = [
            item.item() if isinstance(item, np.integer) else to_raw(item, backend)
            for item in cast("list[Any]", arg)
        ]
        return raws if isinstance(arg, list) else tuple(raws)
    if isinstance(arg, np.ndarray):  # its owner may write it before a gradient reads it
        return backend.asarray(arg, copy=True)
    return _raw_number(arg, backend) if isinstance(arg, np.generic) else arg


def _raw_number(scalar: Any, backend: ArrayFunctions) -> Any:
    """Convert a NumPy scalar: a float as Python's, which takes the tensor's type."""
    return float(scalar) if scalar.dtype.kind == "f" else backend.asarray(scalar)


def tensors_in(args: Any) -> list[TensorState]:
    """Return the tensors among arguments, alone or within lists and tuples."""
    found: list[TensorState] = []
    for arg in args:
        if isinstance(arg, TensorState):
            found.append(arg)
        elif type(arg) is list or type(arg) is tuple:
            found += tensors_in(arg)
    return found


def find_shared_backend(tensors: Sequence[TensorState]) -> ArrayFunctions:
    """Return the outermost backend of tensors; the others must lie inside it."""
    if not tensors:
        raise BackendError("no argument is a tensor; pass at least one")
    found = tensors[0].backend
    for tensor in tensors:
        if tensor.backend is not found:
            found = _outer(found, tensor.backend)
    return found


def _outer(one: ArrayFunctions, other: ArrayFunctions) -> ArrayFunctions:
    """Return the backend, of two, that contains the other."""
    if contains(one, other):
        return one
    if contains(other, one):
        return other
    raise BackendError(
        f"the tensors are on different backends, {_full_name(one)} and "
        f"{_full_name(other)}; make both on the same backend, or move one by .to(backend)"
    )


def contains(outer: ArrayFunctions, inner: ArrayFunctions) -> bool:
    """Return whether a backend is another or lies over it.

    Arrays of `inner` are constants.
    """
    while outer is not inner:
        within = getattr(outer, "inner", None)
        if within is None:
            return not hasattr(inner, "inner") and outer.name == inner.name
        outer = within
    return True


def _full_name(backend: ArrayFunctions) -> str:
    """Name a backend with the number of its level: two may have the same name."""
    number = getattr(backend, "number", None)
    return backend.name if number is None else f"{backend.name} (level {number})"


_GROUP = "seqloom.backends"


def find_backend(
    name: object, *, num_threads: int | None = None, deterministic: bool = False
) -> Any:
    """Return the backend of a name; a backend is returned as it is."""
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
    return _make(library, device or None, count_threads(num_threads), deterministic)


# By name, number of threads and determinism: one device may have several names.
_backends: dict[tuple[str, int, bool], Any] = {}


@cache
def _make(library: str, device: str | None, threads: int, deterministic: bool) -> Any:  # noqa: FBT001 - a key of the cache
    """Make one backend for each name, device, number of threads and determinism."""
    kind = _load(library)
    if deterministic and not hasattr(kind, "deterministic"):
        raise BackendError(f"the backend {library} cannot compute deterministically")
    options = {"deterministic": True} if deterministic else {}
    made = kind(device, threads=threads, **options)
    return _backends.setdefault((made.name, threads, deterministic), made)


def find_entry(library: str) -> EntryPoint:
    """Return the entry point of a backend; raise if no installed package has one."""
    # Reading the list of one distribution takes a hundredth of the time of reading all.
    own = distribution("seqloom").entry_points.select(group=_GROUP)
    entries = own if library in own.names else entry_points(group=_GROUP)
    if library not in entries.names:
        known = ", ".join(sorted(own.names | entries.names))
        raise BackendError(f"no backend is called {library!r}; installed are {known}")
    return entries[library]


def _load(library: str) -> Any:
    """Import the class of a backend."""
    try:
        return find_entry(library).load()
    except ImportError as error:
        if (error.name or "").startswith("seqloom"):
            raise  # our own fault, not a missing library
        package = (error.name or library).partition(".")[0]
        raise MissingExtraError(
            f"the backend {library} needs {package}, which is not installed: pip install "
            f"{package}"
        ) from error


# Words in libraries' messages about memory, indices, element types and shapes; the first
# that occurs decides.
_BY_WORDS: tuple[tuple[tuple[str, ...], type[SeqloomError]], ...] = (
    (("out of memory", "can't allocate memory", "resource_exhausted"), MemoryLimitError),
    (("out of bounds", "out of range"), OutOfRangeError),
    (("expected numbers from 0 to", "expected classes from 0 to"), OutOfRangeError),
    (("incompatible types for broadcasting",), ShapeError),  # of shapes, says jax
    (("dtype", "scalar type", "input type", " cast", "not implemented for"), DTypeError),
    (("shape", "broadcast", "dimension", "size", "axes", "axis", "length"), ShapeError),
)

# Words in libraries' messages about a reduction of an empty array.
_OF_EMPTY = ("zero-size array", "non-zero size", "empty sequence", "numel() == 0")

# What an exception means where its text does not say more.
_BY_CLASS: tuple[tuple[type[Exception], type[SeqloomError]], ...] = (
    (MemoryError, MemoryLimitError),
    (OverflowError, NumberRangeError),
    (IndexError, OutOfRangeError),
    (TypeError, DTypeError),
    (ValueError, ArgumentError),
)


def translate(
    error: Exception, name: str, args: tuple[Any, ...], backend: ArrayFunctions
) -> SeqloomError:
    """Make our exception of what a library raised; ours stays as it is."""
    if isinstance(error, SeqloomError):
        return error
    for arg in args:
        _refuse_released(arg)
        if (foreign := _foreign(arg, name, backend)) is not None:
            return foreign
    inputs = ", ".join(map(_describe, args))
    # The first line says it; the rest is the library's advice to its own users.
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return _kind(error)(f"{name}({inputs}) on {backend}: {reason}")


def translate_data_error(
    error: Exception, data: object, backend: ArrayFunctions
) -> SeqloomError:
    """Make our exception of data that no array can be made of; names only their type."""
    subject = data if hasattr(data, "shape") else cast("Any", type(data))
    return translate(error, "tensor", (subject,), backend)


def _refuse_released(arg: object) -> None:
    """Raise the error of a released tensor if an argument is one."""
    if isinstance(raw := getattr(arg, "raw", arg), Released):
        raw.refuse()
    if isinstance(arg, (list, tuple)):
        for part in cast("list[Any]", arg):
            _refuse_released(part)


def _foreign(arg: object, name: str, backend: ArrayFunctions) -> SeqloomError | None:
    """Return the error of a torch array along with tensors of another library."""
    library = type(arg).__module__.partition(".")[0]
    if name == "tensor" or library != "torch" or library in str(backend):
        return None
    return BackendError(
        f"{name} got a torch array ({type(arg).__name__}) along with tensors on {backend}; "
        "convert it to a tensor of the same backend: backend.tensor(array)"
    )


def _kind(error: Exception) -> type[SeqloomError]:
    """Choose our exception class that fits best."""
    text = str(error).lower()
    if any(words in text for words in _OF_EMPTY):
        return ShapeError
    by_class = next((ours for kind, ours in _BY_CLASS if isinstance(error, kind)), None)
    if by_class in (MemoryLimitError, NumberRangeError, OutOfRangeError):
        return by_class
    by_words = (ours for words, ours in _BY_WORDS if any(word in text for word in words))
    return next(by_words, by_class or OperationError)


def _describe(arg: Any) -> str:
    """Describe an argument for a message."""
    if isinstance(arg, (list, tuple)):
        left, right = "[]" if isinstance(arg, list) else "()"
        return left + ", ".join(map(_describe, cast("list[Any]", arg))) + right
    if hasattr(arg, "shape"):
        return f"{getattr(arg, 'dtype', '')}{list(arg.shape)}"
    return repr(arg)
