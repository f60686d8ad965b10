"""Functions that encoders share: checks of settings, alphabets, and output arrays."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from seqloom._arguments import as_bool, as_integer, quote
from seqloom._rust import _native
from seqloom.errors import ArgumentError, MissingExtraError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom._config import JsonConfig
    from seqloom._ragged import Ragged

    Shape = tuple[int, ...]


Case = Literal["fold", "mask", "keep", "error"]
Rare = Literal["error", "zeros", "unknown", "replace", "keep"]
Symbols = Literal["strip_terminal_stop", "error", "zeros", "keep"]
IntegerDType = Literal["int64", "int32", "uint8"]
EncodedDType = Literal[
    "float32", "float64", "float16", "bfloat16", "uint8", "int64", "int32"
]

# The largest number of each integer dtype.
INTEGER_LIMITS = {"uint8": 2**8 - 1, "int32": 2**31 - 1, "int64": 2**63 - 1}
STOP_BYTE = ord("*")
ALPHABETS = ("dna", "rna", "protein", "iupac")


def check_choices(encoder: JsonConfig) -> None:
    """Raise if the value of a setting is not one of the allowed values."""
    for name, hint in _find_type_hints(type(encoder)).items():
        value = getattr(encoder, name)
        if hint is bool:
            as_bool(name, value)
        elif name == "padding" and value is not None:
            as_integer(name, value, least=-(1 << 63))
        elif get_origin(hint) is Literal and value not in get_args(hint):
            known = ", ".join(map(repr, get_args(hint)))
            raise ArgumentError(f"{name} must be one of {known}, got {quote(value)}")


@lru_cache
def _find_type_hints(kind: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def make_alphabet_table(encoder: Any) -> _native.Letters:
    """Return the lookup table of an encoder's alphabet."""
    check_alphabet_name(encoder.alphabet)
    try:
        return _native.Letters(**alphabet_settings(encoder))
    except UnicodeEncodeError:  # not valid Unicode text
        raise ArgumentError(
            f"alphabet must be a name or its characters, got {encoder.alphabet!r}"
        ) from None


def alphabet_settings(encoder: Any) -> dict[str, Any]:
    """Return the settings of the alphabet's lookup table as JSON values."""
    return {
        "alphabet": encoder.alphabet,
        "codes": encoder.unknown != "error",
        "case": encoder.case,
        "rna_as_dna": encoder.rna_as_dna,
        "rare": encoder.rare,
        "symbols": encoder.symbols,
    }


def check_alphabet_name(alphabet: str) -> None:
    """Raise if the name of an alphabet is in upper case, such as "DNA"."""
    if not isinstance(alphabet, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may give anything
        raise ArgumentError(
            'alphabet must be a name such as "dna", or a string of characters, got '
            f"{quote(alphabet)}"
        )
    name = alphabet.lower()
    if name in ALPHABETS and alphabet != name:
        raise ArgumentError(
            f"alphabet={alphabet!r} would be read as an alphabet of these characters: "
            f'did you mean "{name}"?'
        )


def find_any_residue_code(letters: _native.Letters) -> str:
    """Return the code for any residue, N or X; "-" if the alphabet has no codes."""
    codes = letters.ambiguities
    return max(codes, key=lambda pair: len(pair[1]))[0] if codes else "-"


def count_encoded_residues(letters: _native.Letters, rows: Ragged) -> NDArray[np.int64]:
    """Return the length of each sequence, excluding a final ``*`` that is dropped."""
    lengths = rows.lengths
    if not (letters.strips and rows.data.size):
        return lengths
    last = rows.data[np.maximum(rows.offsets[1:] - 1, 0)]
    return lengths - ((last == STOP_BYTE) & (lengths > 0))


# NumPy lacks bfloat16, so bfloat16 results are PyTorch tensors.
_BFLOAT16 = "bfloat16"


def to_bits(values: object, dtype: str) -> NDArray[Any]:
    """Return the bits of numbers as unsigned integers of the same size."""
    if dtype != _BFLOAT16:
        return _view_bits(np.ascontiguousarray(values, dtype))
    wide = np.ascontiguousarray(values, np.float32).view(np.uint32)
    to_even = np.uint32(0x7FFF) + ((wide >> 16) & 1)
    return ((wide + to_even) >> 16).astype(np.uint16)


def from_bits(bits: NDArray[Any], dtype: str) -> list[Any]:
    """Return the numbers whose bits are the given unsigned integers, as a list."""
    if dtype != _BFLOAT16:
        return bits.view(dtype).tolist()
    return (bits.astype(np.uint32) << 16).view(np.float32).tolist()


def prepare_output(
    shape: Shape, dtype: str, out: object = None
) -> tuple[Any, NDArray[Any]]:
    """Return the output array, ``out`` or a new one, and a flat integer view of it."""
    if dtype == _BFLOAT16:
        return _prepare_tensor(shape, out)
    if out is None:
        array = np.empty(shape, dtype)
        return array, _view_bits(array.reshape(-1))
    if not hasattr(out, "__array__"):
        raise ShapeError(f"out must be an array or a torch tensor, got {quote(out)}")
    array = np.asarray(out)
    flags = array.flags
    fits = array.shape == shape and array.dtype == dtype
    if not (fits and flags.c_contiguous and flags.writeable):
        raise ShapeError(
            _describe_invalid_output(shape, dtype, f"{array.dtype} {array.shape}")
        )
    return out, _view_bits(array.reshape(-1))


def _view_bits(array: NDArray[Any]) -> NDArray[Any]:
    return array.view(f"u{array.itemsize}")


def _prepare_tensor(shape: Shape, out: Any) -> tuple[Any, NDArray[Any]]:
    """Return the output tensor, ``out`` or a new one, and a flat integer view of it."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(
            'dtype="bfloat16" needs torch: pip install torch'
        ) from error
    tensor = torch.empty(shape, dtype=torch.bfloat16) if out is None else out
    is_tensor = isinstance(tensor, torch.Tensor) and tensor.dtype is torch.bfloat16
    if not (is_tensor and tensor.device.type == "cpu" and tensor.is_contiguous()):
        found: Any = getattr(out, "dtype", "no tensor")
        raise ShapeError(_describe_invalid_output(shape, _BFLOAT16, f"{found}"))
    if tuple(tensor.shape) != shape:
        raise ShapeError(
            _describe_invalid_output(shape, _BFLOAT16, f"{tuple(tensor.shape)}")
        )
    return tensor, tensor.detach().view(torch.int16).numpy().reshape(-1).view(np.uint16)


def _describe_invalid_output(shape: Shape, dtype: str, found: str) -> str:
    return (
        f"out must be a writable, C-contiguous {dtype} array of shape {shape}, got {found}"
    )


def to_numpy(array: Any) -> NDArray[Any]:
    """Convert an array or a PyTorch tensor, including bfloat16, to a NumPy array."""
    if str(getattr(array, "dtype", "")).endswith(_BFLOAT16):
        array = array.float()
    return np.asarray(array)
