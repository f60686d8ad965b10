"""Tests of Array API calls that Hypothesis does not draw: scalars, ``dtype=``, errors."""

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from conformance.backends import backend, wide

strict = pytest.importorskip("array_api_strict")

LIBRARY_NAMES = ("numpy", "torch", "jax")
DTYPES = ("int8", "int16", "int32", "int64", "uint8", "float32", "float64", "complex64")
DTYPES_OF_LIBRARY = {
    "jax": ("int8", "int64", "float32", "complex64")
}  # JAX compiles for each data type
libraries = pytest.mark.parametrize("library", LIBRARY_NAMES)
Claim = Callable[[Any, str], Any]


def row(xp, dtype, numbers=(1, 2, 3)):
    return xp.asarray(list(numbers), dtype=getattr(xp, dtype))


def matrix(xp, dtype):
    return xp.asarray([[1, 2], [3, 4]], dtype=getattr(xp, dtype))


CALLS_FOR_EVERY_DTYPE: dict[str, Claim] = {
    "sum in a type": lambda xp, t: xp.sum(row(xp, "int8"), dtype=getattr(xp, t)),
    "prod in a type": lambda xp, t: xp.prod(row(xp, "int8"), dtype=getattr(xp, t)),
    "cumulative_sum in a type": lambda xp, t: xp.cumulative_sum(
        row(xp, "int8"), dtype=getattr(xp, t), include_initial=True
    ),
    "diff beside more": lambda xp, t: xp.diff(
        row(xp, t), prepend=row(xp, t, [5]), append=row(xp, t, [9, 7])
    ),
    "arange": lambda xp, t: xp.arange(1, 7, 2, dtype=getattr(xp, t)),
    "eye": lambda xp, t: xp.eye(2, 3, k=-1, dtype=getattr(xp, t)),
    "full": lambda xp, t: xp.full((2,), 3, dtype=getattr(xp, t)),
    "astype": lambda xp, t: xp.astype(row(xp, "uint8"), getattr(xp, t), copy=False),
    "concat flat": lambda xp, t: xp.concat([matrix(xp, t), row(xp, t)], axis=None),
    "matmul of many": lambda xp, t: xp.matmul(matrix(xp, t), xp.stack([matrix(xp, t)] * 2)),
    "meshgrid": lambda xp, t: xp.meshgrid(row(xp, t), matrix(xp, t)[0, :], indexing="ij"),
    "moveaxis of two": lambda xp, t: xp.moveaxis(matrix(xp, t)[None, ...], (0, -1), (1, 0)),
    "repeat by an array": lambda xp, t: xp.repeat(row(xp, t), row(xp, "int64", [1, 0, 2])),
    "roll two axes": lambda xp, t: xp.roll(matrix(xp, t), 1, axis=(0, 1)),
    "a mask of no axes": lambda xp, t: row(xp, t)[xp.asarray(True)],
    "arrays and an integer": lambda xp, t: matrix(xp, t)[row(xp, "int64", [1, 0, 1]), 0],
    "tensordot": lambda xp, t: xp.tensordot(matrix(xp, t), matrix(xp, t), axes=2),
    "tile": lambda xp, t: xp.tile(row(xp, t), (2, 1, 2)),
    "unique_all": lambda xp, t: xp.unique_all(row(xp, t, [2, 1, 2])),
    "vecdot along the first": lambda xp, t: xp.vecdot(
        matrix(xp, t), matrix(xp, t), axis=-2
    ),
    "where beside a number": lambda xp, t: xp.where(
        xp.asarray([True, False, True]), row(xp, t), 7
    ),
    "a number over them": lambda xp, t: 7 + row(xp, t),
}
CALLS_FOR_REAL_DTYPES: dict[str, Claim] = {
    "searchsorted": lambda xp, t: xp.searchsorted(row(xp, t), row(xp, t, [2, 9, 0])),
    "searchsorted by a sorter": lambda xp, t: xp.searchsorted(
        row(xp, t, [3, 1, 2]), row(xp, t), sorter=row(xp, "int64", [1, 2, 0])
    ),
    "argmax that keeps the axis": lambda xp, t: xp.argmax(matrix(xp, t), keepdims=True),
    "clip by arrays": lambda xp, t: xp.clip(row(xp, t), row(xp, t, [2] * 3), max=2),
    "sort down": lambda xp, t: xp.sort(matrix(xp, t), axis=0, descending=True),
}
CALLS_FOR_FIXED_DTYPES: dict[str, Claim] = {
    "linspace in integers": lambda xp, _: xp.linspace(-10, 20, 5, dtype=xp.int32),
    "linspace of complex numbers": lambda xp, _: xp.linspace(1j, 2, 3),
    "round of complex numbers": lambda xp, _: xp.round(xp.asarray([1.5 - 2.5j])),
    "a complex number below": lambda xp, _: xp.divide(xp.asarray([1j]), 1 + 2j),
    "a complex number above": lambda xp, _: xp.divide(1 + 2j, xp.asarray([1j])),
    "reals beside a complex number": lambda xp, _: row(xp, "float32") * 2j,
    "unique complex numbers": lambda xp, _: xp.unique_counts(xp.asarray([1j, 0, 1j])),
    "each NaN by itself": lambda xp, _: xp.unique_counts(xp.asarray([np.nan, 1, np.nan])),
    "clip by NaN": lambda xp, _: xp.clip(row(xp, "float32"), float("nan"), 2.0),
    "an empty range": lambda xp, _: xp.arange(5, 0, 1),
    "products of no numbers": lambda xp, _: xp.matmul(xp.ones((2, 0)), xp.ones((0, 3))),
    "an axis backwards": lambda xp, _: xp.reshape(xp.arange(12), (3, 4))[::-1, None, ::-2],
}


