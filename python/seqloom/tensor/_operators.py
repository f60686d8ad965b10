"""The operators of a tensor, by the shortest way to the backend's function; ``x.at[key]``.

Each operator is a function made for its name. If both operands are on one backend, or one
is a Python number, it calls the backend directly; everything else goes through `apply`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from weakref import ref

import numpy as np

from seqloom.tensor._autocast import LISTED, cast_arguments, casting
from seqloom.tensor._dispatch import apply, notify, observers, translate
from seqloom.tensor._elements import normalize_key, require_in_range
from seqloom.tensor._families import RULES
from seqloom.tensor._families._keep import likes_of_two
from seqloom.tensor._origin import caller, innermost, user_frame
from seqloom.tensor._state import Node, TensorState, fill, new, node_numbers

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    Operator = Callable[[Any, Any], Any]


_scope = innermost.get
_open_block = casting.get
_BOTH = True, True
_NUMBERS = frozenset((bool, int, float, complex))
_ARRAYS = (TensorState, np.ndarray, np.generic)


def unary(name: str) -> Callable[[Any], Any]:
    """Make the operator of one tensor."""

    def operate(self: object) -> Any:
        return apply(name, self)

    return operate


def binary(name: str) -> Callable[..., Any]:
    """Make the operator of two tensors, or of one on the left."""
    is_listed = name in LISTED

    def operate(self: Any, other: Any, frame: FrameType | None = None) -> Any:
        if is_listed and _open_block() is not None:
            self, other = cast_arguments(name, (self, other), apply)
        backend, frame = self.backend, frame or caller(1)
        if type(other) is not type(self) or other.backend is not backend or observers:
            # Computes the operator of a tensor and a number, an array or a tensor
            # elsewhere.
            other = _to_python(other)
            if type(other) in _NUMBERS:
                return _compute(name, self, _raw_beside(other, self), other, frame)
            return _through_apply(name, other, self, other)
        # An untracked array is its own value: `raw`, which costs a call, is not needed.
        is_tracked = self._node is not None or other._node is not None
        left, right = (self.raw, other.raw) if is_tracked else (self._value, other._value)
        try:
            raw = getattr(backend, name)(left, right)
        except Exception as error:
            raise translate(error, name, (self, other), backend) from error
        return fill(new(type(self)), raw, backend, frame)

    return operate


def reflect(name: str) -> Operator:
    """Make the operator of a tensor on the right of something else."""
    is_listed = name in LISTED

    def operate(self: object, other: object) -> Any:
        if is_listed and _open_block() is not None:
            (self,) = cast_arguments(name, (self,), apply)
        other = _to_python(other)
        if type(other) in _NUMBERS:
            return _compute(name, self, other, _raw_beside(other, self), caller(1))
        return _through_apply(name, other, other, self)

    return operate


def differentiable(name: str) -> Operator:
    """Make the operator of a function that has a rule: the most frequent one by far."""
    # If one level tracks both tensors, the operation is computed, recorded and returned as
    # a tensor in this one function. It writes out what the level's function, `make_node`,
    # `track` and `fill` do one after the other: the calls would cost more than their work.
    otherwise, is_listed = binary(name), name in LISTED
    rule = RULES[name]
    save = None if rule.save is likes_of_two else rule.save
    latest: CodeType | None = None  # a loop comes from the same code, again and again

    def operate(self: Any, other: Any) -> Any:
        nonlocal latest
        kind: Any = type(self)  # pyright: ignore[reportUnknownVariableType]
        table = self._table
        if (
            table is None
            or type(other) is not kind
            or other._table is not table
            or observers
            or (is_listed and _open_block() is not None)
        ):
            return otherwise(self, other, caller(1))
        left, right = self._value, other._value
        try:
            out = table[name](left, right)
        except Exception as error:
            raise translate(error, name, (self, other), self.backend) from error
        node, made = Node(), new(kind)
        node.number, node.rule = next(node_numbers), rule
        node.parents = self._node, other._node
        if save is None:
            node.saved = self._like or self._describe(), other._like or other._describe()
        else:
            node.saved = save((left, right), out, _BOTH, {})
        made._node, made._value, made._table = node, out, table
        made._raw = made._like = None
        made.backend = self.backend
        frame = caller(1)
        code = frame.f_code
        if code is not latest:
            frame = user_frame(frame)
            latest = code = frame.f_code
        made._code = code
        made._offset = frame.f_lasti
        scope = _scope()
        if scope is not None:
            entries = scope.made
            entries.append(ref(made))
            if len(entries) > scope.limit:
                scope.thin()
        return made

    return operate


def _to_python(other: object) -> Any:
    """Convert a NumPy scalar to Python's number, which takes the tensor's type."""
    if not isinstance(other, np.generic):
        return other
    scalar = cast("Any", other)
    kind = scalar.dtype.kind
    if kind == "f":
        return float(scalar)  # item() leaves a longdouble what it is
    return scalar.item() if kind in "biuc" else scalar


def _compute(name: str, tensor: Any, left: Any, right: Any, frame: FrameType) -> Any:
    """Make a new tensor of the result of the backend's function."""
    backend = tensor.backend
    try:
        raw = getattr(backend, name)(left, right)
    except Exception as error:
        if (ours := translate(error, name, (left, right), backend)) is error:
            raise
        raise ours from error
    if observers:
        notify(name, raw, backend)
    return fill(new(type(tensor)), raw, backend, frame)


def _raw_beside(number: Any, tensor: Any) -> Any:
    """Return a tensor's array for use with a number: a float makes floats of integers."""
    raw, backend = tensor.raw, tensor.backend
    if type(number) is float and backend.dtype(raw).kind in "biu":
        return backend.astype(raw, backend.float_dtype)
    return raw


def _through_apply(name: str, other: object, left: Any, right: Any) -> Any:
    """Compute with an array, or a tensor of another backend; refuses anything else."""
    is_number = isinstance(other, (int, float))  # of a class of the caller's
    if is_number or isinstance(other, _ARRAYS) or hasattr(other, "__dlpack__"):
        return apply(name, left, right)
    return NotImplemented


_T = TypeVar("_T", bound=TensorState)


class At(Generic[_T]):
    """A tensor that waits for the key: ``x.at[key]``."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: _T) -> None:
        self._tensor = tensor

    def __getitem__(self, key: Any) -> IndexedElements[_T]:
        shape = tuple(self._tensor.raw.shape)
        return IndexedElements(self._tensor, normalize_key(key, shape))


class IndexedElements(Generic[_T]):
    """Some elements of a tensor; values broadcast to them."""

    __slots__ = ("_key", "_tensor")

    def __init__(self, tensor: _T, key: Any) -> None:
        self._tensor = tensor
        self._key = key

    def set(self, values: Any) -> _T:
        """Return a new tensor with these elements replaced."""
        return apply("slice_update", self._tensor, self._key, self._convert(values))

    def add(self, values: Any) -> _T:
        """Return a new tensor with values added to these elements."""
        return apply("slice_add", self._tensor, self._key, self._convert(values))

    def _convert(self, values: Any) -> Any:
        """Return the values as a tensor of the same element type."""
        tensor: Any = self._tensor
        require_in_range(values, tensor.dtype)
        if not isinstance(values, type(tensor)):
            values = tensor.backend.tensor(values)
        return values if values.dtype == tensor.dtype else values.astype(tensor.dtype)
