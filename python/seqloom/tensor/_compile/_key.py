"""A random key while a step is captured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from seqloom._key import counter_of
from seqloom.tensor._compile._symbol import refuse

if TYPE_CHECKING:
    from seqloom.tensor._compile._capture import Capture
    from seqloom.tensor._compile._symbol import Symbol


class SymbolKey:
    """Has the interface of `Key`; what is derived from it is written down.

    Args:
        symbol: Its two words.
        capture: Who writes down.
    """

    __slots__ = ("capture", "symbol")

    def __init__(self, symbol: Symbol, capture: Capture) -> None:
        self.symbol = symbol
        self.capture = capture

    def fold(self, word: Any) -> SymbolKey:
        """The key of one thing below this one."""
        # A name becomes its counter here: no compiler follows how it is hashed.
        counter = counter_of(word) if isinstance(word, (int, str)) else word
        return SymbolKey(self.capture.fold_in(self.symbol, counter), self.capture)

    def split(self, n: int) -> list[SymbolKey]:
        """Several keys that differ from each other and from all folds."""
        words = self.capture.split(self.symbol, n)
        rows = (self.capture.index(words, place) for place in range(n))
        return [SymbolKey(row, self.capture) for row in rows]

    @property
    def words(self) -> NoReturn:
        """The words are known when the step runs."""
        refuse("the words of a key")

    bits = uniform = each = to_json = words
