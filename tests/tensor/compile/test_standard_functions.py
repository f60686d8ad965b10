"""Functions of the Array API standard in a compiled step return eager results or raise."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.tensor import apply

libraries = pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
INPUT_ARRAY = np.array([[0.3, -0.6, 0.0], [0.9, -0.2, 0.5]], np.float32)
UNARY_FUNCTIONS = [
    "acos",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "trunc",
    "signbit",
    "conj",
    "real",
    "imag",
    "zeros_like",
    "ones_like",
]


def step(x):
    """Call each function whose result has a shape that does not depend on values."""
    up = abs(x) + 1.5
    return (
        *(apply(name, x) for name in UNARY_FUNCTIONS),
        *(apply(name, up) for name in ("acosh", "log2", "log10")),
        *(apply(name, x, up) for name in ("hypot", "copysign", "nextafter")),
        apply("cumulative_prod", x, axis=1, include_initial=True),
        apply("logcumsumexp", x, axis=0),
        apply("diff", x, None, up, axis=1, n=2),
        apply("isin", x, x[0]),
        *apply("meshgrid", x[0], x[1]),
        *apply("broadcast_arrays", x, x[:, :1]),
        apply("full_like", x, 2.0),
    )


@libraries
def test_compiled_functions_equal_uncompiled_ones(library):
    pytest.importorskip(library)
    x = sl.tensor.backend(library).tensor(INPUT_ARRAY)
    compiled = sl.tensor.compile(step)
    for ours, wanted in zip(compiled(x), step(x), strict=True):
        assert (ours.shape, ours.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(ours.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


@libraries
@pytest.mark.parametrize("name", ["values", "counts", "inverse", "all"])
def test_set_functions_in_a_step_are_an_error_that_names_them(library, name):
    pytest.importorskip(library)
    x = sl.tensor.backend(library).tensor(INPUT_ARRAY)
    called = sl.tensor.compile(lambda x: apply(f"unique_{name}", x))
    with pytest.raises(
        sl.errors.CaptureError, match=f"result of unique_{name} depends on values"
    ):
        called(x)
