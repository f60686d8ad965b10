"""The state of a tensor: its array, its backend, its node, and the line that made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from seqloom.tensor._origin import caller, user_files, user_frame
from seqloom.tensor._scope import innermost
from seqloom.tensor._tape import TrackedArray, track

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    from seqloom.tensor._families import Array
    from seqloom.tensor._families._keep import Like

_scope = innermost.get
new: Callable[[Any], Any] = object.__new__


class TensorState:
    """What functions below `Tensor` know of it.

    Args:
        raw: The backend's own array.
        backend: The backend that computes.

    Attributes:
        backend: The backend that computes.
    """

    # A tracked array is stored in its two parts, the inner array and the node, which
    # operators read directly; `raw` joins them when the whole is needed.
    __slots__ = (
        "__weakref__",
        "_code",
        "_like",
        "_node",
        "_offset",
        "_raw",
        "_table",
        "_value",
        "backend",
    )
    backend: Any
    _raw: Array | None  # None until it is needed
    _value: Array
    _node: Any  # a Node; None, as the table, if no level tracks it
    _table: dict[str, Callable[[Any, Any], Any]] | None  # the level's functions of two
    _like: Like | None  # shape and element type of the value, once they were needed
    _code: CodeType
    _offset: int

    def __init__(self, raw: Array, backend: Any) -> None:
        fill(self, raw, backend, caller(1))

    @property
    def raw(self) -> Array:
        """The backend's own array."""
        raw = self._raw
        if raw is None:
            raw = self._raw = track(self._value, self._node, self.backend)
        return raw

    def _describe(self) -> Like:
        """Returns shape and element type of the value, and notes them for the next call."""
        self._like = like = self._value.shape, self._value.dtype
        return like

    def _replace(self, instead: Array) -> None:
        """Drops the array, and puts something else in its position."""
        self._raw = self._value = instead
        self._node = self._table = self._like = None


def fill(tensor: Any, raw: Array, backend: Any, frame: FrameType) -> Any:
    """Fills a new tensor, notes the line that made it, and enters it in the open scope."""
    # `frame` is the innermost frame that may be the user's.
    tensor.backend, tensor._raw, tensor._like = backend, raw, None
    if type(raw) is TrackedArray and raw.level is backend:
        tensor._value, tensor._node, tensor._table = raw.value, raw.node, backend.of_two
    else:
        tensor._value, tensor._node, tensor._table = raw, None, None
    code = frame.f_code
    if code.co_filename not in user_files:
        frame = user_frame(frame)
        code = frame.f_code
    tensor._code, tensor._offset = code, frame.f_lasti
    scope = _scope()
    if scope is not None:
        scope.made.append(ref(tensor))
        if len(scope.made) > scope.limit:
            scope.thin()
    return tensor
