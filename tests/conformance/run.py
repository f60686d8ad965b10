"""Run a call with seqloom and PyTorch, and compare the results and gradients."""

from typing import Any

import numpy as np
import torch

import seqloom as sl
from conformance.call import Call
from seqloom.tensor import Tensor, apply

# Relative and absolute tolerance for each data type of the result.
TOLERANCES = {"float32": (1e-4, 2e-5), "float64": (1e-7, 1e-9)}


def values_of(name: str, call: Call, backend: Any) -> list[Tensor]:
    """Return seqloom's results for tensors of `backend`, without gradients."""
    return _flat(
        call.ours_out(_call_operation(name, call, backend, _tensors(call, backend)))
    )


def gradients_of(name: str, call: Call, level: Any, cotangents: list[Any]) -> list[Any]:
    """Return seqloom's gradients of the results, summed with weights `cotangents`."""
    args = _tensors(call, level, leaves=True)
    outs = _flat(call.ours_out(_call_operation(name, call, level, args)))
    total: Any = 0.0
    for out, cotangent in zip(outs, cotangents, strict=True):
        if cotangent is not None:
            total = total + (out * level.tensor(cotangent.numpy())).sum()
    try:
        gradients = total.backward()
    except sl.errors.GradientError:  # no result depends on the tensors
        return [np.zeros(_flat(args)[place].shape) for place in followed(call)]
    return [_gradient_for(gradients, _flat(args)[place]) for place in followed(call)]


def _gradient_for(gradients: Any, leaf: Tensor) -> Any:
    """Return the gradient for a leaf; zeros if the result does not depend on the leaf."""
    try:
        return gradients.wrt(leaf).numpy()
    except sl.errors.GradientError:
        return np.zeros(leaf.shape, leaf.dtype)


def torch_values_of(call: Call, theirs: Any) -> list[torch.Tensor]:
    """Return PyTorch's results."""
    out = call.theirs(*call.args) if call.theirs else theirs()
    return _flat(call.theirs_out(out))


def torch_gradients_of(call: Call, outs: list[Any], cotangents: list[Any]) -> list[Any]:
    """Return PyTorch's gradients for the arguments with the indices `followed`."""
    pairs = [(o, c) for o, c in zip(outs, cotangents, strict=True) if c is not None]
    leaves = [_flat(call.args)[i] for i in followed(call)]
    total: Any = sum((out * cotangent).sum() for out, cotangent in pairs)
    gradients: Any = torch.autograd.grad(total, leaves, allow_unused=True)
    return [
        np.zeros(tuple(leaf.shape)) if each is None else each.numpy()
        for leaf, each in zip(leaves, gradients, strict=True)
    ]


def cotangents_of(outs: list[torch.Tensor]) -> list[Any]:
    """Return random weights for each result with a gradient, None for other results."""
    torch.manual_seed(1)
    return [torch.randn_like(out) if out.requires_grad else None for out in outs]


def assert_close(ours: Any, theirs: Any, dtype: str, *, wider: float = 1.0) -> None:
    """Raise if a result or gradient of seqloom differs from PyTorch's."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    assert ours.dtype.kind == theirs.dtype.kind, f"{ours.dtype} for {theirs.dtype}"
    if ours.dtype.kind != "f":
        np.testing.assert_array_equal(ours, theirs)
        return
    relative, absolute = TOLERANCES.get(dtype, TOLERANCES["float64"])
    np.testing.assert_allclose(ours, theirs, relative * wider, absolute * wider)


def followed(call: Call) -> list[int]:
    """Return the indices of the flattened arguments whose gradients are compared."""
    flat = _flat(call.args)
    floats = [i for i, x in enumerate(flat) if _is_float(x)]
    return floats if call.followed is None else [i for i in floats if i in call.followed]


def _is_float(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.requires_grad


def _call_operation(name: str, call: Call, backend: Any, args: Any) -> Any:
    """Call seqloom's function through `apply` if an argument is a tensor."""
    if call.ours:
        return call.ours(*args)
    if any(type(each) is Tensor for each in _flat(args)):
        return apply(name, *args, **call.options)
    return Tensor(getattr(backend, name)(*args, **call.options), backend)


def _tensors(call: Call, backend: Any, *, leaves: bool = False) -> Any:
    """Return the arguments with PyTorch tensors converted to seqloom tensors."""
    places = set(followed(call)) if leaves else set()
    count = iter(range(1 << 30))

    def ours(each: Any) -> Any:
        if type(each) is list:
            return [ours(item) for item in each]
        place = next(count)
        if not isinstance(each, torch.Tensor):
            return each
        array = each.detach().numpy()
        return (
            backend.tensor(array, requires_grad=True)
            if place in places
            else backend.tensor(array)
        )

    return tuple(map(ours, call.args))


def _flat(value: Any) -> list[Any]:
    """Return nested lists and tuples of arrays as one flat list."""
    if type(value) is list or (type(value) is tuple and _contains_arrays(value)):
        return [each for item in value for each in _flat(item)]
    return [value]


def _contains_arrays(value: tuple[Any, ...]) -> bool:
    """Return True for a tuple of arrays, and False for a shape or an index."""
    return any(isinstance(each, (Tensor, torch.Tensor, list)) for each in value)
