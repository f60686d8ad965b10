"""An option in `Labels` equals the deprecated keyword of the dataset, for all datasets."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.data import Labels

LABEL_TABLE = "name\tkind\tage\nx\tno\t1.5\ny\tyes\t2.5\nz\t?\t3.5\n"
LABEL_OPTIONS: dict[str, Any] = {
    "id_column": "name",
    "label_column": "kind",
    "classes": ["yes", "no"],
    "missing": ["?"],
    "unlabelled": "skip",
}


@pytest.fixture
def table(tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("labels.tsv").write_text(LABEL_TABLE)
    Path("a.fa").write_text(">x\nACGT\n>y\nGGCC\n>z\nTTTT\n")
    Path("a.bed").write_text("x 0 4 x\ny 0 4 y\nz 0 4 z\n")
    return "labels.tsv"


def _summary(data):
    return data.ids, data.labels.tolist(), data.task, data.classes, data.report


def test_a_sequence_dataset_accepts_label_options_as_one_object(table):
    alone = sl.data.SequenceDataset("a.fa", labels=table, **LABEL_OPTIONS)
    assert _summary(
        sl.data.SequenceDataset("a.fa", labels=Labels(table, **LABEL_OPTIONS))
    ) == _summary(alone)
    assert alone.labels.tolist() == [1, 0]


def test_an_interval_dataset_accepts_label_options_as_one_object(table):
    alone = sl.data.IntervalDataset("a.fa", "a.bed", labels=table, **LABEL_OPTIONS)
    found = sl.data.IntervalDataset("a.fa", "a.bed", labels=Labels(table, **LABEL_OPTIONS))
    assert _summary(found) == _summary(alone)
    assert alone.labels.tolist() == [1, 0]


def test_a_stream_accepts_label_options_as_one_object(table):
    streams = [
        sl.data.SequenceStream("a.fa", labels=Labels(table, **LABEL_OPTIONS)),
        sl.data.SequenceStream("a.fa", labels=table, **LABEL_OPTIONS),
    ]
    one, other = ([(it["id"], int(it["label"])) for it in stream] for stream in streams)
    assert one == other == [("x", 1), ("y", 0)]


def test_a_genotype_dataset_accepts_label_options_as_one_object(table):
    names = {"iid": ["x", "y", "z"]}
    sl.io.to_bed("g.bed", np.zeros((3, 2), np.int8), properties=names)
    alone = sl.data.GenotypeDataset("g.bed", table, **LABEL_OPTIONS)
    assert _summary(
        sl.data.GenotypeDataset("g.bed", Labels(table, **LABEL_OPTIONS))
    ) == _summary(alone)
    assert alone.labels.tolist() == [1, 0]


def test_a_labels_object_works_for_every_type_of_dataset(table):
    labels = Labels({"x": 1.5, "y": 2.5, "z": 3.5}, task="regress")
    sl.io.to_bed("g.bed", np.zeros((3, 2), np.int8), properties={"iid": ["x", "y", "z"]})
    genotypes = sl.data.GenotypeDataset("g.bed", labels)
    sequences = sl.data.SequenceDataset("a.fa", labels=labels)
    assert genotypes.labels.tolist() == sequences.labels.tolist() == [1.5, 2.5, 3.5]


def test_unset_options_of_a_labels_object_use_dataset_defaults(table):
    labels = Labels({"x": "a", "y": "b", "z": "NA"}, unlabelled="skip")
    assert sl.data.SequenceDataset("a.fa", labels=labels).ids == ["x", "y"]


def test_the_label_from_header_option_of_labels_searches_the_headers(table):
    labels = Labels(label_from_header="[xyz]")
    assert sl.data.SequenceDataset("a.fa", labels=labels).classes == ("x", "y", "z")


def test_an_option_given_in_labels_and_as_keyword_is_an_error(table):
    message = r"pass task as an option of Labels\(...\), not to the dataset"
    with pytest.raises(sl.errors.ArgumentError, match=message):
        sl.data.SequenceDataset(
            "a.fa", labels=Labels(table, **LABEL_OPTIONS), task="classify"
        )


@pytest.mark.parametrize(
    ("option", "of"),
    [
        ({"coding": "12"}, "GenotypeDataset"),
        ({"label_from_header": "x"}, "SequenceDataset"),
    ],
)
def test_a_label_option_of_another_dataset_class_is_rejected(table, option, of):
    message = f"{next(iter(option))} is only for {of}; leave it out of Labels"
    with pytest.raises(sl.errors.ArgumentError, match=message):
        sl.data.IntervalDataset("a.fa", "a.bed", labels=Labels(**option))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"unlabelled": "drop"}, 'unlabelled must be "error" or "skip", got'),
        ({"task": "rank"}, "task must be"),
        ({"id_column": 3}, "id_column must be the name of a column"),
        ({"classes": {"a", "b"}}, "classes must be a list of names"),
        ({"missing": 3.5j}, "missing must be one or more strings"),
        ({"coding": "12", "task": "regress"}, 'leave it out for task="regress"'),
        ({"source": "a.tsv", "label_from_header": "x"}, "not both"),
    ],
)
def test_an_invalid_option_of_labels_is_rejected_at_creation(option, message):
    with pytest.raises(sl.errors.ArgumentError, match=message):
        Labels(**option)


@pytest.mark.filterwarnings("default:options of labels:DeprecationWarning")
def test_deprecated_label_options_still_work_with_a_warning(tmp_path):
    (tmp_path / "a.fa").write_text(">x\nACGT\n>y\nGG\n")
    options: dict[str, Any] = {"task": "regress", "missing": ["-"]}
    with pytest.warns(DeprecationWarning, match=r"labels=Labels\(source, task=\.\.\."):
        old = sl.data.SequenceDataset(tmp_path / "a.fa", labels={"x": 1, "y": 2}, **options)
    labels = sl.data.Labels({"x": 1, "y": 2}, **options)
    new = sl.data.SequenceDataset(tmp_path / "a.fa", labels=labels)
    assert old.fingerprint() == new.fingerprint()


def test_the_deprecated_keyword_phenotype_works_with_a_warning(table):
    sl.io.to_bed("g.bed", np.zeros((3, 2), np.int8), properties={"iid": ["x", "y", "z"]})
    phenotype: dict[str, Any] = {"phenotype": Labels(table, **LABEL_OPTIONS)}
    with pytest.warns(DeprecationWarning, match="phenotype= is now labels=") as caught:
        old = sl.data.GenotypeDataset("g.bed", **phenotype)
    assert [warning.filename for warning in caught] == [__file__]
    assert _summary(old) == _summary(
        sl.data.GenotypeDataset("g.bed", labels=Labels(table, **LABEL_OPTIONS))
    )
    with pytest.raises(TypeError, match="has no argument phenotype="):
        sl.data.GenotypeDataset("g.bed", table, **phenotype)


@pytest.mark.parametrize(
    ("maker", "keyword", "hint"),
    [
        ("SequenceDataset", "tsk", "did you mean labels=sl.data.Labels(task=...)?"),
        ("SequenceDataset", "encodr", "did you mean encoder=?"),
        ("IntervalDataset", "label_colum", "labels=sl.data.Labels(label_column=...)?"),
        ("GenotypeDataset", "label_colum", "labels=sl.data.Labels(label_column=...)?"),
        ("EmbeddingDataset", "qqq", "it takes embeddings, labels, layer"),
        ("SequenceStream", "label_colum", "labels=sl.data.Labels(label_column=...)?"),
    ],
)
def test_an_unknown_dataset_keyword_is_an_error_with_a_suggestion(maker, keyword, hint):
    inputs = {"IntervalDataset": ("x.bed", "x.fa"), "EmbeddingDataset": ({"x": [1.0]},)}
    with pytest.raises(TypeError) as caught:
        getattr(sl.data, maker)(*inputs.get(maker, ("x",)), **{keyword: "regress"})
    assert f"{maker}() has no argument {keyword}=; " in str(caught.value)
    assert str(caught.value).endswith(hint)
