"""What goes wrong in a worker, carried to the process that waits for its batch."""

from __future__ import annotations

import os
import pickle
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Raised:
    """Stands in place of a batch that raised an exception, so that the next one can follow.

    Args:
        error: The exception.

    Examples:
        >>> Raised(ValueError("x")).error
        ValueError('x')
    """

    error: BaseException


def attempt(make: Callable[..., Any], *content: Any) -> Any:
    """Calls a function, and gives its exception as a value."""
    try:
        return make(*content)
    except StopIteration as error:
        # Raised where batches are taken, it would end the epoch without a word.
        stopped = WorkerError("an item, or what collates it, raised StopIteration")
        stopped.__cause__ = error
        return Raised(stopped)
    except Exception as error:  # noqa: BLE001 - raised again in its turn
        return Raised(error)


def checked(answer: Any) -> Any:
    """Gives a batch, or raises what stands in its place."""
    if isinstance(answer, Raised):
        raise answer.error
    return answer


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception in a form that crosses to another process.

    Args:
        kinds: The exception's class, pickled, and those it derives from.
        error: The exception itself, pickled, where that works.
        message: What it says.
        trace: Its traceback as text.
        pid: The process.

    Examples:
        >>> try:
        ...     raise KeyError("x")
        ... except KeyError as error:
        ...     failure = caught(error)
        >>> failure.error_of(where="batch 3")
        KeyError('x')
    """

    kinds: tuple[bytes, ...]
    error: bytes | None
    message: str
    trace: str
    pid: int

    def error_of(self, *, where: str) -> BaseException:
        """Makes the exception again, with the worker's traceback as its cause."""
        error = self._error()
        error.__cause__ = WorkerError(f'\n"""\n{self.trace}"""')
        error.add_note(f"in worker process {self.pid}, {where}")
        return error

    def _error(self) -> BaseException:
        """Makes the exception, or the nearest one that can be made here."""
        if self.error is not None:
            return pickle.loads(self.error)  # noqa: S301 - of our own process
        for kind in self.kinds:
            error = _bare(pickle.loads(kind), self.message)  # noqa: S301 - see above
            if error is not None:
                return error
        return WorkerError(self.message)


def _bare(kind: type[BaseException], message: str) -> BaseException | None:
    """Makes an exception without its ``__init__``, which may want what cannot be sent."""
    try:
        error = kind.__new__(kind, message)
        return error if str(error) else None
    except Exception:  # noqa: BLE001 - whatever a user's class may raise
        return None


def caught(error: BaseException) -> Failure:
    """Puts an exception into a form that crosses to another process."""
    kinds = [kind for kind in type(error).__mro__ if issubclass(kind, BaseException)]
    pickled = (_pickled(kind) for kind in kinds if kind is not BaseException)
    trace = "".join(traceback.format_exception(error))
    message = str(error) if _is_known(error) else f"{type(error).__qualname__}: {error}"
    return Failure(
        kinds=tuple(kind for kind in pickled if kind is not None),
        error=_pickled(error),
        message=message,
        trace=trace,
        pid=os.getpid(),
    )


def _is_known(error: BaseException) -> bool:
    """Tells whether the other process can import the exception's class."""
    return _pickled(type(error)) is not None


def _pickled(value: Any) -> bytes | None:
    """Pickles what can be read back."""
    try:
        raw = pickle.dumps(value)
        pickle.loads(raw)  # noqa: S301 - written in the line above
    except Exception:  # noqa: BLE001 - whatever a user's __reduce__ may raise
        return None
    return raw
