"""The operators of a tensor, by the shortest way to the backend's function.

Each is a function made for its name. Where both sides are of one backend, or one is a
Python number, it goes to the backend directly; everything else takes the door, `apply`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from seqloom.errors import ArgumentError
from seqloom.tensor._dispatch import apply, tell
from seqloom.tensor._followed import followed
from seqloom.tensor._held import Held, hold, new
from seqloom.tensor._memory._origin import caller
from seqloom.tensor._native_error import translated
from seqloom.tensor._watch import watchers

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_NUMBERS = frozenset((bool, int, float, complex))
_ARRAYS = (Held, np.ndarray, np.generic)


def _binary(name: str) -> Callable[..., Any]:
    """The operator of two tensors, or of one on the left; a caller may give its own."""

    def operate(self: Any, other: Any, frame: FrameType | None = None) -> Any:
        backend, frame = self.backend, frame or caller(1)
        if type(other) is not type(self) or other.backend is not backend or watchers:
            return _mixed(name, self, other, frame)
        # What nothing follows is its own value, without asking for the array.
        followed = self._node is not None or other._node is not None
        left, right = (self.raw, other.raw) if followed else (self._value, other._value)
        try:
            raw = getattr(backend, name)(left, right)
        except Exception as error:
            raise translated(error, name, (self, other), backend) from error
        return hold(new(type(self)), raw, backend, frame)

    return operate


def _differentiable(name: str) -> Callable[[Any, Any], Any]:
    """The same, of what has a derivative."""
    return followed(name, _binary(name))


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    """The operator of a tensor on the right of something else."""

    def operate(self: Any, other: Any) -> Any:
        other = _pythons(other)
        if type(other) in _NUMBERS:
            return _computed(name, self, other, _beside(other, self), caller(1))
        return _by_door(name, other, other, self)

    return operate


def _unary(name: str) -> Callable[[Any], Any]:
    """The operator of one tensor."""

    def operate(self: Any) -> Any:
        return apply(name, self)

    return operate


def _mixed(name: str, tensor: Any, other: Any, frame: FrameType) -> Any:
    """The operator of a tensor and something that is not just like it."""
    other = _pythons(other)
    if type(other) in _NUMBERS:
        return _computed(name, tensor, _beside(other, tensor), other, frame)
    return _by_door(name, other, tensor, other)


def _pythons(other: Any) -> Any:
    """A scalar of NumPy's as Python's number, which takes the tensor's type."""
    if not isinstance(other, np.generic):
        return other
    scalar = cast("Any", other)
    kind = scalar.dtype.kind
    if kind == "f":
        return float(scalar)  # item() leaves a longdouble what it is
    return scalar.item() if kind in "biuc" else scalar


def _computed(name: str, tensor: Any, left: Any, right: Any, frame: FrameType) -> Any:
    """A new tensor of what the backend's function gives."""
    backend = tensor.backend
    try:
        raw = getattr(backend, name)(left, right)
    except Exception as error:
        if (ours := translated(error, name, (left, right), backend)) is error:
            raise
        raise ours from error
    if watchers:
        tell(name, raw, backend)
    return hold(new(type(tensor)), raw, backend, frame)


def _beside(number: Any, tensor: Any) -> Any:
    """The array of a tensor that meets a number; a fraction makes floats of integers."""
    raw, backend = tensor.raw, tensor.backend
    if type(number) is float and backend.dtype(raw).kind in "biu":
        return backend.astype(raw, backend.float_dtype)
    return raw


def _by_door(name: str, other: Any, left: Any, right: Any) -> Any:
    """The operator of a tensor and an array, or a tensor of another backend."""
    if isinstance(other, _ARRAYS) or hasattr(other, "__dlpack__"):
        return apply(name, left, right)
    return NotImplemented


class Operators(Held):
    """What a tensor does between operators; results broadcast and promote."""

    __slots__ = ()
    # NumPy's arrays let our operators go first, and its functions refuse a tensor: they
    # would drop what is followed without a word.
    __array_ufunc__ = None

    __add__, __radd__ = _differentiable("add"), _reflected("add")
    __sub__, __rsub__ = _differentiable("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _differentiable("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _differentiable("divide"), _reflected("divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _reflected("floor_divide")
    __mod__, __rmod__ = _binary("remainder"), _reflected("remainder")
    __pow__, __rpow__ = _differentiable("pow"), _reflected("pow")
    __matmul__, __rmatmul__ = _differentiable("matmul"), _reflected("matmul")
    __and__, __rand__ = _binary("bitwise_and"), _reflected("bitwise_and")
    __or__, __ror__ = _binary("bitwise_or"), _reflected("bitwise_or")
    __xor__, __rxor__ = _binary("bitwise_xor"), _reflected("bitwise_xor")
    __lshift__, __rlshift__ = (
        _binary("bitwise_left_shift"),
        _reflected("bitwise_left_shift"),
    )
    __rshift__, __rrshift__ = (
        _binary("bitwise_right_shift"),
        _reflected("bitwise_right_shift"),
    )
    __lt__, __le__ = _binary("less"), _binary("less_equal")
    __gt__, __ge__ = _binary("greater"), _binary("greater_equal")
    __eq__, __ne__ = _binary("equal"), _binary("not_equal")
    __neg__, __pos__, __abs__ = _unary("negative"), _unary("positive"), _unary("abs")
    __invert__ = _unary("bitwise_invert")
    __hash__ = object.__hash__

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise ArgumentError(
            "a tensor does not change; x.at[key].set(value) gives a new one with those "
            "places replaced, x.at[key].add(value) with something added"
        )
