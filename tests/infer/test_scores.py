"""Tests of tables of scores, which can be read back exactly."""

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from seqloom.errors import (
    ArgumentError,
    FormatError,
    MissingExtraError,
    MissingFileError,
    ShapeError,
)
from seqloom.infer import Scores

values = arrays(
    np.float32, (3, 2), elements=st.floats(allow_nan=False, allow_infinity=False, width=32)
)


@given(values=values)
def test_a_score_table_can_be_read_back_exactly(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("scores") / "scores.tsv"
    Scores("abc", ("no", "yes"), values).to_tsv(path)
    assert Scores.read_tsv(path).to_numpy().tobytes() == values.tobytes()


def test_a_score_table_keeps_ids_and_classes(tmp_path):
    Scores(["a|1", "ü"], ["x y", "z"], np.zeros((2, 2))).to_tsv(tmp_path / "scores.tsv")
    back = Scores.read_tsv(tmp_path / "scores.tsv")
    assert (back.ids, back.classes) == (["a|1", "ü"], ("x y", "z"))


def test_a_score_table_begins_with_a_header_line(tmp_path):
    Scores(["a"], ["EI", "IE"], np.array([[0.25, 0.75]])).to_tsv(tmp_path / "scores.tsv")
    assert (tmp_path / "scores.tsv").read_bytes() == b"id\tEI\tIE\na\t0.25\t0.75\n"


@pytest.mark.parametrize("classes", [("id", "x"), ("id", "record_id")])
def test_scores_of_a_class_named_id_do_not_conflict_with_record_ids(tmp_path, classes):
    path = tmp_path / "scores.tsv"
    Scores(["a", "b"], classes, np.array([[0.25, 0.75], [0.5, 0.5]])).to_tsv(path)
    frame, back = pd.read_csv(path, sep="\t", index_col=0), Scores.read_tsv(path)
    assert (back.ids, back.classes) == (["a", "b"], classes)
    assert (frame["id"].tolist(), tuple(frame.columns)) == ([0.25, 0.5], classes)
    assert frame.index.name not in classes


def test_scores_to_numpy_returns_a_copy():
    scores = Scores(["a"], ["gc"], np.zeros((1, 1)))
    scores.to_numpy()[0, 0] = 1
    assert scores.to_numpy().item() == 0


def test_score_values_of_the_wrong_shape_are_an_error():
    with pytest.raises(ShapeError, match="are not 2 records by 1 columns"):
        Scores(["a", "b"], ["gc"], np.zeros((1, 1)))


@pytest.mark.parametrize("classes", [[], ["gc"], ["EI", "IE"]])
def test_a_score_table_without_records_can_be_read_back(tmp_path, classes):
    Scores([], classes, np.zeros((0, len(classes)))).to_tsv(tmp_path / "a.tsv")
    assert Scores.read_tsv(tmp_path / "a.tsv").to_numpy().shape == (0, len(classes))


def test_reading_a_file_that_is_not_a_score_table_is_an_error(tmp_path):
    (tmp_path / "a.tsv").write_text("id\tEI\na\n")
    with pytest.raises(FormatError, match="not a table of scores"):
        Scores.read_tsv(tmp_path / "a.tsv")


def test_the_error_for_a_missing_score_table_names_the_file(tmp_path):
    with pytest.raises(MissingFileError, match=r"b\.tsv: no such file"):
        Scores.read_tsv(tmp_path / "b.tsv")


@pytest.mark.parametrize("classes", [["EI", "IE"], ["id"]])
def test_interval_names_in_a_score_table_can_be_read_back(tmp_path, classes):
    values = np.ones((2, len(classes)))
    Scores(["c:0-4(.)", "c:4-8(.)"], classes, values, names=["p1", "2"]).to_tsv(
        tmp_path / "a.tsv"
    )
    back = Scores.read_tsv(tmp_path / "a.tsv")
    assert (back.names, back.ids, list(back.classes)) == (
        ["p1", "2"],
        ["c:0-4(.)", "c:4-8(.)"],
        classes,
    )
    with pytest.raises(ShapeError, match="got 1 names for 2 records"):
        Scores(["a", "b"], classes, values, names=["p1"])


SCORE_VALUES = np.array([[1 / 3, 2 / 3], [0.5, 0.5]], np.float32)


def test_scores_are_written_in_the_format_of_the_file_extension(tmp_path):
    scores = Scores(['a,"b"', "é"], ["EI", "IE"], SCORE_VALUES, names=["one", "two"])
    for name in ("s.tsv", "s.txt", "s", "s.csv", "s.CSV", "s.parquet"):
        scores.save(tmp_path / name)
    for name in ("s.tsv", "s.txt", "s"):
        assert (tmp_path / name).read_text().splitlines()[0].count("\t") == 3
        assert Scores.read_tsv(tmp_path / name).ids == scores.ids
    for name, separator in (("s.csv", ","), ("s.CSV", ","), ("s.tsv", "\t")):
        found = pd.read_csv(tmp_path / name, sep=separator, dtype={"EI": np.float32})
        assert found.columns.tolist() == ["id", "interval_name", "EI", "IE"]
        assert found["EI"].tolist() == SCORE_VALUES[:, 0].tolist()
    found = pd.read_csv(tmp_path / "s.csv")
    assert found["id"].tolist() == scores.ids
    table = pd.read_parquet(tmp_path / "s.parquet")
    assert table["id"].tolist() == scores.ids
    assert table["IE"].dtype == np.float32
    np.testing.assert_array_equal(table[["EI", "IE"]].to_numpy(), SCORE_VALUES)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("s.xlsx", r"written as .tsv, .csv or .parquet, not as .xlsx; a spreadsheet"),
        ("s.tsv.gz", r"not as .gz; compress it afterwards"),
        ("s.jsonl", r"not as .jsonl"),
    ],
)
def test_writing_scores_with_an_unsupported_extension_is_an_error(tmp_path, name, said):
    with pytest.raises(ArgumentError, match=said):
        Scores(["a", "b"], ["EI", "IE"], SCORE_VALUES).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_writing_parquet_without_pyarrow_names_the_missing_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="pip install pyarrow"):
        Scores(["a", "b"], ["EI", "IE"], SCORE_VALUES).save(tmp_path / "s.parquet")
