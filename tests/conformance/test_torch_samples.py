"""Values and gradients of every backend agree with PyTorch on PyTorch's samples."""

import warnings

import pytest

import seqloom as sl
from conformance.backends import BACKEND_NAMES, backend, wide
from conformance.call import Skip
from conformance.operations import OPERATION_TABLE
from conformance.run import (
    assert_close,
    cotangents_of,
    followed,
    gradients_of,
    torch_gradients_of,
    torch_values_of,
    values_of,
)
from conformance.samples import SAMPLE_COUNT, convert_sample, select_samples

pytest.importorskip("torch")
pytest.importorskip("expecttest")  # required by PyTorch's samples


@pytest.mark.parametrize("operation", OPERATION_TABLE)
@pytest.mark.parametrize("library", BACKEND_NAMES)
def test_values_and_gradients_of_operations_agree_with_torch(library, operation):
    plain = backend(library)
    level = sl.tensor.Autodiff(plain)
    with wide(library), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some samples divide by zero
        for dtype, count in _sample_counts(library, OPERATION_TABLE[operation].dtypes):
            for info, sample in select_samples(OPERATION_TABLE[operation], dtype, count):
                _compare(operation, info, sample, dtype, plain, level)


def _sample_counts(library, dtypes):
    """Return pairs of data type and sample count, which is low for JAX, which compiles."""
    if not library.startswith("jax") or not SAMPLE_COUNT:
        return [(dtype, SAMPLE_COUNT) for dtype in dtypes]
    return [(dtype, 2) for dtype in dtypes if dtype != "float64"]


def _compare(operation, info, sample, dtype, plain, level):
    call, theirs = convert_sample(OPERATION_TABLE[operation], info, sample)
    if isinstance(call, Skip):
        return
    call = call() if callable(call) else call
    wider = OPERATION_TABLE[operation].close
    expected = torch_values_of(call, theirs)
    for out, other in zip(values_of(operation, call, plain), expected, strict=False):
        assert_close(out.numpy(), other.detach().numpy(), dtype, wider=wider)
    cotangents = cotangents_of(expected)
    if followed(call) and any(each is not None for each in cotangents):
        gradients = gradients_of(operation, call, level, cotangents)
        expected_gradients = torch_gradients_of(call, expected, cotangents)
        for ours, other in zip(gradients, expected_gradients, strict=True):
            assert_close(ours, other, dtype, wider=10 * wider)
