"""Derivatives of reductions."""

import numpy as np
import pytest

import rule_oracle
import seqloom as sl
from rule_oracle import Case, torch, values

INPUT_ARRAY = values(3, 4, 2)
INPUT_WITH_ZEROS = np.array([[1.0, 0.0, 2.0, 3.0], [0.0, 0.0, 1.0, 2.0]])


def reduction_cases(name, theirs, axes, x=INPUT_ARRAY):
    """Return cases with no axis, one axis and two axes, with and without keepdims."""
    for axis in axes:
        for keepdims in (False, True):
            options = {"axis": axis, "keepdims": keepdims}
            yield Case(name, [x], _bound(theirs, axis, keepdims), options)


def _bound(theirs, axis, keepdims):
    wanted = tuple(range(3)) if axis is None else axis
    return lambda x: theirs(x, wanted, keepdims)


def prod(x, axis, keepdims):
    for each in sorted((axis,) if isinstance(axis, int) else axis, reverse=True):
        x = torch.prod(x, each, keepdim=True)
    return x if keepdims else x.sum(axis)


RULE_CASES = [
    *reduction_cases("sum", torch.sum, (None, 1, (0, -1))),
    *reduction_cases("mean", torch.mean, (None, 1, (0, -1))),
    *reduction_cases("max", torch.amax, (None, 1, (0, -1))),
    *reduction_cases("min", torch.amin, (None, 1, (0, 2))),
    *reduction_cases("prod", prod, (None, 1, (0, 2))),
    *reduction_cases("logsumexp", torch.logsumexp, (None, 1, (0, -1))),
    Case("logcumsumexp", [INPUT_ARRAY], lambda x: torch.logcumsumexp(x, 1), {"axis": 1}),
    Case(
        "cumulative_prod", [INPUT_WITH_ZEROS], lambda x: torch.cumprod(x, -1), {"axis": -1}
    ),
    Case("var", [INPUT_ARRAY], lambda x: torch.var(x, 1, correction=0), {"axis": 1}),
    Case(
        "var",
        [INPUT_ARRAY],
        lambda x: torch.var(x, (0, 2), correction=1, keepdim=True),
        {"axis": (0, 2), "correction": 1.0, "keepdims": True},
    ),
    Case("std", [INPUT_ARRAY], lambda x: torch.std(x, 1, correction=0), {"axis": 1}),
    Case(
        "std",
        [INPUT_ARRAY],
        lambda x: torch.std(x, (0, 2), correction=1, keepdim=True),
        {"axis": (0, 2), "correction": 1.0, "keepdims": True},
    ),
    Case("prod", [INPUT_WITH_ZEROS], lambda x: torch.prod(x, 1), {"axis": 1}),
    Case("cumulative_sum", [INPUT_ARRAY], lambda x: torch.cumsum(x, 1), {"axis": 1}),
    Case(
        "cumulative_sum",
        [values(4)],
        lambda x: torch.cat([torch.zeros(1), torch.cumsum(x, 0)]),
        {"axis": 0, "include_initial": True},
    ),
]
each_case = rule_oracle.each_of(RULE_CASES)


@each_case
def test_gradients_equal_torch(case):
    rule_oracle.check_against_torch(case)


@each_case
def test_gradients_equal_central_differences(case):
    rule_oracle.check_central_differences(case)


@each_case
def test_second_derivatives_equal_torch(case):
    rule_oracle.check_second_order(case)


@pytest.mark.parametrize("name", ["max", "min"])
def test_equal_maxima_and_minima_share_the_gradient(name):
    x = np.array([[1.0, 3.0, 3.0], [1.0, 1.0, 2.0]])
    theirs = torch.amax if name == "max" else torch.amin
    rule_oracle.check_against_torch(Case(name, [x], lambda x: theirs(x, 1), {"axis": 1}))


def test_the_deviation_of_equal_values_has_zero_gradient():
    level = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
    x = level.tensor(np.ones((2, 3)), requires_grad=True)
    slope = sl.tensor.apply("std", x, axis=1).sum().backward().wrt(x)
    assert slope.numpy().tolist() == [[0.0] * 3] * 2