def assert_same(ours, theirs):
    if isinstance(theirs, (tuple, list)):
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
        return
    found, wanted = ours.numpy(), np.asarray(theirs)
    narrow = {"float64": "float32", "complex128": "complex64"}
    if found.dtype.name == narrow.get(wanted.dtype.name):
        wanted = wanted.astype(found.dtype)  # array_api_strict defaults to float64
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(found, wanted, rtol=2e-6)


def check(claim, library, dtype=""):
    with wide(library), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        xp = backend(library).tensor(0).__array_namespace__()
        assert_same(claim(xp, dtype), claim(strict, dtype))


@libraries
@pytest.mark.parametrize("name", CALLS_FOR_EVERY_DTYPE)
def test_calls_with_every_dtype_agree_with_array_api_strict(library, name):
    for dtype in DTYPES_OF_LIBRARY.get(library, DTYPES):
        check(CALLS_FOR_EVERY_DTYPE[name], library, dtype)


@libraries
@pytest.mark.parametrize("name", CALLS_FOR_REAL_DTYPES)
def test_calls_with_every_real_dtype_agree_with_array_api_strict(library, name):
    for dtype in DTYPES_OF_LIBRARY.get(library, DTYPES)[:-1]:
        check(CALLS_FOR_REAL_DTYPES[name], library, dtype)


@libraries
@pytest.mark.parametrize("name", CALLS_FOR_FIXED_DTYPES)
def test_calls_with_fixed_dtypes_agree_with_array_api_strict(library, name):
    check(CALLS_FOR_FIXED_DTYPES[name], library)


INVALID_CALLS: dict[str, tuple[Claim, type[Exception]]] = {
    "places of an array without axes": (lambda xp, _: xp.nonzero(xp.ones(())), ValueError),
    "half of a row": (lambda xp, _: xp.tril(xp.ones(3)), ValueError),
    "the type of nothing": (lambda xp, _: xp.result_type(), ValueError),
    "a new axis too far": (lambda xp, _: xp.expand_dims(xp.ones(2), axis=3), IndexError),
    "an axis that is long": (lambda xp, _: xp.squeeze(xp.ones((2, 1)), 0), ValueError),
    "too many masks": (lambda xp, _: xp.ones(2)[xp.ones((2, 2)) > 0], IndexError),
    "a mask of another length": (lambda xp, _: xp.ones(2)[xp.ones(3) > 0], IndexError),
    "lengths below 0": (lambda xp, _: xp.zeros(-1), sl.errors.SeqloomError),
    "a kind that is none": (lambda xp, _: xp.isdtype(xp.int8, "few"), ValueError),
    "data that must be copied": (lambda xp, _: xp.asarray([1], copy=False), ValueError),
}


@libraries
@pytest.mark.parametrize("name", INVALID_CALLS)
def test_a_call_that_the_array_api_forbids_is_an_error(library, name):
    claim, kind = INVALID_CALLS[name]
    xp = backend(library).tensor(0).__array_namespace__()
    with pytest.raises(kind):
        claim(xp, "")


def methods():
    """Return the special methods of the standard's arrays, without those of += and -=."""
    own = vars(type(strict.ones(1)))
    left_out = {"__init__", "__new__", "__array__", "__buffer__", "__hash__", "__repr__"}
    provided_by_python = {
        name for name in own if name[:3] == "__i" and name[3:] in OPERATOR_METHODS
    }
    return sorted(
        name
        for name in set(own) - left_out - provided_by_python
        if name[:2] == "__" and inspect.isfunction(own[name]) and name != "__str__"
    )


# fmt: off
OPERATOR_METHODS = {f"{each}__" for each in (
    "add", "and", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow", "rshift",
    "sub", "truediv", "xor",
)}
# fmt: on


@pytest.mark.parametrize("name", methods())
def test_tensor_methods_accept_the_arguments_of_the_array_api(name):
    ours = inspect.signature(getattr(sl.tensor.backend("numpy").tensor(0.0), name))
    wanted = inspect.signature(getattr(strict.ones(()), name)).parameters.values()
    named = {each.name for each in wanted if each.kind is each.KEYWORD_ONLY}
    assert named <= set(ours.parameters)
    assert len(ours.parameters) >= len(wanted)


@libraries
def test_dlpack_accepts_every_keyword_of_the_array_api(library):
    x = backend(library).tensor([1.0, 2.0])
    options: dict[str, Any] = {
        "stream": None,
        "max_version": (1, 0),
        "dl_device": (1, 0),
        "copy": True,
    }
    assert "dltensor" in repr(x.__dlpack__(**options))
    xp = x.__array_namespace__()
    assert xp.from_dlpack(x, device=x.device, copy=True).tolist() == [1.0, 2.0]


@libraries
def test_a_backend_reports_its_maximum_number_of_axes(library):
    xp = backend(library).tensor(0).__array_namespace__()
    max_axes = xp.__array_namespace_info__().capabilities()["max dimensions"]
    assert xp.zeros((1,) * max_axes).ndim == max_axes
