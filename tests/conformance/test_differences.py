"""Gradients of every backend agree with central differences in float64."""

import warnings
from dataclasses import replace
from functools import cache
from itertools import chain

import numpy as np
import pytest

import seqloom as sl
from conformance.backends import BACKEND_NAMES, backend, wide
from conformance.call import Skip
from conformance.operations import OPERATION_TABLE
from conformance.run import (
    cotangents_of,
    followed,
    gradients_of,
    torch_values_of,
    values_of,
)
from conformance.samples import SAMPLE_COUNT, convert_sample, select_samples

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

FINITE_DIFFERENCE_STEP = 1e-6
# Operations with a derivative of 0 in PyTorch, or with a jump close to a test input.
NOT_DIFFERENTIABLE_NAMES = {"floor_divide", "stop_gradient", "remainder"}
DIFFERENTIABLE_NAMES = [
    n
    for n, each in OPERATION_TABLE.items()
    if "float64" in each.dtypes and n not in NOT_DIFFERENTIABLE_NAMES
]


@pytest.mark.parametrize("operation", DIFFERENTIABLE_NAMES)
@pytest.mark.parametrize("library", BACKEND_NAMES)
def test_gradients_of_operations_equal_central_differences(library, operation):
    plain = backend(library)
    with wide(library), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call, cotangents = _find_differentiable_call(operation)
        if call is None or cotangents is None:
            pytest.skip("none of its samples has a derivative")
        directions = _random_directions(call)
        level = sl.tensor.Autodiff(plain)
        grads = gradients_of(operation, call, level, cotangents)
        ours = sum((g * d).sum() for g, d in zip(grads, directions.values(), strict=True))
        slope = [
            _weighted_sum(
                operation,
                _move_arguments(call, directions, sign * FINITE_DIFFERENCE_STEP),
                plain,
                cotangents,
            )
            for sign in (1, -1)
        ]
    assert ours == pytest.approx(
        (slope[0] - slope[1]) / (2 * FINITE_DIFFERENCE_STEP), rel=2e-5, abs=2e-6
    )


@cache
def _find_differentiable_call(operation):
    """Return a sample that has a gradient, and random weights of its results."""
    selections = (
        select_samples(OPERATION_TABLE[operation], "float64", count)
        for count in (SAMPLE_COUNT, 12)
    )
    for info, sample in chain.from_iterable(selections):
        call, theirs = convert_sample(OPERATION_TABLE[operation], info, sample)
        if isinstance(call, Skip):
            continue
        call = call() if callable(call) else call
        outs = torch_values_of(call, theirs) if followed(call) else []
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


def _random_directions(call):
    """Return a random direction for each differentiable argument, by argument index."""
    draw = np.random.default_rng(2)
    flat = _leaves(call.args)
    return {i: draw.normal(size=tuple(flat[i].shape)) for i in followed(call)}


def _leaves(args):
    return [x for each in args for x in (each if type(each) is list else [each])]


def _move_arguments(call, directions, step):
    """Return the call with its arguments moved by `step` along their directions."""
    place = iter(range(1 << 20))

    def moved(each):
        if type(each) is list:
            return [moved(item) for item in each]
        here = next(place)
        if here not in directions:
            return each
        return (each.detach() + step * torch.as_tensor(directions[here])).requires_grad_()

    return replace(call, args=tuple(map(moved, call.args)))


def _weighted_sum(operation, call, plain, cotangents):
    """Return the weighted sum of the results of a call."""
    outs = values_of(operation, call, plain)
    pairs = zip(outs, cotangents, strict=True)
    return sum((out.numpy() * c.numpy()).sum() for out, c in pairs if c is not None)
