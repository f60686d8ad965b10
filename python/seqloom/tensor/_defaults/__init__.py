"""The functions of a backend: those it must have, and the default bodies of the others."""

from seqloom.tensor._defaults._defaults import EXTENSION, ArrayFunctions
from seqloom.tensor._defaults._lookup import require_covered
from seqloom.tensor._defaults._normal import erf_inv
from seqloom.tensor._defaults._products import (
    require_bias,
    require_diagonals,
    require_equal_lengths,
)
from seqloom.tensor._defaults._standard import REQUIRED, Array, Standard
from seqloom.tensor._defaults._threefry import counter
from seqloom.tensor._defaults._window import Size, Windows, crop_input, to_sizes

__all__ = [
    "EXTENSION",
    "REQUIRED",
    "Array",
    "ArrayFunctions",
    "Size",
    "Standard",
    "Windows",
    "counter",
    "crop_input",
    "erf_inv",
    "require_bias",
    "require_covered",
    "require_diagonals",
    "require_equal_lengths",
    "to_sizes",
]
