"""The linear model of sequences: weights for positions or for k-mers."""

import json

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError, ShapeError
from seqloom.models import SequenceLinearConfig

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"


def random_sequences(letters, lengths, seed=0):
    """Random sequences of the given lengths, by id."""
    draw = np.random.default_rng(seed)
    return {
        f"r{number}": "".join(draw.choice([*letters], length))
        for number, length in enumerate(lengths)
    }


def logits_of(config, weights, sequences, alphabet):
    """The outputs of a model with the given weights and without biases."""
    data = sl.data.SequenceDataset(sequences, encoder=sl.encode.OneHot(alphabet))
    model = config.init("numpy").load_record(
        {"weight": weights, "bias": np.zeros(len(weights))}
    )
    return model.logits(model.backend.tensor(data.batch(np.arange(len(data)))["inputs"]))


@pytest.mark.parametrize(
    ("alphabet", "letters", "k"),
    [("dna", "ACGT", k) for k in range(1, 6)] + [("protein", AMINO_ACIDS, 2)],
)
def test_kmer_frequencies_are_those_of_the_kmer_encoder(alphabet, letters, k):
    sequences = random_sequences(letters, [1, 2, 3, 5, 8, 30, 31])
    size = len(letters) ** k
    config = SequenceLinearConfig(len(letters), size, k=k)
    weights = np.eye(size, size + 1, dtype=np.float32) / size
    found = logits_of(config, weights, sequences, alphabet).numpy()
    encoder = sl.encode.Kmer(k, alphabet, counts=True)
    counts = sl.data.SequenceDataset(sequences, encoder=encoder).batch(np.arange(7))
    expected = counts["inputs"] / np.maximum(counts["inputs"].sum(1, keepdims=True), 1)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_the_last_feature_is_the_logarithm_of_the_length_plus_1():
    config = SequenceLinearConfig(4, 1, k=2)
    weights = np.zeros((1, 17), np.float32)
    weights[0, -1] = 1
    found = logits_of(config, weights, {"a": "ACGT", "b": "AC"}, "dna").numpy()
    np.testing.assert_allclose(found[:, 0], np.log([5, 3]), rtol=1e-6)


def test_weights_for_positions_are_summed_over_the_residues():
    config = SequenceLinearConfig(4, 2, length=3)
    weights = np.random.default_rng(1).normal(size=(2, 4, 3)).astype(np.float32)
    found = logits_of(config, weights.reshape(2, -1), {"a": "GAT"}, "dna").numpy()
    expected = weights[:, [2, 0, 3], [0, 1, 2]].sum(axis=1)
    np.testing.assert_allclose(found[0], expected, rtol=1e-6)


def test_settings_for_sequences_of_equal_length_have_positions():
    data = sl.data.SequenceDataset(
        random_sequences("ACGT", [9] * 4),
        labels={f"r{number}": "ab"[number % 2] for number in range(4)},
        encoder=sl.encode.OneHot("dna"),
    )
    assert SequenceLinearConfig.for_data(data) == SequenceLinearConfig(4, 2, length=9)
    assert SequenceLinearConfig.for_data(data, k=3) == SequenceLinearConfig(4, 2, k=3)


def test_the_model_learns_the_composition_of_sequences():
    sequences = random_sequences("AT", [30] * 50) | {
        f"s{number}": text
        for number, text in enumerate(random_sequences("CG", [25] * 50, 1).values())
    }
    data = sl.data.SequenceDataset(
        sequences,
        labels={name: name[0] for name in sequences},
        encoder=sl.encode.OneHot("dna"),
    )
    config = SequenceLinearConfig.for_data(data)
    run = sl.train.fit(config, data, data, lr=0.01, epochs=5)
    assert run.valid.metrics["accuracy"] == 1.0


def test_settings_are_restored_from_json():
    config = SequenceLinearConfig(4, 2, k=3)
    assert sl.nn.Config.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_sequences_of_another_length_are_an_error():
    model = SequenceLinearConfig(4, 2, length=9).init("numpy")
    with pytest.raises(ShapeError, match="of length 9"):
        model.logits(model.backend.tensor(np.zeros((1, 4, 8), np.float32)))


@pytest.mark.parametrize("sizes", [{}, {"length": 3, "k": 3}])
def test_exactly_one_of_length_and_k_is_required(sizes):
    with pytest.raises(ArgumentError, match="either length"):
        SequenceLinearConfig(4, 2, **sizes)


def test_the_output_of_another_encoder_is_an_error():
    data = sl.data.SequenceDataset(
        {"a": "ACGT", "b": "GG"},
        labels={"a": "x", "b": "y"},
        encoder=sl.encode.Tokens("dna"),
    )
    with pytest.raises(ArgumentError, match="one-hot"):
        SequenceLinearConfig.for_data(data)
