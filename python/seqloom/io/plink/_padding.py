"""What fills lines of a .bed up: zeros, another tool's code, or genotypes of nobody."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from seqloom._text import printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# So many lines must be filled up with one code, other than 0, before it is no genotype.
_FILLED = 8
# So many lines must agree before last places of 0 may be what fills lines up.
_LINES = 64
_HINT = "skip_format_check=True (--skip-format-check) reads without this warning"


def is_filled_up(last: NDArray[np.uint8], places: int, name: str) -> bool:
    """Says whether nobody's places at lines' ends hold no genotypes; warns of another code.

    Args:
        last: The last byte of each line.
        places: How many places a line has.
        name: What a warning calls the file.

    Returns:
        False where genotypes stand there.
    """
    used = places % 4
    filler = last >> 2 * used if used else last[:0]
    if not filler.any():
        return True
    code = filler[0] & 3
    one = sum(int(code) << 2 * place for place in range(4 - used))
    if len(last) < _FILLED or (filler != one).any():
        return False
    _warn(
        f"{name}: behind the last of {places} places the bits are {code:02b} in every "
        "line, where PLINK writes 00; they are left out: some tools write them so, but a "
        f"table may be too short ({_HINT})"
    )
    return True


def look_at_last_places(last: NDArray[np.uint8], places: int, name: str) -> None:
    """Warns where the last place is homozygous A1 in every line, as what fills lines up."""
    shift = 2 * ((places - 1) % 4)
    if shift and len(last) >= _LINES and not (last >> shift).any():
        _warn(
            f"{name}: the last places of a line are homozygous A1 in every one of "
            f"{len(last)} lines, as the bits are that fill it up: look whether the .fam or "
            f".bim is too long, or belongs to another file ({_HINT})"
        )


def _warn(text: Any) -> None:
    """Warns whoever reads."""
    warnings.warn(printable(text), stacklevel=6)
