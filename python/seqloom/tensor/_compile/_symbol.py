"""Symbols, which replace arrays and keys while a step is captured.

A leaf tensor is a parameter or another tensor of the state; only the capture reads its
symbol. Other threads continue to read and write the array of the leaf tensor. During a
capture, the attributes of the leaf tensor are properties that depend on the thread; at
other times they are ordinary attributes.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from seqloom._key import to_threefry_counter
from seqloom._system import run_after_fork
from seqloom.errors import CaptureError
from seqloom.tensor._elements import to_key_tuple
from seqloom.tensor._origin import current_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._graph import Value
    from seqloom.tensor._leaves import Leaf


class Symbol:
    """A future array: it has a shape and a dtype, but no values."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.value.shape

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """Element type."""
        return self.value.dtype

    @property
    def nbytes(self) -> int:
        """Size in memory, which is 0."""
        return 0

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.value.shape)

    def __len__(self) -> int:
        return self.value.shape[0]

    def __bool__(self) -> bool:  # noqa: PLE0304  # it always raises
        raise_no_value("a branch on its values (bool)")

    def __float__(self) -> NoReturn:
        raise_no_value("its value as a Python float")

    def __int__(self) -> NoReturn:
        raise_no_value("its value as a Python int")

    def __index__(self) -> int:  # noqa: PLE0305  # it always raises
        raise_no_value("its value as an index")

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        del dtype, copy
        raise_no_value("its values as a NumPy array")

    def __repr__(self) -> str:
        return f"Symbol({self.value.declare()})"


class SymbolKey:
    """A random key with the interface of `Key`; derived keys are recorded in the graph."""

    __slots__ = ("capture", "symbol")

    def __init__(self, symbol: Symbol, capture: Backend) -> None:
        self.symbol = symbol  # The two 32-bit integers of the key.
        self.capture = capture

    def fold(self, word: Any) -> SymbolKey:
        # Strings are hashed during the capture, because programs cannot compute hashes.
        counter = to_threefry_counter(word) if isinstance(word, (int, str)) else word
        return SymbolKey(self.capture.fold_in(self.symbol, counter), self.capture)

    def split(self, n: int) -> list[SymbolKey]:
        """Return `n` derived keys, which differ from each other and from folded keys."""
        words = self.capture.split(self.symbol, n)
        rows = (self.capture.index(words, row) for row in range(n))
        return [SymbolKey(row, self.capture) for row in rows]

    @property
    def words(self) -> NoReturn:
        """Raise an error, because a key has no values before the step runs."""
        raise_no_value("the words of a key")

    bits = uniform = each = to_json = words


def has_symbol(tree: Iterable[object]) -> bool:
    """Return True if any argument, or any item of a list or tuple, is a symbol."""
    for part in tree:
        if isinstance(part, (Symbol, SymbolKey)):
            return True
        if isinstance(part, (list, tuple)) and has_symbol(cast("list[object]", part)):
            return True
    return False


def raise_no_value(request: str) -> NoReturn:
    """Raise an error that names the line of user code and suggests a solution."""
    raise CaptureError(
        f"{current_line()} needs {request}, but inside a compiled step a tensor has no "
        "values yet",
        advice=". Use sl.tensor.where instead of `if`, return the tensor and read it after "
        "the step, or pass the value as a Python argument. To disable compilation, use "
        "sl.tensor.compile(step, enabled=False) or SEQLOOM_COMPILE=0",
    )


# The capture that runs on this thread, if any.
capturing: ContextVar[Backend | None] = ContextVar("capturing", default=None)

_LEAF_FIELDS = ("array", "backend", "is_shared", "version")
# Name of the attribute in which a leaf tensor stores the substituted values of each
# capture.
_SUBSTITUTES = "_substitutes"
_BASE_CLASS = "_class_between_captures"


class _ClassLock:
    """The lock for changes of `__class__`; a forked process gets a new lock."""

    lock = threading.Lock()

    @classmethod
    def renew(cls) -> None:
        cls.lock = threading.Lock()


run_after_fork(_ClassLock.renew)


def require_declared_leaf(stored: Any) -> None:
    """Raise if the captured step reads a parameter that no argument contains."""
    capture = capturing.get()
    if capture is not None and stored.backend is not capture:
        raise CaptureError(
            f"{current_line()} reads {stored.path or stored!r}, which does not belong to "
            "an argument of the compiled step, so the program would not see its changes",
            advice="; pass the module as an argument of the step",
        )


