"""Each gradient rule occurs in a table of test cases."""

import runpy
from pathlib import Path

import pytest

from seqloom.tensor._families import GRAD_RULES

# Rules that are tested in other files, or by second derivatives.
OPERATIONS_TESTED_ELSEWHERE = {
    "attention_varlen",
    "avg_pool1d_grad",
    "avg_pool2d_grad",
    "concat",
    "conv1d_input_grad",
    "conv1d_weight_grad",
    "conv2d_input_grad",
    "conv2d_weight_grad",
    "dropout",
    "embedding_grad",
    "gru",
    "lstm",
    "max_pool1d_grad",
    "max_pool2d_grad",
    "relu_grad",
    "sigmoid_grad",
    "stack",
    "stop_gradient",
    *("astype", "ceil", "floor", "imag", "nextafter", "round", "sign", "trunc"),
}
RULE_TEST_FILES = [
    path for path in Path(__file__).parent.glob("test_*.py") if path.name != "test_table.py"
]


def test_every_gradient_rule_has_a_test_case():
    pytest.importorskip("torch")
    cases = [
        case.name
        for path in RULE_TEST_FILES
        for case in runpy.run_path(str(path))["RULE_CASES"]
    ]
    assert set(GRAD_RULES) - OPERATIONS_TESTED_ELSEWHERE - set(cases) == set()
