"""Hugging Face's ESM computes equal results for packed and for padded sequences."""

from typing import Any

import numpy as np
import pytest
import torch
import transformers

import seqloom as sl
from esm_networks import MASK, draw_proteins, make_huggingface, run_huggingface

MAX_ABSOLUTE_ERROR = 2e-5  # largest absolute error in float32


@pytest.fixture(scope="module")
def theirs():
    return make_huggingface("8M")


@pytest.fixture(scope="module")
def model(theirs):
    return sl.models.packed_huggingface(theirs)


@pytest.fixture(scope="module")
def proteins():
    return draw_proteins()


@pytest.fixture(scope="module")
def expected(theirs, proteins):
    return run_huggingface(theirs, proteins)


def batch_of(proteins) -> dict[str, Any]:
    """Return a packed batch in the format of `PackedStream`."""
    ids, bounds, longest = proteins.packed
    return {"input_ids": ids, "cu_seqlens": bounds, "max_seqlen": longest}


def max_error(found, wanted) -> float:
    return float(np.abs(found.numpy() - wanted).max())


def test_packed_hidden_states_match_the_padded_network(model, proteins, expected):
    hidden = model.embed(batch_of(proteins), layers=range(7))
    for number, wanted in enumerate(expected["hidden"]):
        assert max_error(hidden[number], wanted) < MAX_ABSOLUTE_ERROR


def test_each_packed_protein_gives_the_result_of_huggingface_for_it_alone(
    model, theirs, proteins
):
    found = model(*proteins.packed).numpy()
    with torch.no_grad():
        alone = [theirs.esm(torch.tensor(ids[None]))[0][0].numpy() for ids in proteins.each]
    assert np.abs(found - np.concatenate(alone)).max() < MAX_ABSOLUTE_ERROR


def test_requesting_only_the_last_hidden_state_gives_the_same_values(
    model, proteins, expected
):
    assert max_error(model(*proteins.packed), expected["hidden"][-1]) < MAX_ABSOLUTE_ERROR


def test_packed_logits_match_the_padded_network(model, proteins, expected):
    logits = model.logits(model(*proteins.packed))
    assert max_error(logits, expected["logits"]) < MAX_ABSOLUTE_ERROR


def test_each_protein_alone_gives_the_result_of_the_batch(model, proteins, expected):
    alone = np.concatenate([model(ids).numpy() for ids in proteins.each])
    assert np.abs(alone - expected["hidden"][-1]).max() < MAX_ABSOLUTE_ERROR


def test_a_network_without_a_head_can_embed(proteins):
    theirs = make_huggingface("8M", kind="EsmModel", layers=2)
    wanted = run_huggingface(theirs, proteins)["hidden"][-1]
    model = sl.models.packed_huggingface(theirs)
    assert max_error(model.embed(batch_of(proteins))[-1], wanted) < MAX_ABSOLUTE_ERROR
    with pytest.raises(sl.errors.ArgumentError, match="EsmModel has no head"):
        model.logits(model([0, 5, 2]))


def test_learned_positions_restart_with_each_sequence(proteins):
    config = transformers.EsmConfig(
        vocab_size=33,
        mask_token_id=32,
        pad_token_id=1,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        position_embedding_type="absolute",
        max_position_embeddings=128,
        token_dropout=False,
        emb_layer_norm_before=True,
    )
    theirs = transformers.EsmModel(config).eval()
    ids, mask = torch.tensor(proteins.padded()), torch.tensor(proteins.mask).long()
    with torch.no_grad():
        wanted = theirs(ids, attention_mask=mask).last_hidden_state.numpy()
    model = sl.models.packed_huggingface(theirs)
    assert max_error(model(*proteins.packed), wanted[proteins.mask]) < MAX_ABSOLUTE_ERROR
    with pytest.raises(sl.errors.ShapeError, match="learned 126 positions, got a"):
        model([5] * 127)


def test_packed_states_differ_from_huggingface_without_the_scale_per_sequence(
    theirs, proteins, expected
):
    model = sl.models.packed_huggingface(theirs)
    vars(model)["_encoder"].embeddings.token_dropout = False
    assert (
        max_error(model(*proteins.packed), expected["hidden"][-1])
        > 100 * MAX_ABSOLUTE_ERROR
    )


