"""Call a network with those arrays of a batch that have the names of its parameters.

Each parameter of the network's method receives the array of the same name. If no array has
the name of the first parameter, the first parameter receives the array ``inputs``.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from seqloom.errors import ArgumentError
from seqloom.models import TorchModule
from seqloom.models._examples import returns_tokens, to_float32
from seqloom.nn import Module, Param
from seqloom.nn._call_arguments import VARIADIC_PARAMETER_KINDS, find_accepted_args
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Arrays = Mapping[str, Any]

_NUMBER_KINDS = "biufc"  # values of `dtype.kind` for numbers
# The possible names of the array of labels, in order of preference.
_LABEL_NAMES = ("label", "labels", "y", "target", "targets", "tracks")

# The arrays of a batch that define which positions are padding.
_PADDING_ARRAYS = {"mask", "lengths"}


@dataclass(frozen=True, slots=True)
class Forward:
    """The method of a network that `fit` and `predict` call, and its parameters."""

    name: str
    parameters: tuple[inspect.Parameter, ...]

    @classmethod
    def of(cls, model: Any) -> Self:
        """Return the first of ``logits``, ``forward``, ``__call__`` that the model has."""
        names, source = ("logits", "forward", "__call__"), model
        if isinstance(model, TorchModule):
            source: Any = model.module
            names, source = ("forward",), getattr(source, "_orig_mod", source)
        network_class = cast("Any", type(source))
        for name in names:
            method: Any = getattr(network_class, name, None)
            if method is not None and method is not Module.__call__:
                return cls(name, _read_parameters(method))
        raise ArgumentError(
            f"{type(model).__name__} has no method logits(x), forward(x) or __call__(x) "
            "that returns the outputs; define one, or pass step=function(model, batch, key)"
        )

    def __call__(
        self, model: Any, batch: Arrays, key: Any = None, *, encoder: Any = None
    ) -> Any:
        """Call the method with the arrays that have the names of its parameters."""
        tensors = self.tensors(model, batch, encoder)
        return self.call(model, tensors, key)

    def tensors(self, model: Any, batch: Arrays, encoder: Any) -> dict[str, Any]:
        """Copy possible arguments of the method to the network's backend."""
        if encoder is not None and "codes" in batch:
            raise ArgumentError('the dataset returns codes; pass output="numbers" to it')
        return to_tensors(model, batch, encoder=encoder, names=self.names)

    def call(self, model: Any, tensors: Arrays, key: Any = None, *, name: str = "") -> Any:
        """Call the method, or the method `name`, with the arrays that it needs."""
        method = getattr(model, name or self.name)
        if self._is_container:
            return _call_container(method, model, tensors, key=key)
        arguments = self._choose_arguments(model, tensors, key)
        positions = [
            arguments.pop(it.name)
            for it in self.parameters
            if it.kind is it.POSITIONAL_ONLY
        ]
        return method(*positions, **arguments)

    def _choose_arguments(self, model: Any, tensors: Arrays, key: Any) -> dict[str, Any]:
        """Return the arguments of a call by name; raise if an argument is missing."""
        values = {"mask": None, **tensors, "key": key}
        first = next((it.name for it in self.parameters), "")
        if "inputs" in tensors:
            values.setdefault(first, tensors["inputs"])
        arguments = {
            it.name: values[it.name]
            for it in self.parameters
            if it.kind not in VARIADIC_PARAMETER_KINDS
            and self._has_value(model, it, values)
        }
        if self.accepts_all:
            used = {*arguments, "inputs", "mask", "key", find_label_name(tensors)}
            arguments |= {name: values[name] for name in tensors if name not in used}
        return arguments

    @property
    def names(self) -> set[str] | None:
        """The names of the arrays that the method may receive; None for all arrays."""
        return None if self.accepts_all else {it.name for it in self.parameters}

    @property
    def inputs(self) -> list[str]:
        """The names of the inputs, in the order of a tuple."""
        named = [
            it.name for it in self.parameters if it.kind not in VARIADIC_PARAMETER_KINDS
        ]
        found = [name for name in named if name not in {"key", "mask"}]
        return found if len(named) == len(self.parameters) else found or ["inputs"]

    def receives_padding(self, model: Any) -> bool:
        """Return whether the method receives the positions of padding."""
        names = find_accepted_args(model).keywords if self._is_container else self.names
        return names is None or not _PADDING_ARRAYS.isdisjoint(names)

    @property
    def _is_container(self) -> bool:
        """True if the method passes its arguments on to layers, as `Sequential` does."""
        return any(it.kind is it.VAR_POSITIONAL for it in self.parameters)

    @property
    def accepts_all(self) -> bool:
        """True if the method has ``**options``, which receive all arrays except labels."""
        return any(it.kind in VARIADIC_PARAMETER_KINDS for it in self.parameters)

    def _has_value(self, model: Any, parameter: inspect.Parameter, values: Arrays) -> bool:
        """Return whether a parameter has an array; raise if a required array is missing."""
        if parameter.name in values:
            return True
        if parameter.default is not parameter.empty:
            return False
        asked = ", ".join(it.name for it in self.parameters)
        found = ", ".join(name for name in values if values[name] is not None)
        raise ArgumentError(
            f"{type(model).__name__}.{self.name}({asked}) needs {parameter.name}, but a "
            f"batch has the arrays {found or 'none'}; use the same names, or pass "
            "step=function(model, batch, key)"
        )


