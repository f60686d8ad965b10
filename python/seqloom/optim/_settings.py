"""Checks of optimiser settings, and helpers for update rules."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fnmatch import fnmatchcase
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import is_list
from seqloom.errors import ArgumentError, DTypeError
from seqloom.tensor import Tensor, apply
from seqloom.tensor._leaves import copy_array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from seqloom.nn._parameters import Param
    from seqloom.tensor._backend import Array, Backend


@dataclass(slots=True, eq=False)
class Move:
    """Update of one parameter, passed to the rule of an optimiser.

    Attributes:
        path: Path of the parameter in the model.
        param: Array of the parameter. The update rule sets the new array, and may
            overwrite the old array.
        grad: Gradient of the parameter.
        state: State arrays by name. The update rule sets new arrays, and may overwrite
            the old arrays.
        step: Number of updates of this parameter, including this one: a number, or an
            array with one element. Parameters that were always updated together share
            this number.

    Examples:
        >>> import numpy as np
        >>> Move("head.bias", np.zeros(1), np.ones(1), {}).path
        'head.bias'
    """

    path: str
    param: Array
    grad: Array
    state: dict[str, Array]
    step: Any = 1


def matches_any(path: str, patterns: tuple[str, ...]) -> bool:
    """Return whether the path of a parameter matches one of the patterns."""
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def require_matches(groups: Sequence[tuple[str, ...]], params: Sequence[Param]) -> None:
    """Raise if a pattern matches no parameter, because it may be misspelt."""
    paths = [param.path for param in params]
    for pattern in itertools.chain(*groups):
        if not any(fnmatchcase(path, pattern) for path in paths):
            raise ArgumentError(
                f"the group {pattern!r} matches no parameter of the model; its "
                f"parameters are {', '.join(paths[:8])}" + (", ..." if paths[8:] else "")
            )


def as_patterns(name: str, value: Any) -> tuple[str, ...]:
    """Return patterns as a tuple; raise for a string instead of a tuple of strings."""
    if not is_list(value) or not all(isinstance(part, str) for part in value):
        raise ArgumentError(
            f'{name} must be a tuple of paths, such as ("*.bias",), got {value!r}'
        )
    return tuple(value)


def is_number(value: object, least: float = 0, below: float = math.inf) -> bool:
    """Return whether a value is a number with least <= value < below; False for NaN."""
    return isinstance(value, Real) and least <= float(value) < below


def require_setting(
    name: str, value: Any, *, above: float = -1, below: float = math.inf, count: int = 0
) -> Any:
    """Return a setting; raise if it is not a number within the limits."""
    values: list[Any] = [*value] if count and is_list(value) else [value]
    is_valid = all(is_number(v, below=below) and v > above for v in values)
    if not is_valid or len(values) != (count or 1):
        least = f"above {above}" if above >= 0 else "from 0 up"
        limit = "" if below == math.inf else f", below {below}"
        what = f"{count} numbers" if count else "a number"
        raise ArgumentError(f"{name} must be {what} {least}{limit}, got {value!r}")
    return tuple(values) if count else values[0]


# Range of int32; some backends have no wider integer type.
_MIN_INT32, _MAX_INT32 = -(2**31), 2**31 - 1


def as_tensor(array: Array, backend: Backend) -> Tensor:
    """Return an array as a tensor; convert half precision to float32."""
    # In half precision, the usual eps rounds to 0, and changes by a factor of 0.001 are
    # lost.
    return Tensor(backend.to_full_precision(array), backend)


def as_learning_rate(lr: Any, backend: Backend) -> Any:
    """Return a learning rate as a number or a tensor without axes."""
    return lr if isinstance(lr, (int, float)) else Tensor(lr, backend)


def as_step_number(step: Any, like: Tensor) -> Any:
    """Return a step number as an integer or a float tensor."""
    if isinstance(step, int):
        return step
    return Tensor(step, like.backend).astype(like.dtype)


def find_bias_correction(decay: float, step: Any) -> Any:
    """Return ``1 - decay**step``, the bias correction of an average that starts at 0."""
    if not decay:
        return 1.0
    exponent = step * math.log(decay)  # expm1 stays precise for a small result
    if isinstance(exponent, float):
        return -math.expm1(exponent)
    return -apply("expm1", exponent)


def put_results(move: Move, param: Tensor, state: Mapping[str, Any]) -> None:
    """Store a parameter's new values and state in a `Move`, in the parameter's dtype."""
    backend = param.backend
    dtype = backend.dtype(move.param).name
    move.param = backend.astype(param.raw, dtype)
    move.state = list_arrays(state, backend, dtype)


def list_arrays(state: Mapping[str, Any], backend: Backend, dtype: str) -> dict[str, Array]:
    """Convert a state to a dict of arrays that do not share memory with each other."""
    found: dict[str, Array] = {}
    for name, value in state.items():
        array = _to_array(name, value, backend, dtype=dtype)
        # Copy shared arrays, because a compiled step overwrites each array separately.
        is_known = any(array is other for other in found.values())
        found[name] = copy_array(array, backend) if is_known else array
    return found


def _to_array(name: str, value: Any, backend: Backend, *, dtype: str) -> Array:
    """Convert a state value to an array; floats get the dtype of the parameter."""
    if isinstance(value, Tensor):
        is_float = value.dtype.kind == "f" or value.dtype.name == "bfloat16"
        return backend.astype(value.raw, dtype) if is_float else value.raw
    if not isinstance(value, (np.bool_, Real)):
        raise DTypeError(
            f"the field {name} of an optimiser's state must be a tensor, a number or a "
            f"bool, got {type(value).__name__}. Use a separate field for each array, and "
            "store values that do not change between steps as attributes of the optimiser"
        )
    if isinstance(value, (bool, np.bool_)):
        return backend.asarray(np.asarray(value, "bool"))
    if not isinstance(value, Integral):
        return backend.asarray(float(value), dtype=dtype)
    if not _MIN_INT32 <= int(value) <= _MAX_INT32:
        raise DTypeError(
            f"the field {name} of an optimiser's state is {value}, but integers in a "
            f"state must be in the range of int32, from {_MIN_INT32} to {_MAX_INT32}. "
            "Use a float or two fields"
        )
    return backend.asarray(np.asarray(value, "int32"))


def require_learning_rate(lr: Any) -> Any:
    """Return the learning rate as a number; raise if it is negative."""
    if not is_number(lr) and not (
        getattr(lr, "shape", None) == () and is_number(lr.item())
    ):
        raise ArgumentError(f"the learning rate must be a number from 0 up, got lr={lr!r}")
    return lr if isinstance(lr, Real) else lr.item()
