"""Results of a compiled step equal the eager results, or an error is raised."""

from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import CaptureError

NUMPY = sl.tensor.backend("numpy")
compiled: Any = sl.tensor.compile


@dataclass
class Pair:
    """Object with a tensor as its attribute."""

    first: object


UNSUPPORTED_RESULTS = {
    "set": lambda x: {1, 2} if x is not None else x,
    "generator": lambda x: (x * n for n in range(3)),
    "dataclass": lambda x: Pair(x * 2),
    "function": lambda x: lambda: x,
}


@pytest.mark.parametrize("step", UNSUPPORTED_RESULTS.values(), ids=UNSUPPORTED_RESULTS)
def test_an_unsupported_result_of_a_compiled_step_is_an_error(step):
    with pytest.raises(CaptureError, match="return tensors, numbers"):
        compiled(step)(NUMPY.tensor([1.0]))


def test_a_compiled_step_returns_a_number_argument_as_a_number():
    compiled = sl.tensor.compile(lambda _x, rate: rate)
    found = [compiled(NUMPY.tensor([1.0]), rate) for rate in (0.5, 0.25)]
    assert found == [0.5, 0.25]
    assert type(found[0]) is float


@pytest.mark.parametrize("kind", [OrderedDict, lambda **d: defaultdict(list, d)])
def test_a_dict_returned_by_a_compiled_step_keeps_its_class(kind):
    given = kind(x=NUMPY.tensor([1.0]))
    found = sl.tensor.compile(lambda named: {"is": type(named).__name__, "it": named})(
        given
    )
    assert found["is"] == type(given).__name__
    assert type(found["it"]) is type(given)


def test_a_constant_array_result_is_copied_at_each_call():
    kept = np.ones(2)
    compiled = sl.tensor.compile(lambda x: (x, kept))
    compiled(NUMPY.tensor([1.0]))[1][0] = 7
    assert compiled(NUMPY.tensor([1.0]))[1].tolist() == [1, 1]


VIEW_FUNCTIONS = {
    "itself": lambda x: x,
    "flat": lambda x: x.reshape(-1),
    "turned": lambda x: x[::-1],
}


@pytest.mark.parametrize("view", VIEW_FUNCTIONS.values(), ids=VIEW_FUNCTIONS)
def test_a_view_of_an_argument_keeps_its_values_if_the_argument_changes(view):
    array = np.array([1.0, 2.0], "f4")
    wanted = view(array).copy()
    found = sl.tensor.compile(lambda _t, x: view(x))(NUMPY.tensor([1.0]), array)
    array[:] = 9
    assert np.array_equal(found.numpy(), wanted)


def test_a_result_that_is_a_view_of_reused_memory_is_copied():
    def spread(x):
        totals = x.sum(axis=-1, keepdims=True) * 2.0
        other = sl.tensor.apply("cumulative_sum", x.astype("int64"), axis=-1)
        wide = sl.tensor.apply("broadcast_to", totals, (2, *totals.shape))
        return wide, other.max(axis=1)

    x = NUMPY.tensor(np.arange(34, dtype="f4").reshape(17, 2))
    compiled = sl.tensor.compile(spread)
    wanted = spread(x)[0].numpy()
    for _ in range(2):
        assert np.array_equal(compiled(x)[0].numpy(), wanted)


@pytest.mark.filterwarnings("ignore:.*compiled 8 times")
def test_the_least_recently_used_compiled_programs_are_dropped():
    compiled = sl.tensor.compile(lambda x, n: x + n)
    x = NUMPY.tensor([1.0])
    for n in range(100, 200):
        assert compiled(x, n).item() == 1 + n
        assert compiled(x, 3).item() == 4
    assert compiled.recompiles == 100  # the call with the number 3 was compiled once
