"""Tests that prediction and evaluation read each record once and are reproducible."""

import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import ConfigError, DataWarning, FormatError, LabelError, ShapeError
from seqloom.infer import _kinds
from seqloom.infer._loop import evaluation_batch_size, run_model


@pytest.fixture
def run(toy, small, tmp_path):
    """A finished run on sequences of different lengths."""
    data = toy(60, lengths=(12, 20, 31))
    return sl.train.fit(small, data, data, epochs=1, test=data, out=tmp_path / "run")


@pytest.mark.usefixtures("run")
def test_predicted_scores_equal_those_of_fit_exactly(tmp_path):
    scores = sl.infer.predict(tmp_path / "run", tmp_path / "toy.fa")
    saved = sl.infer.Scores.read_tsv(tmp_path / "run/scores-test.tsv")
    assert scores.ids == saved.ids
    assert scores.to_numpy().tobytes() == saved.to_numpy().tobytes()


def test_predict_scores_every_record_once_in_file_order(run, tmp_path):
    scores = sl.infer.predict(run.trained, tmp_path / "toy.fa")
    assert scores.ids == [f"r{number}" for number in range(60)]


def test_the_probabilities_of_each_record_sum_to_one(run, tmp_path):
    scores = sl.infer.predict(run.trained, tmp_path / "toy.fa").to_numpy()
    np.testing.assert_allclose(scores.sum(axis=1), 1, atol=1e-6)


def test_the_scores_of_a_record_do_not_depend_on_other_records(run, toy):
    data = toy(60, lengths=(12, 20, 31))
    among = sl.infer.predict(run.trained, data).to_numpy()[7:8]
    alone = sl.infer.predict(run.trained, sl.data.Subset(data, [7])).to_numpy()
    np.testing.assert_allclose(alone, among, atol=1e-6)


@pytest.mark.parametrize("batch_size", [1, 7, 60, 64])
def test_scores_do_not_depend_on_the_batch_size(run, toy, batch_size):
    data = toy(60, lengths=(12, 20, 31))
    found = run_model(run.model, data, batch_size=batch_size)
    expected = run_model(run.model, data, batch_size=256)
    np.testing.assert_allclose(found, expected, atol=1e-5)


class Lengths(sl.nn.Module):
    """Returns sequence lengths, and records the fraction of each batch without padding."""

    scale: sl.nn.Linear  # a network must have parameters

    def __init__(self):
        self.fills = []
        self.scale = sl.nn.Linear(1, 1)

    def logits(self, x, *, mask=None, key=None):
        del key
        found = np.ones(x.shape[::2]) if mask is None else mask.numpy()
        self.fills.append(found.mean())
        return x.backend.tensor(found.sum(axis=1, keepdims=True).astype(np.float32))


@pytest.mark.parametrize("batch_size", [7, 16])
def test_predict_groups_lengths_and_returns_scores_in_file_order(toy, batch_size):
    data = toy(64, lengths=(8, 90, 20, 60, 33, 8, 12))
    model = Lengths().bind("numpy", sl.Key(0))
    found = run_model(model, data, batch_size=batch_size)
    assert found[:, 0].tolist() == data.lengths.tolist()
    assert (
        np.mean(model.fills) > 0.7
    )  # the fraction would be 0.4 with batches in file order


def test_predict_scores_several_files_like_one_file(run, toy, tmp_path):
    toy(10, name="other")
    with pytest.warns(DataWarning, match="2 sequences have the id"):
        scores = sl.infer.predict(run.trained, [tmp_path / "toy.fa", tmp_path / "other.fa"])
    assert len(scores) == 70


def test_progress_of_predict_counts_every_record(run, toy):
    heard = []
    sl.infer.predict(run.trained, toy(60), progress=lambda *counts: heard.append(counts))
    assert heard[-1] == (60, 60)


def test_the_metrics_of_evaluate_agree_with_the_scores(run, toy):
    data = toy(60, lengths=(12, 20, 31))
    guess = sl.infer.predict(run.trained, data).to_numpy().argmax(axis=1)
    metrics = sl.infer.evaluate(run.trained, data)
    assert metrics["n"] == 60
    assert metrics["accuracy"] == (guess == data.labels).mean()


def test_metrics_of_a_confident_model_use_its_logits(run, toy):
    data = toy(60, lengths=(12, 20, 31))
    record = run.model.to_record()
    bias = (record["head.bias"] + [0, 60]).astype(np.float32)
    run.model.load_record({**record, "head.bias": bias})
    scores = sl.infer.predict(run, data)
    assert (scores.to_numpy()[:, 1] == 1).all()
    margin = np.subtract(*scores.outputs.astype(float).T[::-1])
    found = sl.infer.evaluate(run, data)
    assert found["auroc"] == pytest.approx(roc_auc_score(data.labels, margin))
    assert found["auprc"] == pytest.approx(average_precision_score(data.labels, margin))


def test_a_custom_metric_receives_exact_probabilities(toy, small):
    types = []
    data = toy(20)
    options: dict[str, Any] = {
        "metrics": {"own": lambda _, scores: types.append(scores.dtype) or 0.0}
    }
    sl.train.fit(small, data, data, **as_arguments(epochs=1, **options))
    assert set(types) == {np.dtype(np.float64)}


def test_evaluate_gives_the_test_metrics_of_fit(run, toy):
    data = toy(60, lengths=(12, 20, 31))
    assert sl.infer.evaluate(run.trained, data) == run.test.metrics


