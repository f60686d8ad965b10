"""ESM-2 on CUDA returns the results of the CPU."""

from typing import Any

import numpy as np
import pytest

import cuda_device
import seqloom as sl

torch: Any = pytest.importorskip("torch")

pytestmark = cuda_device.on_device


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("esm2")
    config = sl.models.ESM2Config(layers=2, width=64, heads=4)
    config.init("numpy", sl.Key(3)).save(place)
    return place


PROTEIN_LENGTHS = (7, 60, 3, 33)


def hidden_states(folder, backend, dtype="float32"):
    """Return the last hidden states of packed sequences as a NumPy array."""
    network = sl.models.ESM2.load(folder, backend, dtype).eval()
    draw, b = np.random.default_rng(0), network.backend
    ids = draw.integers(4, 24, sum(PROTEIN_LENGTHS)).astype("int32")
    bounds = np.cumsum([0, *PROTEIN_LENGTHS]).astype("int32")
    batch = {"input_ids": b.asarray(ids), "cu_seqlens": b.asarray(bounds)}
    found = network.embed({**batch, "max_seqlen": max(PROTEIN_LENGTHS)})[-1]
    return found.astype("float32").numpy()


@cuda_device.in_both_libraries
def test_esm2_states_on_cuda_match_numpy(folder, name):
    cuda_device.backend(name)
    with cuda_device.whole_float32(name):
        found = hidden_states(folder, name)
    np.testing.assert_allclose(found, hidden_states(folder, "numpy"), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_esm2_states_in_half_precision_are_close_to_float32(folder, dtype):
    with sl.tensor.autocast("float32", allow_slow=True):
        found = hidden_states(folder, cuda_device.TORCH, dtype)
    expected = hidden_states(folder, "numpy")
    products = (found * expected).sum(axis=1)
    norms = np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    assert (products / norms).min() > 0.99
