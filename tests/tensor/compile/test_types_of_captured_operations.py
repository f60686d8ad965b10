"""Captured operations have the same shapes and dtypes as results of the backend."""

import numpy as np
import pytest

import seqloom as sl

ROWS, LABELS = np.ones((3, 4)), np.array([0, 1, 2])
OPERATION_CALLS = {
    "batch_norm": ([np.ones((2, 3, 4)), np.ones(3), np.ones(3)], [], {"eps": 1e-5}),
    "cross_entropy": ([ROWS], [LABELS], {}),
    "embedding": ([ROWS], [LABELS], {}),
    "embedding_grad": ([ROWS], [LABELS], {"rows": 7}),
    "layer_norm": ([ROWS, np.ones(4), np.ones(4)], [], {"eps": 1e-5}),
    "rms_norm": ([ROWS, np.ones(4)], [], {"eps": 1e-5}),
    "max_pool1d": ([np.ones((1, 3, 6))], [], {"kernel": 2, "stride": 2}),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", OPERATION_CALLS)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_captured_operations_have_the_shapes_and_types_of_eager_calls(library, name, dtype):
    pytest.importorskip(library)
    backend = sl.tensor.backend(library)
    floats, integers, options = OPERATION_CALLS[name]
    arrays = [backend.tensor(x, dtype=dtype) for x in floats]
    arrays += [backend.tensor(x) for x in integers]

    def step(*arrays):
        found = sl.tensor.apply(name, *arrays, **options)
        return found if isinstance(found, tuple) else (found,)

    given = [(x.shape, x.dtype) for x in step(*arrays)]
    captured = []

    def record_types(*arrays):
        found = step(*arrays)
        captured.extend((x.shape, x.dtype) for x in found)
        return found

    sl.tensor.compile(record_types)(*arrays)
    assert captured == given
