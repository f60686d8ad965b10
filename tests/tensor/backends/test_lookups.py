"""Indexing, updates, sorting and padding on all backends match NumPy and PyTorch."""

import numpy as np
import pytest
import torch

import seqloom as sl
from backend_oracle import everywhere, found
from seqloom.errors import ArgumentError, OutOfRangeError

INDEX_KEYS = {
    "number": (1, ...),
    "negative number": (slice(None), -1, ...),
    "slice": (slice(None), slice(1, 3), ...),
    "step": (slice(0, 3, 2), ...),
    "backwards": (slice(None), slice(None, None, -2), ...),
    "new axis": (slice(None), None, 2, ...),
    "mixed": (1, slice(3, 0, -1), slice(1, 5, 3)),
}
INDEX_ARRAY = np.array([3, 0])
KEYS_WITHOUT_REPEATS = {
    "number, slice, array": (0, slice(None), INDEX_ARRAY),
    "array, slice, number": (INDEX_ARRAY[1:], slice(1, 3), -1),
    "number, new axis, array": (1, None, INDEX_ARRAY),
    "number with array": (slice(None), 0, INDEX_ARRAY),
}
INPUT_ARRAY = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
keys = pytest.mark.parametrize("key", INDEX_KEYS.values(), ids=INDEX_KEYS)


def numbers(b, x):
    return np.asarray(b.to_numpy(x))


@everywhere
@keys
def test_indexing_equals_numpy(key, name):
    b = found(name)
    np.testing.assert_array_equal(
        numbers(b, b.index(b.asarray(INPUT_ARRAY), key)), INPUT_ARRAY[key]
    )


@everywhere
@pytest.mark.parametrize("key", KEYS_WITHOUT_REPEATS.values(), ids=KEYS_WITHOUT_REPEATS)
def test_integers_in_an_index_with_arrays_count_as_arrays(key, name):
    b = found(name)
    own = tuple(b.asarray(p) if isinstance(p, np.ndarray) else p for p in key)
    np.testing.assert_array_equal(
        numbers(b, b.index(b.asarray(INPUT_ARRAY), own)), INPUT_ARRAY[key]
    )
    expected = np.zeros_like(INPUT_ARRAY)
    expected[key] = INPUT_ARRAY[key]
    got = b.scatter_index(b.asarray(INPUT_ARRAY[key].copy()), own, INPUT_ARRAY.shape)
    np.testing.assert_array_equal(numbers(b, got), expected)


@everywhere
@keys
def test_scatter_index_reverses_indexing(key, name):
    b = found(name)
    expected = np.zeros_like(INPUT_ARRAY)
    expected[key] = INPUT_ARRAY[key]
    got = b.scatter_index(b.asarray(INPUT_ARRAY[key].copy()), key, INPUT_ARRAY.shape)
    np.testing.assert_array_equal(numbers(b, got), expected)


@everywhere
@keys
def test_slices_can_be_replaced_and_added_to(key, name):
    b, x = found(name), INPUT_ARRAY.copy()
    new = np.full_like(x[key], 7)
    replaced, added = x.copy(), x.copy()
    replaced[key], added[key] = 7, x[key] + 7
    for values in (7, b.asarray(new)):
        got = b.slice_update(b.asarray(x), key, values)
        np.testing.assert_array_equal(numbers(b, got), replaced)
        got = b.slice_add(b.asarray(x), key, values)
        np.testing.assert_array_equal(numbers(b, got), added)
    np.testing.assert_array_equal(x, INPUT_ARRAY)


@everywhere
def test_values_at_repeated_indices_are_summed(name):
    b = found(name)
    places = b.asarray(np.array([2, 0, 2], np.int32))
    values = np.arange(15, dtype=np.float32).reshape(3, 5)
    if name == "strict":  # an index in the standard does not mix arrays with slices
        got = b.scatter_index(b.asarray(values[:, 0].copy()), (places,), (3,))
        assert numbers(b, got).tolist() == [5, 0, 10]
        return
    expected = np.zeros((4, 5), np.float32)
    np.add.at(expected, np.array([2, 0, 2]), values)
    got = b.scatter_index(b.asarray(values), (places, slice(None)), (4, 5))
    np.testing.assert_array_equal(numbers(b, got), expected)
    got = b.slice_add(b.zeros((5, 4)), (slice(None), places), b.asarray(values.T.copy()))
    np.testing.assert_array_equal(numbers(b, got), expected.T)


@everywhere
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scatter_add_equals_torch(axis, name):
    rng, b = np.random.default_rng(0), found(name)
    x, src = rng.random((4, 3, 5), np.float32), rng.random((4, 3, 5), np.float32)
    index = rng.integers(0, 3, (4, 3, 5))
    tensors = torch.from_numpy(x), torch.from_numpy(index), torch.from_numpy(src)
    expected = tensors[0].scatter_add(axis, *tensors[1:])
    got = b.scatter_add(
        b.asarray(x), b.asarray(index.astype(np.int32)), b.asarray(src), axis=axis
    )
    np.testing.assert_allclose(numbers(b, got), expected, rtol=1e-6)


@everywhere
def test_put_along_axis_equals_numpy(name):
    b, x = found(name), INPUT_ARRAY[0].copy()
    index = np.array([[3, 0, 1, 2, 3]], np.int32)
    expected = x.copy()
    np.put_along_axis(expected, index, -1, 0)
    got = b.put_along_axis(b.asarray(x), b.asarray(index), -1.0, axis=0)
    np.testing.assert_array_equal(numbers(b, got), expected)


