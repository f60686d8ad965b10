"""Embeddings with labels as a dataset."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import ArgumentError, ShapeError

EMBEDDING_OF_ID = {f"p{i}": np.arange(3, dtype="float16") + i for i in range(6)}
LABEL_OF_ID = {f"p{i}": ["no", "yes"][i % 2] for i in range(6)}


class Folder:
    """A substitute for a folder of embeddings that ``sl.infer.load`` returns."""

    model, pool, layers = "ESM2:0123", "mean", (0, -1)

    def __init__(self, pool="mean"):
        self.pool = pool
        self.ids = ["a", "b", "b"]
        self.ordinals = np.array([4, 5, 6])
        self.lengths = np.array([9, 7, 8])

    def get(self, record, *, layer=None):
        return np.full(2, 10 * record + (0 if layer is None else layer))


def test_labels_of_embeddings_are_joined_by_record_id():
    data = sl.data.EmbeddingDataset(
        EMBEDDING_OF_ID, labels=dict(reversed(LABEL_OF_ID.items()))
    )
    assert data.labels is not None
    assert [data.classes[label] for label in data.labels] == [*LABEL_OF_ID.values()]
    batch = data.batch([5, 0])
    np.testing.assert_array_equal(
        batch["inputs"], [EMBEDDING_OF_ID["p5"], EMBEDDING_OF_ID["p0"]]
    )
    assert list(batch["id"]) == ["p5", "p0"]


def test_embeddings_with_numeric_labels_are_for_regression(tmp_path):
    table = tmp_path / "t.tsv"
    table.write_text("id\tlabel\n" + "".join(f"p{i}\t{i}.5\n" for i in range(6)))
    data = sl.data.EmbeddingDataset(
        EMBEDDING_OF_ID, labels=sl.data.Labels(table, task="regress")
    )
    assert data.labels is not None
    assert data.labels.reshape(-1).tolist() == [i + 0.5 for i in range(6)]


def test_embeddings_without_a_label_are_an_error_or_skipped():
    some = {"p1": "no", "p4": "yes", "other": "no"}
    with pytest.raises(
        sl.errors.LabelError, match=r"4 of 6 embeddings.*p0, p2, p3, \.\.\."
    ):
        sl.data.EmbeddingDataset(EMBEDDING_OF_ID, labels=some)
    data = sl.data.EmbeddingDataset(
        EMBEDDING_OF_ID, labels=sl.data.Labels(some, unlabelled="skip")
    )
    assert (data.ids, data.unmatched) == (["p1", "p4"], ("other",))
    np.testing.assert_array_equal(data[1]["inputs"], EMBEDDING_OF_ID["p4"])


def test_embeddings_with_duplicate_ids_need_labels_in_record_order():
    with pytest.raises(sl.errors.LabelError, match="'b' occurs twice: embeddings 1 and 2"):
        sl.data.EmbeddingDataset(Folder(), labels={"a": "x", "b": "y"}, layer=0)
    data = sl.data.EmbeddingDataset(Folder(), labels=["x", "y", "x"], layer=0)
    assert data.batch([0, 1, 2])["label"].tolist() == [0, 1, 0]


def test_an_embedding_dataset_reads_one_layer_by_ordinal():
    data = sl.data.EmbeddingDataset(Folder())
    np.testing.assert_array_equal(data.batch([2])["inputs"], [[59, 59]])
    assert data.batch([2])["ordinal"].tolist() == [6]
    assert data.encoder == sl.data.EmbeddingEncoder(2, "ESM2:0123", "mean", -1)


def test_subsets_of_embeddings_share_the_classes():
    data = sl.data.EmbeddingDataset(EMBEDDING_OF_ID, labels=LABEL_OF_ID)
    train, valid = sl.data.split(data, (2 / 3, 1 / 3))
    assert sorted(train.ids + valid.ids) == sorted(EMBEDDING_OF_ID)
    assert train.classes == valid.classes == ("no", "yes")


def test_a_fingerprint_changes_with_embeddings_and_labels():
    whole = sl.data.EmbeddingDataset(EMBEDDING_OF_ID, labels=LABEL_OF_ID).fingerprint()
    assert (
        sl.data.EmbeddingDataset(EMBEDDING_OF_ID, labels=LABEL_OF_ID).fingerprint() == whole
    )
    rows = {**EMBEDDING_OF_ID, "p3": EMBEDDING_OF_ID["p3"] + 1}
    assert sl.data.EmbeddingDataset(rows, labels=LABEL_OF_ID).fingerprint() != whole
    labels = {**LABEL_OF_ID, "p3": "no"}
    assert sl.data.EmbeddingDataset(EMBEDDING_OF_ID, labels=labels).fingerprint() != whole


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ("folder", ArgumentError, r"sl\.infer\.load\('folder'\)"),
        (Folder(pool="none"), ArgumentError, "a row for each residue.*--pool mean"),
        ({"x": np.zeros((2, 2))}, ShapeError, r"one row of features, got shape \(2, 2\)"),
    ],
)
def test_embeddings_without_one_row_per_record_are_rejected(given, error, said):
    with pytest.raises(
        sl.errors.ArgumentError if "shape" not in said else sl.errors.ShapeError, match=said
    ):
        sl.data.EmbeddingDataset(given, layer=None)


def test_embeddings_of_different_widths_are_an_error():
    data = sl.data.EmbeddingDataset({"x": np.zeros(3), "y": np.zeros(4)})
    with pytest.raises(sl.errors.ShapeError, match="the same length"):
        data.batch([0, 1])


def test_a_head_on_embeddings_rejects_those_of_another_model(tmp_path):
    rng = np.random.default_rng(0)
    rows = {f"r{i}": rng.normal(size=8) * 10.0 ** -np.arange(8) for i in range(120)}
    labels = {name: "up" if row[0] > 0 else "down" for name, row in rows.items()}
    data = sl.data.EmbeddingDataset(rows, labels=labels)
    train, test = sl.data.split(data, (0.75, 0.25))
    config = sl.models.HeadConfig.for_data(train)
    options: Any = {"epochs": 20, "batch_size": 16, "lr": 1e-2, "report": False}
    run = sl.train.fit(
        config, train, **as_arguments(test=test, out=tmp_path / "run", **options)
    )
    assert run.test.metrics["accuracy"] > 0.8
    again = sl.infer.predict(tmp_path / "run", test)
    np.testing.assert_array_equal(again.to_numpy(), run.test.scores.to_numpy())
    with pytest.raises(sl.errors.ConfigError, match="embeddings of 8 features"):
        sl.infer.predict(run.trained, sl.data.EmbeddingDataset({"x": np.zeros(4)}))


def test_labels_of_embeddings_are_joined_by_an_index_of_integers():
    rows = {i: np.zeros(3) for i in (1, 2, 3)}
    labels = pd.Series(["c", "a", "b"], index=[3, 1, 2])
    data = sl.data.EmbeddingDataset(rows, labels=labels)
    assert data.labels is not None
    assert [data.classes[label] for label in data.labels] == ["a", "b", "c"]
