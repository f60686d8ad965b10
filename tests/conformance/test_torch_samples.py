"""Every operation on every backend: values and gradients as torch's, on torch's samples."""

import warnings

import pytest

import seqloom as sl
from conformance.backends import NAMES, backend, wide
from conformance.call import Skip
from conformance.operations import TABLE
from conformance.run import (
    assert_close,
    cotangents_of,
    followed,
    gradients_of,
    their_gradients,
    theirs_of,
    values_of,
)
from conformance.samples import QUICK, chosen, told

pytest.importorskip("torch")
pytest.importorskip("expecttest")  # torch's samples need it


@pytest.mark.parametrize("operation", TABLE)
@pytest.mark.parametrize("library", NAMES)
def test_computes_and_differentiates_as_torch(library, operation):
    plain = backend(library)
    level = sl.tensor.Autodiff(plain)
    with wide(library), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # division by zero is among the samples
        for dtype, count in _amounts(library, TABLE[operation].dtypes):
            for info, sample in chosen(TABLE[operation], dtype, count):
                _compare(operation, info, sample, dtype, plain, level)


def _amounts(library, dtypes):
    """Element types and how many samples of each; jax compiles for every new shape."""
    if not library.startswith("jax") or not QUICK:
        return [(dtype, QUICK) for dtype in dtypes]
    return [(dtype, 2) for dtype in dtypes if dtype != "float64"]


def _compare(operation, info, sample, dtype, plain, level):
    call, theirs = told(TABLE[operation], info, sample)
    if isinstance(call, Skip):
        return
    call = call() if callable(call) else call
    wider = TABLE[operation].close
    expected = theirs_of(call, theirs)
    for out, other in zip(values_of(operation, call, plain), expected, strict=False):
        assert_close(out.numpy(), other.detach().numpy(), dtype, wider=wider)
    cotangents = cotangents_of(expected)
    if followed(call) and any(each is not None for each in cotangents):
        found = gradients_of(operation, call, level, cotangents)
        wanted = their_gradients(call, expected, cotangents)
        for ours, other in zip(found, wanted, strict=True):
            assert_close(ours, other, dtype, wider=10 * wider)
