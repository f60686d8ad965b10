"""How a network is called with a batch: its method gets the arrays that it asks for.

A method asks by the names of its parameters. The first parameter may have any name: it gets
the array ``inputs`` where no array has its name.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from seqloom.errors import ArgumentError
from seqloom.models import TorchModule
from seqloom.models._examples import as_plain, is_of_tokens
from seqloom.nn import Module, Param
from seqloom.nn._call_arguments import find_accepted
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Arrays = Mapping[str, Any]

_NUMBERS = "biufc"  # NumPy's kinds of element types
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
# The names that the array of labels may have, the first ones before the others.
_LABELS = ("label", "labels", "y", "target", "targets")

# The arrays of a batch that say which positions are padding.
_EXTENTS = {"mask", "lengths"}


@dataclass(frozen=True, slots=True)
class Forward:
    """The method of a network that `fit` and `predict` call, and its parameters."""

    name: str
    parameters: tuple[inspect.Parameter, ...]

    @classmethod
    def of(cls, model: Any) -> Self:
        """Find ``logits``, else ``forward``, else ``__call__``."""
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
            "that returns the outputs for a batch; define one, or give "
            "step=function(model, batch, key)"
        )

    def __call__(
        self, model: Any, batch: Arrays, key: Any = None, *, encoder: Any = None
    ) -> Any:
        """Call the method with the arrays of a batch that it asks for."""
        tensors = self.tensors(model, batch, encoder)
        return self.call(model, tensors, key)

    def tensors(self, model: Any, batch: Arrays, encoder: Any) -> dict[str, Any]:
        """Put the arrays that the method may ask for on the network's backend."""
        if encoder is not None and "codes" in batch:
            raise ArgumentError('the dataset gives codes; give it output="numbers"')
        return tensors_of(model, batch, encoder=encoder, names=self.names)

    def call(self, model: Any, tensors: Arrays, key: Any = None, *, name: str = "") -> Any:
        """Call the method, or one called `name` instead, with what it asks for."""
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
        """Return the arguments of a call by name; an error names what is missing."""
        values = {"mask": None, **tensors, "key": key}
        first = next((it.name for it in self.parameters), "")
        if "inputs" in tensors:
            values.setdefault(first, tensors["inputs"])
        arguments = {
            it.name: values[it.name]
            for it in self.parameters
            if it.kind not in _VARIABLE and self._has_value(model, it, values)
        }
        if self.takes_all:
            used = {*arguments, "inputs", "mask", "key", label_name(tensors)}
            arguments |= {name: values[name] for name in tensors if name not in used}
        return arguments

    @property
    def names(self) -> set[str] | None:
        """The names of the arrays that the method may ask for; None: any."""
        return None if self.takes_all else {it.name for it in self.parameters}

    @property
    def inputs(self) -> list[str]:
        """The names of the inputs, in the order in which a tuple has them."""
        named = [it.name for it in self.parameters if it.kind not in _VARIABLE]
        found = [name for name in named if name not in {"key", "mask"}]
        return found if len(named) == len(self.parameters) else found or ["inputs"]

    def tells_padding(self, model: Any) -> bool:
        """Return whether the method is told where a batch holds padding."""
        names = find_accepted(model).keywords if self._is_container else self.names
        return names is None or not _EXTENTS.isdisjoint(names)

    @property
    def _is_container(self) -> bool:
        """Whether the method passes its arguments on to parts, as `Sequential` does."""
        return any(it.kind is it.VAR_POSITIONAL for it in self.parameters)

    @property
    def takes_all(self) -> bool:
        """Whether the method has ``**options``, which get every array but the labels."""
        return any(it.kind in _VARIABLE for it in self.parameters)

    def _has_value(self, model: Any, parameter: inspect.Parameter, values: Arrays) -> bool:
        """Return whether a parameter gets a value; refuses to leave out a required one."""
        if parameter.name in values:
            return True
        if parameter.default is not parameter.empty:
            return False
        asked = ", ".join(it.name for it in self.parameters)
        found = ", ".join(name for name in values if values[name] is not None)
        raise ArgumentError(
            f"{type(model).__name__}.{self.name}({asked}) asks for {parameter.name}, but "
            f"the arrays of a batch are {found or 'none'}; name the parameters as the "
            "arrays, or give step=function(model, batch, key)"
        )


def _call_container(method: Any, model: Any, tensors: Arrays, *, key: Any) -> Any:
    """Call a container such as `Sequential` with the arguments that its parts take."""
    takes = find_accepted(model)
    first = next(iter(takes.positional), "inputs")
    name = "inputs" if "inputs" in tensors else first
    if name not in tensors:
        raise ArgumentError(
            f"{type(model).__name__} asks for inputs, but the arrays of a batch are "
            f"{', '.join(tensors) or 'none'}; name the array inputs, or give "
            "step=function(model, batch, key)"
        )
    others = {name, "key", label_name(tensors)}
    options = {
        it: tensors[it] for it in tensors if it in takes.keywords and it not in others
    }
    return method(tensors[name], **options, **({} if key is None else {"key": key}))


@lru_cache(maxsize=256)
def _read_parameters(method: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    """Read the parameters of a method, without ``self``."""
    return tuple(inspect.signature(method).parameters.values())[1:]


def label_name(batch: Arrays) -> str | None:
    """Find the name that the labels of a batch have; None if it has none."""
    return next((name for name in _LABELS if name in batch), None)


def tensors_of(
    model: Any, batch: Arrays, *, encoder: Any, names: set[str] | None
) -> dict[str, Any]:
    """Put the arrays with these names, or all, on the network's backend."""
    # Floats get the element type of the network; integers and booleans keep theirs. What is
    # not an array of numbers, such as ids, is left out.
    found: dict[str, Any] = {}
    for name, value in batch.items():
        # The parameter that takes the inputs may have any name.
        is_asked = names is None or name in names or name == "inputs"
        if is_asked and (array := _to_numbers(value)) is not None:
            dtype = None  # arrays keep theirs
            if name == "inputs" and encoder is not None:
                # A token is the number of a row in an embedding: an integer.
                dtype = "int32" if is_of_tokens(encoder) else "float"
            found[name] = to_tensor(model, array, dtype)
    if "covariates" in batch and names is not None and "covariates" not in names:
        # The network does not ask for them by name: they are further inputs.
        covariates = to_tensor(model, np.asarray(batch["covariates"]), "float")
        found["inputs"] = apply("concat", [found["inputs"], covariates], axis=1)
    return found


def to_tensor(model: Any, array: Any, dtype: str | None = None) -> Any:
    """Make a tensor of an array, in the same memory where the backend can."""
    if isinstance(array, Tensor):
        return array
    # "float" stands for the element type of the network's own floats.
    if dtype is None and "float" in str(array.dtype):
        dtype = "float"
    if dtype == "float":
        dtype = float_type_of(model)
    return Tensor(model.backend.asarray(array, dtype=dtype), model.backend)


def float_type_of(model: Any) -> str:
    """Return the element type of a network's first parameter of floats."""
    found = (it.dtype for _, it in model.named(Param) if "float" in str(it.dtype))
    return next(found, "float32")


def _to_numbers(value: Any) -> Any:
    """Convert a value to an array of numbers; None if it does not hold numbers."""
    if isinstance(value, Tensor) or hasattr(value, "detach"):
        return as_plain(value)
    if not hasattr(value, "dtype") and not isinstance(value, (list, tuple, int, float)):
        return None
    array = np.asarray(value)
    is_number = array.dtype.kind in _NUMBERS or "float" in str(array.dtype)
    return array if is_number else None
