"""One call, by ours and by torch, and how far apart they may be."""

from typing import Any

import numpy as np
import torch

import seqloom as sl
from conformance.call import Call
from seqloom.tensor import Tensor, apply

# Relative and absolute, by the element type of the result.
CLOSE = {"float32": (1e-4, 2e-5), "float64": (1e-7, 1e-9)}


def values_of(name: str, call: Call, backend: Any) -> list[Tensor]:
    """Our results; arguments are tensors of `backend`, none of them followed."""
    return _flat(call.ours_out(_called(name, call, backend, _tensors(call, backend))))


def gradients_of(name: str, call: Call, level: Any, cotangents: list[Any]) -> list[Any]:
    """Our results' derivatives by each followed argument, weighted by `cotangents`."""
    args = _tensors(call, level, leaves=True)
    outs = _flat(call.ours_out(_called(name, call, level, args)))
    total: Any = 0.0
    for out, cotangent in zip(outs, cotangents, strict=True):
        if cotangent is not None:
            total = total + (out * level.tensor(cotangent.numpy())).sum()
    try:
        gradients = total.backward()
    except sl.errors.GradientError:  # nothing that changes smoothly led to it
        return [np.zeros(_flat(args)[place].shape) for place in followed(call)]
    return [_by(gradients, _flat(args)[place]) for place in followed(call)]


def _by(gradients: Any, leaf: Tensor) -> Any:
    """One gradient; zeros where the result does not depend on the leaf."""
    try:
        return gradients.wrt(leaf).numpy()
    except sl.errors.GradientError:
        return np.zeros(leaf.shape, leaf.dtype)


def theirs_of(call: Call, theirs: Any) -> list[torch.Tensor]:
    """torch's results."""
    out = call.theirs(*call.args) if call.theirs else theirs()
    return _flat(call.theirs_out(out))


def their_gradients(call: Call, outs: list[Any], cotangents: list[Any]) -> list[Any]:
    """torch's derivatives, by the same arguments."""
    pairs = [(o, c) for o, c in zip(outs, cotangents, strict=True) if c is not None]
    leaves = [_flat(call.args)[i] for i in followed(call)]
    total: Any = sum((out * cotangent).sum() for out, cotangent in pairs)
    found: Any = torch.autograd.grad(total, leaves, allow_unused=True)
    return [
        np.zeros(tuple(leaf.shape)) if each is None else each.numpy()
        for leaf, each in zip(leaves, found, strict=True)
    ]


def cotangents_of(outs: list[torch.Tensor]) -> list[Any]:
    """Weights for each result that has a derivative; None for the others."""
    torch.manual_seed(1)
    return [torch.randn_like(out) if out.requires_grad else None for out in outs]


def assert_close(ours: Any, theirs: Any, dtype: str, *, wider: float = 1.0) -> None:
    """Compare one result or gradient."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    assert ours.dtype.kind == theirs.dtype.kind, f"{ours.dtype} for {theirs.dtype}"
    if ours.dtype.kind != "f":
        np.testing.assert_array_equal(ours, theirs)
        return
    relative, absolute = CLOSE.get(dtype, CLOSE["float64"])
    np.testing.assert_allclose(ours, theirs, relative * wider, absolute * wider)


def followed(call: Call) -> list[int]:
    """Which of the flattened arguments gradients are taken by."""
    flat = _flat(call.args)
    floats = [i for i, x in enumerate(flat) if _is_float(x)]
    return floats if call.followed is None else [i for i in floats if i in call.followed]


def _is_float(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.requires_grad


def _called(name: str, call: Call, backend: Any, args: Any) -> Any:
    """Our function, through `apply` where a tensor says which backend."""
    if call.ours:
        return call.ours(*args)
    if any(type(each) is Tensor for each in _flat(args)):
        return apply(name, *args, **call.options)
    return Tensor(getattr(backend, name)(*args, **call.options), backend)


def _tensors(call: Call, backend: Any, *, leaves: bool = False) -> Any:
    """Return the arguments with tensors of ours for torch's."""
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
    """List and tuples of results as one list."""
    if type(value) is list or (type(value) is tuple and _holds_arrays(value)):
        return [each for item in value for each in _flat(item)]
    return [value]


def _holds_arrays(value: tuple[Any, ...]) -> bool:
    """Return whether a tuple is one of arrays, not a shape or a key."""
    return any(isinstance(each, (Tensor, torch.Tensor, list)) for each in value)
