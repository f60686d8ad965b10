"""Operators of tensors, such as ``+``, and updates with ``x.at[key]``.

If both operands are on one backend, or one is a Python number, an operator calls the
function of the backend directly. All other operands go through `apply`, which is slower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from weakref import ref

import numpy as np

from seqloom.tensor._autocast import CONVERTED_OPERATIONS, autocast_state, cast_arguments
from seqloom.tensor._dispatch import apply, notify_observers, observers, translate_error
from seqloom.tensor._elements import normalize_key, require_in_dtype
from seqloom.tensor._families import GRAD_RULES
from seqloom.tensor._families._keep import save_two_specs
from seqloom.tensor._origin import find_user_frame, frame_at, innermost
from seqloom.tensor._state import Node, TensorState, fill_tensor, new_object, node_numbers

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    Operator = Callable[[Any, Any], Any]


_get_scope = innermost.get
_get_autocast = autocast_state.get
_BOTH_TRACKED = True, True
_PYTHON_NUMBERS = frozenset((bool, int, float, complex))
_ARRAY_TYPES = (TensorState, np.ndarray, np.generic)


def unary_op(name: str) -> Callable[[Any], Any]:
    """Return a method that implements an operator of one tensor."""

    def operate(self: object) -> Any:
        return apply(name, self)

    return operate


def binary_op(name: str) -> Callable[..., Any]:
    """Return a method that implements an operator whose left operand is this tensor."""
    is_converted = name in CONVERTED_OPERATIONS

    def operate(self: Any, other: Any, frame: FrameType | None = None) -> Any:
        if is_converted and _get_autocast() is not None:
            self, other = cast_arguments(name, (self, other), apply)
        backend, frame = self.backend, frame or frame_at(1)
        if type(other) is not type(self) or other.backend is not backend or observers:
            # The other operand is a number, an array, or a tensor of another backend.
            other = _to_python_number(other)
            if type(other) in _PYTHON_NUMBERS:
                return _call_backend(name, self, _match_type(other, self), other, frame)
            return _apply_if_numeric(name, other, self, other)
        # For untracked tensors, read the array from `_value`, which is faster than
        # `raw`.
        is_tracked = self._node is not None or other._node is not None
        left, right = (self.raw, other.raw) if is_tracked else (self._value, other._value)
        try:
            raw = getattr(backend, name)(left, right)
        except Exception as error:
            raise translate_error(error, name, (self, other), backend) from error
        return fill_tensor(new_object(type(self)), raw, backend, frame)

    return operate


def right_op(name: str) -> Operator:
    """Return a method for an operator whose right operand is this tensor."""
    is_converted = name in CONVERTED_OPERATIONS

    def operate(self: object, other: object) -> Any:
        if is_converted and _get_autocast() is not None:
            (self,) = cast_arguments(name, (self,), apply)
        other = _to_python_number(other)
        if type(other) in _PYTHON_NUMBERS:
            return _call_backend(name, self, other, _match_type(other, self), frame_at(1))
        return _apply_if_numeric(name, other, other, self)

    return operate


def grad_op(name: str) -> Operator:
    """Return a faster method for a binary operator that has a gradient rule."""
    # If one level tracks both tensors, the returned method computes, records and wraps
    # the result. The code of the level's function and of `make_node`, `track` and
    # `fill` is repeated here, because function calls would dominate the time.
    call_other, is_converted = binary_op(name), name in CONVERTED_OPERATIONS
    rule = GRAD_RULES[name]
    save = None if rule.save is save_two_specs else rule.save
    latest: CodeType | None = None  # cached, because loops repeat the same code

    def operate(self: Any, other: Any) -> Any:
        nonlocal latest
        kind: Any = type(self)  # pyright: ignore[reportUnknownVariableType]
        table = self._table
        if (
            table is None
            or type(other) is not kind
            or other._table is not table
            or observers
            or (is_converted and _get_autocast() is not None)
        ):
            return call_other(self, other, frame_at(1))
        left, right = self._value, other._value
        try:
            out = table[name](left, right)
        except Exception as error:
            raise translate_error(error, name, (self, other), self.backend) from error
        node, result = Node(), new_object(kind)
        node.number, node.rule = next(node_numbers), rule
        node.parents = self._node, other._node
        if save is None:
            node.saved = self._like or self._get_spec(), other._like or other._get_spec()
        else:
            node.saved = save((left, right), out, _BOTH_TRACKED, {})
        result._node, result._value, result._table = node, out, table
        result._raw = result._like = None
        result.backend = self.backend
        frame = frame_at(1)
        code = frame.f_code
        if code is not latest:
            frame = find_user_frame(frame)
            latest = code = frame.f_code
        result._code = code
        result._offset = frame.f_lasti
        scope = _get_scope()
        if scope is not None:
            entries = scope.made
            entries.append(ref(result))
            if len(entries) > scope.limit:
                scope.prune()
        return result

    return operate


def _to_python_number(other: object) -> Any:
    """Convert a NumPy scalar to a Python number, so that the tensor's dtype is kept."""
    if not isinstance(other, np.generic):
        return other
    scalar = cast("Any", other)
    kind = scalar.dtype.kind
    if kind == "f":
        return float(scalar)  # item() does not convert a longdouble
    return scalar.item() if kind in "biuc" else scalar


