"""The memory of a compiled program is planned in advance, private and reused."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from plan_graphs import Building, random_group, slowly
from seqloom.tensor import backend
from seqloom.tensor._compile._numpy import NumPyProgram
from seqloom.tensor._compile._numpy._layout import MemorySpan, set_span_offsets

NUMPY = backend("numpy", num_threads=1)


def network(layers=6, width=64):
    """Return a graph of matrix products with forward and backward operations."""
    build = Building("float32")
    x, weights = build.given(32, width), [build.given(width, width) for _ in range(layers)]
    outs = [x]
    for weight in weights:
        outs.append(
            build("tanh", build("matmul", outs[-1], build("matrix_transpose", weight)))
        )
    grad = build("multiply", outs[-1], 2.0)
    made = []
    for weight, out, before in zip(weights[::-1], outs[:0:-1], outs[-2::-1], strict=True):
        slope = build("subtract", 1.0, build("square", out))
        grad = build("multiply", grad, slope)
        made.append(build("matmul", build("matrix_transpose", grad), before))
        grad = build("matmul", grad, weight)
    loss = build("mean", build("square", outs[-1]))
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=v.shape).astype("float32") / 8 for v in build.graph.inputs]
    return build.returns(loss, *made), arrays


def test_a_compiled_network_equals_its_operations():
    graph, arrays = network()
    for found, wanted in zip(
        NumPyProgram(graph, NUMPY)(arrays), slowly(graph, arrays), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_no_value_is_read_after_its_memory_is_reused():
    graph, arrays = network()
    clean, poisoned = (
        NumPyProgram(graph, NUMPY)(arrays),
        NumPyProgram(graph, NUMPY, poison=True)(arrays),
    )
    for one, other in zip(clean, poisoned, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(20))
def test_random_fused_operations_do_not_read_reused_memory(seed):
    graph, arrays = random_group(seed, "float64")
    pairs = zip(
        NumPyProgram(graph, NUMPY)(arrays),
        NumPyProgram(graph, NUMPY, poison=True)(arrays),
        strict=True,
    )
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)


def test_a_compiled_step_reuses_memory_within_a_call():
    graph, _ = network(layers=8)
    results = sum(v.nbytes for operation in graph.operations for v in operation.outputs)
    assert NumPyProgram(graph, NUMPY).nbytes < results / 4


def test_the_next_call_does_not_change_earlier_outputs():
    graph, arrays = network()
    run = NumPyProgram(graph, NUMPY)
    first = run(arrays)
    kept = [out.copy() for out in first]
    run([array + 1 for array in arrays])
    for out, copy in zip(first, kept, strict=True):
        np.testing.assert_array_equal(out, copy)


def test_no_output_shares_memory_with_an_input_or_another_output():
    build = Building("float64")
    x = build.given(4, 6)
    doubled = build("multiply", x, 2.0)
    turned, flat = build("matrix_transpose", doubled), build("reshape", doubled, (24,))
    row = build("index", doubled, 1)
    graph = build.returns(doubled, turned, flat, row, build("reshape", x, (24,)), doubled)
    array = np.arange(24.0).reshape(4, 6)
    outputs = NumPyProgram(graph, NUMPY)([array])
    assert not any(np.shares_memory(a, b) for a, b in combinations([array, *outputs], 2))
    for found, wanted in zip(outputs, slowly(graph, [array]), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_an_input_that_is_an_output_is_returned_unchanged():
    build = Building("float64")
    x = build.given(3)
    array = np.ones(3)
    assert NumPyProgram(build.returns(x), NUMPY)([array])[0] is array


def test_a_compiled_step_does_not_change_its_inputs():
    graph, arrays = network()
    kept = [array.copy() for array in arrays]
    NumPyProgram(graph, NUMPY)(arrays)
    for array, copy in zip(arrays, kept, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_repeated_calls_allocate_only_their_outputs():
    graph, arrays = network(width=128)
    run = NumPyProgram(graph, NUMPY)
    run(arrays)
    tracemalloc.start()
    try:
        outputs = run(arrays)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < sum(out.nbytes for out in outputs) + 20_000


def test_concurrent_calls_have_separate_memory():
    graph, arrays = network()
    run = NumPyProgram(graph, NUMPY)
    many = [[array * (1 + turn / 8) for array in arrays] for turn in range(8)]
    alone = [run(each) for each in many]
    with ThreadPoolExecutor(8) as pool:
        for found, wanted in zip(pool.map(run, many * 4), alone * 4, strict=True):
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(one, other)


def test_strided_and_reversed_inputs_are_accepted():
    graph, arrays = network()
    turned = [np.asfortranarray(arrays[0])[:, ::-1], *arrays[1:]]
    straight = [turned[0].copy(order="C"), *arrays[1:]]
    for one, other in zip(
        NumPyProgram(graph, NUMPY)(turned),
        NumPyProgram(graph, NUMPY)(straight),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


intervals = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 500)), max_size=20
)


@given(intervals)
def test_memory_of_values_in_use_at_the_same_time_does_not_overlap(drawn):
    found = {
        number: MemorySpan(number, size, min(a, b), max(a, b))
        for number, (a, b, size) in enumerate(drawn)
    }
    total = set_span_offsets(found)
    for one, other in combinations(found.values(), 2):
        if one.first <= other.last and other.first <= one.last:
            apart = one.offset + one.nbytes <= other.offset
            assert apart or other.offset + other.nbytes <= one.offset
    assert all(
        span.offset % 64 == 0 and span.offset + span.nbytes <= total
        for span in found.values()
    )
