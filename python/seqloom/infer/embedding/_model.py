"""Whatever embeds, seen in one way: a batch in, an array of rows for each layer out."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import ArgumentError
from seqloom.infer.embedding._device import HostDevice
from seqloom.infer.embedding._identity import identify
from seqloom.nn import Module
from seqloom.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from seqloom.infer.embedding._device import Device

LAST = (-1,)
_WIDTH = 1024  # of a model that does not say its own
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Embedder:
    """A model or a function, as the loop calls it.

    A model with a method ``embed(batch, layers=...)`` gives a dict of arrays by layer.
    Another module is called with the arrays of a batch that its ``forward`` or
    ``__call__`` asks for by name; a function with the batch, a dict of NumPy arrays.
    """

    def __init__(self, model: Any, layers: tuple[int, ...]) -> None:
        if not callable(model):
            raise ArgumentError(
                "model must be a module, such as sl.models.ESM2.load(folder), or a "
                f"function of a batch, got {type(model).__name__}"
            )
        self.model, self.layers = model, layers
        self.device = device_of(model)
        self._call = _find_call(model, layers)
        if (evaluate := getattr(model, "eval", None)) is not None:
            evaluate()

    def __call__(self, batch: Mapping[str, Any]) -> dict[int, Any]:
        """Computes the embeddings of a batch that is on the device."""
        with self.device.computing():
            return self._call(batch)

    @property
    def name(self) -> str:
        """What a plan calls the model."""
        return identify(_unwrap(self.model))

    @property
    def width(self) -> int:
        """The features of a row, as far as the model says."""
        width = getattr(getattr(self.model, "config", self.model), "width", _WIDTH)
        return width if isinstance(width, int) else _WIDTH


def device_of(model: Any) -> Device:
    """Finds where a model computes."""
    place = _place_of(model)
    if place.startswith("cuda"):
        from seqloom.infer.embedding._torch_device import TorchDevice

        return TorchDevice(place)
    return HostDevice()


def _place_of(model: Any) -> str:
    """Names the device of a model's weights."""
    if isinstance(model, Module):
        return str(model.backend.device)
    if hasattr(model, "parameters"):
        first = next(iter(model.parameters()), None)
        return str(getattr(first, "device", "cpu"))
    return "cpu"


def _find_call(
    model: Any, layers: tuple[int, ...]
) -> Callable[[Mapping[str, Any]], dict[int, Any]]:
    """Chooses how a model is called."""
    if hasattr(model, "embed"):
        return lambda batch: model.embed(batch, layers=layers)
    if layers != LAST:
        raise ArgumentError(
            f"layers={list(layers)} needs a model with a method embed(batch, layers=...), "
            f"such as sl.models.ESM2; {type(model).__name__} has none"
        )
    if isinstance(model, Module) or hasattr(model, "state_dict"):
        return lambda batch: {-1: _call_module(model, batch)}
    return lambda batch: {-1: model(batch)}


def _unwrap(model: Any) -> Any:
    """Returns the module that torch.compile has wrapped, or the model itself."""
    return getattr(model, "_orig_mod", model)


def _call_module(model: Any, batch: Mapping[str, Any]) -> Any:
    """Calls a module with what it asks for; transformers return several results."""
    plain = _unwrap(model)
    method = getattr(plain, "forward", None) or plain.__call__
    asked = inspect.signature(method).parameters.values()
    values = {**batch, "inputs": batch["input_ids"], "x": batch["input_ids"]}
    options = {
        it.name: _to_model(model, values[it.name])
        for it in asked
        if it.kind not in _VARIABLE and it.name in values
    }
    if not options:
        raise ArgumentError(
            f"{type(model).__name__} asks for {', '.join(it.name for it in asked)}, but a "
            f"batch has {', '.join(batch)}; name a parameter as one of these, or pass a "
            "function of the batch"
        )
    found = model(**options)
    return getattr(found, "last_hidden_state", found)


def _to_model(model: Any, value: Any) -> Any:
    """Makes an array one of the module's library."""
    if not hasattr(value, "dtype"):
        return value
    if isinstance(model, Module):
        return Tensor(model.backend.asarray(value), model.backend)
    if isinstance(value, np.ndarray):
        return _torch().from_numpy(value)
    return value


def _torch() -> Any:
    """Returns torch, which whoever has made a tensor has loaded."""
    return sys.modules["torch"]
