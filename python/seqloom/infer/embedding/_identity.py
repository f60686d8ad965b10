"""What a plan calls a model: class, weights, and settings that weights do not show."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import MISSING, fields, is_dataclass
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.nn import Module
from seqloom.record._checksum import checksum_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SIMPLE = (bool, int, float, str)


def identify(model: Any) -> str:
    """Names a model by what decides its results, as far as it shows."""
    kind = getattr(model, "__qualname__", type(model).__qualname__)
    shown = _hash_function(model) if isinstance(model, FunctionType) else _hash_of(model)
    return ":".join(filter(None, (kind, shown, _list_settings(model))))


def _hash_function(function: FunctionType) -> str:
    """Hashes what a function does, and the values that it brings along."""
    words = "\n".join(_tell(function, set()))
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def _tell(value: Any, told: set[int]) -> Iterator[str]:
    """Tells a value of a function in words that are the same in another process."""
    if id(value) in told:
        return  # a function that calls itself holds itself
    parts = _parts_of(value)
    if parts is None:
        yield _spell(value)
        return
    told.add(id(value))
    for part in parts:
        yield from _tell(part, told)


def _parts_of(value: Any) -> Iterable[Any] | None:
    """Lists what a function, its code or a container consists of; None of other values."""
    if isinstance(value, FunctionType):
        cells = value.__closure__ or ()
        return value.__code__, value.__defaults__, *map(_content_of, cells)
    if isinstance(value, CodeType):
        return value.co_code, value.co_names, value.co_consts
    if isinstance(value, frozenset):
        return sorted(map(repr, cast("frozenset[Any]", value)))
    return cast("list[Any]", value) if isinstance(value, (tuple, list)) else None


def _content_of(cell: CellType) -> Any:
    """Returns what a function brings along; None where it is not set yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _spell(value: Any) -> str:
    """Spells a value; of an object that is no number, text, array or module its class."""
    if isinstance(value, np.ndarray):
        return checksum_of({"": value})
    if isinstance(value, (*_SIMPLE, bytes, complex, type(None))):
        return repr(value)
    return f"{type(value).__qualname__} {_hash_of(value)}"


def _hash_of(model: Any) -> str:
    """Hashes the weights of a module of ours or of torch; empty for another object."""
    if isinstance(model, Module):
        known = getattr(model, "identity", "")
        return known if isinstance(known, str) and known else _hash_arrays(model)
    if hasattr(model, "state_dict"):
        state = model.state_dict().items()
        return checksum_of({path: _bits_of(it) for path, it in state})
    return ""


def _hash_arrays(model: Module) -> str:
    """Hashes what a record holds, and the layers beneath adapters, which it leaves out."""
    beneath = {
        path: param.value.numpy()
        for path, param in model.parameters()
        if not param.is_recorded
    }
    return checksum_of({**model.to_record(), **beneath})


def _list_settings(model: Any) -> str:
    """Lists the settings of a model that are not their defaults, such as its heads."""
    # A field that a later version adds changes nothing as long as it has its default.
    config = getattr(model, "config", None)
    if not is_dataclass(config):
        return ""
    given = {
        field.name: getattr(config, field.name)
        for field in fields(config)
        if field.default is MISSING or getattr(config, field.name) != field.default
    }
    simple = {name: it for name, it in given.items() if isinstance(it, _SIMPLE)}
    return ",".join(f"{name}={it}" for name, it in simple.items())


def _bits_of(tensor: Any) -> Any:
    """Reads the bits of a tensor of torch, bfloat16 too."""
    tensor = tensor.detach().cpu().contiguous()
    if "bfloat16" in str(tensor.dtype):
        tensor = tensor.view(
            sys.modules["torch"].uint16
        )  # whoever made it has loaded torch
    return tensor.numpy()
