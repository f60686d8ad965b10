"""Indices and labels out of range are errors on every backend, eager and compiled."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from backend_oracle import found
from seqloom.errors import OutOfRangeError
from seqloom.tensor import apply

EMBEDDING_TABLE = np.arange(12, dtype=np.float32).reshape(3, 4)
ONE_ROW = np.ones((1, 4), np.float32)
ROW_OF_LOGITS = np.array([[1.0, 2.0, 3.0]], np.float32)

# Calls that index an axis of length 3; negative indices count from the end.
CALLS_THAT_ALLOW_NEGATIVES = {
    "take": lambda t, i: apply("take", t(EMBEDDING_TABLE), i, axis=0),
    "take_along_axis": lambda t, i: apply(
        "take_along_axis", t(EMBEDDING_TABLE.T), i[None], axis=1
    ),
    "index": lambda t, i: t(EMBEDDING_TABLE)[i],
    "index after a slice": lambda t, i: t(EMBEDDING_TABLE.T)[:, i],
    "at.set": lambda t, i: t(EMBEDDING_TABLE).at[i].set(t(ONE_ROW)),
    "at.add": lambda t, i: t(EMBEDDING_TABLE).at[i].add(t(ONE_ROW)),
    "put_along_axis": lambda t, i: apply(
        "put_along_axis", t(EMBEDDING_TABLE), i[:, None], t(ONE_ROW[:, :1]), axis=0
    ),
    "scatter_add": lambda t, i: apply(
        "scatter_add", t(EMBEDDING_TABLE), i[:, None], t(ONE_ROW), axis=0
    ),
    "scatter_index": lambda t, i: apply("scatter_index", t(ONE_ROW), i, (3, 4)),
}
# Calls that index an axis of length 3; negative indices are invalid.
CALLS_THAT_REJECT_NEGATIVES = {
    "embedding": lambda t, i: sl.nn.functional.embedding(i, t(EMBEDDING_TABLE)),
    "embedding_grad": lambda t, i: apply("embedding_grad", t(ONE_ROW), i, rows=3),
    "cross_entropy": lambda t, i: sl.nn.functional.cross_entropy(t(ROW_OF_LOGITS), i),
    "cross_entropy by weights": lambda t, i: sl.nn.functional.cross_entropy(
        t(ROW_OF_LOGITS), i, t(EMBEDDING_TABLE[:, 0])
    ),
    "nll_loss": lambda t, i: sl.nn.functional.nll_loss(t(ROW_OF_LOGITS), i),
}
INDEXING_CALLS = {**CALLS_THAT_ALLOW_NEGATIVES, **CALLS_THAT_REJECT_NEGATIVES}


def outcome(call: Any, place: int, name: str, *, compiled: bool) -> Any:
    """Return the result of a call with an index, or the error."""
    b = found(name)
    step = lambda i: call(b.tensor, i)  # noqa: E731
    step = sl.tensor.compile(step) if compiled else step
    return step(b.tensor(np.array([place], np.int32))).numpy()


everywhere = pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
# PyTorch takes seconds to compile, so only one test below compiles with it.
compiled_or_not = pytest.mark.parametrize(
    ("name", "compiled"),
    [("numpy", False), ("numpy", True), ("torch", False), ("jax", False), ("jax", True)],
)


@compiled_or_not
@pytest.mark.parametrize("call", INDEXING_CALLS.values(), ids=INDEXING_CALLS)
def test_an_index_outside_its_axis_is_an_error(call, compiled, name):
    for place in (3, 7, -4):
        with pytest.raises(OutOfRangeError):
            outcome(call, place, name, compiled=compiled)


@compiled_or_not
@pytest.mark.parametrize(
    "call", CALLS_THAT_REJECT_NEGATIVES.values(), ids=CALLS_THAT_REJECT_NEGATIVES
)
def test_negative_ids_and_labels_are_an_error(call, compiled, name):
    with pytest.raises(OutOfRangeError):
        outcome(call, -1, name, compiled=compiled)


def test_a_compiled_torch_program_rejects_an_invalid_label():
    with pytest.raises(OutOfRangeError):
        outcome(CALLS_THAT_REJECT_NEGATIVES["nll_loss"], -1, "torch", compiled=True)


@everywhere
@pytest.mark.parametrize(
    "call", CALLS_THAT_ALLOW_NEGATIVES.values(), ids=CALLS_THAT_ALLOW_NEGATIVES
)
def test_a_negative_index_counts_from_the_end(call, name):
    expected = outcome(call, 2, "numpy", compiled=False)
    np.testing.assert_array_equal(outcome(call, -1, name, compiled=False), expected)


def test_jax_returns_nan_for_an_invalid_index_in_a_compiled_step():
    b = found("jax")
    step = sl.tensor.compile(lambda x: b.tensor(EMBEDDING_TABLE)[x.astype("int32")])
    assert np.isnan(step(b.tensor(np.array([7.0], np.float32))).numpy()).all()
    assert step(b.tensor(np.array([-1.0], np.float32))).numpy().tolist() == [[8, 9, 10, 11]]