@everywhere
def test_an_embedding_and_its_gradient_equal_torch(name):
    rng, b = np.random.default_rng(0), found(name)
    weight, grad = rng.random((6, 3), np.float32), rng.random((2, 4, 3), np.float32)
    ids = rng.integers(0, 6, (2, 4)).astype(np.int32)
    leaf = torch.from_numpy(weight).requires_grad_()
    expected = torch.nn.functional.embedding(torch.from_numpy(ids), leaf)
    (slope,) = torch.autograd.grad(expected, leaf, torch.from_numpy(grad))
    got = b.embedding(b.asarray(weight), b.asarray(ids))
    np.testing.assert_array_equal(numbers(b, got), expected.detach())
    got = b.embedding_grad(b.asarray(grad), b.asarray(ids), rows=6)
    np.testing.assert_allclose(numbers(b, got), slope, rtol=1e-6)


@everywhere
def test_pad_extends_and_crops_arrays(name):
    b, x = found(name), INPUT_ARRAY[0]
    expected = np.pad(x, ((1, 0), (0, 2)), constant_values=-1)
    got = b.pad(b.asarray(x), ((1, 0), (0, 2)), value=-1)
    np.testing.assert_array_equal(numbers(b, got), expected)
    got = b.pad(b.asarray(x), ((-1, 1), (2, -3)))
    expected = np.pad(x[1:, :2], ((0, 1), (2, 0)))
    np.testing.assert_array_equal(numbers(b, got), expected)


@everywhere
@pytest.mark.parametrize("axis", [0, 1])
def test_topk_returns_the_largest_values_and_their_indices(axis, name):
    b = found(name)
    x = np.random.default_rng(0).random((4, 5)).astype(np.float32)
    values, places = torch.topk(torch.from_numpy(x), 3, axis)
    got = b.topk(b.asarray(x), 3, axis=axis)
    np.testing.assert_array_equal(numbers(b, got[0]), values)
    np.testing.assert_array_equal(numbers(b, got[1]), places)


@everywhere
@pytest.mark.parametrize("k", [1, 30, 80])
def test_topk_returns_equal_values_in_index_order(k, name):
    b = found(name)
    x = np.array([1, 3, 3, 0, 2, 3, 0, 1] * 10, np.float32)
    values, places = b.topk(b.asarray(x), k)
    expected = sorted(range(80), key=lambda place: (-x[place], place))[:k]
    assert numbers(b, places).tolist() == expected
    assert numbers(b, values).tolist() == x[expected].tolist()


@everywhere
def test_one_hot_marks_the_class(name):
    b = found(name)
    got = b.one_hot(b.asarray(np.array([[2, 0]], np.int32)), 3, dtype="float32")
    assert numbers(b, got).tolist() == [[[0, 0, 1], [1, 0, 0]]]


EINSUM_EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("bhld,bhsd->bhls", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("ij,ij", (2, 3), (2, 3)),
    ("ii->i", (3, 3)),
    ("ij->ji", (2, 3)),
    ("...ij,jk->...ik", (2, 5, 3, 4), (4, 2)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("i,j->ij", (2,), (3,)),
    ("ab,bc", (2, 3), (3, 2)),
    ("bi,bi->b", (2, 3), (1, 3)),
]


@everywhere
@pytest.mark.parametrize(("equation", "shapes"), [(e, s) for e, *s in EINSUM_EQUATIONS])
def test_einsum_equals_numpy(equation, shapes, name):
    rng, b = np.random.default_rng(0), found(name)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    got = b.einsum(equation, *(b.asarray(a) for a in arrays))
    expected = np.einsum(equation, *arrays)
    np.testing.assert_allclose(numbers(b, got), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("equation", ["!!", "ij,jk", "ij->k", "i->i", "ij->ii"])
def test_einsum_rejects_an_equation_with_the_wrong_axes(equation):
    with pytest.raises(ArgumentError, match="does not fit operands"):
        found("numpy").einsum(equation, np.ones((3, 3)))


@pytest.mark.parametrize("k", [-1, 5])
@pytest.mark.parametrize("name", ["strict", "numpy"])
def test_topk_rejects_a_count_outside_the_axis(k, name):
    b = found(name)
    with pytest.raises(ArgumentError, match="from 0 to 4"):
        b.topk(b.asarray([1.0, 2.0, 3.0, 4.0]), k)


@pytest.mark.parametrize("name", ["numpy", "torch"])
@pytest.mark.parametrize("place", [4, -5, 2**40])
def test_an_index_beyond_the_axis_is_an_error(place, name):
    b = sl.tensor.backend(name)
    x, places = b.tensor(np.ones((2, 4), "f4")), b.tensor([[place], [0]])
    with pytest.raises(OutOfRangeError, match="out of bounds"):
        sl.tensor.apply("take_along_axis", x, places, axis=1)


@everywhere
def test_lookups_along_an_axis_accept_negative_indices(name):
    b = found(name)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    places = np.array([[-1, 1, -4]], np.int32)
    got = b.take_along_axis(b.asarray(x), b.asarray(places), axis=1)
    assert numbers(b, got).tolist() == [[3, 1, 0], [7, 5, 4]]


@everywhere
def test_scatter_add_rejects_a_missing_axis(name):
    b = found(name)
    index = b.asarray(np.array([0], np.int32))
    with pytest.raises(IndexError):
        b.scatter_add(b.asarray([1.0]), index, b.asarray([1.0]), axis=5)
