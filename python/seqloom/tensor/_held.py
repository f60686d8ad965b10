"""What a tensor holds: an array, its backend, and where it was made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from seqloom.tensor._autodiff._node import Traced, traced
from seqloom.tensor._memory._origin import caller, outside, users
from seqloom.tensor._memory._scope import innermost

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    from seqloom.tensor._backend import Array
    from seqloom.tensor._rules._keep import Like

    # A level's functions of two arrays, by name.
    _Table = dict[str, Callable[[Any, Any], Any]]

_scope = innermost.get
new: Callable[[Any], Any] = object.__new__


class Held:
    """The state of a tensor, below its operators and methods.

    A followed array is held in its two parts, the inner array and the node: operators take
    them as they are (`_followed`), and `raw` joins them for whoever asks.

    Args:
        raw: The backend's own array.
        backend: Whose it is.

    Attributes:
        backend: Whose it is.
    """

    __slots__ = (
        "__weakref__",
        "_code",
        "_like",
        "_node",
        "_place",
        "_raw",
        "_table",
        "_value",
        "backend",
    )
    backend: Any
    _raw: Array | None  # None until somebody asks for it
    _value: Array
    _node: Any  # a Node; None, as the table, where nothing follows it
    _table: _Table | None
    _like: Like | None  # what the value looks like, once somebody has asked
    _code: CodeType
    _place: int

    def __init__(self, raw: Array, backend: Any) -> None:
        hold(self, raw, backend, caller(1))

    @property
    def raw(self) -> Array:
        """The backend's own array."""
        raw = self._raw
        if raw is None:
            raw = self._raw = traced(self._value, self._node, self.backend)
        return raw

    def _look(self) -> Like:
        """The shape and the element type of the value, noted for whoever asks again."""
        self._like = like = self._value.shape, self._value.dtype
        return like

    def _put(self, instead: Array) -> None:
        """Lets go of the array; something else stands in its place."""
        self._raw = self._value = instead
        self._node = self._table = self._like = None


def hold(tensor: Any, raw: Array, backend: Any, frame: FrameType) -> Any:
    """Fills a new tensor, notes the line that makes it, and enters it in the open scope.

    Args:
        tensor: The tensor, empty.
        raw: The backend's own array.
        backend: Whose it is.
        frame: The innermost frame that may be the user's.

    Returns:
        The tensor.
    """
    tensor.backend, tensor._raw, tensor._like = backend, raw, None
    if type(raw) is Traced and raw.level is backend:
        tensor._value, tensor._node, tensor._table = raw.value, raw.node, backend.of_two
    else:
        tensor._value, tensor._node, tensor._table = raw, None, None
    code = frame.f_code
    if code.co_filename not in outside:
        frame = users(frame)
        code = frame.f_code
    tensor._code, tensor._place = code, frame.f_lasti
    scope = _scope()
    if scope is not None:
        scope.made.append(ref(tensor))
        if len(scope.made) > scope.limit:
            scope.thin()
    return tensor
