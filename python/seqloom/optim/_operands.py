"""The values of one move as tensors, which a rule computes with, and its results."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import DTypeError
from seqloom.tensor import Tensor, apply
from seqloom.tensor._leaves import copy_array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seqloom.optim._optimizer import Move
    from seqloom.tensor._backend import Array, Backend

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
