"""Tests of warnings about records whose scores are meaningless or ambiguous."""

import warnings

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import DataWarning, NotFiniteError


@pytest.fixture(scope="module")
def run():
    """A model that was trained on proteins of 8 to 10 residues."""
    table = {"sequence": ["MKLVWYHE", "MKLVWYHEDF"], "label": ["yes", "no"]}
    data = sl.data.SequenceDataset(table, encoder=sl.encode.OneHot("protein"))
    config = sl.models.SequenceCNNConfig.for_data(data)
    return sl.train.fit(config, data, epochs=1)


def test_predict_warns_about_a_duplicate_id_with_its_count(run):
    pairs = [("a", "MKLVWYHE"), ("b", "MKLVWYHE"), ("b", "MKLVWYHED"), ("c", "MKLVWYHE")]
    with pytest.warns(DataWarning, match="2 sequences have the id 'b': .*joined by id"):
        assert sl.infer.predict(run, pairs).ids == ["a", "b", "b", "c"]


def test_predict_warns_about_lengths_outside_the_training_set(run):
    said = "1 of 2 sequences have 12 residues, but the model was trained on 8 to 10"
    with pytest.warns(DataWarning, match=said):
        sl.infer.predict(run, ["MKLVWYHE", "MKLVWYHEDFGH"])


def test_scoring_dna_with_a_protein_model_gives_a_warning(run):
    with pytest.warns(DataWarning, match="look like dna, but the model was trained on"):
        sl.infer.predict(run, ["ACGTTGCA", "TTGGCCAAA"] * 80)


def test_proteins_that_look_like_ambiguity_codes_give_a_warning_for_a_dna_model():
    table = {"sequence": ["ACGTTGCA", "TTGGCCAAA"], "label": ["yes", "no"]}
    data = sl.data.SequenceDataset(table, encoder=sl.encode.OneHot("dna"))
    config = sl.models.SequenceCNNConfig.for_data(data)
    trained = sl.train.fit(config, data, epochs=1)
    # All of ACDGHKMNR except A, C, G and N are ambiguity codes.
    said = r"look like protein \(10 of 18 residues .*, but the model was trained on dna"
    with pytest.warns(DataWarning, match=said):
        sl.infer.predict(trained, ["ACDGHKMNR", "ACDGHKMNR"])


def test_a_warning_about_records_points_at_the_call_of_predict(run):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sl.infer.predict(run, {"sequence": ["MKLVWYHE", "MKLVWYHE"], "id": ["a", "a"]})
    assert [each.filename for each in caught] == [__file__]


def test_evaluate_warns_about_lengths_outside_the_training_set(run):
    table = {"sequence": ["MKLVW", "MKLVWYHED"], "label": ["yes", "no"]}
    with pytest.warns(DataWarning, match="1 of 2 sequences have 5 residues"):
        sl.infer.evaluate(run, table)


def test_predict_does_not_warn_about_records_like_the_training_set(run):
    assert len(sl.infer.predict(run, ["MKLVWYHE", "MKLVWYHED"])) == 2


def test_predict_warns_about_records_with_infinite_scores():
    rng = np.random.default_rng(0)
    rows = {f"e{i}": rng.normal(size=3).astype(np.float32) for i in range(12)}
    labels = {name: "ab"[i % 2] for i, name in enumerate(rows)}
    data = sl.data.EmbeddingDataset(rows, labels=labels)
    run = sl.train.fit(sl.models.HeadConfig.for_data(data), data, epochs=1)
    rows |= dict.fromkeys(["e3", "e7"], np.array([1, np.nan, 2], np.float32))
    with pytest.warns(DataWarning, match="of the record 'e3' and of 1 more are not finite"):
        scores = sl.infer.predict(run, sl.data.EmbeddingDataset(rows))
    assert np.flatnonzero(np.isnan(scores.to_numpy()).any(axis=1)).tolist() == [3, 7]
    with pytest.raises(NotFiniteError, match="of the record 'e3' and of 1 more"):
        sl.infer.evaluate(run, sl.data.EmbeddingDataset(rows, labels=labels))
