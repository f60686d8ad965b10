"""Where a tensor was made: the line of the user's code, kept cheaply and read late.

A tensor keeps the code object and the place in it; the line is looked up when somebody
asks. Frames of the machinery (this package, layers, optimisers) are passed over.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType, FrameType

# The frame so many calls up; the only way to a line without raising an exception.
caller = sys._getframe  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

_PACKAGE = Path(__file__).parents[2]
_MACHINERY = (
    *(f"{_PACKAGE / each}/" for each in ("tensor", "nn", "optim")),
    contextlib.__file__,
)


# The files of the user's frames and of the machinery's; each is looked at once.
outside: set[str] = set()
_inside: set[str] = set()


def users(frame: FrameType) -> FrameType:
    """The first frame of the user's code, from one on outwards."""
    while (filename := frame.f_code.co_filename) not in outside:
        if filename not in _inside and not is_machinery(filename):
            return frame
        if (outer := frame.f_back) is None:
            return frame
        frame = outer
    return frame


def is_machinery(filename: str) -> bool:
    """Whether a file belongs to the machinery."""
    verdict = filename.startswith(_MACHINERY)
    (_inside if verdict else outside).add(filename)
    return verdict


def line_of(tensor: Any) -> str:
    """The line that made a tensor, as ``file:line``."""
    code: CodeType = tensor._code  # noqa: SLF001
    return f"{code.co_filename}:{_line(code, tensor._place)}"  # noqa: SLF001


def here() -> str:
    """The line of the user's code that is running now, as ``file:line``."""
    frame = users(caller(1))
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _line(code: CodeType, place: int) -> int:
    """The line of a place in a code object."""
    for start, end, line in code.co_lines():
        if start <= place < end and line is not None:
            return line
    return code.co_firstlineno
