"""ESM-2 in half precision: where it is declined, and how near it is to Hugging Face's."""

import numpy as np
import pytest

import seqloom as sl
from esm_networks import draw_proteins, make_huggingface, run_huggingface
from seqloom._rust import _native
from seqloom.errors import BackendError
from seqloom.tensor._autocast import _find_reason

PROTEINS = draw_proteins((6, 40, 21))


@pytest.fixture(scope="module")
def theirs():
    return make_huggingface("8M", layers=2)


@pytest.fixture(scope="module")
def expected(theirs):
    return run_huggingface(theirs, PROTEINS)


@pytest.fixture(scope="module")
def folder(theirs, tmp_path_factory):
    place = tmp_path_factory.mktemp("esm")
    theirs.save_pretrained(place)
    return place


@pytest.fixture
def processor(monkeypatch):
    """Gives this processor other instructions."""

    def pretend(flags):
        monkeypatch.setattr("seqloom.tensor._autocast._read_flags", lambda: flags)
        monkeypatch.setattr(_native, "has_bfloat16", lambda: "avx512_bf16" in flags)
        _find_reason.cache_clear()

    yield pretend
    _find_reason.cache_clear()


def test_float16_on_numpy_is_declined_in_a_sentence(folder):
    with pytest.raises(BackendError, match="NumPy has no products of float16"):
        sl.models.ESM2.load(folder, dtype="float16")


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_bfloat16_is_declined_on_a_processor_without_it(folder, backend, processor):
    processor(flags={"avx2"})
    with pytest.raises(BackendError, match="has no instructions for bfloat16, so it would"):
        sl.models.ESM2.load(folder, backend, "bfloat16")


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_bfloat16_is_loaded_on_a_processor_that_has_it(folder, backend, processor):
    processor(flags={"avx512_bf16"})
    model = sl.models.ESM2.load(folder, backend, "bfloat16")
    assert model.norm.weight.value.dtype.name == "bfloat16"


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.parametrize(("dtype", "cosine"), [("bfloat16", 0.9995), ("float16", 0.99999)])
def test_half_precision_gives_nearly_the_hidden_states(
    folder, expected, backend, dtype, cosine
):
    model = sl.models.ESM2.load(folder, backend).to(backend, dtype)
    hidden = model(*PROTEINS.packed)
    assert hidden.dtype.name == dtype
    found, true = hidden.numpy().astype(np.float64), expected["hidden"][-1]
    products = (found * true).sum(1) / np.linalg.norm(found, axis=1)
    assert (products / np.linalg.norm(true, axis=1)).min() > cosine


def test_a_protein_in_bfloat16_has_the_same_bits_alone_and_beside_others(folder):
    model = sl.models.ESM2.load(folder).to("numpy", "bfloat16")
    packed = model(*PROTEINS.packed).numpy()
    ends = np.cumsum([0, *map(len, PROTEINS.each)])
    for ids, start, end in zip(PROTEINS.each, ends[:-1], ends[1:], strict=True):
        alone = model(ids).numpy()
        if _native.has_bfloat16():
            np.testing.assert_array_equal(alone, packed[start:end])
        else:
            np.testing.assert_allclose(
                alone.astype("f4"), packed[start:end].astype("f4"), atol=0.1
            )
