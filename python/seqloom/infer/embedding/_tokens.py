"""The tokenizer of a job: its name in the plan, and what it adds to letters."""

from __future__ import annotations

from typing import Any

import numpy as np

from seqloom.encode import Tokens
from seqloom.errors import ArgumentError
from seqloom.infer.embedding._identity import identify

_PROBES = (b"A", b"AC", b"CA")


def find_tokens(model: Any, tokens: Any) -> Any:
    """Chooses the tokenizer: the caller's, the model's, or ESM-2's."""
    if tokens is not None:
        if not callable(tokens):
            raise ArgumentError(
                "tokens must be sl.encode.Tokens(...), a tokenizer of transformers or a "
                f"function of one sequence, got {tokens!r}"
            )
        return tokens
    return getattr(model, "tokens", None) or Tokens("esm2")


def name_of_tokens(tokens: Any) -> str:
    """Names a tokenizer, so that another one makes another plan."""
    if isinstance(tokens, Tokens):
        return tokens.to_json()
    source = getattr(tokens, "name_or_path", "")
    return ":".join(filter(None, (identify(tokens), source)))


def pad_value_of(tokens: Any) -> int:
    """Finds the number of the padding token."""
    for name in ("pad_value", "pad_token_id"):
        if (value := getattr(tokens, name, None)) is not None:
            return int(value)
    return 0


def count_ends(tokens: Any) -> tuple[int, int]:
    """Counts the tokens before and behind the letters, one token for each letter."""
    if isinstance(tokens, Tokens):
        _check_single(tokens)
        return (1, 1) if tokens.add_special_tokens else (0, 0)
    one, two, other = (_tokenize(tokens, probe) for probe in _PROBES)
    added = one.size - 1
    if two.size != added + 2:
        raise _not_single(tokens)
    # What both orders of the letters begin with is no letter's.
    before = int(added > 0 and two[0] == other[0])
    return before, added - before


def _check_single(tokens: Tokens) -> None:
    """Refuses words of several letters, whose tokens are no residues."""
    if tokens.k != 1:
        raise _not_single(tokens)


def _not_single(tokens: Any) -> ArgumentError:
    """Makes the error of a tokenizer whose tokens are not letters."""
    return ArgumentError(
        f"tokens={name_of_tokens(tokens)} does not make one token of each letter, so that "
        'tokens are no residues; give pool="model" and a model that pools its tokens itself'
    )


def _tokenize(tokens: Any, letters: bytes) -> Any:
    """Tokenizes a few letters."""
    text = letters.decode() if hasattr(tokens, "pad_token_id") else letters
    found = tokens(text)
    return np.asarray(getattr(found, "input_ids", found)).reshape(-1)
