"""The model of an embedding job, the device of the model, and its identity in a plan."""

from __future__ import annotations

import hashlib
import inspect
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import MISSING, fields, is_dataclass
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._ragged import lengths_to_offsets
from seqloom.errors import ArgumentError
from seqloom.nn import Module
from seqloom.nn._call_arguments import VARIADIC_PARAMETER_KINDS
from seqloom.record._facts import joint_checksum
from seqloom.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    Batch = Mapping[str, Any]

LAST_LAYER = (-1,)
_DEFAULT_WIDTH = 1024  # width of a model without `config.width`
_SCALAR_TYPES = (bool, int, float, str)


class Embedder:
    """Calls a model or function with a batch, and returns rows for each layer.

    A model with a method ``embed(batch, layers=...)`` returns a dict of arrays by layer.
    Any other module receives the arrays that have the names of the parameters of its
    ``forward`` or ``__call__`` method. A function is called with the batch, a dict of
    NumPy arrays.
    """

    def __init__(self, model: Any, layers: tuple[int, ...], device: CpuDevice) -> None:
        if not callable(model):
            raise ArgumentError(
                "model must be a module, such as sl.models.ESM2.load(folder), or a "
                f"function of a batch, got {type(model).__name__}"
            )
        self.model, self.layers, self.device = model, layers, device
        self._call = _find_call(model, layers)
        if (evaluate := getattr(model, "eval", None)) is not None:
            evaluate()

    def __call__(self, batch: Batch) -> dict[int, Any]:
        """Return the embeddings of a batch on the device."""
        with self.device.computing():
            return self._call(batch)

    @property
    def name(self) -> str:
        """The name that identifies the model in a plan."""
        return identify_model(_unwrap_compiled(self.model))

    @property
    def width(self) -> int:
        """The width of the model's output, from its configuration."""
        width = getattr(getattr(self.model, "config", self.model), "width", _DEFAULT_WIDTH)
        return width if isinstance(width, int) else _DEFAULT_WIDTH


class CpuDevice:
    """The CPU as a device, and base class of devices with separate memory."""

    name = "cpu"
    is_cold = False  # True if the first batch takes longer than later batches

    def place(self, batch: Batch) -> dict[str, Any]:
        """Copy the arrays of a batch to the device, without waiting for the copy."""
        return dict(batch)

    def computing(self) -> AbstractContextManager[Any]:
        """Return a context in which PyTorch, if imported, records no gradients."""
        torch: Any = sys.modules.get("torch")
        return nullcontext() if torch is None else torch.inference_mode()

    def take(self, values: Any, rows: NDArray[np.int64]) -> Any:
        """Select rows of an array."""
        return to_numpy(values)[rows]

    def sum_rows(self, values: Any, counts: NDArray[np.int64]) -> Any:
        """Sum consecutive rows; `counts` has the number of rows for each sum."""
        firsts = lengths_to_offsets(counts)[:-1]
        return np.add.reduceat(values, firsts, axis=0, dtype=np.float64)

    def fetch(self, values: Any) -> Callable[[], NDArray[Any]]:
        """Start to copy rows from the device; return a function that waits for the copy."""
        rows = to_numpy(values)
        return lambda: rows

    def is_full(self, error: BaseException) -> bool:
        """Return whether an error means that memory is full; if so, free memory."""
        return isinstance(error, MemoryError)


def to_numpy(values: Any) -> NDArray[Any]:
    """Convert an array of any library to a NumPy array; bfloat16 becomes float32."""
    raw = getattr(values, "raw", values)
    if hasattr(raw, "detach"):
        raw = raw.detach()
        raw = raw.float() if "bfloat16" in str(raw.dtype) else raw
        return raw.cpu().numpy()
    array = np.asarray(raw)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def _find_call(model: Any, layers: tuple[int, ...]) -> Callable[[Batch], dict[int, Any]]:
    """Return a function that calls the model with a batch."""
    if hasattr(model, "embed"):
        return lambda batch: model.embed(batch, layers=layers)
    if layers != LAST_LAYER:
        raise ArgumentError(
            f"layers={list(layers)} needs a model with a method embed(batch, layers=...), "
            f"such as sl.models.ESM2; {type(model).__name__} has none"
        )
    if isinstance(model, Module) or hasattr(model, "state_dict"):
        return lambda batch: {-1: _call_module(model, batch)}
    return lambda batch: {-1: model(batch)}


def _unwrap_compiled(model: Any) -> Any:
    """Return the module that torch.compile compiled, or the model itself."""
    return getattr(model, "_orig_mod", model)


