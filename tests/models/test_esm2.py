"""ESM-2 beside Hugging Face's: hidden states and logits, packed, padded and alone."""

import numpy as np
import pytest

import seqloom as sl
from esm_networks import draw_proteins, make_huggingface, run_huggingface

TOLERANCE = 2e-5  # most absolute error, in float32
JAX = pytest.param("jax", marks=pytest.mark.soak)


@pytest.fixture(scope="module")
def theirs():
    return make_huggingface("8M")


@pytest.fixture(scope="module")
def folder(theirs, tmp_path_factory):
    place = tmp_path_factory.mktemp("esm")
    theirs.save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def proteins():
    return draw_proteins()


@pytest.fixture(scope="module")
def expected(theirs, proteins):
    return run_huggingface(theirs, proteins)


@pytest.fixture(scope="module", params=["numpy", "torch", JAX])
def model(request, folder):
    return sl.models.ESM2.load(folder, request.param)


def error(found, expected) -> float:
    """Returns the most absolute error."""
    return float(np.abs(found.numpy() - expected).max())


def test_every_hidden_state_of_a_packed_batch_is_theirs(model, proteins, expected):
    hidden = model(*proteins.packed, layers=range(7))
    for ours, others in zip(hidden, expected["hidden"], strict=True):
        assert error(ours, others) < TOLERANCE


def test_every_hidden_state_of_a_padded_batch_is_theirs(model, proteins, expected):
    hidden = model(proteins.padded(), layers=range(7))
    for ours, others in zip(hidden, expected["hidden"], strict=True):
        assert np.abs(ours.numpy()[proteins.mask] - others).max() < TOLERANCE


def test_every_protein_alone_gives_what_the_batch_gives(model, proteins, expected):
    alone = np.concatenate([model(ids).numpy() for ids in proteins.each])
    assert np.abs(alone - expected["hidden"][-1]).max() < TOLERANCE


def test_logits_are_theirs(model, proteins, expected):
    logits = model.logits(model(*proteins.packed))
    assert error(logits, expected["logits"]) < TOLERANCE
    assert np.abs(expected["logits"]).max() > 2


def test_a_given_mask_decides_what_is_padding(model, proteins, expected):
    hidden = model(proteins.padded(pad=7), mask=proteins.mask)
    last = hidden.numpy()[proteins.mask]
    assert np.abs(last - expected["hidden"][-1]).max() < TOLERANCE


def test_without_the_scale_of_token_dropout_the_comparison_fails(
    folder, proteins, expected
):
    model = sl.models.ESM2.load(folder)
    model.config = sl.models.ESM2Config.of("8M", token_dropout=False)
    assert error(model(*proteins.packed), expected["hidden"][-1]) > 100 * TOLERANCE


def test_with_the_wrong_token_of_padding_the_comparison_fails(folder, proteins, expected):
    model = sl.models.ESM2.load(folder)
    last = model(proteins.padded(pad=0)).numpy()[proteins.mask]
    assert np.abs(last - expected["hidden"][-1]).max() > 100 * TOLERANCE


def test_embed_gives_chosen_layers_of_a_packed_batch(model, proteins, expected):
    ids, starts, longest = proteins.packed
    batch = {"input_ids": ids, "cu_seqlens": starts, "max_seqlen": longest}
    found = model.embed(batch, layers=(2, -1))
    assert list(found) == [2, -1]
    assert error(found[2], expected["hidden"][2]) < TOLERANCE
    assert error(found[-1], expected["hidden"][-1]) < TOLERANCE


@pytest.mark.soak
@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_the_35m_shape_equals_theirs(backend, tmp_path):
    theirs, proteins = make_huggingface("35M"), draw_proteins((40, 300, 9))
    theirs.save_pretrained(tmp_path, max_shard_size="20MB")
    model, expected = (
        sl.models.ESM2.load(tmp_path, backend),
        run_huggingface(theirs, proteins),
    )
    hidden = model(*proteins.packed)
    assert error(hidden, expected["hidden"][-1]) < TOLERANCE
    assert error(model.logits(hidden), expected["logits"]) < TOLERANCE
