"""Derivatives of elementwise functions."""

import numpy as np
import pytest

import rule_oracle
from rule_oracle import Case, torch, values

UNARY_FUNCTIONS = {
    "negative": torch.neg,
    "abs": torch.abs,
    "exp": torch.exp,
    "expm1": torch.expm1,
    "square": torch.square,
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "erf": torch.erf,
    "erfc": torch.erfc,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
    "softplus": torch.nn.functional.softplus,
    "atan": torch.atan,
    "asinh": torch.asinh,
    "conj": torch.conj,
    "real": torch.real,
}
FUNCTIONS_ON_MINUS_1_TO_1 = {"asin": torch.asin, "acos": torch.acos, "atanh": torch.atanh}
FUNCTIONS_OF_POSITIVE_INPUTS = {
    "log": torch.log,
    "log1p": torch.log1p,
    "log2": torch.log2,
    "log10": torch.log10,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
}
STEP_FUNCTIONS = {
    "sign": torch.sign,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "round": torch.round,
    "trunc": torch.trunc,
}
X, Y = values(3, 4), values(3, 4, seed=1)
ROW, ABOVE_ZERO = values(1, 4, seed=2), values(3, 4, low=0.5)
INPUT_WITH_TIES = np.where(X > 0, X, Y)
WHERE_CONDITION = X > Y

RULE_CASES = [
    *(Case(name, [X], theirs) for name, theirs in UNARY_FUNCTIONS.items()),
    *(
        Case(name, [ABOVE_ZERO], theirs)
        for name, theirs in FUNCTIONS_OF_POSITIVE_INPUTS.items()
    ),
    *(
        Case(name, [np.tanh(X)], theirs)
        for name, theirs in FUNCTIONS_ON_MINUS_1_TO_1.items()
    ),
    Case("acosh", [ABOVE_ZERO + 1], torch.acosh),
    Case("hypot", [X, ROW], torch.hypot),
    Case("copysign", [X, ROW], torch.copysign),
    Case("add", [X, ROW], torch.add),
    Case("add", [X, 2.0], torch.add),
    Case("subtract", [ROW, X], torch.sub),
    Case("subtract", [1.0, X], lambda x, y: x - y),
    Case("multiply", [X, ROW], torch.mul),
    Case("multiply", [X, values(2, 3, 4)], torch.mul),
    Case("divide", [ROW, ABOVE_ZERO], torch.div),
    Case("divide", [1.0, ABOVE_ZERO], lambda x, y: x / y),
    Case("remainder", [X, ABOVE_ZERO], torch.remainder),
    Case("remainder", [X, 0.7], torch.remainder),
    Case("pow", [ABOVE_ZERO, Y], torch.pow),
    Case("pow", [X, 3], torch.pow),
    Case("pow", [X, 2], torch.pow),
    Case("pow", [X, 1], torch.pow),
    Case("pow", [ABOVE_ZERO, 0.5], torch.pow),
    Case("pow", [2.0, X], torch.pow),
    Case("atan2", [X, ABOVE_ZERO], torch.atan2),
    Case("logaddexp", [X, ROW], torch.logaddexp),
    Case("maximum", [X, ROW], torch.maximum),
    Case("minimum", [X, Y], torch.minimum),
    Case("maximum", [X, 0.1], lambda x, y: torch.clamp(x, min=y)),
    Case("where", [WHERE_CONDITION, X, ROW], torch.where),
    Case("where", [WHERE_CONDITION, X, 0.5], torch.where),
    Case("where", [WHERE_CONDITION, 0.5, X], torch.where),
    Case("clip", [X, -0.5, 0.5], torch.clamp),
    Case("clip", [X, None, 0.5], torch.clamp),
    Case("clip", [X, ROW, np.abs(Y) + 1], torch.clamp),
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


@pytest.mark.parametrize("name", STEP_FUNCTIONS)
def test_step_functions_have_zero_gradients(name):
    rule_oracle.check_against_torch(Case(name, [X], STEP_FUNCTIONS[name]))


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_equal_inputs_share_the_gradient_of_maximum(name):
    rule_oracle.check_against_torch(Case(name, [X, INPUT_WITH_TIES], getattr(torch, name)))


def test_a_power_with_exponent_zero_has_zero_gradient_at_zero():
    rule_oracle.check_against_torch(Case("pow", [np.array([0.0, 2.0]), 0], torch.pow))


def test_the_gradient_of_a_cast_has_the_type_of_the_input():
    x = rule_oracle.AUTODIFF_LEVEL_1.tensor(
        np.array([1.5, 2.0], np.float32), requires_grad=True
    )
    grads = (x.astype("float64") * np.array([1.0, 3.0])).sum().backward()
    assert grads.wrt(x).dtype == np.float32
    assert grads.wrt(x).numpy().tolist() == [1.0, 3.0]


def test_a_cast_to_integers_has_no_gradient():
    x = rule_oracle.AUTODIFF_LEVEL_1.tensor(
        np.array([1.5, 2.0], np.float32), requires_grad=True
    )
    grads = (x.astype("int64").astype("float32") * x).sum().backward()
    assert grads.wrt(x).numpy().tolist() == [1.0, 2.0]


def test_gradients_have_the_types_of_mixed_inputs():
    x = rule_oracle.AUTODIFF_LEVEL_1.tensor(
        np.array([1.5, 2.0], np.float32), requires_grad=True
    )
    grads = (x * np.array([1.0, 3.0])).sum().backward()
    assert grads.wrt(x).dtype == np.float32
