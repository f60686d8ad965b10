"""What a step computes with while it is captured, instead of arrays and random keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

from seqloom._key import counter_of
from seqloom.errors import CaptureError
from seqloom.tensor._origin import current_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._graph import Value


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
    def dtype(self) -> np.dtype[Any]:
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
        """Derives one key."""
        # A name is hashed to its counter here, because no backend can hash in a program.
        counter = counter_of(word) if isinstance(word, (int, str)) else word
        return SymbolKey(self.capture.fold_in(self.symbol, counter), self.capture)

    def split(self, n: int) -> list[SymbolKey]:
        """Derives several keys that differ from each other and from all folds."""
        words = self.capture.split(self.symbol, n)
        rows = (self.capture.index(words, row) for row in range(n))
        return [SymbolKey(row, self.capture) for row in rows]

    @property
    def words(self) -> NoReturn:
        """The words are known only when the step runs."""
        refuse("the words of a key")

    bits = uniform = each = to_json = words


def has_symbol(tree: Iterable[object]) -> bool:
    """Returns True if there is a symbol in arguments, or in lists and tuples of them."""
    for part in tree:
        if isinstance(part, (Symbol, SymbolKey)):
            return True
        if isinstance(part, (list, tuple)) and has_symbol(cast("list[object]", part)):
            return True
    return False


def refuse(request: str) -> NoReturn:
    """Raises an error that names the line, and says what to do."""
    raise CaptureError(
        f"{current_line()} needs {request}, but inside a compiled step a tensor has no "
        "values yet",
        advice=". Choose with sl.tensor.where instead of `if`, return the tensor and "
        "read it after the step, pass what decides as a Python argument, or switch "
        "compiling off: sl.tensor.compile(step, enabled=False), or SEQLOOM_COMPILE=0",
    )
