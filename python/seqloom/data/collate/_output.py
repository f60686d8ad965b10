"""What kind of arrays a loader hands out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._warning import warn_user
from seqloom.data._ids import Ids
from seqloom.errors import ArgumentError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable


def converter(output: str, *, pin_memory: bool = False) -> Callable[[Any], Any]:
    """Choose what is done to a batch before it is handed out."""
    if output == "torch":
        return _torch_converter(pin_memory=pin_memory)
    if output != "numpy":
        raise ArgumentError(f'output must be "numpy" or "torch", got {output!r}')
    if pin_memory:
        raise ArgumentError('pin_memory=True needs output="torch": only torch pins memory')
    return lambda batch: batch


@dataclass(frozen=True, slots=True)
class TensorCollate:
    """Collates items by a function, and hands the batch out as tensors."""

    collate: Callable[[Any], Any]

    def __call__(self, items: Any) -> Any:
        """Make one batch."""
        return converter("torch")(self.collate(items))


def _torch_converter(*, pin_memory: bool) -> Callable[[Any], Any]:
    """Wrap arrays as tensors of the same memory."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError('output="torch" needs torch: pip install torch') from error

    pins = pin_memory and _can_pin(torch)

    def tensor(array: Any) -> Any:
        """Wrap one array; a user's tensor stays what it is."""
        wrapped: Any = array
        if isinstance(array, np.ndarray):
            wrapped = torch.from_numpy(array)  # pyright: ignore[reportUnknownMemberType]
        return wrapped.pin_memory() if pins else wrapped

    return lambda batch: _convert(batch, tensor)


def _can_pin(torch: Any) -> bool:
    """Tell whether there is a device to pin memory for; warns where there is none."""
    if torch.cuda.is_available():
        return True
    warn_user(
        "pin_memory=True has no effect: torch finds no CUDA device",
        UserWarning,
    )
    return False


def _convert(batch: Any, tensor: Callable[[Any], Any]) -> Any:
    """Go through dicts, lists and tuples down to arrays of numbers."""
    for kinds, convert in _RULES:
        if isinstance(batch, kinds):
            return convert(batch, tensor)
    return tensor(batch) if hasattr(batch, "pin_memory") else batch


def _array(array: Any, tensor: Callable[[Any], Any]) -> Any:
    """Wrap numbers; texts stay what they are."""
    return tensor(array) if array.dtype.kind in "biufc" else array


def _dict(batch: Any, tensor: Callable[[Any], Any]) -> Any:
    """Go through the values."""
    return {key: _convert(batch[key], tensor) for key in batch}


def _rows(rows: Any, tensor: Callable[[Any], Any]) -> Any:
    """Keep the kind of a list, a tuple or a named tuple."""
    if _TEXTS.issuperset(map(type, rows)):  # names of files: nothing to convert
        return rows
    values = [_convert(value, tensor) for value in rows]
    return type(rows)(*values) if hasattr(rows, "_fields") else type(rows)(values)


_TEXTS = frozenset((str, bytes))
_RULES: tuple[tuple[Any, Callable[[Any, Callable[[Any], Any]], Any]], ...] = (
    (Ids, lambda ids, _: ids),  # a list, which must not be looked at here
    (np.ndarray, _array),
    (dict, _dict),
    ((list, tuple), _rows),
)