def test_evaluate_needs_a_dataset_with_labels(run, toy):
    with pytest.raises(LabelError, match="no labels to compare with"):
        sl.infer.evaluate(run.trained, toy(labels=None))


def test_evaluate_needs_a_dataset_with_the_classes_of_the_model(run, toy):
    data = toy(classes=("yes", "no"))
    with pytest.raises(LabelError, match=r"give the dataset Labels\(..., classes=model\.c"):
        sl.infer.evaluate(run.trained, data)


def test_evaluate_needs_a_dataset_of_the_task_of_the_model(run, toy):
    with pytest.raises(LabelError, match=r"task is classify, but .* read for regress"):
        sl.infer.evaluate(run.trained, toy(labels="gc", task="regress"))


def test_predicting_from_a_dataset_with_another_encoder_is_an_error(run, toy):
    with pytest.raises(ConfigError, match=r"give the dataset encoder=model\.encoder"):
        sl.infer.predict(run.trained, toy(encoder=sl.encode.OneHot("iupac")))


def test_the_error_of_predict_names_a_sequence_of_the_wrong_length(toy, tmp_path):
    data = toy()
    config = sl.models.SequenceCNNConfig.for_data(data)
    run = sl.train.fit(config, data, epochs=1)
    (tmp_path / "odd.fa").write_text(f">a\n{'ACGT' * 5}\n>odd\nACGT\n")
    remedy = r"\(in Python: SequenceCNNConfig\(channels=4, outputs=2\)\)"
    with pytest.raises(ShapeError, match=f"20 residues, but 'odd' has 4; .*{remedy}"):
        sl.infer.predict(run.trained, tmp_path / "odd.fa")


def test_predicting_from_a_file_without_sequences_is_an_error(run, toy):
    with pytest.raises(FormatError, match="no sequences"):
        sl.infer.predict(run.trained, sl.data.Subset(toy(), []))


def test_the_error_of_predict_names_an_empty_sequence(run, tmp_path):
    (tmp_path / "hole.fa").write_text(">a\nACGT\n>hole\n>c\nACGT\n")
    with pytest.raises(FormatError, match="hole"):
        sl.infer.predict(run.trained, tmp_path / "hole.fa")


def test_predict_uses_smaller_batches_for_longer_sequences(toy):
    assert evaluation_batch_size(toy(lengths=(20,))) == 256
    assert evaluation_batch_size(toy(2, lengths=(5000,))) == 52


@pytest.mark.parametrize("judge", [sl.infer.predict, sl.infer.evaluate])
@pytest.mark.parametrize("is_part", [False, True])
def test_scoring_augmented_records_gives_a_warning(run, toy, judge, is_part):
    data = toy(20, augment=sl.augment.ReverseComplement())
    with pytest.warns(UserWarning, match="data has augmentation or jitter") as told:
        judge(run.trained, sl.data.Subset(data, range(9)) if is_part else data)
    assert told[0].filename == __file__


def test_scoring_with_a_centre_crop_gives_no_warning(run, toy, tmp_path):
    data = toy(20, augment=sl.augment.Crop(12, mode="centre"))
    found = sl.infer.predict(run.trained, data).to_numpy()
    with sl.io.open_sequences(tmp_path / "toy.fa") as reader:
        middles = [record.sequence[4:16] for record in reader]
    expected = sl.infer.predict(run.trained, middles).to_numpy()
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("name", ["valid", "test"])
def test_fit_warns_about_augmentation_of_validation_and_test_sets(toy, small, name):
    data = toy(40)
    moving = {name: toy(20, name="moving", augment=sl.augment.ReverseComplement())}
    with pytest.warns(UserWarning, match="set has augmentation or jitter") as told:
        sl.train.fit(small, data, **as_arguments(epochs=1, **{"valid": data, **moving}))
    assert told[0].filename == __file__


class Counting(sl.nn.Module):
    """A network that counts residues, and records the shapes of batches."""

    head: sl.nn.Linear
    seen: ClassVar[list[tuple[int, ...]]] = []

    def __init__(self):
        self.head = sl.nn.Linear(4, 2)

    def logits(self, inputs, mask=None):  # noqa: ARG002 - padding adds 0 to a sum
        self.seen.append(inputs.shape)
        return self.head(inputs.sum(axis=2))


def test_predict_uses_small_batches_beyond_training_lengths(monkeypatch):
    kind = replace(_kinds.find_encoder_kind(sl.encode.OneHot("dna")), batch_positions=64)
    monkeypatch.setattr(_kinds, "REGISTERED_KINDS", [kind])
    table = {"sequence": ["ACGT", "CCCC", "GGTT", "ACAC"], "label": ["a", "b", "a", "b"]}
    data = sl.data.SequenceDataset(table, encoder=sl.encode.OneHot("dna"))
    run = sl.train.fit(Counting(), data, epochs=1)
    Counting.seen.clear()
    assert run.trained.batch_size == 16
    texts = ["ACGT", "A" * 200, "CC", *["ACGTACGTAC"] * 12]
    with pytest.warns(DataWarning, match="have 2 to 200 residues"):
        scores = sl.infer.predict(run, texts).to_numpy()
    assert Counting.seen == [(16, 4, 4), (4, 4, 10), (4, 4, 10), (4, 4, 10), (1, 4, 200)]
    for text, row in zip(texts, scores, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            alone = sl.infer.predict(run, [text]).to_numpy()
        np.testing.assert_allclose(alone[0], row, rtol=1e-5)
