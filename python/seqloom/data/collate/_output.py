"""Converts batches to NumPy arrays or PyTorch tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._warning import warn_user
from seqloom.data._ids import Ids
from seqloom.errors import ArgumentError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable


def choose_converter(output: str, *, pin_memory: bool = False) -> Callable[[Any], Any]:
    """Return the function that converts a batch to the output type."""
    if output == "torch":
        return _torch_converter(pin_memory=pin_memory)
    if output != "numpy":
        raise ArgumentError(f'output must be "numpy" or "torch", got {output!r}')
    if pin_memory:
        raise ArgumentError('pin_memory=True needs output="torch": only torch pins memory')
    return lambda batch: batch


@dataclass(frozen=True, slots=True)
class TensorCollate:
    """A collator whose batches are converted to tensors."""

    collate: Callable[[Any], Any]

    def __call__(self, items: Any) -> Any:
        """Return a batch of tensors."""
        return choose_converter("torch")(self.collate(items))


def _torch_converter(*, pin_memory: bool) -> Callable[[Any], Any]:
    """Return a function that wraps arrays as tensors without a copy."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError('output="torch" needs torch: pip install torch') from error

    pins = pin_memory and _finds_cuda(torch)

    def tensor(array: Any) -> Any:
        """Wrap an array as a tensor; other values are unchanged."""
        wrapped: Any = array
        if isinstance(array, np.ndarray):
            wrapped = torch.from_numpy(array)  # pyright: ignore[reportUnknownMemberType]
        return wrapped.pin_memory() if pins else wrapped

    return lambda batch: _convert_batch(batch, tensor)


def _finds_cuda(torch: Any) -> bool:
    """Return whether PyTorch finds a CUDA device; warn if not."""
    if torch.cuda.is_available():
        return True
    warn_user("pin_memory=True has no effect: torch finds no CUDA device", UserWarning)
    return False


def _convert_batch(batch: Any, tensor: Callable[[Any], Any]) -> Any:
    for kinds, convert in _CONVERTERS:
        if isinstance(batch, kinds):
            return convert(batch, tensor)
    return tensor(batch) if hasattr(batch, "pin_memory") else batch


def _convert_array(array: Any, tensor: Callable[[Any], Any]) -> Any:
    """Wrap an array of numbers as a tensor; other arrays are unchanged."""
    return tensor(array) if array.dtype.kind in "biufc" else array


def _convert_dict(batch: Any, tensor: Callable[[Any], Any]) -> Any:
    return {key: _convert_batch(batch[key], tensor) for key in batch}


def _convert_rows(rows: Any, tensor: Callable[[Any], Any]) -> Any:
    if _STRING_TYPES.issuperset(map(type, rows)):  # a list of strings needs no conversion
        return rows
    values = [_convert_batch(value, tensor) for value in rows]
    return type(rows)(*values) if hasattr(rows, "_fields") else type(rows)(values)


_STRING_TYPES = frozenset((str, bytes))
_CONVERTERS: tuple[tuple[Any, Callable[[Any, Callable[[Any], Any]], Any]], ...] = (
    (Ids, lambda ids, _: ids),  # do not decode the ids
    (np.ndarray, _convert_array),
    (dict, _convert_dict),
    ((list, tuple), _convert_rows),
)