def _call_backend(name: str, tensor: Any, left: Any, right: Any, frame: FrameType) -> Any:
    """Call a function of the backend, and wrap its result as a tensor."""
    backend = tensor.backend
    try:
        raw = getattr(backend, name)(left, right)
    except Exception as error:
        if (ours := translate_error(error, name, (left, right), backend)) is error:
            raise
        raise ours from error
    if observers:
        notify_observers(name, raw, backend)
    return fill_tensor(new_object(type(tensor)), raw, backend, frame)


def _match_type(number: Any, tensor: Any) -> Any:
    """Return a tensor's array, converted from integers to floats if `number` is a float."""
    raw, backend = tensor.raw, tensor.backend
    if type(number) is float and backend.dtype(raw).kind in "biu":
        return backend.astype(raw, backend.float_dtype)
    return raw


def _apply_if_numeric(name: str, other: object, left: Any, right: Any) -> Any:
    """Call `apply`, or return NotImplemented for an operand that is not numeric."""
    is_number = isinstance(other, (int, float))  # includes subclasses
    if is_number or isinstance(other, _ARRAY_TYPES) or hasattr(other, "__dlpack__"):
        return apply(name, left, right)
    return NotImplemented


_T = TypeVar("_T", bound=TensorState)


class At(Generic[_T]):
    """Result of ``x.at``, which must be indexed, as in ``x.at[key]``."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: _T) -> None:
        self._tensor = tensor

    def __getitem__(self, key: Any) -> IndexedElements[_T]:
        shape = tuple(self._tensor.raw.shape)
        return IndexedElements(self._tensor, normalize_key(key, shape))


class IndexedElements(Generic[_T]):
    """Elements of a tensor that an index key selects."""

    __slots__ = ("_key", "_tensor")

    def __init__(self, tensor: _T, key: Any) -> None:
        self._tensor = tensor
        self._key = key

    def set(self, values: Any) -> _T:
        """Return a new tensor with the selected elements replaced."""
        return apply("slice_update", self._tensor, self._key, self._convert(values))

    def add(self, values: Any) -> _T:
        """Return a new tensor with values added to the selected elements."""
        return apply("slice_add", self._tensor, self._key, self._convert(values))

    def _convert(self, values: Any) -> Any:
        """Convert values to a tensor with the dtype of this tensor."""
        tensor: Any = self._tensor
        require_in_dtype(values, tensor.dtype)
        if not isinstance(values, type(tensor)):
            values = tensor.backend.tensor(values)
        return values if values.dtype == tensor.dtype else values.astype(tensor.dtype)
