"""Tests of warnings about validation and test sequences that occur in the training set."""

import warnings

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import DataWarning, SeenRecordsWarning

RNG = np.random.default_rng(3)


def draw(count):
    return ["".join(RNG.choice(list("ACGT"), 12)) for _ in range(count)]


TRAINING, NEW = draw(24), draw(16)
# Lower case and other ids: only the sequences are compared.
SEQUENCES_OF_TEST_SET = [*NEW[:8], *(letters.lower() for letters in TRAINING[:4])]


def read(sequences, name):
    labels = {f"{name}{at}": "no" if at % 2 else "yes" for at in range(len(sequences))}
    records = {f"{name}{at}": letters for at, letters in enumerate(sequences)}
    return sl.data.SequenceDataset(records, labels=labels, encoder=sl.encode.OneHot("dna"))


def fit(**options):
    train = read(TRAINING, "t")
    config = sl.models.SequenceCNNConfig.for_data(train)
    return sl.train.fit(config, train, **as_arguments(epochs=1, **options))


def test_fit_counts_duplicates_and_evaluates_the_model_without_them():
    with pytest.warns(SeenRecordsWarning, match="^4 of 12 test records") as found:
        run = fit(test=read(SEQUENCES_OF_TEST_SET, "q"))
    part = run.test
    right = part.scores.to_numpy().argmax(axis=1) == part.labels
    new, every = right[:8].mean(), right.mean()
    figures = f"accuracy {new:.4f} without these records, {every:.4f} with all records"
    assert str(found[0].message).endswith(figures)
    assert found[0].filename == __file__
    assert part.known.tolist() == [False] * 8 + [True] * 4


def test_evaluate_with_a_saved_model_warns_about_duplicates(tmp_path):
    fit(out=tmp_path / "run", report=False)
    with pytest.warns(SeenRecordsWarning, match="4 of 12 records") as found:
        sl.infer.evaluate(tmp_path / "run", read(SEQUENCES_OF_TEST_SET, "q"))
    assert found[0].filename == __file__


def test_a_model_that_is_saved_again_keeps_its_training_hashes(tmp_path):
    fit().trained.save(tmp_path / "again")
    with pytest.warns(SeenRecordsWarning, match="4 of 12 records"):
        sl.infer.evaluate(tmp_path / "again", read(SEQUENCES_OF_TEST_SET, "q"))


def test_if_all_records_are_duplicates_the_advice_is_to_use_other_records():
    with pytest.warns(SeenRecordsWarning, match="24 of 24 .*use records that are not"):
        fit(valid=read(TRAINING, "v"))


def test_records_that_were_not_trained_on_give_no_duplicate_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeenRecordsWarning)
        run = fit(valid=read(NEW, "v"))
        assert sl.infer.evaluate(run, read(NEW, "v"))["n"] == len(NEW)
    assert not run.valid.known.any()


def test_the_report_and_the_model_card_mention_duplicates(tmp_path):
    with pytest.warns(SeenRecordsWarning):
        fit(test=read(SEQUENCES_OF_TEST_SET, "q"), out=tmp_path / "run")
    for name in ("report.html", "README.md"):
        text = (tmp_path / "run" / name).read_text()
        assert "4 of 12 test records duplicate training sequences" in text


def test_a_split_keeps_equal_sequences_together():
    data = read([*TRAINING, *(letters.lower() for letters in TRAINING)], "t")
    parts = sl.data.split(data, (0.5, 0.5), groups="sequence")
    one, other = ({it.upper() for it in part.group("sequence")} for part in parts)
    assert len(one) == len(other) == 12
    assert not one & other


def test_too_many_training_records_store_no_hashes(monkeypatch):
    monkeypatch.setattr("seqloom.data._parts._MAX_HASHED_RECORDS", 5)
    assert fit().trained.known_letters is None


def test_records_without_sequences_store_no_hashes():
    arrays = {"x": RNG.normal(size=(12, 3)).astype("float32"), "y": np.arange(12) % 2}

    class Linear(sl.nn.Module):
        head: sl.nn.Linear

        def __init__(self):
            self.head = sl.nn.Linear(3, 2)

        def forward(self, x):
            return self.head(x)

    run = sl.train.fit(Linear(), arrays, arrays, objective="classify", epochs=1)
    assert run.trained.known_letters is None
    assert run.valid.known is None


def test_the_hashes_of_training_records_are_stored_in_the_run_folder(tmp_path):
    fit(out=tmp_path / "run", report=False)
    record = sl.record.load(tmp_path / "run" / "letters.safetensors")
    assert record["hashes"].shape == (24,)


def test_a_sequence_with_two_classes_gives_a_warning_at_the_call_of_fit():
    data = read([*TRAINING, TRAINING[0]], "t")
    data.labels = np.append(data.labels[:-1], 1 - data.labels[0])
    with pytest.warns(DataWarning, match="1 sequence has more than one class") as found:
        sl.train.fit(sl.models.SequenceCNNConfig.for_data(data), data, epochs=1)
    assert found[0].filename == __file__
