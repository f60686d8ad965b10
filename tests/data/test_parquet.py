"""Labels from Parquet files."""

import sys

import pytest

from seqloom.data import Labels, SequenceDataset
from seqloom.errors import FormatError, LabelError, MissingExtraError

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

TWO_SEQUENCES = {"a": "ACGT", "b": "GG"}


@pytest.fixture
def table(tmp_path):
    def write(**columns):
        parquet.write_table(arrow.table(columns), tmp_path / "a.parquet")
        return tmp_path / "a.parquet"

    return write


def test_string_labels_in_parquet_are_classes(fasta, table):
    data = SequenceDataset(
        fasta(TWO_SEQUENCES), labels=table(id=["b", "a"], label=["no", "yes"])
    )
    assert [data.classes[i] for i in data.labels] == ["yes", "no"]


def test_label_columns_in_parquet_are_chosen_by_name(fasta, table):
    path = table(x=[9, 8], name=["b", "a"], value=[0.25, 0.5])
    data = SequenceDataset(
        fasta(TWO_SEQUENCES),
        labels=Labels(path, label_column="value", task="regress"),
        id_column="name",
    )
    assert data.labels.tolist() == [0.5, 0.25]


def test_boolean_and_integer_labels_in_parquet_are_classes(fasta, table):
    data = SequenceDataset(
        fasta(TWO_SEQUENCES), labels=table(id=["a", "b"], label=[True, False])
    )
    assert (data.classes, data.labels.tolist()) == (("0", "1"), [1, 0])


def test_a_null_in_parquet_is_a_missing_label(fasta, table):
    with pytest.raises(LabelError, match="1 of 2 sequences have no label"):
        SequenceDataset(
            fasta(TWO_SEQUENCES), labels=table(id=["a", "b"], label=["x", None])
        )


def test_the_error_for_an_unknown_parquet_column_names_it(fasta, table):
    with pytest.raises(LabelError, match="no column 'label'; the columns are 'id', 'kind'"):
        SequenceDataset(fasta(TWO_SEQUENCES), labels=table(id=["a", "b"], kind=["x", "y"]))


def test_a_truncated_parquet_file_is_an_error(fasta, table):
    path = table(id=["a", "b"], label=["x", "y"])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FormatError, match=r"a\.parquet: not a complete Parquet file"):
        SequenceDataset(fasta(TWO_SEQUENCES), labels=path)


def test_reading_parquet_without_pyarrow_is_an_error_with_a_remedy(
    fasta, table, monkeypatch
):
    path = table(id=["a", "b"], label=["x", "y"])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="pip install pyarrow"):
        SequenceDataset(fasta(TWO_SEQUENCES), labels=path)
