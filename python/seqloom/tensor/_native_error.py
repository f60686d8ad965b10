"""Errors of array libraries as ours, with the operation, shapes and types named."""

from __future__ import annotations

from typing import Any, cast

from seqloom.errors import (
    ArgumentError,
    BackendError,
    DTypeError,
    MemoryLimitError,
    NumberRangeError,
    OperationError,
    OutOfRangeError,
    SeqloomError,
    ShapeError,
)
from seqloom.tensor._scope import Released

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
    error: Exception, name: str, args: tuple[Any, ...], backend: Any
) -> SeqloomError:
    """Makes our exception of what a library raised; ours stays as it is."""
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


def translate_data_error(error: Exception, data: object, backend: Any) -> SeqloomError:
    """Makes our exception of data that no array can be made of; names only their type."""
    subject = data if hasattr(data, "shape") else cast("Any", type(data))
    return translate(error, "tensor", (subject,), backend)


def _refuse_released(arg: object) -> None:
    """Raises the error of a released tensor if an argument is one."""
    if isinstance(raw := getattr(arg, "raw", arg), Released):
        raw.refuse()
    if isinstance(arg, (list, tuple)):
        for part in cast("list[Any]", arg):
            _refuse_released(part)


def _foreign(arg: object, name: str, backend: Any) -> SeqloomError | None:
    """Returns the error of a torch array along with tensors of another library."""
    library = type(arg).__module__.partition(".")[0]
    if name == "tensor" or library != "torch" or library in str(backend):
        return None
    return BackendError(
        f"{name} got a torch array ({type(arg).__name__}) along with tensors on {backend}; "
        "convert it to a tensor of the same backend: backend.tensor(array)"
    )


def _kind(error: Exception) -> type[SeqloomError]:
    """Chooses our exception class that fits best."""
    text = str(error).lower()
    if any(words in text for words in _OF_EMPTY):
        return ShapeError
    by_class = next((ours for kind, ours in _BY_CLASS if isinstance(error, kind)), None)
    if by_class in (MemoryLimitError, NumberRangeError, OutOfRangeError):
        return by_class
    by_words = (ours for words, ours in _BY_WORDS if any(word in text for word in words))
    return next(by_words, by_class or OperationError)


def _describe(arg: Any) -> str:
    """Describes an argument for a message."""
    if isinstance(arg, (list, tuple)):
        left, right = "[]" if isinstance(arg, list) else "()"
        return left + ", ".join(map(_describe, cast("list[Any]", arg))) + right
    if hasattr(arg, "shape"):
        return f"{getattr(arg, 'dtype', '')}{list(arg.shape)}"
    return repr(arg)
