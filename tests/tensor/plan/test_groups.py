"""Fused operations have the same results as separate operations."""

import numpy as np
import pytest

from plan_graphs import Building, random_group, slowly
from seqloom.tensor import backend
from seqloom.tensor._compile._numpy import NumPyProgram

NUMPY = backend("numpy", num_threads=2)


RANDOM_SEEDS = [
    *range(60),
    *(pytest.param(i, marks=pytest.mark.soak) for i in range(60, 200)),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", RANDOM_SEEDS)
def test_a_random_group_of_fused_operations_equals_the_single_operations(seed):
    dtype, tolerance = [("float64", 1e-9), ("float32", 3e-4)][seed % 2]
    graph, arrays = random_group(seed, dtype)
    wide = [np.asarray(array, np.float64) for array in arrays]
    for found, wanted in zip(
        NumPyProgram(graph, NUMPY)(arrays), slowly(graph, wide), strict=True
    ):
        scale = np.prod(arrays[0].shape[-1:]) if found.ndim < arrays[0].ndim else 1
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale)
        assert found.dtype == dtype


def test_a_chain_of_elementwise_operations_is_one_call():
    build = Building("float32")
    x, bias = build.given(64, 512), build.given(512)
    out = build("gelu", build("add", build("multiply", x, 0.5), bias))
    total = build("sum", out, axis=0)
    text = str(NumPyProgram(build.returns(out, total), NUMPY))
    assert "1 calls, 1 of them fused" in text
    assert "multiply+add+gelu+sum" in text


def test_operations_after_a_reduction_are_fused_separately():
    build = Building("float64")
    x = build.given(40, 30)
    shifted = build("exp", x)
    out = build("divide", shifted, build("sum", shifted, axis=-1, keepdims=True))
    graph, array = build.returns(out), np.random.default_rng(0).normal(size=(40, 30))
    np.testing.assert_allclose(
        NumPyProgram(graph, NUMPY)([array])[0], slowly(graph, [array])[0], rtol=1e-12
    )


def test_operations_with_a_call_between_them_are_not_fused():
    build = Building("float64")
    x, weight = build.given(8, 8), build.given(8, 8)
    first = build("exp", x)
    product = build("matmul", first, weight)
    out = build("add", build("multiply", first, product), build("negative", first))
    graph = build.returns(out)
    arrays = list(np.random.default_rng(0).normal(size=(2, 8, 8)))
    np.testing.assert_allclose(
        NumPyProgram(graph, NUMPY)(arrays)[0], slowly(graph, arrays)[0], rtol=1e-12
    )


def test_fused_groups_accept_booleans_and_integers():
    build = Building("float32")
    x, labels = build.given(50, 9), build.given(50, 9, dtype="int64")
    likes = build("astype", labels, np.float32)
    chosen = build("logical_and", build("greater", x, 0.0), build("less", x, likes))
    graph = build.returns(
        build("where", chosen, x, likes), chosen, build("any", chosen, axis=1)
    )
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(50, 9)).astype("float32"), rng.integers(0, 2, (50, 9))]
    for found, wanted in zip(
        NumPyProgram(graph, NUMPY)(arrays), slowly(graph, arrays), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype


def test_a_number_argument_is_converted_to_the_dtype_of_the_array():
    build = Building("float32")
    x, rate = build.given(30_000), build.given(weak=True)
    graph = build.returns(build("multiply", build("add", x, 1.0), rate))
    run, array = NumPyProgram(graph, NUMPY), np.ones(30_000, np.float32)
    assert run([array, 0.5])[0][0] == 1.0
    assert run([array, 2.0])[0].dtype == np.float32


def test_transposed_inputs_are_not_copied():
    build = Building("float64")
    x, y = build.given(30, 20, 10), build.given(10, 30, 20)
    turned = build("permute_dims", y, (1, 2, 0))
    graph = build.returns(build("tanh", build("add", x, turned)))
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(30, 20, 10)), rng.normal(size=(10, 30, 20))]
    np.testing.assert_allclose(
        NumPyProgram(graph, NUMPY)(arrays)[0], slowly(graph, arrays)[0], rtol=1e-12
    )
