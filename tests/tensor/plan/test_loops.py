"""A compiled loop runs the compiled program of its body repeatedly."""

import numpy as np

from plan_graphs import Building
from seqloom.tensor import backend
from seqloom.tensor._compile import Graph, Operation, Value
from seqloom.tensor._compile._numpy import NumPyProgram

FLOAT64 = np.dtype("float64")


def test_a_compiled_loop_passes_states_on_and_stacks_results():
    build = Building("float64")
    given = build.given(3), build.given(5, 3), build.given(3)
    carry, row, around, total, made = (
        Value(number, (3,), FLOAT64) for number in range(90, 95)
    )
    body = Graph(
        [carry, row, around],
        {},
        [
            Operation("add", (carry, row), {}, (total,)),
            Operation("multiply", (total, around), {}, (made,)),
        ],
        [total, made],
        {},
    )
    last, stack = Value(98, (3,), FLOAT64), Value(99, (5, 3), FLOAT64)
    options = {"body": body, "length": 5, "reverse": False}
    args = tuple([value] for value in given)
    build.graph.operations.append(Operation("scan", args, options, (last, stack)))
    arrays = [np.ones(3), np.arange(15.0).reshape(5, 3), np.full(3, 2.0)]
    found = NumPyProgram(build.returns(last, stack), backend("numpy"))(arrays)
    totals = 1 + np.cumsum(arrays[1], axis=0)
    np.testing.assert_array_equal(found[0], totals[-1])
    np.testing.assert_array_equal(found[1], 2 * totals)
