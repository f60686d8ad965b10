"""Every function of ``x.__array_namespace__()`` agrees with array_api_strict."""

import inspect
import os
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import seqloom as sl
from conformance.backends import backend, wide
from conformance.namespace_calls import ALL_DTYPES
from conformance.namespace_table import NAMESPACE_CALLS
from conformance.operations import SKIPPED_NAMESPACE_CALLS

strict = pytest.importorskip("array_api_strict")

LIBRARY_NAMES = ("numpy", "torch", "jax")
# Number of calls per function; low for JAX, which compiles for every new shape.
HAS_ALL_SAMPLES = os.environ.get("CONFORMANCE_SAMPLES") == "0"
CALLS_PER_FUNCTION = {"numpy": 6, "torch": 6, "jax": 2}
DTYPE_QUERY_FUNCTIONS = {"result_type", "can_cast", "isdtype", "finfo", "iinfo"}
FUNCTIONS_WITH_DTYPE_ARGUMENT = {"astype", "isdtype"}


@cache
def namespace(library):
    return backend(library).tensor(0).__array_namespace__()


def names():
    """Return the names of the standard's functions, as array_api_strict defines them."""
    return [
        name
        for name in sorted(strict.__all__)
        if callable(getattr(strict, name))
        and not isinstance(getattr(strict, name), type)
        and "flags" not in name
        and name != "__array_namespace_info__"
    ]


def test_every_name_of_the_array_api_standard_exists_and_is_tested():
    xp = namespace("numpy")
    constants = {"e", "inf", "nan", "pi", "newaxis", *ALL_DTYPES}
    assert [name for name in {*names(), *constants} if not hasattr(xp, name)] == []
    assert sorted(set(names()) ^ set(NAMESPACE_CALLS)) == []
    assert xp.__array_api_version__ == "2025.12"


@pytest.mark.parametrize("name", names())
def test_a_function_has_the_signature_of_the_array_api_standard(name):
    ours = inspect.signature(getattr(namespace("numpy"), name)).parameters.values()
    wanted = inspect.signature(getattr(strict, name)).parameters.values()
    assert [each.kind for each in ours] == [each.kind for each in wanted]
    named = [each.name for each in wanted if each.kind is each.KEYWORD_ONLY]
    assert [each.name for each in ours if each.kind is each.KEYWORD_ONLY] == named


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("library", LIBRARY_NAMES)
def test_array_functions_return_the_results_of_array_api_strict(library, name):
    left_out = SKIPPED_NAMESPACE_CALLS.get(library, {})
    if name in left_out:
        pytest.skip(left_out[name])
    types = {dtype for dtype in ALL_DTYPES if f"{name}-{dtype}" not in left_out}
    types -= {dtype for dtype in ALL_DTYPES if dtype in left_out}

    @settings(
        max_examples=100 if HAS_ALL_SAMPLES else CALLS_PER_FUNCTION[library],
        deadline=None,
        derandomize=True,
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
        phases=[Phase.generate],  # Hypothesis need not shrink calls that are already small
        database=None,
    )
    @given(st.data())
    def check(data):
        args, options = NAMESPACE_CALLS[name](data.draw, types)
        _compare(library, name, args, options)

    with wide(library), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check()


def _compare(library, name, args, options):
    xp: Any = namespace(library)
    ours = getattr(xp, name)(*_convert(name, args, xp), **_convert_dtype(options, xp))
    theirs = getattr(strict, name)(
        *_convert(name, args, strict), **_convert_dtype(options, strict)
    )
    if name in DTYPE_QUERY_FUNCTIONS or name == "broadcast_shapes":
        assert _describe_dtype(ours) == _describe_dtype(theirs)
        return
    several = isinstance(theirs, (tuple, list))
    pairs = zip(ours, theirs, strict=True) if several else [(ours, theirs)]
    for one, other in pairs:
        _same(one.numpy(), np.asarray(other))


def _convert(name, args, xp):
    """Return the arguments with arrays and data types of the namespace `xp`."""
    if name in FUNCTIONS_WITH_DTYPE_ARGUMENT:
        x = args[0] if isinstance(args[0], str) else xp.asarray(args[0])
        first = getattr(xp, x) if isinstance(x, str) else x
        is_type = isinstance(args[1], str) and args[1] in ALL_DTYPES and name == "astype"
        return first, getattr(xp, args[1]) if is_type else args[1]
    if name == "can_cast":
        return tuple(getattr(xp, each.dtype.name) for each in args)
    return tuple(_array(each, xp) for each in args)


