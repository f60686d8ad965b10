"""Derivatives of shape changes, indexing and updates."""

import numpy as np
import pytest

import rule_oracle
from rule_oracle import Case, torch, values

X, Y = values(3, 4), values(3, 4, seed=1)
INDEX_ARRAY = np.array([[0, 2, 2], [1, 0, 3], [3, 3, 3]])
DISTINCT_INDEX_ARRAY = np.array([[0, 2], [1, 0], [3, 1]])
EMBEDDING_IDS = np.array([[2, 0], [2, 1]])


def slice_update(x, _key, value):
    out = x.clone()
    out[1:, ::2] = value
    return out


def slice_add(x, _key, value):
    return x.index_put((torch.tensor([2, 0, 2]),), value, accumulate=True)


RULE_CASES = [
    Case("reshape", [X, (2, 6)], torch.reshape),
    Case("expand_dims", [X], lambda x: x[:, None], {"axis": 1}),
    Case("squeeze", [values(3, 1, 2)], lambda x: x[:, 0], {"axis": 1}),
    Case("permute_dims", [values(2, 3, 4), (2, 0, 1)], torch.permute),
    Case("matrix_transpose", [X], lambda x: x.mT),
    Case("broadcast_to", [values(4, 1), (2, 4, 3)], torch.broadcast_to),
    Case("flip", [X], lambda x: x.flip(1), {"axis": 1}),
    Case("flip", [X], lambda x: x.flip(0, 1), {}),
    Case("roll", [X, 3], lambda x, s: x.roll(s, 1), {"axis": 1}),
    Case("roll", [X, (1, -2)], lambda x, s: x.roll(s, (0, 1)), {"axis": (0, 1)}),
    Case("roll", [X, 5], torch.roll),
    Case("repeat", [X, 3], lambda x, n: x.repeat_interleave(n, 1), {"axis": 1}),
    Case("repeat", [X, 2], torch.repeat_interleave),
    Case(
        "repeat",
        [X, np.array([0, 2, 1])],
        lambda x, n: x.repeat_interleave(n, 0),
        {"axis": 0},
    ),
    Case("tile", [X, (2, 3)], torch.tile),
    Case("tile", [values(3), (2, 2)], torch.tile),
    Case("unstack", [X], lambda x: x.unbind(1)[2], {"axis": 1}, output=2),
    Case(
        "pad", [X, ((1, 0), (2, 3))], lambda x, _: torch.nn.functional.pad(x, (2, 3, 1, 0))
    ),
    Case("sort", [X], lambda x: x.sort(1).values, {"axis": 1}),
    Case(
        "sort",
        [X],
        lambda x: x.sort(0, descending=True).values,
        {"axis": 0, "descending": True},
    ),
    Case("topk", [X, 2], lambda x, k: x.topk(k).values, {}, output=0),
    Case("index", [X, (slice(0, 2), -1)], lambda x, key: x[key]),
    Case("index", [X, np.array([1, 1, 2])], lambda x, key: x[key]),
    Case("index", [X, X > 0], lambda x, key: x[key]),
    Case(
        "index", [X, (slice(None), None, np.array([0, 0]))], lambda x, _: x[:, None, [0, 0]]
    ),
    Case("take", [X, np.array([3, 0, 3])], lambda x, p: x[:, p], {"axis": 1}),
    Case("take_along_axis", [X, INDEX_ARRAY], lambda x, p: x.gather(1, p), {"axis": 1}),
    Case(
        "scatter_add",
        [X, INDEX_ARRAY, values(3, 3)],
        lambda x, p, s: x.scatter_add(1, p, s),
        {"axis": 1},
    ),
    Case(
        "scatter_add",
        [X, np.array([[0, 2], [2, 1]]), values(2, 2)],
        lambda x, p, s: x.scatter_add(0, p, s),
        {"axis": 0},
    ),
    Case(
        "put_along_axis",
        [X, DISTINCT_INDEX_ARRAY, values(3, 2)],
        lambda x, p, s: x.scatter(1, p, s),
        {"axis": 1},
    ),
    Case(
        "slice_update", [X, (slice(1, None), slice(0, None, 2)), values(2, 2)], slice_update
    ),
    Case("slice_update", [X, (slice(1, None), slice(0, None, 2)), 0.5], slice_update),
    Case("slice_update", [X, (slice(1, None), slice(0, None, 2)), values(2)], slice_update),
    Case("slice_add", [X, np.array([2, 0, 2]), values(3, 4, seed=2)], slice_add),
    Case(
        "scatter_index",
        [values(2, 4), np.array([2, 2]), (3, 4)],
        lambda v, key, shape: torch.zeros(shape).double().index_add(0, key, v),
    ),
    Case("embedding", [X, EMBEDDING_IDS], lambda w, ids: w[ids]),
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


@pytest.mark.parametrize(
    ("name", "axis"), [("concat", 0), ("concat", 1), ("stack", 0), ("stack", 2)]
)
def test_each_concatenated_tensor_receives_its_slice_of_the_gradient(name, axis):
    x = rule_oracle.AUTODIFF_LEVEL_1.tensor(X, requires_grad=True)
    y = rule_oracle.AUTODIFF_LEVEL_1.tensor(Y, requires_grad=True)
    out = rule_oracle.apply(name, [x, y, rule_oracle.NUMPY.tensor(Y)], axis=axis)
    weights = values(*out.shape)
    grads = (out * weights).sum().backward()
    joined = rule_oracle.apply(
        name,
        [rule_oracle.NUMPY.tensor(each) for each in (0 * X, 0 * X + 1, 0 * X + 2)],
        axis=axis,
    ).numpy()
    assert grads.wrt(x).numpy().ravel().tolist() == weights[joined == 0].tolist()
    assert grads.wrt(y).numpy().ravel().tolist() == weights[joined == 1].tolist()


def test_concatenation_without_axis_gives_each_tensor_its_slice_of_the_gradient():
    x = rule_oracle.AUTODIFF_LEVEL_1.tensor(X, requires_grad=True)
    out = rule_oracle.apply("concat", [rule_oracle.NUMPY.tensor(values(2)), x], axis=None)
    weights = values(14)
    grads = (out * weights).sum().backward()
    assert grads.wrt(x).numpy().ravel().tolist() == weights[2:].tolist()
