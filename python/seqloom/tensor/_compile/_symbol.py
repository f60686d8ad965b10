"""What a step computes with while it is captured: symbols instead of arrays and keys.

A leaf shows its symbol to the capture alone. Other threads continue to read and write the
leaf's own array. During a capture the leaf has a class whose attributes depend on the
thread that reads them; at all other times they are plain.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from seqloom._key import counter_of
from seqloom._system import after_fork
from seqloom.errors import CaptureError
from seqloom.tensor._elements import key_parts
from seqloom.tensor._origin import current_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._graph import Value
    from seqloom.tensor._leaves import Leaf


class Symbol:
    """The array that a `Value` will be: it has a shape and a dtype, but no elements yet."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.value.shape

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The element type."""
        return self.value.dtype

    @property
    def nbytes(self) -> int:
        """The bytes that it takes: none, for what reports memory while it is alive."""
        return 0

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.value.shape)

    def __len__(self) -> int:
        return self.value.shape[0]

    def __bool__(self) -> bool:  # noqa: PLE0304  # it only refuses
        refuse("a branch on its values (bool)")

    def __float__(self) -> NoReturn:
        refuse("its value as a Python float")

    def __int__(self) -> NoReturn:
        refuse("its value as a Python int")

    def __index__(self) -> int:  # noqa: PLE0305  # it only refuses
        refuse("its value as an index")

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        del dtype, copy
        refuse("its values as a NumPy array")

    def __repr__(self) -> str:
        return f"Symbol({self.value.declare()})"


class SymbolKey:
    """A random key with the interface of `Key`; what is derived from it is recorded."""

    __slots__ = ("capture", "symbol")

    def __init__(self, symbol: Symbol, capture: Backend) -> None:
        self.symbol = symbol  # the two words of the key
        self.capture = capture

    def fold(self, word: Any) -> SymbolKey:
        """Derive one key."""
        # A name is hashed to its counter here, because no backend can hash in a program.
        counter = counter_of(word) if isinstance(word, (int, str)) else word
        return SymbolKey(self.capture.fold_in(self.symbol, counter), self.capture)

    def split(self, n: int) -> list[SymbolKey]:
        """Derive several keys that differ from each other and from all folds."""
        words = self.capture.split(self.symbol, n)
        rows = (self.capture.index(words, row) for row in range(n))
        return [SymbolKey(row, self.capture) for row in rows]

    @property
    def words(self) -> NoReturn:
        """The words are known only when the step runs."""
        refuse("the words of a key")

    bits = uniform = each = to_json = words


def has_symbol(tree: Iterable[object]) -> bool:
    """Return True if there is a symbol in arguments, or in lists and tuples of them."""
    for part in tree:
        if isinstance(part, (Symbol, SymbolKey)):
            return True
        if isinstance(part, (list, tuple)) and has_symbol(cast("list[object]", part)):
            return True
    return False


def refuse(request: str) -> NoReturn:
    """Raise an error that names the line, and say what to do."""
    raise CaptureError(
        f"{current_line()} needs {request}, but inside a compiled step a tensor has no "
        "values yet",
        advice=". Choose with sl.tensor.where instead of `if`, return the tensor and "
        "read it after the step, pass what decides as a Python argument, or switch "
        "compiling off: sl.tensor.compile(step, enabled=False), or SEQLOOM_COMPILE=0",
    )


# The capture that runs on this thread.
capturing: ContextVar[Backend | None] = ContextVar("capturing", default=None)

_SUBSTITUTED = ("array", "backend", "is_shared", "version")
_SUBSTITUTES = "_substitutes"  # by capture: values of the attributes above
_CLASS = "_class_between_captures"


class _ClassLock:
    """The lock under which classes change; a forked process gets a new one."""

    lock = threading.Lock()

    @classmethod
    def renew(cls) -> None:
        """Replace the lock, which another thread may have held at the fork."""
        cls.lock = threading.Lock()


after_fork(_ClassLock.renew)


def check_declared(stored: Any) -> None:
    """Refuse a parameter that the captured step reads, but that is in no argument."""
    capture = capturing.get()
    if capture is not None and stored.backend is not capture:
        raise CaptureError(
            f"{current_line()} reads {stored.path or stored!r}, which belongs to no "
            "argument of the compiled step, so the program would never see it change",
            advice="; pass the module as an argument of the step",
        )


def substitute(leaf: Leaf, array: Array, capture: Backend) -> Callable[[], None]:
    """Show a capture another array in a leaf, until the returned function is called."""
    hidden = (*_SUBSTITUTED, _SUBSTITUTES)
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
            leaf.__class__ = _make_class(type(leaf))
        vars(leaf)[_SUBSTITUTES][capture] = values
    return partial(_restore, leaf, capture, before)


def _restore(leaf: Leaf, capture: Backend, before: dict[str, Any]) -> None:
    """End one substitution; after the last one the leaf has its own class again."""
    with _ClassLock.lock:
        substitutes = vars(leaf)[_SUBSTITUTES]
        del substitutes[capture]
        vars(leaf).update(before)
        if not substitutes:
            leaf.__class__ = getattr(leaf, _CLASS)
            del vars(leaf)[_SUBSTITUTES]


@cache
def _make_class(kind: type[Leaf]) -> Any:
    """Make a class like that of a leaf, whose attributes depend on who reads them."""
    members: dict[str, Any] = {name: _make_property(name) for name in _SUBSTITUTED}
    members |= {"__reduce_ex__": _reduce, "__module__": kind.__module__, _CLASS: kind}
    return type(kind.__name__, (kind,), members)


def _make_property(name: str) -> property:
    """Make an attribute that this thread's capture may have substituted."""

    def read(leaf: Leaf) -> Any:
        return _attributes(leaf)[name]

    def write(leaf: Leaf, value: object) -> None:
        _attributes(leaf)[name] = value

    return property(read, write)


