"""Tensors that something outside still holds when their scope ends: reported, by line.

A local variable holds a tensor until the next round of its loop; that is no leak. A list,
a dict, an attribute or a global of another module is one: it grows. Holders are found by
the garbage collector, which looks at everything alive, so a line is looked at again only
when twice as many of its tensors have survived.
"""

from __future__ import annotations

import gc
import warnings
from collections import Counter
from types import AsyncGeneratorType, CellType, CoroutineType, FrameType, GeneratorType
from typing import TYPE_CHECKING, Any, TypeAlias

from seqloom.errors import LeakWarning
from seqloom.tensor._memory._holder import described, is_function
from seqloom.tensor._memory._origin import caller, line_of, users

if TYPE_CHECKING:
    from types import CodeType

    from seqloom.tensor._tensor import Tensor

_Line: TypeAlias = "tuple[CodeType, int]"

# Where local variables live.
_LOCAL = (CellType, FrameType, GeneratorType, CoroutineType, AsyncGeneratorType)

_survivors: Counter[_Line] = Counter()
_reported: set[_Line] = set()


def report_leaks(tensors: list[Tensor]) -> None:
    """Warns of the tensors that something other than a local variable holds.

    Args:
        tensors: What is left of a scope that ends.
    """
    suspects = [each for each in tensors if _is_due(each)]
    for tensor, holder in _held(suspects, tensors) if suspects else []:
        line = _line(tensor)
        if line not in _reported:
            _reported.add(line)
            warnings.warn_explicit(_message(tensor, holder), LeakWarning, *_place(tensor))


def _is_due(tensor: Tensor) -> bool:
    """Says whether a line is looked at: at its 1st, 2nd, 4th, 8th ... survivor."""
    line = _line(tensor)
    if line in _reported:
        return False
    _survivors[line] = count = _survivors[line] + 1
    return count & (count - 1) == 0


def _held(suspects: list[Tensor], alive: list[Tensor]) -> list[tuple[Tensor, Any]]:
    """The suspects with who holds them, local variables and our own lists aside."""
    by_id = {id(each): each for each in suspects}
    ours = {id(suspects), id(alive), id(by_id), id(_local_namespace())}
    found = gc.get_referrers(*suspects)
    holders = [each for each in found if id(each) not in ours and not _is_local(each)]
    ours |= {id(found), id(holders)}
    return [
        (by_id[id(each)], holder)
        for holder in holders
        if not _is_passing(holder, ours)
        for each in gc.get_referents(holder)
        if id(each) in by_id
    ]


def _is_local(holder: Any) -> bool:
    """Says whether a holder is where local variables live."""
    return isinstance(holder, _LOCAL)


def _is_passing(holder: Any, ours: set[int]) -> bool:
    """Says whether a holder is a tuple that only a local variable holds."""
    return type(holder) is tuple and all(
        id(each) in ours or _is_local(each) for each in gc.get_referrers(holder)
    )


def _local_namespace() -> Any:
    """The namespace of the code that opened the scope, where that is no function."""
    frame = users(caller(1))
    return None if is_function(frame.f_code) else frame.f_locals


def _line(tensor: Tensor) -> _Line:
    """What tells a creating line from others."""
    return tensor._code, tensor._place  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def _place(tensor: Tensor) -> tuple[str, int]:
    """The file and the line that a warning is about."""
    filename, _, line = line_of(tensor).rpartition(":")
    return filename, int(line)


def _message(tensor: Tensor, holder: Any) -> str:
    """What is reported of one leak."""
    return (
        f"the tensor of shape {tensor.shape} made at {line_of(tensor)} is still held when "
        f"its scope ends, by {described(holder, tensor)}; it is released all the same. "
        "Call .keep() on it if it should outlive the scope, or hold .item() or .numpy() "
        "of it instead"
    )
