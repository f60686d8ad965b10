"""Hidden states and logits of packed, padded and single proteins match Hugging Face."""

import numpy as np
import pytest

import seqloom as sl
from esm_networks import draw_proteins, make_huggingface, run_huggingface
from seqloom.errors import ArgumentError, SeqloomError

MAX_ABSOLUTE_ERROR = 2e-5  # largest absolute error in float32
JAX_PARAMETER = pytest.param("jax", marks=pytest.mark.soak)
COMPILING_BACKENDS = [pytest.param("torch", marks=pytest.mark.soak), JAX_PARAMETER]


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


@pytest.fixture(scope="module", params=["numpy", "torch", JAX_PARAMETER])
def model(request, folder):
    return load(folder, request.param)


def load(folder, backend):
    return sl.models.ESM2.load(folder, sl.tensor.backend(backend, num_threads=1))


def max_error(found, expected) -> float:
    return float(np.abs(found.numpy() - expected).max())


def test_hidden_states_of_a_packed_batch_match_huggingface(model, proteins, expected):
    hidden = model(*proteins.packed, layers=range(7))
    for ours, others in zip(hidden, expected["hidden"], strict=True):
        assert max_error(ours, others) < MAX_ABSOLUTE_ERROR


def test_hidden_states_of_a_padded_batch_match_huggingface(model, proteins, expected):
    hidden = model(proteins.padded(), layers=range(7))
    for ours, others in zip(hidden, expected["hidden"], strict=True):
        assert np.abs(ours.numpy()[proteins.mask] - others).max() < MAX_ABSOLUTE_ERROR


def test_each_protein_alone_gives_the_result_of_the_batch(model, proteins, expected):
    alone = np.concatenate([model(ids).numpy() for ids in proteins.each])
    assert np.abs(alone - expected["hidden"][-1]).max() < MAX_ABSOLUTE_ERROR


def test_esm2_logits_match_huggingface(model, proteins, expected):
    logits = model.logits(model(*proteins.packed))
    assert max_error(logits, expected["logits"]) < MAX_ABSOLUTE_ERROR
    assert np.abs(expected["logits"]).max() > 2


def test_a_mask_argument_defines_the_padding(model, proteins, expected):
    hidden = model(proteins.padded(pad=7), mask=proteins.mask)
    last = hidden.numpy()[proteins.mask]
    assert np.abs(last - expected["hidden"][-1]).max() < MAX_ABSOLUTE_ERROR


def test_hidden_states_differ_from_huggingface_without_the_token_dropout_scale(
    folder, proteins, expected
):
    model = sl.models.ESM2.load(folder)
    model.config = sl.models.ESM2Config.of("8M", token_dropout=False)
    assert (
        max_error(model(*proteins.packed), expected["hidden"][-1])
        > 100 * MAX_ABSOLUTE_ERROR
    )


def test_a_wrong_padding_token_gives_other_hidden_states(folder, proteins, expected):
    model = sl.models.ESM2.load(folder)
    last = model(proteins.padded(pad=0)).numpy()[proteins.mask]
    assert np.abs(last - expected["hidden"][-1]).max() > 100 * MAX_ABSOLUTE_ERROR


def test_embed_returns_selected_layers_of_a_packed_batch(model, proteins, expected):
    ids, starts, longest = proteins.packed
    batch = {"input_ids": ids, "cu_seqlens": starts, "max_seqlen": longest}
    found = model.embed(batch, layers=(2, -1))
    assert list(found) == [2, -1]
    assert max_error(found[2], expected["hidden"][2]) < MAX_ABSOLUTE_ERROR
    assert max_error(found[-1], expected["hidden"][-1]) < MAX_ABSOLUTE_ERROR


