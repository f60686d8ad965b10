"""What a tensor holds: an array, its backend, and where it was made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from seqloom.tensor._memory._origin import caller, inside, users
from seqloom.tensor._memory._scope import innermost

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from seqloom.tensor._backend import Array, Backend

_scope = innermost.get


class Held:
    """The state of a tensor, below its operators and methods.

    Args:
        raw: The backend's own array.
        backend: Whose it is.
    """

    __slots__ = ("__weakref__", "_code", "_place", "backend", "raw")
    raw: Array
    backend: Backend
    _code: CodeType
    _place: int

    def __init__(self, raw: Array, backend: Backend) -> None:
        self.raw = raw
        self.backend = backend
        enter(self, caller(1))


def enter(tensor: Any, frame: FrameType) -> None:
    """Notes the line that makes a tensor, and enters it in the open scope.

    Args:
        tensor: The tensor.
        frame: The innermost frame that may be the user's.
    """
    code = frame.f_code
    if inside[code.co_filename]:
        frame = users(frame)
        code = frame.f_code
    tensor._code = code  # noqa: SLF001
    tensor._place = frame.f_lasti  # noqa: SLF001
    scope = _scope()
    if scope is not None:
        entries = scope.made
        entries.append(ref(tensor))
        if len(entries) > scope.limit:
            scope.thin()
