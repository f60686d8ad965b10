"""Check gradient rules with PyTorch, with finite differences, and at second order."""

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.tensor import Autodiff, Tensor, apply

torch = pytest.importorskip("torch")

NUMPY = sl.tensor.backend("numpy", num_threads=1)
AUTODIFF_LEVEL_1 = Autodiff(NUMPY)
AUTODIFF_LEVEL_2 = Autodiff(AUTODIFF_LEVEL_1)


@dataclass
class Case:
    """An operation, its arguments (some of them tracked), and its PyTorch version."""

    name: str
    args: list[Any]
    theirs: Any
    options: dict[str, Any] = field(default_factory=dict)
    output: int | None = None  # index of the output that the loss uses

    @property
    def places(self):
        """Return the indices of the tracked arguments: the float arrays."""
        return [place for place, arg in enumerate(self.args) if _floats(arg)]


def each_of(cases):
    """Run a test on each case, identified by operation and index in the table."""
    ids = [f"{place} {case.name}" for place, case in enumerate(cases)]
    return pytest.mark.parametrize("case", cases, ids=ids)


def _floats(arg):
    return isinstance(arg, np.ndarray) and arg.dtype.kind == "f"


def values(*shape, seed=0, low=None):
    """Return random float64 numbers, which are at least `low` if `low` is not None."""
    found = np.random.default_rng((seed, *shape)).normal(size=shape)
    return found if low is None else np.abs(found) + low


def loss(case, level, args):
    """Return a scalar that is nonlinear in the output."""
    out = _call(case, level, args)
    if case.output is not None:
        out = out[case.output]
    weights = Tensor(_weights(out.shape), NUMPY)
    return (out * out * weights + out * weights * 0.5).sum()


def _call(case, level, args):
    if isinstance(args[0], list) or any(isinstance(arg, Tensor) for arg in args):
        return apply(case.name, *args, **case.options)
    return Tensor(getattr(level, case.name)(*args, **case.options), level)


def _weights(shape):
    return np.asarray(np.cos(np.arange(int(np.prod(shape)))).reshape(shape) + 1.5)


def their_loss(case, args):
    out = case.theirs(*args)
    weights = torch.tensor(_weights(tuple(out.shape)))
    return (out * out * weights + out * weights * 0.5).sum()


def _with(case, found):
    """Return the arguments with the tracked arrays replaced."""
    args = list(case.args)
    for place, each in zip(case.places, found, strict=True):
        args[place] = each
    return args


def our_gradients(case):
    leaves = [
        AUTODIFF_LEVEL_1.tensor(case.args[place], requires_grad=True)
        for place in case.places
    ]
    grads = loss(case, AUTODIFF_LEVEL_1, _with(case, leaves)).backward()
    return [_found(grads, leaf) for leaf in leaves]


def _found(grads, leaf):
    try:
        return grads.wrt(leaf).numpy()
    except sl.errors.GradientError:
        return np.zeros(leaf.shape)


def their_gradients(case, *, double=None):
    """Return the gradients, or with `double` the gradients of their product."""
    leaves = [torch.tensor(case.args[place], requires_grad=True) for place in case.places]
    args = [torch.tensor(arg) if isinstance(arg, np.ndarray) else arg for arg in case.args]
    args = list(args)
    for place, leaf in zip(case.places, leaves, strict=True):
        args[place] = leaf
    total = their_loss(case, args)
    found = torch.autograd.grad(
        total, leaves, create_graph=double is not None, materialize_grads=True
    )
    if double is not None:
        total = sum((g * torch.tensor(d)).sum() for g, d in zip(found, double, strict=True))
        found = torch.autograd.grad(total, leaves, materialize_grads=True)
    return [each.numpy() for each in found]


def our_second(case, double):
    outer = [
        AUTODIFF_LEVEL_1.tensor(case.args[place], requires_grad=True)
        for place in case.places
    ]
    leaves = [Tensor(AUTODIFF_LEVEL_2.leaf(each.raw), AUTODIFF_LEVEL_2) for each in outer]
    grads = loss(case, AUTODIFF_LEVEL_2, _with(case, leaves)).backward()
    pairs = zip(leaves, double, strict=True)
    parts = [(grads.wrt(leaf) * Tensor(each, NUMPY)).sum() for leaf, each in pairs]
    total = reduce(add, parts)
    found = total.backward()
    return [_found(found, leaf) for leaf in outer]


def check_against_torch(case):
    for ours, theirs in zip(our_gradients(case), their_gradients(case), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def check_second_order(case):
    double = [values(*case.args[place].shape, seed=5) for place in case.places]
    ours, theirs = our_second(case, double), their_gradients(case, double=double)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)


def check_central_differences(case, step=1e-6):
    """Return the slope along one direction, from a central difference."""
    found = [case.args[place] for place in case.places]
    ways = [values(*each.shape, seed=9) for each in found]
    ends = [
        loss(case, NUMPY, _with(case, _moved(found, ways, sign * step))).item()
        for sign in (1, -1)
    ]
    slope = (ends[0] - ends[1]) / (2 * step)
    ours = sum((g * w).sum() for g, w in zip(our_gradients(case), ways, strict=True))
    np.testing.assert_allclose(ours, slope, rtol=1e-5, atol=1e-6)


def _moved(found, ways, step):
    return [Tensor(x + step * way, NUMPY) for x, way in zip(found, ways, strict=True)]
