"""What makes the tokens of a packed stream: a kernel, or a function of Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._arguments import quote
from seqloom._ragged import offsets_of
from seqloom.data._encoder import find_override
from seqloom.data.collate._varlen import as_token_function
from seqloom.encode import Tokens
from seqloom.encode._tokens_base import TokenEncoder
from seqloom.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom._rust import _native

_MOST = 1 << 31


@dataclass(frozen=True, slots=True)
class Tokeniser:
    """Makes tokens; one of ``kernel`` and ``function`` is there."""

    name: str  # what a saved state must agree with
    kernel: _native.SequenceKernel | None = None
    function: FunctionTokens | None = None
    places: Callable[[Any], NDArray[np.int64]] | None = None  # tokens of so many letters

    @classmethod
    def of(cls, tokens: Any) -> Tokeniser:
        """Make one of what a user passes."""
        tokens = Tokens("esm2") if tokens is None else tokens
        if isinstance(tokens, TokenEncoder) and find_override(type(tokens)) is None:
            # The settings are the same, whatever the type of the numbers.
            kernel = replace(cast("Any", tokens), dtype="int32").kernel
            return cls(repr(tokens), kernel, None, tokens.places)
        if not callable(tokens):
            raise ArgumentError(
                "tokens must be sl.encode.Tokens(...), a Hugging Face tokenizer, or a "
                f"function of one sequence, got {quote(tokens)}"
            )
        return cls(_name_of(tokens), None, FunctionTokens(as_token_function(tokens)))

    def check_windows(self, max_length: int, max_tokens: int) -> None:
        """Refuse windows that could not be merged, or that no batch could hold."""
        if self.places is None:
            return
        specials, size = self.places([0, max_length]).tolist()
        if size != max_length + specials:
            raise ArgumentError(
                f"max_length={max_length} cuts records into windows, which needs one token "
                f"for each letter; {self.name} makes others: use k=1, or crop the records"
            )
        if size > max_tokens:
            raise ArgumentError(
                f"max_length={max_length} letters are {size} tokens, more than "
                f"max_tokens={max_tokens}: pass max_tokens={size} or more"
            )


@dataclass(slots=True)
class FunctionTokens:
    """Calls a user's function for each window, up to the first error, which it keeps."""

    function: Callable[[bytes], Any]
    fault: BaseException | None = field(default=None, init=False)

    def __call__(
        self, letters: NDArray[np.uint8], offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Make the tokens of windows, end to end."""
        whole, rows = letters.tobytes(), list[Any]()
        try:
            for start, stop in pairwise(offsets.tolist()):
                rows.append(_as_tokens(self.function(whole[start:stop])))
        except BaseException as error:  # noqa: BLE001 - raised again when its record is due
            self.fault = error
        sizes = np.array([row.size for row in rows], np.int64)
        flat: Any = np.concatenate(rows) if rows else np.empty(0, np.uint32)
        return flat, offsets_of(sizes)


def _as_tokens(given: Any) -> NDArray[np.uint32]:
    """Take the tokens that a user's function gives."""
    is_of_tokenizer = isinstance(given, Mapping)
    row: NDArray[Any] = np.asarray(
        cast("Any", given)["input_ids"] if is_of_tokenizer else given
    )
    if row.ndim != 1:
        raise ShapeError(
            f"tokens of one sequence stand in one row, the function gave shape {row.shape}"
        )
    if row.size == 0:
        return np.empty(0, np.uint32)
    if row.dtype.kind not in "iu" or row.min() < 0 or row.max() >= _MOST:
        raise ArgumentError(
            f"tokens must be integers from 0 to 2**31 - 1, the function gave {quote(given)}"
        )
    return row.astype(np.uint32)


def _name_of(function: Any) -> str:
    """Name a function or a tokenizer."""
    name = getattr(function, "name_or_path", None) or getattr(function, "__qualname__", "")
    return f"{type(function).__qualname__} {name}".strip()