def substitute_leaf(leaf: Leaf, array: Array, capture: Backend) -> Callable[[], None]:
    """Replace a leaf tensor's array during a capture; return a function to restore it."""
    hidden = (*_LEAF_FIELDS, _SUBSTITUTES)
    before = {key: value for key, value in vars(leaf).items() if key not in hidden}
    values = {
        "array": array,
        "backend": capture,
        "is_shared": False,
        "version": leaf.version,
    }
    with _ClassLock.lock:
        if _SUBSTITUTES not in vars(leaf):
            vars(leaf)[_SUBSTITUTES] = {}
            leaf.__class__ = _make_leaf_class(type(leaf))
        vars(leaf)[_SUBSTITUTES][capture] = values
    return partial(_restore_leaf, leaf, capture, before)


def _restore_leaf(leaf: Leaf, capture: Backend, before: dict[str, Any]) -> None:
    """End the substitution by one capture; after the last capture, restore the class."""
    with _ClassLock.lock:
        substitutes = vars(leaf)[_SUBSTITUTES]
        del substitutes[capture]
        vars(leaf).update(before)
        if not substitutes:
            leaf.__class__ = getattr(leaf, _BASE_CLASS)
            del vars(leaf)[_SUBSTITUTES]


@cache
def _make_leaf_class(kind: type[Leaf]) -> Any:
    """Return a subclass of a leaf tensor class whose attributes depend on the thread."""
    members: dict[str, Any] = {name: _make_property(name) for name in _LEAF_FIELDS}
    members |= {"__reduce_ex__": _pickle, "__module__": kind.__module__, _BASE_CLASS: kind}
    return type(kind.__name__, (kind,), members)


def _make_property(name: str) -> property:
    """Return a property that reads the substituted value if this thread runs a capture."""

    def read_attribute(leaf: Leaf) -> Any:
        return _find_substitutes(leaf)[name]

    def write_attribute(leaf: Leaf, value: object) -> None:
        _find_substitutes(leaf)[name] = value

    return property(read_attribute, write_attribute)


def _find_substitutes(leaf: Leaf) -> dict[str, Any]:
    """Return the attributes that this thread's capture substituted, if any."""
    # Avoid function calls, because the profile function runs for each call.
    own = leaf.__dict__
    capture = capturing.get()
    if capture is None:
        return own
    try:
        return own[_SUBSTITUTES][capture]
    except KeyError:
        return own


def _pickle(leaf: Leaf, protocol: int) -> Any:
    """Support copy and pickle of the leaf tensor by other threads."""
    del protocol
    hidden = (_SUBSTITUTES, "owner")
    own = {key: value for key, value in vars(leaf).items() if key not in hidden}
    return object.__new__, (getattr(leaf, _BASE_CLASS),), own


# Operations that raise an error, because the shape of the result depends on values.
VALUE_DEPENDENT_SHAPES = frozenset(
    {
        *("nonzero", "argwhere", "flatnonzero", "masked_select", "compress", "extract"),
        *("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
        "bincount",
    }
)

# Operations whose second argument is a key.
KEY_OPERATIONS = frozenset({"index", "slice_update", "slice_add", "scatter_index"})


def require_known_shape(name: str, args: tuple[Any, ...]) -> None:
    """Raise if the shape of the result depends on values."""
    if name in VALUE_DEPENDENT_SHAPES:
        _raise_unknown_shape(name)
    if name == "index":
        symbols = [part for part in to_key_tuple(args[1]) if isinstance(part, Symbol)]
        if any(symbol.dtype == np.bool_ for symbol in symbols):
            _raise_unknown_shape("x[mask]")
    if name == "repeat" and isinstance(args[1], Symbol):
        _raise_unknown_shape("repeat")


def _raise_unknown_shape(name: str) -> NoReturn:
    """Raise an error that names the line of user code and suggests a solution."""
    raise CaptureError(
        f"{current_line()}: the shape of the result of {name} depends on values, which are "
        "not available inside a compiled step",
        advice="; use sl.tensor.where(mask, x, other) or a "
        "fixed number of elements, or do this outside of the step",
    )


def replace_known_masks(target: Backend, key: Any) -> Any:
    """Replace each boolean mask with known values in an index key by indices."""
    if not any(_is_known_mask(part) for part in to_key_tuple(key)):
        return key
    parts: list[Any] = []
    for part in to_key_tuple(key):
        if _is_known_mask(part) and part.ndim:
            positions = np.nonzero(np.asarray(target.to_numpy(part)))
            parts += [target.asarray(along_axis) for along_axis in positions]
        else:
            parts.append(part)
    return tuple(parts)


def _is_known_mask(part: object) -> bool:
    """Return True for a boolean array that is not a symbol."""
    return not isinstance(part, Symbol) and "bool" in str(getattr(part, "dtype", ""))
