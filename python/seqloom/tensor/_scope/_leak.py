"""Tensors that something outside still refers to when their scope ends: reported, by line.

A local variable refers to a tensor until the next round of its loop; that is no leak. A
list, a dict, an attribute or a global of another module is one: it grows. Referrers are
found by the garbage collector, which looks at everything alive, so a line is looked at
again only when twice as many of its tensors have survived.
"""

from __future__ import annotations

import gc
import warnings
from collections import Counter
from types import AsyncGeneratorType, CellType, CoroutineType, FrameType, GeneratorType
from typing import TYPE_CHECKING, Any, TypeAlias

from seqloom.errors import LeakWarning
from seqloom.tensor._scope._origin import caller, line_of, origin_of, user_frame
from seqloom.tensor._scope._referrer import describe_referrer, is_function

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

_Origin: TypeAlias = "tuple[CodeType, int]"

# Where local variables live.
_LOCAL = (CellType, FrameType, GeneratorType, CoroutineType, AsyncGeneratorType)

_survivors: Counter[_Origin] = Counter()
_reported: set[_Origin] = set()


def report_leaks(tensors: Sequence[Any]) -> None:
    """Warns of tensors, left when a scope ends, that no local variable explains."""
    suspects = [tensor for tensor in tensors if _is_due(tensor)]
    for tensor, referrer in _find_referrers(suspects, tensors) if suspects else []:
        origin = origin_of(tensor)
        if origin not in _reported:
            _reported.add(origin)
            filename, _, line = line_of(tensor).rpartition(":")
            message = _message(tensor, referrer)
            warnings.warn_explicit(message, LeakWarning, filename, int(line))


def _is_due(tensor: Any) -> bool:
    """Whether a line is looked at: at its 1st, 2nd, 4th, 8th ... survivor."""
    origin = origin_of(tensor)
    if origin in _reported:
        return False
    _survivors[origin] = count = _survivors[origin] + 1
    return count & (count - 1) == 0


def _find_referrers(suspects: list[Any], alive: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Pairs each suspect with its referrers, local variables and our own lists aside."""
    by_id = {id(tensor): tensor for tensor in suspects}
    ours = {id(suspects), id(alive), id(by_id), id(_local_namespace())}
    found = gc.get_referrers(*suspects)
    referrers = [one for one in found if id(one) not in ours and not _is_local(one)]
    ours |= {id(found), id(referrers)}
    return [
        (by_id[id(target)], referrer)
        for referrer in referrers
        if not _is_passing(referrer, ours)
        for target in gc.get_referents(referrer)
        if id(target) in by_id
    ]


def _is_local(referrer: object) -> bool:
    """Whether local variables live in this object."""
    return isinstance(referrer, _LOCAL)


def _is_passing(referrer: object, ours: set[int]) -> bool:
    """Whether this is a tuple that only a local variable refers to."""
    return type(referrer) is tuple and all(
        id(outer) in ours or _is_local(outer) for outer in gc.get_referrers(referrer)
    )


def _local_namespace() -> Any:
    """Returns the namespace of the code that opened the scope, if it is no function."""
    frame = user_frame(caller(1))
    return None if is_function(frame.f_code) else frame.f_locals


def _message(tensor: Any, referrer: Any) -> str:
    """Words the report of one leak."""
    return (
        f"the tensor of shape {tensor.shape} made at {line_of(tensor)} is still "
        f"referred to when its scope ends, by {describe_referrer(referrer, tensor)}; it is "
        "released nevertheless. If it must outlive the scope, call .keep() on it, or store "
        "its .item() or .numpy() instead"
    )
