"""Operations of exported models are bitwise equal to NumPy on PyTorch's samples."""

import warnings
from typing import Any

import numpy as np
import pytest

from conformance.backends import backend
from conformance.call import Skip
from conformance.operations import OPERATION_TABLE
from conformance.run import _tensors
from conformance.samples import SAMPLE_COUNT, convert_sample, select_samples
from native_calls import NUMPY, run_native
from seqloom.errors import SeqloomError
from seqloom.tensor import Tensor
from seqloom.tensor._operations import OPERATIONS

pytest.importorskip("torch")
pytest.importorskip("expecttest")

# NumPy functions that differ from Rust's in the last bits.
INEXACT_FUNCTION_NAMES = """
    acos acosh asin asinh atan atan2 atanh cos cosh erf erfc exp expm1 hypot log log10 log1p
    log2 logaddexp pow remainder sin sinh softplus tan tanh logsumexp floor_divide var std
"""
EXPORTED_OPERATIONS = {name for name, line in OPERATIONS.items() if line.results}
# The values of `empty` are arbitrary.
TESTED_OPERATIONS = sorted((EXPORTED_OPERATIONS & OPERATION_TABLE.keys()) - {"empty"})


def _raw(value: Any) -> Any:
    """Convert a tensor, or nested lists of tensors, to arrays."""
    if isinstance(value, Tensor):
        return value.raw
    if isinstance(value, (list, tuple)):
        return type(value)(_raw(part) for part in value)
    return value


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", TESTED_OPERATIONS)
def test_exported_operations_are_bitwise_equal_to_the_numpy_backend(name):
    calls = [
        call for dtype in OPERATION_TABLE[name].dtypes for call in list_calls(name, dtype)
    ]
    assert sum(_compare(name, *call) for call in calls)


def list_calls(name, dtype, count=SAMPLE_COUNT):
    """Yield arguments, options and results of the NumPy backend for PyTorch samples."""
    for info, sample in select_samples(OPERATION_TABLE[name], dtype, count):
        call, _ = convert_sample(OPERATION_TABLE[name], info, sample)
        if isinstance(call, Skip):
            continue
        call = call() if callable(call) else call
        if call.ours is not None:
            continue
        args = [_raw(it) for it in _tensors(call, backend("numpy"))]
        options = {key: _raw(it) for key, it in call.options.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = getattr(NUMPY, name)(*args, **options)
        yield args, options, list(made) if isinstance(made, (list, tuple)) else [made]


def _compare(name, args, options, made):
    try:
        found = run_native(name, args, options, made)
    except SeqloomError as error:
        if "this version of seqloom-run" not in str(error):
            raise
        return 0
    for ours, theirs in zip(found, made, strict=True):
        _check(name, ours, np.asarray(theirs))
    return 1


def _check(name, ours, theirs):
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    if name in INEXACT_FUNCTION_NAMES.split():
        np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-6)
    else:
        np.testing.assert_array_equal(ours, theirs)