def _call_module(model: Any, batch: Batch) -> Any:
    """Call a module with the arrays that have the names of its parameters."""
    plain = _unwrap_compiled(model)
    method = getattr(plain, "forward", None) or plain.__call__
    parameters = inspect.signature(method).parameters.values()
    values = {**batch, "inputs": batch["input_ids"], "x": batch["input_ids"]}
    options = {
        it.name: _to_model_tensor(model, values[it.name])
        for it in parameters
        if it.kind not in VARIADIC_PARAMETER_KINDS and it.name in values
    }
    if not options:
        asked = ", ".join(it.name for it in parameters)
        raise ArgumentError(
            f"{type(model).__name__} needs {asked}, but a batch has {', '.join(batch)}; "
            "rename a parameter to one of these, or pass a function of the batch"
        )
    output = model(**options)
    return getattr(
        output, "last_hidden_state", output
    )  # the attribute with the output of a transformers network


def _to_model_tensor(model: Any, value: Any) -> Any:
    """Convert an array to a tensor of the module's library."""
    if not hasattr(value, "dtype"):
        return value
    if isinstance(model, Module):
        return Tensor(model.backend.asarray(value), model.backend)
    # The model is a PyTorch module, so PyTorch is already imported.
    is_array = isinstance(value, np.ndarray)
    return sys.modules["torch"].from_numpy(value) if is_array else value


def identify_model(model: Any) -> str:
    """Return a string that identifies a model (class, weights, settings) or a function."""
    kind = getattr(model, "__qualname__", type(model).__qualname__)
    if isinstance(model, FunctionType):
        words = "\n".join(_describe_value(model, set()))
        content = hashlib.sha256(words.encode()).hexdigest()[:16]
    else:
        content = _hash_weights(model)
    return ":".join(filter(None, (kind, content, _list_settings(model))))


def _describe_value(value: Any, visited: set[int]) -> Iterator[str]:
    """Yield descriptions of a value that are the same in every process."""
    if id(value) in visited:
        return  # skipped, because a recursive function contains itself
    parts = _list_contents(value)
    if parts is not None:
        visited.add(id(value))
        for part in parts:
            yield from _describe_value(part, visited)
    elif isinstance(value, np.ndarray):
        yield joint_checksum({"": value})
    elif isinstance(value, (*_SCALAR_TYPES, bytes, complex, type(None))):
        yield repr(value)
    else:
        yield f"{type(value).__qualname__} {_hash_weights(value)}"


def _list_contents(value: Any) -> Iterable[Any] | None:
    """Return the contents of a function, code object or container; otherwise, None."""
    if isinstance(value, FunctionType):
        return value.__code__, value.__defaults__, *_list_closure_values(value)
    if isinstance(value, CodeType):
        return value.co_code, value.co_names, value.co_consts
    if isinstance(value, frozenset):
        return sorted(map(repr, cast("frozenset[Any]", value)))
    return cast("list[Any]", value) if isinstance(value, (tuple, list)) else None


def _list_closure_values(function: FunctionType) -> Iterator[Any]:
    """Yield the values of closure variables of a function; None for an unset variable."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            yield None


def _hash_weights(model: Any) -> str:
    """Return the hash of the weights of a module; empty for other objects."""
    if isinstance(model, Module):
        identity = getattr(model, "identity", "")
        if isinstance(identity, str) and identity:
            return identity
        # Frozen weights are also hashed, although the saved record of adapters omits
        # frozen weights.
        beneath = {
            path: param.value.numpy()
            for path, param in model.parameters()
            if not param.is_recorded
        }
        return joint_checksum({**model.to_record(), **beneath})
    if hasattr(model, "state_dict"):
        state = model.state_dict().items()
        return joint_checksum({path: _tensor_bits(it) for path, it in state})
    return ""


def _tensor_bits(tensor: Any) -> Any:
    """Return the bits of a PyTorch tensor as a NumPy array."""
    tensor = tensor.detach().cpu().contiguous()
    if "bfloat16" in str(tensor.dtype):
        tensor = tensor.view(sys.modules["torch"].uint16)
    return tensor.numpy()


def _list_settings(model: Any) -> str:
    """Return the settings of a model that differ from their defaults."""
    # Settings with default values are omitted, so that a new field in a later version
    # does not change the identity.
    config = getattr(model, "config", None)
    if not is_dataclass(config):
        return ""
    given = {
        field.name: getattr(config, field.name)
        for field in fields(config)
        if field.default is MISSING or getattr(config, field.name) != field.default
    }
    return ",".join(
        f"{name}={it}" for name, it in given.items() if isinstance(it, _SCALAR_TYPES)
    )