def test_nan_in_one_protein_does_not_affect_other_proteins():
    theirs = make_huggingface("8M", layers=2)
    model = sl.models.packed_huggingface(theirs)
    proteins = draw_proteins(masked=0)
    ids, bounds, longest = proteins.packed
    spoiled = 24  # id of the token <X>
    ids = np.where(ids == spoiled, 5, ids)
    first = model(ids, bounds, longest).numpy()
    with torch.no_grad():
        theirs.esm.embeddings.word_embeddings.weight[spoiled] = np.nan
    ids[bounds[1] + 3] = spoiled
    again = model(ids, bounds, longest).numpy()
    assert np.isnan(again[bounds[1] : bounds[2]]).all()
    np.testing.assert_array_equal(first[: bounds[1]], again[: bounds[1]])
    np.testing.assert_array_equal(first[bounds[2] :], again[bounds[2] :])


def test_a_mask_token_has_a_zero_embedding_for_any_weights(proteins):
    theirs = make_huggingface("8M", layers=2)
    wanted = run_huggingface(theirs, proteins)["hidden"][-1]
    with torch.no_grad():
        theirs.esm.embeddings.word_embeddings.weight[MASK] = np.inf
    model = sl.models.packed_huggingface(theirs)
    assert max_error(model(*proteins.packed), wanted) < MAX_ABSOLUTE_ERROR


def test_output_settings_of_the_huggingface_network_are_ignored(proteins):
    theirs = make_huggingface("8M", layers=2)
    wanted = run_huggingface(theirs, proteins)["hidden"]
    options = {
        "return_dict": False,
        "output_hidden_states": True,
        "output_attentions": True,
    }
    for name, value in options.items():
        setattr(theirs.config, name, value)
    model = sl.models.packed_huggingface(theirs)
    assert max_error(model(*proteins.packed), wanted[-1]) < MAX_ABSOLUTE_ERROR
    assert max_error(model(*proteins.packed, layers=[1])[0], wanted[1]) < MAX_ABSOLUTE_ERROR


def test_the_huggingface_network_is_unchanged_and_shares_its_weights(proteins):
    theirs = make_huggingface("8M", layers=2).train()
    before = run_huggingface(theirs.eval(), proteins)["contacts"]
    theirs.train()
    model = sl.models.packed_huggingface(theirs)
    assert theirs.training
    assert vars(theirs.config)["_attn_implementation_internal"] == "eager"
    ids, bounds, longest = proteins.packed
    first = model(ids, bounds, longest).numpy()
    weight = theirs.esm.encoder.layer[0].output.dense.weight
    with torch.no_grad():
        weight.mul_(2.0)
    assert max_error(model(ids, bounds, longest), first) > 0.1
    with torch.no_grad():
        weight.div_(2.0)
    after = run_huggingface(theirs.eval(), proteins)["contacts"]
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_packed_half_precision_is_close_to_float32(dtype, proteins, expected):
    half = make_huggingface("8M").to(dtype)
    found = sl.models.packed_huggingface(half)(*proteins.packed).raw.float().numpy()
    wanted = expected["hidden"][-1]
    cosine = (found * wanted).sum(-1)
    cosine /= np.linalg.norm(found, axis=-1) * np.linalg.norm(wanted, axis=-1)
    assert cosine.min() > 0.995


def test_a_protein_does_not_change_any_bit_of_other_proteins(model, proteins):
    ids, bounds, longest = proteins.packed
    first = model(ids, bounds, longest).numpy()
    changed = ids.copy()
    changed[bounds[1] + 1 : bounds[2] - 1] = 7
    again = model(changed, bounds, longest).numpy()
    np.testing.assert_array_equal(first[: bounds[1]], again[: bounds[1]])
    np.testing.assert_array_equal(first[bounds[2] :], again[bounds[2] :])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"layers": [7]}, "layers must contain indices from 0"),
        ({"layers": []}, "layers must contain indices from 0"),
        ({"cu_seqlens": [0, 3]}, "cu_seqlens must be increasing integers"),
    ],
)
def test_wrong_arguments_of_packed_huggingface_are_errors(given, message, model):
    with pytest.raises(sl.errors.ArgumentError, match=message):
        model([0, 5, 5, 2], **given)


def test_a_token_beyond_the_vocabulary_is_rejected(model):
    with pytest.raises(sl.errors.OutOfRangeError, match="from 0 to 32, got 33"):
        model([0, 33, 2])


def test_packed_huggingface_rejects_padded_ids(model, proteins):
    with pytest.raises(sl.errors.ShapeError, match="the concatenated sequences"):
        model(proteins.padded())


def test_packed_huggingface_rejects_a_decoder():
    theirs = make_huggingface("8M", layers=1, kind="EsmModel", is_decoder=True)
    with pytest.raises(sl.errors.ArgumentError, match="must be an ESM encoder"):
        sl.models.packed_huggingface(theirs)


def test_packed_huggingface_rejects_other_architectures():
    with pytest.raises(sl.errors.ArgumentError, match="got Linear"):
        sl.models.packed_huggingface(torch.nn.Linear(2, 2))
