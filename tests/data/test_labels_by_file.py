"""Labels that are determined by the file of a record."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from seqloom.data import DataLoader, Labels, SequenceDataset
from seqloom.encode import OneHot
from seqloom.errors import LabelError


@pytest.fixture
def files(fasta):
    """Two files that contain a record with the same id."""
    return [
        fasta({"a": "AC", "b": "GG"}, "pos.fa"),
        fasta({"a": "TT", "c": "CA", "d": "CC"}, "neg.v2.fasta"),
    ]


def test_file_names_can_be_the_classes_of_records(files):
    data = SequenceDataset(files, labels="file")
    assert data.classes == ("neg.v2", "pos")
    assert np.asarray(data.labels).tolist() == [1, 1, 0, 0, 0]


def test_suffixes_of_format_and_compression_are_not_part_of_a_class(files, tmp_path):
    import gzip

    packed = tmp_path / "pos.fa.gz"
    packed.write_bytes(gzip.compress(files[0].read_bytes()))
    assert SequenceDataset([packed, files[1]], labels="file").classes == ("neg.v2", "pos")


def test_labels_by_file_allow_equal_ids_in_two_files(files):
    data = SequenceDataset(files, labels="file", encoder=OneHot("dna"))
    both = [item for item in data if item["id"] == "a"]
    assert [(item["file"], item["ordinal"]) for item in both] == [
        (str(files[0]), 0),
        (str(files[1]), 2),
    ]
    again = pickle.loads(pickle.dumps(data))  # noqa: S301 - our own
    assert [item["ordinal"] for item in again] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "spell", [str, Path, "{.name}".format], ids=["str", "path", "name"]
)
def test_labels_by_file_accept_a_dict_of_classes(files, spell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = {spell(files[0]): "yes", spell(files[1]): "no"}
    data = SequenceDataset(files, labels=labels)
    assert data.class_counts == {"no": 3, "yes": 2}


def test_labels_by_file_accept_file_name_patterns(files, tmp_path):
    labels = {f"{tmp_path}/p*.fa": 1.5, f"{tmp_path}/n*": 0.5}
    data = SequenceDataset(files, labels=Labels(labels, task="regress"))
    assert np.asarray(data.labels).tolist() == [1.5, 1.5, 0.5, 0.5, 0.5]


def test_a_file_without_a_class_in_labels_by_file_is_an_error(files):
    with pytest.raises(LabelError, match=r"neg\.v2\.fasta: the dict .* lacks this file"):
        SequenceDataset(files, labels={str(files[0]): "yes"})


def test_labels_by_file_with_equal_file_names_are_an_error(fasta, tmp_path):
    (tmp_path / "other").mkdir()
    files = [fasta({"a": "AC"}, "x.fa"), fasta({"b": "AC"}, "other/x.fa")]
    with pytest.raises(LabelError, match=r"all 2 sequences .*a dict from file to label"):
        SequenceDataset(files, labels="file")


def test_the_loader_returns_labels_by_file(files):
    data = SequenceDataset(files, labels="file", encoder=OneHot("dna"))
    batches = list(DataLoader(data, batch_size=2, shuffle=True, seed=1))
    pairs = [
        (int(n), int(y))
        for b in batches
        for n, y in zip(b["ordinal"], b["label"], strict=True)
    ]
    assert sorted(pairs) == [(0, 1), (1, 1), (2, 0), (3, 0), (4, 0)]
