"""Errors that can be detected during capture are raised at capture, with the line."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
import seqloom.nn.functional as F
from seqloom.errors import CaptureError, DTypeError, OutOfRangeError, ShapeError

NUMPY = sl.tensor.backend("numpy")
apply = sl.tensor.apply
compiled: Any = sl.tensor.compile
INPUT_VALUES = [1.0, 2.0, 3.0]

FUNCTIONS_WITH_DYNAMIC_SHAPES = {
    "mask": lambda x: x[x > 1],
    "length of a mask": lambda x: x * x[x > 1].shape[0],
    "nonzero": lambda x: apply("nonzero", x),
    "repeat": lambda x: apply("repeat", x, x.astype("int64")),
}


@pytest.mark.parametrize(
    "step", FUNCTIONS_WITH_DYNAMIC_SHAPES.values(), ids=FUNCTIONS_WITH_DYNAMIC_SHAPES
)
def test_a_shape_that_depends_on_values_is_an_error_that_names_the_line(step):
    line = step.__code__.co_firstlineno
    with pytest.raises(CaptureError, match=rf"test_errors_at_capture.py:{line}: .*where"):
        compiled(step)(NUMPY.tensor(INPUT_VALUES))


def test_a_mask_with_known_values_can_be_an_index():
    mask = np.array([True, False, True])
    taken = sl.tensor.compile(lambda x: x[mask] * 2)(NUMPY.tensor(INPUT_VALUES))
    assert taken.tolist() == [2, 6]


def test_a_mask_can_select_elements_to_replace():
    replaced = sl.tensor.compile(lambda x: x.at[x > 1].set(5.0))(NUMPY.tensor(INPUT_VALUES))
    assert replaced.tolist() == [1, 5, 5]


FAILING_FUNCTIONS = {
    "stack": (ShapeError, lambda x: apply("stack", [x, x[1:]], axis=0)),
    "concat": (ShapeError, lambda x: apply("concat", [x, x.reshape(-1, 1)], axis=0)),
    "set": (ShapeError, lambda x: x.at[0:2].set(x)),
    "add": (ShapeError, lambda x: x + x[1:]),
    "max": (ShapeError, lambda x: x[3:].max()),
    "sum": (OutOfRangeError, lambda x: x.sum(axis=3)),
    "roll": (OutOfRangeError, lambda x: apply("roll", x, 1, axis=1)),
    "softmax": (DTypeError, lambda x: F.softmax(x > 0, -1)),
}


@pytest.mark.parametrize(
    ("kind", "step"), FAILING_FUNCTIONS.values(), ids=FAILING_FUNCTIONS
)
def test_shapes_that_do_not_match_are_an_error_that_names_the_line(kind, step):
    line = step.__code__.co_firstlineno
    with pytest.raises(kind, match=rf"test_errors_at_capture.py:{line}: .*float32|bool"):
        compiled(step)(NUMPY.tensor(INPUT_VALUES))
