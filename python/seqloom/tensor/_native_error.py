"""What a library raises, as our exceptions: with the operation, shapes and types named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

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
from seqloom.tensor._memory._released import Released

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend

# Words by which libraries speak of memory, of places, of element types and of shapes,
# in this order.
_BY_WORDS: tuple[tuple[tuple[str, ...], type[SeqloomError]], ...] = (
    (("out of memory", "can't allocate memory", "resource_exhausted"), MemoryLimitError),
    (("out of bounds", "out of range"), OutOfRangeError),
    (("expected numbers from 0 to", "expected classes from 0 to"), OutOfRangeError),
    (("dtype", "scalar type", "input type", " cast", "not implemented for"), DTypeError),
    (("shape", "broadcast", "dimension", "size", "axes", "axis", "length"), ShapeError),
)

# Words by which libraries say that there is no number to choose from.
_OF_NOTHING = ("zero-size array", "non-zero size", "empty sequence", "numel() == 0")

# What an exception means where its text does not say more.
_BY_CLASS: tuple[tuple[type[Exception], type[SeqloomError]], ...] = (
    (MemoryError, MemoryLimitError),
    (OverflowError, NumberRangeError),
    (IndexError, OutOfRangeError),
    (TypeError, DTypeError),
    (ValueError, ArgumentError),
)


def translated(
    error: Exception, name: str, args: tuple[Any, ...], backend: Backend
) -> SeqloomError:
    """The exception that a failed operation becomes.

    Args:
        error: What the library raised.
        name: The operation.
        args: Its arguments.
        backend: Who computed.

    Returns:
        Ours, with the operation, the shapes and the types in its text.
    """
    if isinstance(error, SeqloomError):
        return error
    for arg in args:
        _refuse_released(arg)
        if (foreign := _foreign(arg, name, backend)) is not None:
            return foreign
    inputs = ", ".join(map(described, args))
    # The first line says it; what follows is the library's advice to its own users.
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return _kind(error)(f"{name}({inputs}) on {backend}: {reason}")


def unusable(error: Exception, data: Any, backend: Backend) -> SeqloomError:
    """The exception that data become of which no array can be made.

    Args:
        error: What the library raised.
        data: What was given.
        backend: Whose array it should become.

    Returns:
        Ours; it names the type of the data, not all of them.
    """
    given = data if hasattr(data, "shape") else cast("Any", type(data))
    return translated(error, "tensor", (given,), backend)


def _refuse_released(arg: Any) -> None:
    """Raises where a released tensor is why it failed."""
    if isinstance(raw := getattr(arg, "raw", arg), Released):
        raw.refuse()
    if isinstance(arg, (list, tuple)):
        for each in cast("list[Any]", arg):
            _refuse_released(each)


def _foreign(arg: Any, name: str, backend: Backend) -> SeqloomError | None:
    """The error of a torch array beside tensors of another library, which never works."""
    library = type(arg).__module__.partition(".")[0]
    if name == "tensor" or library != "torch" or library in str(backend):
        return None
    return BackendError(
        f"{name} got an array of torch ({type(arg).__name__}) beside tensors on {backend}; "
        "make it a tensor of the same backend: backend.tensor(array)"
    )


def _kind(error: Exception) -> type[SeqloomError]:
    """Which of our exceptions says best what happened."""
    text = str(error).lower()
    if any(each in text for each in _OF_NOTHING):
        return ShapeError
    by_class = next((ours for each, ours in _BY_CLASS if isinstance(error, each)), None)
    if by_class in (MemoryLimitError, NumberRangeError, OutOfRangeError):
        return by_class
    spoken = (ours for words, ours in _BY_WORDS if any(each in text for each in words))
    return next(spoken, by_class or OperationError)


def described(arg: Any) -> str:
    """An argument as an error names it."""
    if isinstance(arg, list):
        return f"[{', '.join(map(described, cast('list[Any]', arg)))}]"
    if hasattr(arg, "shape"):
        return f"{getattr(arg, 'dtype', '')}{list(arg.shape)}"
    return repr(arg)
