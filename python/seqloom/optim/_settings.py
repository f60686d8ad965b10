"""Settings of optimisers with their checks, and the values that a rule computes with."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from fnmatch import fnmatchcase
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import is_list
from seqloom.errors import ArgumentError, DTypeError
from seqloom.tensor import Tensor, apply
from seqloom.tensor._leaves import copy_array, make_hashable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from seqloom.optim._optimizer import Move, Optimizer
    from seqloom.tensor._backend import Array, Backend


@dataclass(frozen=True, eq=False)
class ParameterGroup:
    """Patterns of paths, with an optimiser that has the settings of these parameters."""

    patterns: tuple[str, ...]
    lr_factor: float
    rule: Optimizer  # its own states and counts stay empty

    def matches(self, path: str) -> bool:
        """Returns True if the path of a parameter matches one of the patterns."""
        return matches_any(path, self.patterns)

    def scale(self, lr: Any, backend: Backend) -> Any:
        """Returns the learning rate of the group: a number, or an array without axes."""
        if isinstance(lr, (int, float)):
            return lr * self.lr_factor
        return backend.multiply(lr, self.lr_factor)

    def describe(self) -> tuple[Any, ...]:
        """Returns what decides the program of a compiled step, as a hashable value."""
        return self.patterns, self.lr_factor, make_hashable(self.rule.list_settings())


def matches_any(path: str, patterns: tuple[str, ...]) -> bool:
    """Returns True if the path of a parameter matches one of the patterns."""
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def make_variant(optimizer: Optimizer, settings: dict[str, Any]) -> Optimizer:
    """Makes an optimiser of the same class with some other settings."""
    make: Callable[..., Optimizer] = type(optimizer)
    names = [
        name for name in inspect.signature(make).parameters if hasattr(optimizer, name)
    ]
    if unknown := sorted(settings.keys() - names):
        raise ArgumentError(
            f"{type(optimizer).__name__} has no setting {unknown[0]!r} for a group; "
            f"expected one of {', '.join(['lr_factor', *names])}"
        )
    return make(**{name: getattr(optimizer, name) for name in names} | settings)


def require_matches(groups: Sequence[ParameterGroup], paths: list[str]) -> None:
    """Refuses a pattern that matches no parameter, which would be a misspelt one."""
    for pattern in (pattern for group in groups for pattern in group.patterns):
        if not any(fnmatchcase(path, pattern) for path in paths):
            raise ArgumentError(
                f"the group {pattern!r} matches no parameter of the model; its "
                f"parameters are {', '.join(paths[:8])}" + (", ..." if paths[8:] else "")
            )


def as_patterns(name: str, value: Any) -> tuple[str, ...]:
    """Returns patterns of paths; a string would count as one pattern for each letter."""
    if not is_list(value) or not all(isinstance(part, str) for part in value):
        raise ArgumentError(
            f'{name} must be a tuple of paths, such as ("*.bias",), got {value!r}'
        )
    return tuple(value)


def is_number(value: object, least: float = 0, below: float = math.inf) -> bool:
    """Returns True for a number in [least, below); NaN is not in it."""
    return isinstance(value, Real) and least <= float(value) < below


def require_setting(
    name: str, value: Any, *, above: float = -1, below: float = math.inf, count: int = 0
) -> Any:
    """Returns a setting; refuses a value that is not a number within the limits."""
    values: list[Any] = [*value] if count and is_list(value) else [value]
    is_valid = all(is_number(v, below=below) and v > above for v in values)
    if not is_valid or len(values) != (count or 1):
        least = f"above {above}" if above >= 0 else "from 0 up"
        limit = "" if below == math.inf else f", below {below}"
        what = f"{count} numbers" if count else "a number"
        raise ArgumentError(f"{name} must be {what} {least}{limit}, got {value!r}")
    return tuple(values) if count else values[0]


# Not every backend has longer integers.
_LEAST, _LARGEST = -(2**31), 2**31 - 1


def as_tensor(array: Array, backend: Backend) -> Tensor:
    """Returns an array as a tensor, in float32 if it is of half precision."""
    # In half precision the usual eps is 0, and the share 0.001 of an average is lost.
    return Tensor(backend.to_full_precision(array), backend)


def as_rate(lr: Any, backend: Backend) -> Any:
    """Returns a learning rate as a number, or as a tensor without axes."""
    return lr if isinstance(lr, (int, float)) else Tensor(lr, backend)


def as_operand(step: Any, like: Tensor) -> Any:
    """Returns the number of a step as a number, or as a tensor of floats."""
    if isinstance(step, int):
        return step
    return Tensor(step, like.backend).astype(like.dtype)


def find_seen_share(decay: float, step: Any) -> Any:
    """Returns ``1 - decay**step``: an average that began at 0 is divided by it."""
    if not decay:
        return 1.0
    exponent = step * math.log(decay)  # expm1 is exact where the share is small
    if isinstance(exponent, float):
        return -math.expm1(exponent)
    return -apply("expm1", exponent)


def put_results(move: Move, param: Tensor, state: Mapping[str, Any]) -> None:
    """Sets the new parameter and state of a move, in the dtype of the parameter."""
    backend = param.backend
    dtype = backend.dtype(move.param).name
    move.param = backend.astype(param.raw, dtype)
    move.state = list_arrays(state, backend, dtype)


def list_arrays(state: Mapping[str, Any], backend: Backend, dtype: str) -> dict[str, Array]:
    """Returns the values of a state as arrays, none of them twice."""
    found: dict[str, Array] = {}
    for name, value in state.items():
        array = _to_array(name, value, backend, dtype=dtype)
        # A compiled step writes each of them.
        is_known = any(array is other for other in found.values())
        found[name] = copy_array(array, backend) if is_known else array
    return found


def _to_array(name: str, value: Any, backend: Backend, *, dtype: str) -> Array:
    """Returns a value of a state as an array: floats in the dtype of the parameter."""
    if isinstance(value, Tensor):
        is_float = value.dtype.kind == "f" or value.dtype.name == "bfloat16"
        return backend.astype(value.raw, dtype) if is_float else value.raw
    if not isinstance(value, (np.bool_, Real)):
        raise DTypeError(
            f"the field {name} of an optimiser's state must be a tensor, a number or a "
            f"bool, got {type(value).__name__}; give each array a field of its own, and "
            "store what does not change from step to step as an attribute of the optimiser"
        )
    if isinstance(value, (bool, np.bool_)):
        return backend.asarray(np.asarray(value, "bool"))
    if not isinstance(value, Integral):
        return backend.asarray(float(value), dtype=dtype)
    if not _LEAST <= int(value) <= _LARGEST:
        raise DTypeError(
            f"the field {name} of an optimiser's state is {value}, but integers of a state "
            f"are int32, from {_LEAST} to {_LARGEST}; use a float or two fields"
        )
    return backend.asarray(np.asarray(value, "int32"))
