"""An exception of a worker process, sent to the process that waits for the batch."""

from __future__ import annotations

import os
import pickle
import traceback
from dataclasses import dataclass
from typing import Any

from seqloom.errors import WorkerError


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception in a form that another process can read."""

    kinds: tuple[bytes, ...]  # its class and the base classes, pickled
    error: bytes | None  # the exception itself, pickled, where that works
    message: str
    trace: str
    pid: int

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Reads what can be sent of an exception."""
        kinds = [kind for kind in type(error).__mro__ if issubclass(kind, BaseException)]
        pickled = (_pickle(kind) for kind in kinds if kind is not BaseException)
        is_known = _pickle(type(error)) is not None  # the other process can import it
        return cls(
            kinds=tuple(kind for kind in pickled if kind is not None),
            error=_pickle(error),
            message=str(error) if is_known else f"{type(error).__qualname__}: {error}",
            trace="".join(traceback.format_exception(error)),
            pid=os.getpid(),
        )

    def rebuild(self, *, where: str) -> BaseException:
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


def _pickle(value: Any) -> bytes | None:
    """Pickles a value; None where it cannot be pickled and read back."""
    try:
        raw = pickle.dumps(value)
        pickle.loads(raw)  # noqa: S301 - written in the line above
    except Exception:  # noqa: BLE001 - whatever a user's __reduce__ may raise
        return None
    return raw
