"""What a plan calls a model: class, weights, and settings that weights do not show."""

from __future__ import annotations

import sys
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from seqloom.nn import Module
from seqloom.record._checksum import checksum_of

_SIMPLE = (bool, int, float, str)


def identify(model: Any) -> str:
    """Names a model; of a function only its name is known."""
    kind = getattr(model, "__qualname__", type(model).__qualname__)
    return ":".join(filter(None, (kind, _hash_weights(model), _list_settings(model))))


def _hash_weights(model: Any) -> str:
    """Hashes the weights of a module of ours or of torch; empty for a function."""
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
