"""What encoders take: their settings checked, and made into a table of letters."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from seqloom._arguments import as_flag, as_integer, quote
from seqloom._rust import _native
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from seqloom.encode._base import SequenceEncoder

Case = Literal["fold", "mask", "keep", "error"]
Rare = Literal["error", "zeros", "unknown", "replace", "keep"]
Symbols = Literal["strip_terminal_stop", "error", "zeros", "keep"]
Whole = Literal["int64", "int32", "uint8"]
Number = Literal["float32", "float64", "float16", "bfloat16", "uint8", "int64", "int32"]

# The largest number of each type of whole numbers; floats hold shares too.
LIMITS = {"uint8": 2**8 - 1, "int32": 2**31 - 1, "int64": 2**63 - 1}
STOP = ord("*")
ALPHABETS = ("dna", "rna", "protein", "iupac")


def check_choices(encoder: SequenceEncoder) -> None:
    """Refuses a setting that is none of its choices.

    Args:
        encoder: A dataclass whose choices are Literals.

    Raises:
        ArgumentError: A setting has an unknown value.

    Examples:
        >>> from seqloom.encode import OneHot
        >>> check_choices(OneHot("dna"))
    """
    for name, choices in _choices(type(encoder)).items():
        value = getattr(encoder, name)
        if value not in choices:
            known = ", ".join(map(repr, choices))
            raise ArgumentError(f"{name} must be one of {known}, got {value!r}")
    for name in _flags(type(encoder)):
        as_flag(name, getattr(encoder, name))
    padding = getattr(encoder, "padding", None)
    if padding is not None:
        as_integer("padding", padding, least=-(1 << 63))


@lru_cache
def _choices(kind: type[Any]) -> dict[str, tuple[Any, ...]]:
    """The choices of each setting that has some."""
    hints = get_type_hints(kind)
    named = {field.name: hints[field.name] for field in fields(kind)}
    return {name: get_args(it) for name, it in named.items() if get_origin(it) is Literal}


@lru_cache
def _flags(kind: type[Any]) -> list[str]:
    """The settings that are True or False."""
    return [name for name, hint in get_type_hints(kind).items() if hint is bool]


def letters_of(
    encoder: Any, *, rare: str = "error", codes: bool | None = None
) -> _native.Letters:
    """Makes the table of letters that an encoder's settings describe.

    Args:
        encoder: Has alphabet, unknown, case, rna_as_dna and symbols.
        rare: What becomes of residues outside the twenty.
        codes: Whether ambiguity codes are taken; by ``unknown`` if None.

    Returns:
        What each byte means.

    Raises:
        ArgumentError: The settings do not go together.

    Examples:
        >>> from seqloom.encode import OneHot
        >>> letters_of(OneHot("dna")).members
        'ACGT'
    """
    check_alphabet_name(encoder.alphabet)
    return _native.Letters(
        encoder.alphabet,
        codes=encoder.unknown != "error" if codes is None else codes,
        case=encoder.case,
        rna_as_dna=encoder.rna_as_dna,
        rare=rare,
        symbols=encoder.symbols,
    )


def check_alphabet_name(alphabet: str) -> None:
    """Refuses the name of an alphabet in other case, which would be letters."""
    if not isinstance(alphabet, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may give anything
        raise ArgumentError(
            'alphabet must be a name such as "dna", or letters of your own, got '
            f"{quote(alphabet)}"
        )
    name = alphabet.lower()
    if name in ALPHABETS and alphabet != name:
        raise ArgumentError(
            f"alphabet {alphabet!r} is no name, and would be these letters: "
            f'did you mean "{name}"?'
        )


def any_letter(letters: _native.Letters) -> str:
    """Names the code that stands for the most members, or a gap where there is none.

    Args:
        letters: The letters of an alphabet.

    Returns:
        ``"N"``, ``"X"`` or ``"-"``.

    Examples:
        >>> from seqloom.encode import OneHot
        >>> any_letter(letters_of(OneHot("dna")))
        'N'
    """
    codes = letters.ambiguities
    return max(codes, key=lambda pair: len(pair[1]))[0] if codes else "-"
