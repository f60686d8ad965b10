"""Tokenises sequences for a packed stream, in Rust or with a Python function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._arguments import quote
from seqloom._ragged import lengths_to_offsets
from seqloom.data._encoder import find_override
from seqloom.data.collate._varlen import as_token_function
from seqloom.encode import Tokens
from seqloom.encode._tokens_base import TokenEncoder
from seqloom.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom._rust import _native

_TOKEN_LIMIT = 1 << 31


@dataclass(frozen=True, slots=True)
class Tokeniser:
    """A tokeniser; either ``kernel`` or ``function`` is set."""

    name: str  # identifies the tokeniser in saved states
    kernel: _native.SequenceKernel | None = None
    function: FunctionTokens | None = None
    places: Callable[[Any], NDArray[np.int64]] | None = None  # residues -> tokens

    @classmethod
    def of(cls, tokens: Any) -> Tokeniser:
        """Create the tokeniser from the argument ``tokens``."""
        tokens = Tokens("esm2") if tokens is None else tokens
        if isinstance(tokens, TokenEncoder) and find_override(type(tokens)) is None:
            # Batches always have int32 tokens, so the dtype of `tokens` is ignored.
            kernel = replace(cast("Any", tokens), dtype="int32").kernel
            return cls(repr(tokens), kernel, None, tokens.places)
        if not callable(tokens):
            raise ArgumentError(
                "tokens must be sl.encode.Tokens(...), a Hugging Face tokenizer, or a "
                f"function of one sequence, got {quote(tokens)}"
            )
        return cls(_function_name(tokens), None, FunctionTokens(as_token_function(tokens)))

    def check_windows(self, max_length: int, max_tokens: int) -> None:
        """Raise if windows could not be merged, or have too many tokens for a batch."""
        if self.places is None:
            return
        specials, size = self.places([0, max_length]).tolist()
        if size != max_length + specials:
            raise ArgumentError(
                f"max_length={max_length} splits records into windows and needs one "
                f"token per residue, unlike {self.name}: use k=1, or crop the records"
            )
        if size > max_tokens:
            raise ArgumentError(
                f"max_length={max_length} residues are {size} tokens, more than "
                f"max_tokens={max_tokens}: pass max_tokens={size} or more"
            )


@dataclass(slots=True)
class FunctionTokens:
    """Calls a custom function for each window; stores the first error and stops."""

    function: Callable[[bytes], Any]
    fault: BaseException | None = field(default=None, init=False)

    def __call__(
        self, letters: NDArray[np.uint8], offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the tokens of windows and their offsets."""
        whole, rows = letters.tobytes(), list[Any]()
        try:
            for start, stop in pairwise(offsets.tolist()):
                rows.append(_as_tokens(self.function(whole[start:stop])))
        except BaseException as error:  # noqa: BLE001 - raised again when its record is due
            self.fault = error
        sizes = np.array([row.size for row in rows], np.int64)
        flat: Any = np.concatenate(rows) if rows else np.empty(0, np.uint32)
        return flat, lengths_to_offsets(sizes)


def _as_tokens(result: Any) -> NDArray[np.uint32]:
    is_of_tokenizer = isinstance(result, Mapping)
    row: NDArray[Any] = np.asarray(
        cast("Any", result)["input_ids"] if is_of_tokenizer else result
    )
    if row.ndim != 1:
        raise ShapeError(
            f"tokens of one sequence must be one row, but the function returned {row.shape}"
        )
    if row.size == 0:
        return np.empty(0, np.uint32)
    if row.dtype.kind not in "iu" or row.min() < 0 or row.max() >= _TOKEN_LIMIT:
        raise ArgumentError(
            "tokens must be integers from 0 to 2**31 - 1, but the function returned "
            f"{quote(result)}"
        )
    return row.astype(np.uint32)


def _function_name(function: Any) -> str:
    name = getattr(function, "name_or_path", None) or getattr(function, "__qualname__", "")
    return f"{type(function).__qualname__} {name}".strip()
