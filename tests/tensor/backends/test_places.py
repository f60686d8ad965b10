"""Indices and labels out of range have one verdict on every backend, eager and compiled."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from backend_oracle import found
from seqloom.errors import OutOfRangeError
from seqloom.tensor import apply

TABLE = np.arange(12, dtype=np.float32).reshape(3, 4)
ROWS = np.ones((1, 4), np.float32)
LOGITS = np.array([[1.0, 2.0, 3.0]], np.float32)

# Over the places of an axis of 3; those below 0 count from its end.
FROM_THE_END = {
    "take": lambda t, i: apply("take", t(TABLE), i, axis=0),
    "take_along_axis": lambda t, i: apply("take_along_axis", t(TABLE.T), i[None], axis=1),
    "index": lambda t, i: t(TABLE)[i],
    "index behind a slice": lambda t, i: t(TABLE.T)[:, i],
    "at.set": lambda t, i: t(TABLE).at[i].set(t(ROWS)),
    "at.add": lambda t, i: t(TABLE).at[i].add(t(ROWS)),
    "put_along_axis": lambda t, i: apply(
        "put_along_axis", t(TABLE), i[:, None], t(ROWS[:, :1]), axis=0
    ),
    "scatter_add": lambda t, i: apply("scatter_add", t(TABLE), i[:, None], t(ROWS), axis=0),
    "scatter_index": lambda t, i: apply("scatter_index", t(ROWS), i, (3, 4)),
}
# The same, and there is no place below 0.
FROM_0 = {
    "embedding": lambda t, i: sl.nn.functional.embedding(i, t(TABLE)),
    "embedding_grad": lambda t, i: apply("embedding_grad", t(ROWS), i, rows=3),
    "cross_entropy": lambda t, i: sl.nn.functional.cross_entropy(t(LOGITS), i),
    "cross_entropy by weights": lambda t, i: sl.nn.functional.cross_entropy(
        t(LOGITS), i, t(TABLE[:, 0])
    ),
    "nll_loss": lambda t, i: sl.nn.functional.nll_loss(t(LOGITS), i),
}
CALLS = {**FROM_THE_END, **FROM_0}


def outcome(call: Any, place: int, name: str, *, compiled: bool) -> Any:
    """What a call gives for an index."""
    b = found(name)
    step = lambda i: call(b.tensor, i)  # noqa: E731
    step = sl.tensor.compile(step) if compiled else step
    return step(b.tensor(np.array([place], np.int32))).numpy()


everywhere = pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
# A program of torch's takes seconds to make, and is held to the same in one test below.
compiled_or_not = pytest.mark.parametrize(
    ("name", "compiled"),
    [("numpy", False), ("numpy", True), ("torch", False), ("jax", False), ("jax", True)],
)


@compiled_or_not
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_index_beyond_its_axis_is_refused(call, compiled, name):
    for place in (3, 7, -4):
        with pytest.raises(OutOfRangeError):
            outcome(call, place, name, compiled=compiled)


@compiled_or_not
@pytest.mark.parametrize("call", FROM_0.values(), ids=FROM_0)
def test_no_row_and_no_class_is_counted_from_the_end(call, compiled, name):
    with pytest.raises(OutOfRangeError):
        outcome(call, -1, name, compiled=compiled)


def test_a_program_of_torchs_refuses_a_label_that_is_no_class():
    with pytest.raises(OutOfRangeError):
        outcome(FROM_0["nll_loss"], -1, "torch", compiled=True)


@everywhere
@pytest.mark.parametrize("call", FROM_THE_END.values(), ids=FROM_THE_END)
def test_an_index_below_0_counts_from_the_end(call, name):
    expected = outcome(call, 2, "numpy", compiled=False)
    np.testing.assert_array_equal(outcome(call, -1, name, compiled=False), expected)


def test_jax_reads_nan_at_an_index_that_a_compiled_step_computes_from_floats():
    b = found("jax")
    step = sl.tensor.compile(lambda x: b.tensor(TABLE)[x.astype("int32")])
    assert np.isnan(step(b.tensor(np.array([7.0], np.float32))).numpy()).all()
    assert step(b.tensor(np.array([-1.0], np.float32))).numpy().tolist() == [[8, 9, 10, 11]]
