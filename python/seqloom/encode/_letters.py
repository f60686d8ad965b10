"""The settings that encoders share, checked, and the table of letters they describe."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from seqloom._arguments import as_flag, as_integer, quote
from seqloom._rust import _native
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom._config import JsonConfig
    from seqloom._ragged import Ragged

Case = Literal["fold", "mask", "keep", "error"]
Rare = Literal["error", "zeros", "unknown", "replace", "keep"]
Symbols = Literal["strip_terminal_stop", "error", "zeros", "keep"]
Whole = Literal["int64", "int32", "uint8"]
Number = Literal["float32", "float64", "float16", "bfloat16", "uint8", "int64", "int32"]

# The largest number of each integer type; the other types are floats.
LIMITS = {"uint8": 2**8 - 1, "int32": 2**31 - 1, "int64": 2**63 - 1}
STOP = ord("*")
ALPHABETS = ("dna", "rna", "protein", "iupac")


def check_choices(encoder: JsonConfig) -> None:
    """Refuses a setting of an encoder that is not one of its choices."""
    for name, hint in _find_hints(type(encoder)).items():
        value = getattr(encoder, name)
        if hint is bool:
            as_flag(name, value)
        elif name == "padding" and value is not None:
            as_integer(name, value, least=-(1 << 63))
        elif get_origin(hint) is Literal and value not in get_args(hint):
            known = ", ".join(map(repr, get_args(hint)))
            raise ArgumentError(f"{name} must be one of {known}, got {quote(value)}")


@lru_cache
def _find_hints(kind: type[Any]) -> dict[str, Any]:
    """Returns the type of each setting."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def make_letters(encoder: Any) -> _native.Letters:
    """Makes the table of letters that an encoder's settings describe."""
    check_alphabet_name(encoder.alphabet)
    try:
        return _native.Letters(**letter_settings(encoder))
    except UnicodeEncodeError:  # half a character
        raise ArgumentError(
            f"alphabet must be a name or letters, got {encoder.alphabet!r}"
        ) from None


def letter_settings(encoder: Any) -> dict[str, Any]:
    """Lists what the table of letters is told, as plain values."""
    return {
        "alphabet": encoder.alphabet,
        "codes": encoder.unknown != "error",
        "case": encoder.case,
        "rna_as_dna": encoder.rna_as_dna,
        "rare": encoder.rare,
        "symbols": encoder.symbols,
    }


def check_alphabet_name(alphabet: str) -> None:
    """Refuses a name of an alphabet in upper case: it would be read as letters."""
    if not isinstance(alphabet, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may give anything
        raise ArgumentError(
            'alphabet must be a name such as "dna", or a string of letters, got '
            f"{quote(alphabet)}"
        )
    name = alphabet.lower()
    if name in ALPHABETS and alphabet != name:
        raise ArgumentError(
            f"alphabet={alphabet!r} would be read as an alphabet of these letters: "
            f'did you mean "{name}"?'
        )


def find_any_code(letters: _native.Letters) -> str:
    """Returns the code that stands for the most letters (N, X), or a gap without codes."""
    codes = letters.ambiguities
    return max(codes, key=lambda pair: len(pair[1]))[0] if codes else "-"


def count_encoded(letters: _native.Letters, rows: Ragged) -> NDArray[np.int64]:
    """Counts the letters of each sequence without a stop that is left out."""
    lengths = rows.lengths
    if not (letters.strips and rows.data.size):
        return lengths
    last = rows.data[np.maximum(rows.offsets[1:] - 1, 0)]
    return lengths - ((last == STOP) & (lengths > 0))
