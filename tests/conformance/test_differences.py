"""Every gradient on every backend against central differences in float64."""

import warnings
from dataclasses import replace
from functools import cache
from itertools import chain

import numpy as np
import pytest

import seqloom as sl
from conformance.backends import NAMES, backend, wide
from conformance.call import Skip
from conformance.operations import TABLE
from conformance.run import cotangents_of, followed, gradients_of, theirs_of, values_of
from conformance.samples import QUICK, chosen, told

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

STEP = 1e-6
# Their derivative is 0 by torch's decree, or differs on the two sides of a sample.
ROUGH = {"floor_divide", "stop_gradient", "remainder"}
SMOOTH = [n for n, each in TABLE.items() if "float64" in each.dtypes and n not in ROUGH]


@pytest.mark.parametrize("operation", SMOOTH)
@pytest.mark.parametrize("library", NAMES)
def test_gradients_equal_central_differences(library, operation):
    plain = backend(library)
    with wide(library), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call, cotangents = _differentiable(operation)
        if call is None or cotangents is None:
            pytest.skip("none of its samples has a derivative")
        directions = _directions(call)
        level = sl.tensor.Autodiff(plain)
        grads = gradients_of(operation, call, level, cotangents)
        ours = sum((g * d).sum() for g, d in zip(grads, directions.values(), strict=True))
        slope = [
            _weighed(operation, _moved(call, directions, sign * STEP), plain, cotangents)
            for sign in (1, -1)
        ]
    assert ours == pytest.approx((slope[0] - slope[1]) / (2 * STEP), rel=2e-5, abs=2e-6)


@cache
def _differentiable(operation):
    """A small sample with something to differentiate by, and weights of its results."""
    found = (chosen(TABLE[operation], "float64", count) for count in (QUICK, 12))
    for info, sample in chain.from_iterable(found):
        call, theirs = told(TABLE[operation], info, sample)
        if isinstance(call, Skip):
            continue
        call = call() if callable(call) else call
        outs = theirs_of(call, theirs) if followed(call) else []
        cotangents = cotangents_of(outs)
        if any(each is not None and each.numel() for each in cotangents) and _is_finite(
            outs
        ):
            return call, cotangents
    return None, None


def _is_finite(outs):
    return all(
        bool(torch.isfinite(each).all()) for each in outs if each.is_floating_point()
    )


def _directions(call):
    """A random direction for each followed argument, by its place."""
    draw = np.random.default_rng(2)
    flat = _leaves(call.args)
    return {i: draw.normal(size=tuple(flat[i].shape)) for i in followed(call)}


def _leaves(args):
    return [x for each in args for x in (each if type(each) is list else [each])]


def _moved(call, directions, step):
    """The call with its followed arguments a little further along their directions."""
    place = iter(range(1 << 20))

    def moved(each):
        if type(each) is list:
            return [moved(item) for item in each]
        here = next(place)
        if here not in directions:
            return each
        return (each.detach() + step * torch.as_tensor(directions[here])).requires_grad_()

    return replace(call, args=tuple(map(moved, call.args)))


def _weighed(operation, call, plain, cotangents):
    """The results of a call as one number."""
    outs = values_of(operation, call, plain)
    pairs = zip(outs, cotangents, strict=True)
    return sum((out.numpy() * c.numpy()).sum() for out, c in pairs if c is not None)