def _array(each, xp):
    if isinstance(each, list):
        return [_array(item, xp) for item in each]
    return xp.asarray(each) if isinstance(each, np.ndarray) else each


def _convert_dtype(options, xp):
    return options | (
        {"dtype": getattr(xp, options["dtype"])} if "dtype" in options else {}
    )


def _describe_dtype(fact):
    """Return the name of a data type, or the numbers in a `finfo` or `iinfo`."""
    if hasattr(fact, "bits"):
        return fact.bits, fact.max, fact.min
    return str(fact).rpartition(".")[2] if not isinstance(fact, (bool, tuple)) else fact


def _same(ours, theirs):
    if theirs.dtype == np.float64 and ours.dtype == np.float32:
        theirs = theirs.astype(np.float32)  # array_api_strict defaults to float64
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    single = ours.dtype in (np.float32, np.complex64)
    close = 2e-5 if single else 1e-9
    np.testing.assert_allclose(ours, theirs, rtol=close, atol=close)


@pytest.mark.parametrize("library", LIBRARY_NAMES)
def test_hypothesis_can_generate_tensors_of_the_array_namespace(library):
    xps = make_strategies_namespace(namespace(library))

    @settings(max_examples=5, deadline=None, derandomize=True, database=None)
    @given(xps.arrays(xps.floating_dtypes(sizes=32), xps.array_shapes()))
    def check(x):
        assert isinstance(x, sl.tensor.Tensor)
        assert x.__array_namespace__(api_version="2024.12") == namespace(library)

    check()


@pytest.mark.parametrize("library", LIBRARY_NAMES)
def test_namespace_functions_of_an_autodiff_tensor_are_differentiable(library):
    level = sl.tensor.Autodiff(backend(library))
    x = level.tensor([2.0, 4.0], requires_grad=True)
    xp = x.__array_namespace__()
    slope = xp.sum(xp.log2(x) * xp.full_like(x, 3.0)).backward().wrt(x)
    np.testing.assert_allclose(slope.numpy(), 3 / np.log(2) / np.array([2, 4]), rtol=1e-6)


def test_namespace_info_describes_the_backend():
    info = namespace("jax").__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert "int64" not in info.dtypes()  # JAX disables 64-bit types by default
    assert info.dtypes(kind="real floating") == {"float32": np.dtype("float32")}
    assert info.default_dtypes()["integral"] == np.dtype("int32")


@pytest.mark.parametrize("version", ["2024.12", "2025.12"])
def test_array_functions_return_tuples_as_in_standard_2025(version):
    x: Any = sl.tensor.backend("numpy").tensor([1.0, 2.0])
    xp = x.__array_namespace__(api_version=version)
    assert xp.__array_api_version__ == "2025.12"
    assert type(xp.meshgrid(x, x)) is tuple
    assert type(xp.broadcast_arrays(x, xp.asarray(1.0))) is tuple
    assert type(xp.__array_namespace_info__().devices()) is tuple
    assert xp.isin(x, 2.0).tolist() == [False, True]
    assert xp.broadcast_shapes((2, 1), (3,)) == (2, 3)
    assert xp.broadcast_shapes() == ()
    assert xp.expand_dims(x, (0, 2)).shape == (1, 2, 1)
    assert xp.permute_dims(xp.ones((2, 3)), (-1, 0)).shape == (3, 2)
    assert xp.searchsorted(x, 1.5).tolist() == 1
    with pytest.raises(sl.errors.ShapeError, match="no common shape"):
        xp.broadcast_shapes((2,), (3,))


def test_an_unknown_array_api_version_or_device_is_an_error():
    x: Any = sl.tensor.backend("numpy").tensor([1.0])
    with pytest.raises(sl.errors.ArgumentError, match=r"2025.12, got '2020.01'"):
        x.__array_namespace__(api_version="2020.01")
    with pytest.raises(sl.errors.BackendError, match="got 'cuda'"):
        x.__array_namespace__().zeros(3, device="cuda")
    with pytest.raises(sl.errors.ArgumentError, match="stream must be None"):
        x.to_device("cpu", stream=3)
