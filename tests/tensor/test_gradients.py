"""Gradient rules of all operations, compared with finite differences in float64."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.tensor import apply

NUMPY = sl.tensor.backend("numpy", num_threads=1)
AUTODIFF = sl.tensor.Autodiff(NUMPY)
RANDOM_KEY = sl.Key(7)


def numbers(*shape, low=-2.0, high=2.0, seed=0):
    return np.random.default_rng(seed).uniform(low, high, shape)


def positive(*shape, seed=0):
    return numbers(*shape, low=0.5, high=2.0, seed=seed)


POSITION_MASK = np.array([[1.0, 1, 1, 1, 0], [1, 1, 0, 0, 0], [1, 1, 1, 1, 1]])

# Each case is a function of tensors, and the arrays to differentiate.
GRADIENT_CASES = {
    "add": (lambda x, y: x + y, [numbers(3, 4), numbers(4, seed=1)]),
    "subtract": (lambda x, y: x - y, [numbers(3, 1), numbers(3, 4, seed=1)]),
    "multiply": (lambda x, y: x * y, [numbers(3, 4), numbers(1, 4, seed=1)]),
    "divide": (lambda x, y: x / y, [numbers(3, 4), positive(4, seed=1)]),
    "pow": (lambda x, y: x**y, [positive(3), numbers(3, seed=1)]),
    "maximum": (lambda x, y: apply("maximum", x, y), [numbers(5), numbers(5, seed=1)]),
    "minimum": (lambda x, y: apply("minimum", x, y), [numbers(5), numbers(5, seed=1)]),
    "where": (lambda x, y: apply("where", x > 0, x, y), [numbers(5), numbers(5, seed=1)]),
    "clip": (lambda x: apply("clip", x, -1.0, 1.0), [numbers(9)]),
    "negative": (lambda x: -x, [numbers(3)]),
    "abs": (abs, [numbers(4)]),
    "exp": (lambda x: apply("exp", x), [numbers(4)]),
    "log": (lambda x: apply("log", x), [positive(4)]),
    "log1p": (lambda x: apply("log1p", x), [positive(4)]),
    "sqrt": (lambda x: apply("sqrt", x), [positive(4)]),
    "square": (lambda x: apply("square", x), [numbers(4)]),
    "sin": (lambda x: apply("sin", x), [numbers(4)]),
    "cos": (lambda x: apply("cos", x), [numbers(4)]),
    "tanh": (lambda x: apply("tanh", x), [numbers(4)]),
    "matmul": (lambda x, y: x @ y, [numbers(2, 3, 4), numbers(4, 5, seed=1)]),
    "matmul of vectors": (lambda x, y: x @ y, [numbers(4), numbers(4, seed=1)]),
    "matmul with a vector": (lambda x, y: x @ y, [numbers(3, 4), numbers(4, seed=1)]),
    "matmul of a vector": (lambda x, y: x @ y, [numbers(4), numbers(4, 3, seed=1)]),
    "sum": (lambda x: x.sum(axis=1), [numbers(3, 4)]),
    "sum of all": (lambda x: x.sum() * x.sum(axis=(0, 1), keepdims=True), [numbers(3, 4)]),
    "mean": (lambda x: x.mean(axis=(0, 2)), [numbers(2, 3, 4)]),
    "max": (lambda x: x.max(axis=-1), [numbers(3, 4)]),
    "min": (lambda x: apply("min", x, axis=0), [numbers(3, 4)]),
    "reshape": (lambda x: x.reshape(2, -1), [numbers(3, 4)]),
    "expand_dims": (lambda x: apply("expand_dims", x, axis=1), [numbers(3)]),
    "squeeze": (lambda x: apply("squeeze", x, axis=1), [numbers(3, 1)]),
    "permute_dims": (lambda x: apply("permute_dims", x, (2, 0, 1)), [numbers(2, 3, 4)]),
    "matrix_transpose": (lambda x: x.mT, [numbers(3, 4)]),
    "broadcast_to": (lambda x: apply("broadcast_to", x, (2, 3)), [numbers(3)]),
    "concat": (
        lambda x, y: apply("concat", [x, y], axis=1),
        [numbers(2, 3), numbers(2, 1)],
    ),
    "stack": (
        lambda x, y: apply("stack", [x, y], axis=-1),
        [numbers(2), numbers(2, seed=1)],
    ),
    "index": (lambda x: x[1:, ::2], [numbers(3, 4)]),
    "index with repeats": (lambda x: x[np.array([0, 0, 2])], [numbers(3, 2)]),
    "take": (lambda x: apply("take", x, np.array([1, 1]), axis=1), [numbers(2, 3)]),
    "astype": (lambda x: x.astype("float64") * 2, [numbers(3)]),
    "relu": (lambda x: apply("relu", x), [numbers(4, 5)]),
    "gelu": (lambda x: apply("gelu", x), [numbers(4, 5)]),
    "sigmoid": (lambda x: apply("sigmoid", x), [numbers(4, 5)]),
    "softmax": (lambda x: apply("softmax", x), [numbers(3, 4)]),
    "log_softmax": (lambda x: apply("log_softmax", x), [numbers(3, 4)]),
    "cross_entropy": (
        lambda x: apply("cross_entropy", x, np.array([0, 2, 1]), np.array([1.0, 2, 3, 4]))[
            0
        ],
        [numbers(3, 4)],
    ),
    "linear": (
        lambda x, w, b: apply("linear", x, w, b),
        [numbers(2, 3, 4), numbers(5, 4, seed=1), numbers(5, seed=2)],
    ),
    "conv1d": (
        lambda x, w, b: apply("conv1d", x, w, b, padding=2),
        [numbers(2, 3, 9), numbers(4, 3, 5, seed=1), numbers(4, seed=2)],
    ),
    "conv1d with stride and dilation": (
        lambda x, w: apply("conv1d", x, w, None, stride=2, padding=1, dilation=2),
        [numbers(2, 2, 11), numbers(3, 2, 3, seed=1)],
    ),
    "max_pool1d": (
        lambda x: apply("max_pool1d", x, kernel=3, stride=2, padding=1)[0],
        [numbers(2, 3, 7)],
    ),
    "batch_norm": (
        lambda x, w, b: apply("batch_norm", x, w, b, None, eps=1e-5)[0],
        [numbers(3, 2, 5), positive(2, seed=1), numbers(2, seed=2)],
    ),
    "batch_norm with a mask": (
        lambda x, w, b: apply("batch_norm", x, w, b, POSITION_MASK, eps=1e-5)[0],
        [numbers(3, 2, 5), positive(2, seed=1), numbers(2, seed=2)],
    ),
    "scale_shift": (
        lambda x, w, b: apply("scale_shift", x, w, b, POSITION_MASK),
        [numbers(3, 2, 5), numbers(2, seed=1), numbers(2, seed=2)],
    ),
    "dropout": (lambda x: apply("dropout", x, RANDOM_KEY, 0.5), [numbers(4, 5)]),
}


@pytest.mark.parametrize("name", GRADIENT_CASES)
def test_gradient_equals_finite_differences(name):
    function, arrays = GRADIENT_CASES[name]
    weights = numbers(*function(*map(NUMPY.tensor, arrays)).shape, seed=9)
    leaves = [AUTODIFF.tensor(each, requires_grad=True) for each in arrays]
    grads = (function(*leaves) * weights).sum().backward()
    for place, leaf in enumerate(leaves):
        expected = finite_differences(function, arrays, weights, place)
        np.testing.assert_allclose(grads.wrt(leaf).numpy(), expected, rtol=1e-5, atol=1e-7)


def finite_differences(function, arrays, weights, place, step=1e-6):
    """Return central differences of a weighted sum of results, for one argument."""
    found = np.zeros_like(arrays[place])
    for index in np.ndindex(found.shape):
        sums = []
        for sign in (1, -1):
            moved = [each.copy() for each in arrays]
            moved[place][index] += sign * step
            sums.append(
                float((function(*map(NUMPY.tensor, moved)).numpy() * weights).sum())
            )
        found[index] = (sums[0] - sums[1]) / (2 * step)
    return found
