"""Tests of SequenceCNN: settings, and scores that are independent of the batch."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import seqloom as sl
from seqloom.errors import ArgumentError, ShapeError

CNN_CONFIG = sl.models.SequenceCNNConfig(channels=4, outputs=3, widths=(8, 8))
CNN_MODEL = CNN_CONFIG.init(sl.tensor.backend("numpy", num_threads=1), sl.Key(1)).eval()
FIXED_LENGTH_CONFIG = sl.models.SequenceCNNConfig(
    channels=4, outputs=3, length=30, widths=(8,)
)


def logits_of(sequences, length):
    """Pad sequences to a length, and return the logits of the network with a mask."""
    inputs = sl.encode.OneHot("dna").batch(sequences, length=length)
    mask = np.array([[place < len(it) for place in range(length)] for it in sequences])
    tensor = CNN_MODEL.backend.tensor
    return np.asarray(
        CNN_MODEL.logits(tensor(inputs), mask=tensor(mask.astype(np.float32)))
    )


dna = st.text("ACGT", min_size=1, max_size=40).map(str.encode)


@settings(max_examples=30, deadline=None)
@given(dna, dna, st.integers(0, 30))
def test_a_score_does_not_depend_on_other_records_and_padding(one, other, padding):
    alone = logits_of([one], len(one))
    longest = max(len(one), len(other)) + padding
    np.testing.assert_allclose(logits_of([one, other], longest)[:1], alone, atol=1e-6)


def test_a_mask_of_ones_gives_the_scores_without_a_mask():
    x = CNN_MODEL.backend.tensor(sl.encode.OneHot("dna").batch([b"ACGTTGCA"] * 2))
    mask = CNN_MODEL.backend.tensor(np.ones((2, 8), np.float32))
    np.testing.assert_allclose(
        CNN_MODEL.logits(x), CNN_MODEL.logits(x, mask=mask), atol=1e-6
    )


def test_an_empty_sequence_has_a_finite_score():
    assert np.isfinite(logits_of([b"", b"ACGT"], 4)).all()


def test_a_window_of_another_length_is_rejected_with_a_hint():
    x = CNN_MODEL.backend.tensor(np.zeros((1, 4, 60), np.float32))
    with pytest.raises(ShapeError, match="30 residues, got 60; for any length, ") as found:
        FIXED_LENGTH_CONFIG.init("numpy").eval().logits(x)
    remedy = re.search(r"SequenceCNNConfig\(.*?\)", str(found.value))
    assert remedy is not None
    config = eval(remedy[0], {"SequenceCNNConfig": sl.models.SequenceCNNConfig})  # noqa: S307 - our own message
    outputs = config.init("numpy").eval().logits(x)
    assert outputs.shape == (1, FIXED_LENGTH_CONFIG.outputs)


def test_a_padded_window_is_rejected():
    tensor = CNN_MODEL.backend.tensor
    x, mask = np.zeros((1, 4, 30), np.float32), np.ones((1, 30), np.float32)
    mask[0, -1] = 0
    with pytest.raises(ShapeError, match="got shorter ones"):
        FIXED_LENGTH_CONFIG.init("numpy").eval().logits(tensor(x), mask=tensor(mask))


def test_a_sequence_cnn_rejects_another_encoder():
    with pytest.raises(ShapeError, match="reads 4 channels, got 20"):
        CNN_MODEL.logits(CNN_MODEL.backend.tensor(np.zeros((1, 20, 30), np.float32)))


def test_for_data_detects_windows_of_one_length(toy):
    config = sl.models.SequenceCNNConfig.for_data(toy())
    assert (config.channels, config.outputs, config.length) == (4, 2, 20)


def test_for_data_detects_sequences_of_any_length(toy):
    assert sl.models.SequenceCNNConfig.for_data(toy(lengths=(8, 20))).length is None


def test_other_lengths_in_a_validation_set_give_settings_for_any_length(toy):
    parts = toy(), toy(lengths=(30,), name="test")
    assert sl.models.SequenceCNNConfig.for_data(*parts).length is None
    assert sl.models.SequenceCNNConfig.for_data(parts[0], parts[0]).length == 20


def test_for_data_needs_labels(toy):
    with pytest.raises(ArgumentError, match="no labels"):
        sl.models.SequenceCNNConfig.for_data(toy(labels=None))


def test_for_data_needs_an_encoder(toy):
    with pytest.raises(ArgumentError, match="no encoder"):
        sl.models.SequenceCNNConfig.for_data(toy(encoder=None))


@pytest.mark.parametrize(
    "wrong",
    [
        {"channels": 0},
        {"outputs": 0},
        {"length": 0},
        {"widths": ()},
        {"widths": (8, 0)},
        {"kernel_size": 4},
        {"kernel_size": (3, 5)},
        {"dropout": 1.0},
        {"pools": (2,)},
        {"length": 30, "pools": (2, 2), "widths": (8,)},
        {"length": 2, "pools": (4,), "widths": (8,)},
    ],
    ids=str,
)
def test_invalid_sequence_cnn_settings_are_rejected(wrong):
    values: Any = {"channels": 4, "outputs": 2, **wrong}
    with pytest.raises(ArgumentError):
        sl.models.SequenceCNNConfig(**values)


def test_settings_are_restored_from_json():
    assert (
        sl.models.SequenceCNNConfig.from_json(FIXED_LENGTH_CONFIG.to_json())
        == FIXED_LENGTH_CONFIG
    )


def both_strands_model(**changes):
    """A network of both strands of DNA, with random head weights."""
    settings: dict[str, Any] = {"widths": (8,), "kernel_size": 5, **changes}
    config = sl.models.SequenceCNNConfig(4, 3, both_strands=True, **settings)
    return config.init("numpy", sl.Key(2))


def logits_of_text(model, text, *, length=None, key=None):
    """Return the logits of one sequence, padded to a length."""
    inputs = sl.encode.OneHot("dna").batch([text], length=length or len(text))
    mask = (np.arange(inputs.shape[2]) < len(text)).astype(np.float32)[None]
    x, mask = (model.backend.tensor(it) for it in (inputs, mask))
    return np.asarray(model.logits(x, mask=mask, key=key))


@pytest.mark.parametrize("length", [None, 12])
def test_both_strands_of_a_sequence_have_equal_outputs(length):
    model = both_strands_model(length=length).eval()
    one = logits_of_text(model, b"ACGGTTTACCAG")
    other = logits_of_text(model, b"CTGGTAAACCGT")  # the reverse complement
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_the_output_for_both_strands_is_the_mean_output_of_the_strands():
    model = both_strands_model().eval()
    single = sl.models.SequenceCNNConfig(4, 3, widths=(8,), kernel_size=5).init("numpy")
    single.load_record(model.to_record()).eval()
    strands = [logits_of_text(single, it) for it in (b"ACGGTTTACCAG", b"CTGGTAAACCGT")]
    found = logits_of_text(model, b"ACGGTTTACCAG")
    np.testing.assert_allclose(found, sum(strands) / 2, atol=1e-6)


def test_padding_does_not_change_the_output_for_both_strands():
    model = both_strands_model().eval()
    padded = logits_of_text(model, b"ACGGTTTAC", length=20)
    np.testing.assert_allclose(padded, logits_of_text(model, b"ACGGTTTAC"), atol=1e-6)


def test_training_reads_a_random_strand_of_each_sequence():
    model = both_strands_model(dropout=0.0)
    found = {
        logits_of_text(model, b"ACGGTTTACCAG", key=sl.Key(seed)).tobytes()
        for seed in range(20)
    }
    assert len(found) == 2


@pytest.mark.parametrize(
    "wrong", [{"inputs": "tokens", "vocabulary": 6}, {"channels": 20}, {"channels": 5}]
)
def test_both_strands_need_one_hot_dna(wrong):
    values: Any = {"channels": 4, "outputs": 2, **wrong}
    with pytest.raises(ArgumentError, match="both_strands needs one-hot DNA"):
        sl.models.SequenceCNNConfig(both_strands=True, **values)


@pytest.mark.parametrize("letters", ["AGCT", "HPCX"])
def test_both_strands_reject_an_encoder_with_another_order_of_bases(letters):
    config = sl.models.SequenceCNNConfig(4, 2, both_strands=True)
    with pytest.raises(ArgumentError, match="with the channels A, C, G, T"):
        config.check_encoder(sl.encode.OneHot(letters))


def test_both_strands_exclude_the_aligned_branch():
    with pytest.raises(ArgumentError, match="both_strands and aligned exclude"):
        sl.models.SequenceCNNConfig(4, 2, length=9, aligned=4, both_strands=True)


def test_genotypes_are_rejected_with_a_hint_to_genotype_mlp(cohort):
    with pytest.raises(ArgumentError, match="use GenotypeMLPConfig"):
        sl.models.SequenceCNNConfig.for_data(cohort())