def test_contacts_match_huggingface(model, proteins, expected):
    packed = model.contacts(*proteins.packed)
    padded = model.contacts(proteins.padded())
    for ours, others, truth in zip(packed, padded, expected["contacts"], strict=True):
        assert ours.shape == others.shape == truth.shape
        assert max_error(ours, truth) < MAX_ABSOLUTE_ERROR
        assert max_error(others, truth) < MAX_ABSOLUTE_ERROR
    assert np.ptp(expected["contacts"][1]) > 0.01


def test_a_protein_without_residues_has_no_contacts(model):
    ids = np.array([0, 2, 0, 5, 2])
    assert [x.shape for x in model.contacts(ids, [0, 2, 5])] == [(0, 0), (1, 1)]


def test_a_fully_masked_protein_has_finite_hidden_states(model):
    assert np.isfinite(model(np.array([32, 32, 32])).numpy()).all()


@pytest.mark.parametrize("backend", ["numpy", *COMPILING_BACKENDS])
def test_a_compiled_esm2_gives_the_eager_result(backend, folder, proteins):
    model = load(folder, backend)
    compiled = sl.tensor.compile(lambda model, ids, starts: model(ids, starts, 90))
    ids, starts, _ = proteins.packed
    given = model.backend.tensor(ids), model.backend.tensor(starts)
    assert (
        max_error(compiled(model, *given), model(*proteins.packed).numpy())
        < MAX_ABSOLUTE_ERROR
    )


@pytest.mark.parametrize(
    ("size", "count"),
    [
        ("8M", 7_512_353),
        ("35M", 33_501_153),
        ("150M", 148_139_553),
        ("650M", 651_042_593),
        ("3B", 2_839_004_193),
        ("15B", 15_129_098_273),
    ],
)
def test_each_esm2_size_has_the_published_number_of_parameters(size, count):
    config = sl.models.ESM2Config.of(size, has_contact_head=False)
    assert config.build().number_of_parameters == count


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (lambda m: m(np.array([[0, 2]]), mask=np.ones((1, 3))), "shape of input_ids"),
        (lambda m: m(np.array([0, 2]), mask=np.ones(2)), "mask is for padded"),
        (lambda m: m(np.array([[0, 2]]), [0, 2]), "without cu_seqlens"),
        (lambda m: m(np.array([0, 5, 2]), [0, 2]), "cu_seqlens must be increasing"),
        (lambda m: m(np.array([0, 33, 2])), "expected integers from 0 to 32"),
        (lambda m: m(np.array([0, 2]), layers=(7,)), "layers must contain indices from 0"),
        (lambda m: m(np.array([0, 2]), layers=()), r"layers must contain .* got \[\]"),
        (lambda m: m(np.array([0.0, 2.0])), "integer"),
    ],
)
def test_invalid_esm2_arguments_raise(model, call, phrase):
    with pytest.raises(SeqloomError, match=phrase):
        call(model)


@pytest.mark.parametrize(
    ("changes", "phrase"),
    [
        ({"layers": 0}, "layers must be at least 1"),
        ({"heads": 3}, "width must be a multiple of 2"),
        ({"mask_token": 33}, "mask_token must be from 0 to 32"),
    ],
)
def test_invalid_esm2_settings_are_an_error(changes, phrase):
    with pytest.raises(ArgumentError, match=phrase):
        sl.models.ESM2Config.of("8M", **changes)


def test_an_unknown_esm2_size_is_an_error():
    with pytest.raises(ArgumentError, match='size must be "8M"'):
        sl.models.ESM2Config.of("7M")


@pytest.mark.soak
@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_the_35m_network_matches_huggingface(backend, tmp_path):
    theirs, proteins = make_huggingface("35M"), draw_proteins((40, 300, 9))
    theirs.save_pretrained(tmp_path, max_shard_size="20MB")
    model, expected = (
        load(tmp_path, backend),
        run_huggingface(theirs, proteins),
    )
    hidden = model(*proteins.packed)
    assert max_error(hidden, expected["hidden"][-1]) < MAX_ABSOLUTE_ERROR
    assert max_error(model.logits(hidden), expected["logits"]) < MAX_ABSOLUTE_ERROR
