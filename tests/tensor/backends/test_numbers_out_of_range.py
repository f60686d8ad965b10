"""A Python integer out of the range of a dtype is an error, or the result is exact."""

import operator

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import NumberRangeError

UINT8_ARRAY = np.array([0, 44, 200], "uint8")
ARITHMETIC_OPERATORS = ["add", "sub", "mul", "floordiv", "mod", "and_", "or_", "xor", "pow"]
COMPARISON_OPERATORS = ["eq", "ne", "lt", "le", "gt", "ge"]
libraries = pytest.mark.parametrize("library", ["numpy", "torch", "jax"])


def backend(library):
    pytest.importorskip(library)
    return sl.tensor.backend(library)


@libraries
@pytest.mark.parametrize("name", ARITHMETIC_OPERATORS)
def test_arithmetic_with_a_number_outside_the_type_is_an_error(library, name):
    operate, x = getattr(operator, name), backend(library).tensor(UINT8_ARRAY)
    with pytest.raises(NumberRangeError, match="300"):
        operate(x, 300)
    with pytest.raises(NumberRangeError, match="300"):
        operate(300, x)


@libraries
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_maximum_with_a_number_outside_the_type_is_an_error(library, name):
    with pytest.raises(NumberRangeError, match="-1"):
        getattr(sl.tensor, name)(backend(library).tensor(UINT8_ARRAY), -1)


@libraries
@pytest.mark.parametrize("name", COMPARISON_OPERATORS)
@pytest.mark.parametrize("number", [300, -1, -100, 2**70, 44])
def test_a_comparison_with_any_integer_is_exact(library, name, number):
    operate, x = getattr(operator, name), backend(library).tensor(UINT8_ARRAY)
    wanted = [operate(each, number) for each in UINT8_ARRAY.tolist()]
    assert operate(x, number).tolist() == wanted
    assert operate(number, x).tolist() == [
        operate(number, each) for each in UINT8_ARRAY.tolist()
    ]


@libraries
def test_a_clip_bound_outside_the_type_has_no_effect(library):
    x = backend(library).tensor(UINT8_ARRAY)
    assert sl.tensor.clip(x, -5, 300).tolist() == UINT8_ARRAY.tolist()
    assert sl.tensor.clip(x, 40, 300).tolist() == [40, 44, 200]


@libraries
def test_writing_a_number_outside_the_type_is_an_error(library):
    made = backend(library)
    x = made.tensor(UINT8_ARRAY)
    for put in (
        lambda: x.at[0].set(300),
        lambda: x.at[0].add(-1),
        lambda: sl.tensor.where(x > 3, x, 300),
        lambda: sl.tensor.where(x > 3, 300, x),
        lambda: made.tensor([1, 300], dtype="uint8"),
        lambda: made.tensor(-1, dtype="uint8"),
    ):
        with pytest.raises(NumberRangeError, match=r"is out of range for uint8"):
            put()


INTEGER_DTYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32"]


@libraries
@pytest.mark.parametrize("dtype", INTEGER_DTYPES)
def test_arange_beyond_the_range_of_its_dtype_is_an_error(library, dtype):
    xp, limits = backend(library).array_namespace(), np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    assert xp.arange(high - 1, high + 1, dtype=dtype).tolist() == [high - 1, high]
    assert xp.arange(low + 1, low - 1, -1, dtype=dtype).tolist() == [low + 1, low]
    assert xp.arange(high + 9, high, dtype=dtype).tolist() == []
    assert xp.linspace(0, high - 1, 2, dtype=dtype).tolist() == [0, high - 1]
    for make in (
        lambda: xp.arange(high, high + 2, dtype=dtype),
        lambda: xp.arange(high + 9, high + 12, dtype=dtype),
        lambda: xp.arange(low - 1, low + 2, dtype=dtype),
        lambda: xp.arange(low + 1, low - 2, -1, dtype=dtype),
        lambda: xp.linspace(0, high + 1, 3, dtype=dtype),
        lambda: xp.linspace(low - 1, 0, 3, dtype=dtype),
    ):
        with pytest.raises(NumberRangeError, match=rf"out of range for {dtype} "):
            make()


