"""Activations and softmax on every backend, compared with PyTorch."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from backend_oracle import Case, assert_agrees, everywhere, found, in_both, pulled, wide

INPUT_SHAPE = (3, 5)
ACTIVATION_CASES = [
    Case("relu", (INPUT_SHAPE,), F.relu),
    Case("sigmoid", (INPUT_SHAPE,), torch.sigmoid),
    Case("gelu", (INPUT_SHAPE,), F.gelu),
    Case("gelu_grad", (INPUT_SHAPE, INPUT_SHAPE), pulled(F.gelu)),
    Case("silu", (INPUT_SHAPE,), F.silu),
    Case("softplus", (INPUT_SHAPE,), lambda x: F.softplus(x, threshold=60)),
    Case("erf", (INPUT_SHAPE,), torch.erf),
    Case("erfc", (INPUT_SHAPE,), torch.erfc),
    Case("rsqrt", (np.array([0.25, 4.0, 9.0], np.float32),), torch.rsqrt),
    Case("softmax", (INPUT_SHAPE,), lambda x: torch.softmax(x, -1)),
    Case("softmax", (INPUT_SHAPE,), torch.softmax, {"axis": 0}, "along 0"),
    Case("log_softmax", (INPUT_SHAPE,), torch.log_softmax, {"axis": 0}),
    Case("logsumexp", (INPUT_SHAPE,), lambda x: torch.logsumexp(x, (0, 1))),
    Case(
        "logsumexp",
        (INPUT_SHAPE,),
        lambda x, axis, keepdims: torch.logsumexp(x, axis, keepdim=keepdims),
        {"axis": 1, "keepdims": True},
        "along 1",
    ),
    Case("linear", ((2, 3, 4), (5, 4), (5,)), F.linear),
    Case("linear", ((3, 4), (5, 4)), F.linear, label="without bias"),
]


@everywhere
@in_both
@pytest.mark.parametrize(
    "case", ACTIVATION_CASES, ids=lambda case: f"{case.name} {case.label}".strip()
)
def test_activations_equal_torch(case: Case, name: str, dtype: str):
    with wide(name, dtype):
        if case.name != "rsqrt" or dtype == "float32":
            assert_agrees(found(name), case, dtype)


GRADIENTS_COMPUTED_FROM_OUTPUTS = {"relu": F.relu, "sigmoid": torch.sigmoid}
FUNCTIONS_ALONG_AXIS = {"softmax": torch.softmax, "log_softmax": torch.log_softmax}


@everywhere
@in_both
@pytest.mark.parametrize(
    "function", [*GRADIENTS_COMPUTED_FROM_OUTPUTS, *FUNCTIONS_ALONG_AXIS]
)
def test_gradients_from_the_output_equal_torch(function: str, name: str, dtype: str):
    rng = np.random.default_rng(1)
    x, grad = (rng.standard_normal((3, 5)).astype(dtype) for _ in range(2))
    leaf = torch.from_numpy(x).double().requires_grad_()
    oracle = GRADIENTS_COMPUTED_FROM_OUTPUTS.get(function) or (
        lambda x: FUNCTIONS_ALONG_AXIS[function](x, 0)
    )
    options = {} if function in GRADIENTS_COMPUTED_FROM_OUTPUTS else {"axis": 0}
    (expected,) = torch.autograd.grad(oracle(leaf), leaf, torch.from_numpy(grad).double())
    with wide(name, dtype):
        b = found(name)
        out = getattr(b, function)(b.asarray(x), **options)
        got = getattr(b, f"{function}_grad")(b.asarray(grad), out, **options)
        np.testing.assert_allclose(b.to_numpy(got), expected, rtol=2e-5, atol=2e-5)


@everywhere
def test_softmax_of_extreme_inputs_does_not_overflow(name: str):
    b = found(name)
    out = b.softmax(b.asarray([1e30, -1e30, 0.0]))
    assert np.asarray(b.to_numpy(out)).tolist() == [1, 0, 0]


@everywhere
def test_erfc_is_accurate_in_the_tail(name: str):
    b = found(name)
    x = np.linspace(0.5, 9, 50, dtype=np.float32)
    truth = torch.erfc(torch.from_numpy(x).double()).numpy()
    got = np.asarray(b.to_numpy(b.erfc(b.asarray(x))))
    np.testing.assert_allclose(got, truth, rtol=2e-5)
