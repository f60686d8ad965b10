"""ESM-2 in half precision is close to Hugging Face; unsuitable backends raise errors."""

import numpy as np
import pytest

import seqloom as sl
from esm_networks import draw_proteins, make_huggingface, run_huggingface
from seqloom.errors import BackendError
from seqloom.tensor._autocast import _explain_slowdown_on_device

RANDOM_PROTEINS = draw_proteins((6, 40, 21))


@pytest.fixture(scope="module")
def theirs():
    return make_huggingface("8M", layers=2)


@pytest.fixture(scope="module")
def expected(theirs):
    return run_huggingface(theirs, RANDOM_PROTEINS)


@pytest.fixture(scope="module")
def folder(theirs, tmp_path_factory):
    place = tmp_path_factory.mktemp("esm")
    theirs.save_pretrained(place)
    return place


@pytest.fixture
def processor(monkeypatch):
    """Return a function that simulates a processor with other instructions."""

    def pretend(flags):
        monkeypatch.setattr("seqloom.tensor._autocast._read_cpu_flags", lambda: flags)
        _explain_slowdown_on_device.cache_clear()

    yield pretend
    _explain_slowdown_on_device.cache_clear()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("flags", [{"avx2"}, {"avx512_bf16", "avx512_fp16"}], ids=len)
def test_half_precision_on_numpy_is_an_error_on_every_processor(
    folder, dtype, flags, processor
):
    processor(flags=flags)
    with pytest.raises(BackendError) as caught:
        sl.models.ESM2.load(folder, dtype=dtype)
    assert str(caught.value) == (
        f'dtype="{dtype}": NumPy has no products of {dtype}, unlike the backend "torch" '
        '(--backend torch), so it would be slower than float32; use dtype="int8" or '
        '"float32" (--dtype)'
    )


def test_bfloat16_is_rejected_on_a_processor_without_it(folder, processor):
    processor(flags={"avx2"})
    with pytest.raises(BackendError, match="has no instructions for bfloat16, so it would"):
        sl.models.ESM2.load(folder, "torch", "bfloat16")


def test_half_precision_on_jax_is_rejected_without_suggesting_int8(folder):
    with pytest.raises(BackendError, match="JAX computes") as caught:
        sl.models.ESM2.load(folder, "jax", "bfloat16")
    assert str(caught.value).endswith('; use dtype="float32" (--dtype)')


def test_bfloat16_is_loaded_on_a_processor_that_has_it(folder, processor):
    processor(flags={"avx512_bf16"})
    model = sl.models.ESM2.load(folder, "torch", "bfloat16")
    assert model.norm.weight.value.dtype.name == "bfloat16"


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.parametrize(("dtype", "cosine"), [("bfloat16", 0.9995), ("float16", 0.99999)])
def test_half_precision_hidden_states_are_close_to_huggingface(
    folder, expected, backend, dtype, cosine
):
    model = sl.models.ESM2.load(folder, backend).to(backend, dtype)
    hidden = model(*RANDOM_PROTEINS.packed)
    assert hidden.dtype.name == dtype
    found, true = hidden.numpy().astype(np.float64), expected["hidden"][-1]
    products = (found * true).sum(1) / np.linalg.norm(found, axis=1)
    assert (products / np.linalg.norm(true, axis=1)).min() > cosine