@libraries
@pytest.mark.parametrize("dtype", INTEGER_DTYPES)
def test_filling_with_a_number_outside_the_type_is_an_error(library, dtype):
    made, limits = backend(library), np.iinfo(dtype)
    xp = made.array_namespace()
    low, high = int(limits.min), int(limits.max)
    assert xp.full((1,), high, dtype=dtype).tolist() == [high]
    for value in (high + 1, low - 1, 2**70, 1e30, float("nan"), float("-inf")):
        for make in (
            lambda value=value: xp.full((1,), value, dtype=dtype),
            lambda value=value: xp.asarray([value], dtype=dtype),
            lambda value=value: xp.asarray(value, dtype=np.dtype(dtype)),
            lambda value=value: made.tensor([0, value], dtype=getattr(np, dtype)),
        ):
            with pytest.raises(NumberRangeError, match=dtype):
                make()


@libraries
def test_an_integer_beyond_the_default_type_is_exact_or_an_error(library):
    made = backend(library)
    xp = made.array_namespace()
    for make in (lambda: xp.full((1,), 2**31), lambda: xp.arange(2**31, 2**31 + 1)):
        try:
            assert make().tolist() == [2**31]
        except NumberRangeError as error:
            assert "int32" in str(error)  # noqa: PT017 - one backend has no other type


def test_padding_by_a_large_integer_is_exact_on_torch():
    x = backend("torch").tensor([0])
    padded = sl.tensor.apply("pad", x, ((1, 0),), value=2**53 + 1)
    assert padded.tolist() == [2**53 + 1, 0]
    with pytest.raises(NumberRangeError, match="int8"):
        sl.tensor.apply("pad", x.astype("int8"), ((1, 0),), value=128)


@libraries
def test_bytes_can_be_divided_by_any_integer(library):
    x = backend(library).tensor(UINT8_ARRAY)
    np.testing.assert_allclose((x / 300).numpy(), UINT8_ARRAY / 300, rtol=1e-6)
    np.testing.assert_allclose(
        (300 / (x + 1)).numpy(), 300 / (UINT8_ARRAY + 1.0), rtol=1e-6
    )


@libraries
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32"])
def test_indices_may_have_any_integer_type(library, dtype):
    made = sl.tensor.Autodiff(backend(library))
    rows = np.arange(8.0, dtype="float32").reshape(4, 2)
    places = np.array([3, 1, 0, 1], dtype)  # integer indices, not a mask
    x = made.tensor(rows, requires_grad=True)
    for given in (made.tensor(places), places):
        assert x[given].tolist() == rows[places].tolist()
    ids = made.tensor(places)
    assert sl.nn.functional.embedding(ids, x).tolist() == rows[places].tolist()
    assert sl.tensor.apply("take", x, ids, axis=0).tolist() == rows[places].tolist()
    for function in (lambda: x[ids], lambda: sl.nn.functional.embedding(ids, x)):
        slope = (function() * 2.0).sum().backward().wrt(x)
        assert slope.tolist() == [[2.0] * 2, [4.0] * 2, [0.0] * 2, [2.0] * 2]
    assert x.at[ids].add(1.0).tolist() == np.add(rows, [[1], [2], [0], [1]]).tolist()


@libraries
def test_labels_may_be_bytes(library):
    made = backend(library)
    logits = made.tensor(np.arange(6.0, dtype="float32").reshape(2, 3))
    labels = np.array([2, 0])
    found = sl.nn.functional.cross_entropy(logits, made.tensor(labels.astype("uint8")))
    wanted = sl.nn.functional.cross_entropy(logits, made.tensor(labels))
    assert found.item() == wanted.item()