def _attributes(leaf: Leaf) -> dict[str, Any]:
    """Return the attributes that this thread sees: the capture's, or the leaf's own."""
    # Few calls: while a step is captured each costs an event of the profiling hook.
    own = leaf.__dict__
    capture = capturing.get()
    if capture is None:
        return own
    try:
        return own[_SUBSTITUTES][capture]
    except KeyError:
        return own


def _reduce(leaf: Leaf, protocol: int) -> Any:
    """Let another thread copy or pickle the leaf itself."""
    del protocol
    hidden = (_SUBSTITUTES, "owner")
    own = {key: value for key, value in vars(leaf).items() if key not in hidden}
    return object.__new__, (getattr(leaf, _CLASS),), own


# Refused by these names, although some have default bodies.
UNSIZED = frozenset(
    {
        *("nonzero", "argwhere", "flatnonzero", "masked_select", "compress", "extract"),
        *("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
        "bincount",
    }
)

# The second argument of these is an index.
INDEXING = frozenset({"index", "slice_update", "slice_add", "scatter_index"})


def require_known_shape(name: str, args: tuple[Any, ...]) -> None:
    """Refuse a call whose result has a shape that is known only when the step runs."""
    if name in UNSIZED:
        _refuse(name)
    if name == "index":
        symbols = [part for part in key_parts(args[1]) if isinstance(part, Symbol)]
        if any(symbol.dtype == np.bool_ for symbol in symbols):
            _refuse("x[mask]")
    if name == "repeat" and isinstance(args[1], Symbol):
        _refuse("repeat")


def _refuse(name: str) -> NoReturn:
    """Raise an error that names the line, and say what to do."""
    raise CaptureError(
        f"{current_line()}: the shape of the result of {name} depends on values, which a "
        "compiled step has only when it runs",
        advice="; use sl.tensor.where(mask, x, other) or a "
        "fixed number of elements, or do this outside of the step",
    )


def replace_known_masks(target: Backend, key: Any) -> Any:
    """Replace each mask of known values in an index by the positions of its elements."""
    if not any(_is_known_mask(part) for part in key_parts(key)):
        return key
    parts: list[Any] = []
    for part in key_parts(key):
        if _is_known_mask(part) and part.ndim:
            positions = np.nonzero(np.asarray(target.to_numpy(part)))
            parts += [target.asarray(along_axis) for along_axis in positions]
        else:
            parts.append(part)
    return tuple(parts)


def _is_known_mask(part: object) -> bool:
    """Return True for an array of booleans whose values are known."""
    return not isinstance(part, Symbol) and "bool" in str(getattr(part, "dtype", ""))