def _call_container(method: Any, model: Any, tensors: Arrays, *, key: Any) -> Any:
    """Call a container such as `Sequential` with the arguments that its layers need."""
    takes = find_accepted_args(model)
    first = next(iter(takes.positional), "inputs")
    name = "inputs" if "inputs" in tensors else first
    if name not in tensors:
        raise ArgumentError(
            f"{type(model).__name__} needs inputs, but a batch has the arrays "
            f"{', '.join(tensors) or 'none'}; name the array inputs, or pass "
            "step=function(model, batch, key)"
        )
    others = {name, "key", find_label_name(tensors)}
    options = {
        it: tensors[it] for it in tensors if it in takes.keywords and it not in others
    }
    return method(tensors[name], **options, **({} if key is None else {"key": key}))


@lru_cache(maxsize=256)
def _read_parameters(method: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    """Read the parameters of a method, without ``self``."""
    return tuple(inspect.signature(method).parameters.values())[1:]


def find_label_name(batch: Arrays) -> str | None:
    """Return the name of the labels in a batch; None if there are no labels."""
    return next((name for name in _LABEL_NAMES if name in batch), None)


def to_tensors(
    model: Any, batch: Arrays, *, encoder: Any, names: set[str] | None
) -> dict[str, Any]:
    """Copy the named arrays, by default all of them, to the network's backend."""
    # Floats get the dtype of the network; integers and booleans keep their dtype.
    # Values that are not numbers, such as ids, are left out.
    found: dict[str, Any] = {}
    for name, value in batch.items():
        # The parameter for the inputs may have any name.
        is_asked = names is None or name in names or name == "inputs"
        if is_asked and (array := _to_numbers(value)) is not None:
            dtype = None  # integer arrays keep their dtype
            if name == "inputs" and encoder is not None:
                # Tokens remain integers, because they are row indices of an embedding
                # table.
                dtype = "int32" if returns_tokens(encoder) else "float"
            found[name] = to_tensor(model, array, dtype)
    if "covariates" in batch and names is not None and "covariates" not in names:
        # If the method has no parameter `covariates`, the covariates are appended to
        # the inputs.
        covariates = to_tensor(model, np.asarray(batch["covariates"]), "float")
        found["inputs"] = apply("concat", [found["inputs"], covariates], axis=1)
    return found


def to_tensor(model: Any, array: Any, dtype: str | None = None) -> Any:
    """Convert an array to a tensor, without a copy if the backend supports this."""
    if isinstance(array, Tensor):
        return array
    # "float" means the dtype of the network's parameters.
    if dtype is None and "float" in str(array.dtype):
        dtype = "float"
    if dtype == "float":
        dtype = find_float_type(model)
    return Tensor(model.backend.asarray(array, dtype=dtype), model.backend)


def find_float_type(model: Any) -> str:
    """Return the dtype of a network's first floating-point parameter."""
    found = (it.dtype for _, it in model.named(Param) if "float" in str(it.dtype))
    return next(found, "float32")


def _to_numbers(value: Any) -> Any:
    """Convert a value to an array of numbers; None if it is not numeric."""
    if isinstance(value, Tensor) or hasattr(value, "detach"):
        return to_float32(value)
    if not hasattr(value, "dtype") and not isinstance(value, (list, tuple, int, float)):
        return None
    array = np.asarray(value)
    is_number = array.dtype.kind in _NUMBER_KINDS or "float" in str(array.dtype)
    return array if is_number else None
