"""Settings of optimisers with their checks, and what a rule computes with."""

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

    from seqloom.nn._stored import Param
    from seqloom.tensor._backend import Array, Backend


@dataclass(slots=True, eq=False)
class Move:
    """The update of one parameter, for the rule of an optimiser.

    Attributes:
        path: Path of the parameter in the model.
        param: Array of the parameter. The rule sets the new one, and may overwrite this.
        grad: Gradient.
        state: State arrays by name. The rule sets new ones, and may overwrite these.
        step: Number of updates of this parameter, with this one: a number, or an array of
            one. Parameters that were always updated together share it.

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
    """Return True if the path of a parameter matches one of the patterns."""
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def require_matches(groups: Sequence[tuple[str, ...]], params: Sequence[Param]) -> None:
    """Refuse a pattern that matches no parameter, which would be a misspelt one."""
    paths = [param.path for param in params]
    for pattern in itertools.chain(*groups):
        if not any(fnmatchcase(path, pattern) for path in paths):
            raise ArgumentError(
                f"the group {pattern!r} matches no parameter of the model; its "
                f"parameters are {', '.join(paths[:8])}" + (", ..." if paths[8:] else "")
            )


def as_patterns(name: str, value: Any) -> tuple[str, ...]:
    """Return patterns of paths; a string would count as one pattern for each letter."""
    if not is_list(value) or not all(isinstance(part, str) for part in value):
        raise ArgumentError(
            f'{name} must be a tuple of paths, such as ("*.bias",), got {value!r}'
        )
    return tuple(value)


def is_number(value: object, least: float = 0, below: float = math.inf) -> bool:
    """Return True for a number in [least, below); NaN is not in it."""
    return isinstance(value, Real) and least <= float(value) < below


def require_setting(
    name: str, value: Any, *, above: float = -1, below: float = math.inf, count: int = 0
) -> Any:
    """Return a setting; refuses a value that is not a number within the limits."""
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
    """Return an array as a tensor, in float32 if it is of half precision."""
    # In half precision the usual eps is 0, and the share 0.001 of an average is lost.
    return Tensor(backend.to_full_precision(array), backend)


def as_rate(lr: Any, backend: Backend) -> Any:
    """Return a learning rate as a number, or as a tensor without axes."""
    return lr if isinstance(lr, (int, float)) else Tensor(lr, backend)


def as_operand(step: Any, like: Tensor) -> Any:
    """Return the number of a step as a number, or as a tensor of floats."""
    if isinstance(step, int):
        return step
    return Tensor(step, like.backend).astype(like.dtype)


def find_seen_share(decay: float, step: Any) -> Any:
    """Return ``1 - decay**step``: an average that began at 0 is divided by it."""
    if not decay:
        return 1.0
    exponent = step * math.log(decay)  # expm1 is exact where the share is small
    if isinstance(exponent, float):
        return -math.expm1(exponent)
    return -apply("expm1", exponent)


def put_results(move: Move, param: Tensor, state: Mapping[str, Any]) -> None:
    """Set the new parameter and state of a move, in the dtype of the parameter."""
    backend = param.backend
    dtype = backend.dtype(move.param).name
    move.param = backend.astype(param.raw, dtype)
    move.state = list_arrays(state, backend, dtype)


def list_arrays(state: Mapping[str, Any], backend: Backend, dtype: str) -> dict[str, Array]:
    """Return the values of a state as arrays, none of them twice."""
    found: dict[str, Array] = {}
    for name, value in state.items():
        array = _to_array(name, value, backend, dtype=dtype)
        # A compiled step writes each of them.
        is_known = any(array is other for other in found.values())
        found[name] = copy_array(array, backend) if is_known else array
    return found


def _to_array(name: str, value: Any, backend: Backend, *, dtype: str) -> Array:
    """Return a value of a state as an array: floats in the dtype of the parameter."""
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


def require_rate(lr: Any) -> Any:
    """Return the learning rate as a number; refuses a negative one."""
    if not is_number(lr) and not (
        getattr(lr, "shape", None) == () and is_number(lr.item())
    ):
        raise ArgumentError(f"the learning rate must be a number from 0 up, got lr={lr!r}")
    return lr if isinstance(lr, Real) else lr.item()
