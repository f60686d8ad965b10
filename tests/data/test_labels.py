import gzip
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet

from seqloom.data import Labels, SequenceDataset, SequenceStream
from seqloom.errors import (
    ArgumentError,
    DataWarning,
    FileError,
    FormatError,
    LabelError,
    MissingFileError,
)


def name_of(kind):
    """Return the qualified name of a class, for the ids of tests."""
    return f"{kind.__module__}.{kind.__name__}"


FOUR_SEQUENCES = {"a": "AC", "b": "GG", "c": "TT", "d": "CA"}


def values(data):
    """Return the labels as Python numbers."""
    return np.asarray(data.labels).tolist()


@pytest.fixture
def labelled(fasta, table):
    """Return a function that creates a dataset of four sequences with a table of labels."""

    def make(text, **options):
        return SequenceDataset(fasta(FOUR_SEQUENCES), labels=Labels(table(text), **options))

    return make


@pytest.mark.parametrize(
    "text",
    [
        "id\tlabel\na\tx\nb\ty\nc\tx\nd\ty\n",
        "label,id\nx,a\ny,b\nx,c\ny,d\n",
        "id;label\na;x\nb;y\nc;x\nd;y\n",
        "id   label\na  x\nb y \n  c x\n\nd  y\n",
        "\n#id\tlabel\r\na\tx\r\n\r\nb\ty\r\nc\tx\r\nd\ty",
        '\ufeffid,label\n"a","x"\nb,y\nc, x\nd,y\n',
        "id\tother\tlabel\na\t1\tx\nb\t\ty\nc\t\tx\nd\t\ty\n",
    ],
    ids=["tsv", "csv", "semicolons", "blanks", "windows", "quotes", "columns"],
)
def test_label_tables_are_read_in_every_format(labelled, text):
    data = labelled(text)
    assert data.classes == ("x", "y")
    assert values(data) == [0, 1, 0, 1]


def test_label_tables_may_be_compressed(fasta, tmp_path):
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(b"id\tlabel\na\tx\nb\ty\n"))
    data = SequenceDataset(fasta({"a": "A", "b": "C"}), labels=tmp_path / "a.tsv.gz")
    assert data.class_counts == {"x": 1, "y": 1}


@pytest.mark.parametrize(
    ("text", "found"),
    [(",,\n,\n", "empty cells only"), ('id,"label"x\na,1\n', "line 1: ',' expected")],
)
def test_a_label_table_without_a_header_is_an_error(labelled, tmp_path, text, found):
    with pytest.raises(FormatError, match=found):
        labelled(text)
    (tmp_path / "b.tsv").write_text(text)
    with pytest.raises(FormatError, match=found):
        SequenceDataset(tmp_path / "b.tsv")


def test_labels_are_joined_by_id_not_by_order(labelled):
    assert values(labelled("id\tlabel\nd\ty\nc\tx\nb\ty\na\tx\n")) == [0, 1, 0, 1]


def test_several_label_tables_are_combined(fasta, table):
    tables = [table("id\tlabel\na\tx\nb\ty\n"), table("label\tid\nx\tc\ny\td\n", "b.tsv")]
    assert values(SequenceDataset(fasta(FOUR_SEQUENCES), labels=tables)) == [0, 1, 0, 1]


def test_label_columns_can_be_chosen(labelled):
    text = "name\tkind\na\tx\nb\ty\nc\tx\nd\ty\n"
    data = labelled(text, id_column="name", label_column="kind")
    assert data.class_counts == {"x": 2, "y": 2}


def test_a_missing_label_column_is_an_error_that_lists_the_columns(labelled):
    with pytest.raises(
        LabelError, match=r"no column 'kind'; the columns are 'id', 'label'"
    ):
        labelled("id\tlabel\na\tx\n", label_column="kind")


def test_integer_class_labels_are_sorted_by_value(labelled):
    data = labelled("id\tlabel\na\t10\nb\t9\nc\t10\nd\t-1\n")
    assert (data.task, data.classes) == ("classify", ("-1", "9", "10"))
    assert np.asarray(data.labels).dtype == np.int64


def test_a_label_with_a_fraction_is_an_error_that_names_task_regress(labelled):
    with pytest.raises(
        LabelError, match=r"a\.tsv, line 3, id 'b': label '0.5' .*--task regress"
    ):
        labelled("id\tlabel\na\t1\nb\t0.5\nc\t1\nd\t2\n")


def test_regression_labels_are_read_as_numbers(labelled):
    data = labelled("id\tlabel\na\t1\nb\t0.5\nc\t-1e3\nd\t2\n", task="regress")
    assert values(data) == [1, 0.5, -1000, 2]
    assert (np.asarray(data.labels).dtype, data.classes, data.class_counts) == (
        np.float32,
        ("label",),
        {},
    )
    assert str(data) == "4 sequences of 2; label -1000 to 2"


def test_regression_labels_may_have_several_columns(labelled):
    text = "id\tp\tq\na\t1\t2\nb\t3\t4\nc\t5\t6\nd\t7\t8\n"
    data = labelled(text, task="regress", label_column=["q", "p"])
    assert (data.classes, values(data)[1]) == (("q", "p"), [4, 3])


@pytest.mark.parametrize("cell", ["much", "1,25", "inf"])
def test_a_regression_label_that_is_not_a_number_is_an_error(labelled, cell):
    with pytest.raises(
        LabelError, match=rf"line 3, id 'b': label '{cell}' is not a finite"
    ):
        labelled(f"id\tlabel\na\t1\nb\t{cell}\nc\t1\nd\t2\n", task="regress")


# Missing values, as Python objects and as text in a table.
MISSING_VALUES = [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT]
MISSING_LABEL_STRINGS = ["NA", "nan", "NaN", "", ".", "N/A", "<NA>", "null", "None"]


@pytest.mark.parametrize("task", ["auto", "classify", "regress"])
@pytest.mark.parametrize("cell", MISSING_LABEL_STRINGS)
def test_missing_value_codes_in_a_label_table_are_not_labels(labelled, cell, task):
    text = f"id\tlabel\na\t1\nb\t{cell}\nc\t1\nd\t2\n"
    with pytest.raises(LabelError, match=r"1 of 4 sequences have no label .*: b"):
        labelled(text, task=task)
    data = labelled(text, task=task, unlabelled="skip")
    assert (data.ids, data.report["unlabelled"]) == (["a", "c", "d"], 1)
    assert len(data.classes) == (1 if task == "regress" else 2)


def test_the_error_for_a_missing_label_names_its_line_and_a_remedy(labelled):
    text = "id\tlabel\na\tneg\nb\tnan\nc\tpos\nd\tneg\n"
    with pytest.raises(LabelError, match=r"a\.tsv, line 3, id 'b': 'nan' .*missing="):
        labelled(text)


def test_a_given_class_name_is_never_read_as_a_missing_label(labelled):
    text = "id\tlabel\na\tNA\nb\tEU\nc\tEU\nd\tNA\n"
    assert values(labelled(text, classes=["NA", "EU"])) == [0, 1, 1, 0]
    assert values(labelled(text, missing=["?"])) == [1, 0, 0, 1]


def test_the_codes_of_missing_labels_can_be_chosen(labelled):
    text = "id\tlabel\na\tx\nb\ty\nc\t-9\nd\tx\n"
    data = labelled(text, missing=["-9"], unlabelled="skip")
    assert (data.ids, data.classes) == (["a", "b", "d"], ("x", "y"))


@pytest.mark.parametrize("nothing", [*MISSING_VALUES, *MISSING_LABEL_STRINGS], ids=repr)
@pytest.mark.parametrize("source", ["dict", "function", "each", "pandas", "polars"])
def test_missing_values_are_not_labels_in_tables_dicts_or_arrays(fasta, nothing, source):
    rows = {"a": "neg", "b": nothing, "c": "pos", "d": "neg"}
    labels = {
        "dict": lambda: rows,
        "function": lambda: lambda record: rows[record.id],
        "each": lambda: pd.Series(rows.values(), dtype=object),
        "pandas": lambda: pd.DataFrame({"id": rows, "label": rows}).assign(id=list(rows)),
        "polars": lambda: pl.DataFrame(
            {
                "id": list(rows),
                "label": [
                    None if type(v) in TYPES_OF_MISSING_VALUES else v for v in rows.values()
                ],
            },
            strict=False,
        ),
    }[source]()
    with pytest.raises(LabelError, match="1 of 4 sequences have no label"):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=labels)
    data = SequenceDataset(fasta(FOUR_SEQUENCES), labels=Labels(labels, unlabelled="skip"))
    assert (data.classes, values(data)) == (("neg", "pos"), [0, 1, 0])
    assert (data.report["unlabelled"], data.report["unlabelled_examples"]) == (1, ["b"])


# Types of values that polars does not support.
TYPES_OF_MISSING_VALUES = {type(pd.NA), type(pd.NaT), np.float32, float}


def test_a_vector_of_labels_with_nan_is_treated_as_missing(fasta):
    labels = {name: [1.5, 2.0] for name in FOUR_SEQUENCES} | {
        "c": [1.0, float("nan")],
        "d": None,
    }
    with pytest.raises(LabelError, match="2 of 4 sequences have no label"):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=Labels(labels, task="regress"))
    data = SequenceDataset(
        fasta(FOUR_SEQUENCES), labels=Labels(labels, task="regress", unlabelled="skip")
    )
    assert data.ids == ["a", "b"]


@pytest.mark.parametrize("word", ["unknown", "?", "-", "inf", "1,25"])
@pytest.mark.parametrize("number", ["1", "1.5"])
def test_a_label_that_is_not_a_number_among_numbers_is_an_error(labelled, word, number):
    text = f"id\tlabel\na\t0\nb\t{word}\nc\t{number}\nd\t0\n"
    with pytest.raises(
        LabelError, match=rf"line 3, id 'b': .*some are not: '{re.escape(word)}'"
    ):
        labelled(text)
    data = labelled(text, missing=[word], unlabelled="skip", task="regress")
    assert data.report["unlabelled"] == 1
    assert word in labelled(text, task="classify").classes


def test_a_label_with_a_decimal_comma_is_an_error_with_a_remedy(labelled):
    text = "id\tlabel\na\t1,25\nb\t1,5\nc\t0,1\nd\t2,5\n"
    with pytest.raises(LabelError, match=r"line 2, id 'a': label '1,25' .*write a point"):
        labelled(text)
    with pytest.raises(LabelError, match=r"'1,25' is not a finite number; write a point"):
        labelled(text, task="regress")


def test_classes_that_are_nearly_all_unique_are_an_error(fasta):
    records = {f"s{i}": "ACGT" for i in range(12)}
    labels = {name: i for i, name in enumerate(records)}
    with pytest.raises(LabelError, match=r"12 different labels for 12 records.*regress"):
        SequenceDataset(fasta(records), labels=labels)
    data = SequenceDataset(fasta(records), labels=Labels(labels, task="classify"))
    assert len(data.classes) == 12


def test_class_labels_1_and_1_0_in_one_source_are_an_error(fasta):
    labels = {"a": 1, "b": 1.0, "c": 0, "d": 0}
    with pytest.raises(LabelError, match=r"'1' and '1\.0' are the same number"):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=labels)


def test_nan_among_the_labels_of_a_stream_is_a_missing_label(fasta):
    labels = {"a": "neg", "b": float("nan"), "c": "pos", "d": "nan"}
    stream = SequenceStream(fasta(FOUR_SEQUENCES), labels=Labels(labels, unlabelled="skip"))
    assert [item["id"] for item in stream] == ["a", "c"]
    assert (stream.classes, stream.report["unlabelled"]) == (("neg", "pos"), 2)


def test_a_label_function_of_a_stream_may_return_none(fasta):
    values = {"a": 1.5, "b": float("nan"), "c": None, "d": 2.0}
    stream = SequenceStream(
        fasta(FOUR_SEQUENCES),
        labels=Labels(lambda record: values[record.id], unlabelled="skip"),
    )
    assert [item["id"] for item in stream] == ["a", "d"]
    assert stream.report["unlabelled"] == 2


def test_label_names_separated_by_commas_are_several_labels(labelled):
    text = "id\tlabel\na\tp,q\nb\t\nc\tq | r\nd\tp;\n"
    data = labelled(text, task="multilabel")
    assert data.classes == ("p", "q", "r")
    assert values(data) == [[1, 1, 0], [0, 0, 0], [0, 1, 1], [1, 0, 0]]
    assert data.class_counts == {"p": 2, "q": 2, "r": 1}


def test_label_columns_of_zeros_and_ones_are_multilabel(labelled):
    text = "id\tp\tq\na\t1\t0\nb\t0\t0\nc\t1\t1\nd\t0\t1\n"
    data = labelled(text, label_column=["p", "q"])
    assert (data.task, data.classes) == ("multilabel", ("p", "q"))
    assert values(data) == [[1, 0], [0, 0], [1, 1], [0, 1]]


def test_a_2_among_multilabel_zeros_and_ones_is_an_error(labelled):
    text = "id\tp\tq\na\t1\t0\nb\t0\t2\nc\t1\t1\nd\t0\t1\n"
    with pytest.raises(LabelError, match="line 3, id 'b': expected 0 or 1, found '2'"):
        labelled(text, label_column=["p", "q"], task="multilabel")


def test_labels_may_be_a_dict(fasta):
    labels = {"a": np.int64(1), "b": 0, "c": True, "d": "0", "e": 7}
    data = SequenceDataset(fasta(FOUR_SEQUENCES), labels=labels)
    assert values(data) == [1, 0, 1, 0]


def test_a_dict_of_labels_may_contain_vectors(fasta):
    labels = {name: np.array([i, 0.5], np.float32) for i, name in enumerate("abcd")}
    data = SequenceDataset(fasta(FOUR_SEQUENCES), labels=Labels(labels, task="regress"))
    assert np.shape(values(data)) == (4, 2)
    assert data.classes == ("label_0", "label_1")


@pytest.mark.parametrize("pattern", [r"kind=(\w)", r"(?P<label>[xy])$", r"[xy]$"])
def test_the_option_label_from_header_finds_labels_in_headers(fasta, pattern):
    file = fasta([("a kind=x", "AC"), ("b kind=y", "GG")])
    data = SequenceDataset(file, labels=Labels(label_from_header=pattern))
    assert (data.classes, values(data)) == (("x", "y"), [0, 1])


def test_a_header_without_a_match_has_no_label(fasta):
    file = fasta([("a kind=x", "AC"), ("b", "GG")])
    with pytest.raises(LabelError, match=r"1 of 2 sequences have no label in headers"):
        SequenceDataset(file, labels=Labels(label_from_header=r"kind=(\w)"))


def test_an_invalid_header_pattern_is_an_error(fasta):
    with pytest.raises(ArgumentError, match="not a regular expression"):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=Labels(label_from_header="("))


def test_labels_from_a_table_and_from_headers_are_an_error(fasta):
    with pytest.raises(ArgumentError, match="not both"):
        SequenceDataset(
            fasta(FOUR_SEQUENCES), labels=Labels({"a": 1}, label_from_header="x")
        )


def test_the_error_for_an_id_with_two_labels_names_two_lines(labelled):
    with pytest.raises(LabelError, match=r"a\.tsv, line 4: id 'a' .*'y'.*line 2 has 'x'"):
        labelled("id\tlabel\na\tx\nb\ty\na\ty\nc\tx\nd\tx\n")


def test_a_label_table_may_repeat_an_id_with_equal_labels(labelled):
    assert len(labelled("id\tlabel\na\tx\nb\ty\na\tx\nc\tx\nd\tx\n")) == 4


def test_a_sequence_without_a_label_is_an_error_with_a_remedy(labelled):
    with pytest.raises(
        LabelError, match=r"2 of 4 sequences have no label in .*: c, d .*skip"
    ):
        labelled("id\tlabel\na\tx\nb\ty\nc\t\n")


def test_sequences_without_a_label_can_be_skipped_and_are_counted(labelled):
    data = labelled("id\tlabel\na\tx\nd\ty\n", unlabelled="skip")
    assert data.ids == ["a", "d"]
    assert [item["ordinal"] for item in data] == [0, 3]
    assert (data.report["unlabelled"], data.report["unlabelled_examples"]) == (
        2,
        ["b", "c"],
    )


def test_skipping_all_sequences_is_an_error(labelled):
    with pytest.raises(LabelError, match="4 of 4 sequences have no label"):
        labelled("id\tlabel\nz\tx\n", unlabelled="skip")


def test_labels_that_match_no_sequence_are_counted_with_examples(labelled):
    text = "id\tlabel\na\tx\nb\ty\nc\tx\nd\ty\n" + "".join(f"z{i}\tx\n" for i in range(5))
    report = labelled(text).report
    assert report["labels_without_sequence"] == 5
    assert report["labels_without_sequence_examples"] == ["z0", "z1", "z2"]
    assert labelled(text).unmatched == ("z0", "z1", "z2", "z3", "z4")


def test_the_error_for_a_duplicate_id_names_both_records(fasta):
    files = [fasta({"a": "AC", "b": "GG"}), fasta({"c": "AC", "a": "AC"}, "b.fa")]
    with pytest.raises(
        LabelError, match=r"'a' occurs twice: record 0 of .*a\.fa and record 1"
    ):
        SequenceDataset(files, labels={"a": 1, "b": 2, "c": 3})


def test_labels_of_a_single_class_are_an_error(labelled):
    with pytest.raises(LabelError, match="all 4 sequences have the label 'x'"):
        labelled("id\tlabel\na\tx\nb\tx\nc\tx\nd\tx\n")


def test_labels_of_a_single_class_are_valid_if_classes_are_given(fasta):
    labels = dict.fromkeys(FOUR_SEQUENCES, "x")
    data = SequenceDataset(fasta(FOUR_SEQUENCES), labels=Labels(labels, classes=("y", "x")))
    assert values(data) == [1, 1, 1, 1]
    assert data.class_counts == {"y": 0, "x": 4}


def test_a_label_outside_the_given_classes_is_an_error(labelled):
    with pytest.raises(
        LabelError, match="line 3, id 'b': label 'y' is not one of the classes x, z"
    ):
        labelled("id\tlabel\na\tx\nb\ty\nc\tx\nd\tx\n", classes=["x", "z"])


def test_a_label_table_line_with_missing_cells_is_an_error(labelled):
    with pytest.raises(FormatError, match=r"a\.tsv, line 3: expected 2 cells, found 1"):
        labelled("id\tlabel\na\tx\nb\n")


def test_an_unclosed_quote_in_a_label_table_is_an_error(labelled):
    with pytest.raises(FormatError, match=r"a\.tsv, line \d"):
        labelled('id,label\na,"x\nb,y\n')


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\x89PNG\x00\x00"])
def test_a_label_file_that_is_not_a_table_is_an_error(fasta, tmp_path, content):
    (tmp_path / "a.tsv").write_bytes(content)
    with pytest.raises(FormatError, match="expected a table"):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=tmp_path / "a.tsv")


def test_an_unreadable_label_table_is_an_error(fasta, tmp_path):
    with pytest.raises(MissingFileError):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=tmp_path / "no.tsv")
    with pytest.raises(FileError):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=tmp_path)


def test_a_truncated_gzip_of_labels_is_an_error(fasta, tmp_path):
    (tmp_path / "a.tsv").write_bytes(gzip.compress(b"id\tlabel\na\tx\n")[:-6])
    with pytest.raises(FormatError, match="gzip"):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=tmp_path / "a.tsv")


@pytest.mark.parametrize(
    "options", [{"task": "guess"}, {"unlabelled": "drop"}, {"label_column": []}]
)
def test_an_unknown_value_of_a_label_option_is_an_error(fasta, options):
    with pytest.raises(ArgumentError):
        SequenceDataset(
            fasta(FOUR_SEQUENCES),
            labels=Labels(dict.fromkeys(FOUR_SEQUENCES, 1), **options),
        )


@pytest.mark.parametrize("big", ["1e39", "-3.5e38"])
def test_a_regression_label_too_large_for_float32_is_an_error(labelled, big):
    text = f"id\tlabel\na\t1.5\nb\t{big}\nc\t2\nd\t3\n"
    with pytest.raises(LabelError, match=rf"line 3, id 'b': label '{big}' is too large"):
        labelled(text, task="regress")


@pytest.mark.parametrize("name", ["x\ty", "x\ny", "x\x1by", "x\u2028y"])
@pytest.mark.parametrize("task", ["classify", "multilabel"])
def test_a_control_character_in_a_label_name_is_an_error(labelled, name, task):
    text = f'id,label\na,u\nb,u\nc,v\nd,"{name}"\n'
    with pytest.raises(
        LabelError, match=r"a\.tsv, line \d, id 'd': the name 'x.*rename it"
    ):
        labelled(text, task=task)


@pytest.mark.parametrize("names", ["id\tlabel\tlabel", "id\tid\tlabel"])
def test_duplicate_column_names_of_a_label_table_are_an_error(labelled, names):
    with pytest.raises(LabelError, match=r"a\.tsv: 2 columns are named '(id|label)'"):
        labelled(f"{names}\na\tx\ty\n")


def test_a_label_column_requested_twice_is_an_error(labelled):
    with pytest.raises(ArgumentError, match="contains a column twice: x, x"):
        labelled("id\tx\na\t1\n", label_column=["x", "x"])


def test_a_class_listed_twice_in_the_option_classes_is_an_error(labelled):
    text = "id\tlabel\na\tx\nb\ty\nc\tx\nd\ty\n"
    with pytest.raises(ArgumentError, match="classes contains 'x' twice"):
        labelled(text, classes=["x", "y", "x"])


def test_the_option_classes_may_be_any_iterable(labelled):
    text = "id\tlabel\na\tx\nb\ty\nc\tx\nd\ty\n"
    assert values(labelled(text, classes=iter("yx"))) == [1, 0, 1, 0]


def test_an_array_of_labels_by_id_is_an_error_that_suggests_a_dict(fasta):
    with pytest.raises(ArgumentError, match=r"pass dict\(zip\(ids, labels\)\)"):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=3)


@pytest.mark.parametrize(
    "kind", [list, np.array, pd.Series, pl.Series, torch.tensor], ids=name_of
)
def test_labels_may_be_a_list_in_record_order(fasta, kind):
    files = [fasta({"a": "AC", "b": "GG"}), fasta({"a": "TT", "c": "CA"}, "b.fa")]
    data = SequenceDataset(files, labels=kind([7, 3, 3, 7]))
    assert (data.classes, values(data)) == (("3", "7"), [1, 0, 0, 1])


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series], ids=name_of)
def test_more_or_fewer_labels_than_records_are_an_error(fasta, kind):
    with pytest.raises(LabelError, match=r"one for each of 4 sequences, .* got 3"):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=kind([0, 1, 0]))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=name_of)
def test_labels_in_a_data_frame_are_joined_by_id(fasta, kind):
    frame = kind({"name": ["d", "a", "c", "b", "z"], "y": [1.5, 0.5, 2.0, 3.0, 9.0]})
    data = SequenceDataset(
        fasta(FOUR_SEQUENCES),
        labels=Labels(frame, label_column="y", task="regress"),
        id_column="name",
    )
    assert values(data) == [0.5, 3.0, 2.0, 1.5]
    assert data.unmatched == ("z",)


def test_the_index_of_a_label_data_frame_may_contain_the_ids(fasta):
    series = pd.Series(["x", "y", "x", "y"], index=["d", "c", "b", "a"], name="label")
    for labels in (series, series.to_frame()):
        assert values(SequenceDataset(fasta(FOUR_SEQUENCES), labels=labels)) == [1, 0, 1, 0]


@pytest.mark.parametrize("header", [">a", "@a", ">a some words"])
def test_the_error_for_a_label_id_that_begins_with_gt_explains_it(labelled, header):
    text = f"id\tlabel\n{header}\tx\n>b\ty\n>c\tx\n>d\ty\n"
    match = rf"the labels have '{header}': write 'a' there, because '{header[0]}' begins"
    with pytest.raises(LabelError, match=match):
        labelled(text)


def test_the_error_for_unmatched_ids_names_ids_that_differ_in_case(labelled):
    match = r"4 of 4 .*the labels have 'A', which differs only in case"
    with pytest.raises(LabelError, match=match):
        labelled("id\tlabel\nA\tx\nB\ty\nC\tx\nD\ty\n")


def test_the_error_for_unmatched_ids_suggests_another_id_column(labelled):
    with pytest.raises(LabelError, match=r"the ids 'q', .*--id-column"):
        labelled("id\tlabel\nq\tx\nr\ty\n")


@pytest.mark.parametrize("name", ["Label", "labels", "my_label"])
def test_the_error_for_a_missing_column_suggests_a_similar_name(labelled, name):
    with pytest.raises(LabelError, match=rf"no column 'label'.*did you mean '{name}'\?"):
        labelled(f"id\t{name}\na\tx\n")


def test_the_error_for_a_missing_column_suggests_no_dissimilar_name(labelled):
    with pytest.raises(LabelError, match=r"are 'id', 'kind'; choose with"):
        labelled("id\tkind\na\tx\n")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_label_table_in_utf_16_is_an_error_that_names_the_encoding(
    fasta, tmp_path, encoding, pack
):
    path = tmp_path / "labels.txt"
    path.write_bytes(pack("id\tlabel\na\tx\n".encode(encoding)))
    with pytest.raises(FormatError, match=r"labels\.txt: is UTF-16.*\"CSV UTF-8\""):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=path)


def test_a_sequence_table_in_utf_16_is_an_error_that_names_the_encoding(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("sequence,label\nACGT,x\n", "utf-16")
    with pytest.raises(FormatError, match=r"table\.csv: is UTF-16"):
        SequenceDataset(path)


def test_a_missing_data_frame_column_is_an_error_that_lists_the_columns(fasta):
    frame = pd.DataFrame({"id": list("abcd"), "kind": list("xyxy")})
    with pytest.raises(LabelError, match=r"the DataFrame: no column 'label'.*'id', 'kind'"):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=frame)


def test_the_error_for_an_empty_label_column_names_it(labelled):
    text = "id\tlabel\na\t\nb\t\nc\t\nd\t\n"
    with pytest.raises(
        LabelError, match="no sequence has a label: column 'label' is empty"
    ):
        labelled(text, task="multilabel")


@pytest.mark.parametrize(
    "text",
    [
        "# made by me\n{}",
        "# id of mine\n\n# 2, label\n{}",
        "# the id and label of each\n{}",
        "# a;b\n#{}",
        "#\n#\tx\n# {}",
    ],
    ids=range(5),
)
def test_comments_before_the_header_of_a_label_table_are_skipped(labelled, text):
    data = labelled(text.format("id\tlabel\na\tx\nb\ty\nc\tx\nd\ty\n"))
    assert (data.classes, values(data)) == (("x", "y"), [0, 1, 0, 1])


def test_line_numbers_in_label_errors_include_comment_lines(labelled):
    with pytest.raises(FormatError, match="line 5: expected 2 cells, found 3"):
        labelled("# made by me\n\nid\tlabel\na\tx\nb\ty\tz\n")


@pytest.mark.parametrize("text", ["# comment\nname label\na x\n", "# comment\n"])
def test_the_error_for_a_label_table_of_comments_shows_the_comment(labelled, text):
    with pytest.raises(LabelError, match="the columns are 'comment'; choose"):
        labelled(text)


def test_a_hash_before_the_first_column_name_is_removed(labelled):
    data = labelled("# id\tlabel\na\tx\nb\ty\nc\tx\nd\ty\n")
    assert data.classes == ("x", "y")


def test_the_error_for_an_unmatched_label_pattern_shows_the_pattern(fasta):
    with pytest.raises(LabelError, match=re.escape(r"headers searched for '\d+'")):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=Labels(label_from_header=r"\d+"))


DUPLICATE_IDS = {
    "series": lambda: pd.Series(["x", "y", "z", "x", "y"], index=list("abacd")),
    "dict": lambda: {b"a": "x", "b": "y", "a": "z", "c": "x", "d": "y"},
    "frame": lambda: pd.DataFrame({"label": list("xyzxy")}, index=list("abacd")),
}


@pytest.mark.parametrize("name", DUPLICATE_IDS)
def test_two_labels_of_one_id_in_memory_are_an_error(fasta, name):
    with pytest.raises(LabelError, match=r"'a' (occurs twice|has the label)"):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=DUPLICATE_IDS[name]())


def test_equal_labels_of_a_repeated_id_in_memory_are_valid(fasta):
    same = pd.Series(list("xyxxy"), index=list("abacd"))
    assert values(SequenceDataset(fasta(FOUR_SEQUENCES), labels=same)) == [0, 1, 0, 1]


def test_ids_of_labels_may_be_bytes(fasta):
    data = SequenceDataset(fasta(FOUR_SEQUENCES), labels={b"a": 1, b"b": 0, "c": 1, "d": 0})
    assert values(data) == [1, 0, 1, 0]


@pytest.mark.parametrize("task", ["regress", "multilabel"])
def test_multilabel_columns_have_the_order_of_the_given_classes(fasta, task):
    frame = pd.DataFrame({"id": list("abcd"), "p": [0, 1, 0, 1], "q": [1, 1, 0, 0]})
    data = SequenceDataset(
        fasta(FOUR_SEQUENCES),
        labels=Labels(frame, label_column=["q", "p"], classes=["p", "q"], task=task),
    )
    assert data.classes == ("p", "q")
    assert values(data) == frame[["p", "q"]].to_numpy().tolist()


@pytest.mark.parametrize("task", ["auto", "multilabel"])
def test_multilabel_zeros_and_ones_may_be_floats(fasta, task):
    marks = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], np.float32)
    data = SequenceDataset(fasta(FOUR_SEQUENCES), labels=Labels(marks, task=task))
    assert data.task == "multilabel"
    assert values(data) == marks.tolist()


def test_label_names_in_a_list_are_not_split_at_commas(fasta):
    names = [["DNA-binding, zinc"], ["q"], ["q", "r"], []]
    with pytest.raises(LabelError, match=r"'DNA-binding, zinc' of .* has a comma"):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=Labels(names, task="multilabel"))


@pytest.mark.parametrize(
    "classes", [[1, 3], np.array([1, 3]), torch.tensor([1, 3]), range(1, 4, 2), ("1", "3")]
)
def test_the_option_classes_may_contain_numbers(fasta, classes):
    data = SequenceDataset(
        fasta(FOUR_SEQUENCES), labels=Labels([3, 1, 3, 1], classes=classes)
    )
    assert data.classes == ("1", "3")
    assert values(data) == [1, 0, 1, 0]


LABEL_OPTIONS_OF_WRONG_TYPE: dict[str, tuple[dict[str, Any], str]] = {
    "classes of a number": ({"classes": 3}, "classes must be a list of names"),
    "classes of a text": ({"classes": "ab"}, "classes must be a list of names"),
    "classes without order": ({"classes": {"a", "b"}}, "classes must be a list of names"),
    "a nameless class": ({"classes": [None]}, "classes must be a list of names"),
    "missing of bytes": ({"missing": b"NA"}, "missing must be one or more strings"),
    "a column by number": ({"label_column": 3}, "label_column must be the name"),
    "a number as pattern": (
        {"label_from_header": 3, "source": None},
        "label_from_header must be a regular expression",
    ),
}


@pytest.mark.parametrize("name", LABEL_OPTIONS_OF_WRONG_TYPE)
def test_a_label_option_of_a_wrong_type_is_an_error(fasta, name):
    options, message = LABEL_OPTIONS_OF_WRONG_TYPE[name]
    fields: dict[str, Any] = {"source": np.array(list("abab")), **options}
    with pytest.raises(ArgumentError, match=message):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=Labels(**fields))


def test_a_max_length_that_is_not_an_integer_is_an_error(fasta):
    length: Any = "a"
    with pytest.raises(ArgumentError, match="max_length must be an integer"):
        SequenceDataset(fasta(FOUR_SEQUENCES), max_length=length)


def test_a_list_of_unknown_label_tables_is_an_error_with_a_remedy(fasta):
    with pytest.raises(MissingFileError, match=r"labels in record order .* np\.array"):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=["x", "y", "x", "y"])


@pytest.mark.parametrize("classes", [("0", "1"), ("0.0", "1.0")])
@pytest.mark.parametrize("kind", [int, float])
def test_given_integer_classes_match_float_and_boolean_labels(fasta, classes, kind):
    data = SequenceDataset(
        fasta(FOUR_SEQUENCES), labels=Labels(np.array([1, 0, 0, 1], kind), classes=classes)
    )
    assert data.classes == classes
    assert values(data) == [1, 0, 0, 1]


def test_a_numeric_label_outside_the_given_classes_is_an_error(fasta):
    with pytest.raises(LabelError, match=r"label '2\.0' is not one of the classes 0, 1"):
        SequenceDataset(
            fasta(FOUR_SEQUENCES),
            labels=Labels(np.array([1.0, 0, 0, 2]), classes=["0", "1"]),
        )


# Python's float() accepts these strings; PLINK and NumPy's text reader do not.
MALFORMED_NUMBERS = ["1_000", "\u0661", "\uff11", "1_0.5"]


@pytest.mark.parametrize("cell", MALFORMED_NUMBERS)
def test_labels_with_non_ascii_digits_are_not_numbers(labelled, cell):
    text = f"id\tlabel\na\t1.5\nb\t{cell}\nc\t2.5\nd\t3.5\n"
    with pytest.raises(LabelError, match=f"label '{cell}' is not a finite number"):
        labelled(text, task="regress")
    with pytest.raises(LabelError, match="some labels are numbers and some are not"):
        labelled(text)


def test_labels_with_non_ascii_digits_may_be_class_names(labelled):
    data = labelled("id\tlabel\na\t\u0661\nb\t1\nc\t\u0661\nd\t1\n", task="classify")
    assert data.classes == ("1", "\u0661")


def test_integer_classes_beyond_64_bits_are_sorted_by_value(labelled):
    long = "9" * 5000
    data = labelled(f"id\tlabel\na\t{long}\nb\t10\nc\t{long}\nd\t9\n", task="classify")
    assert data.classes == ("9", "10", long)


LABEL_LISTS_OF_NAMES = [["coding", "human"], ["coding"], [], ["mouse"]]
MULTILABEL_ROWS = [[1, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 1]]


def a_parquet_file(tmp_path):
    """Write ids and lists of names to a Parquet file."""
    table = pa.table({"id": list("abcd"), "label": LABEL_LISTS_OF_NAMES})
    parquet.write_table(table, tmp_path / "a.parquet")
    return tmp_path / "a.parquet"


@pytest.mark.parametrize("task", ["auto", "multilabel"])
@pytest.mark.parametrize(
    "labels",
    [
        lambda _: LABEL_LISTS_OF_NAMES,
        lambda _: dict(zip("abcd", map(set, LABEL_LISTS_OF_NAMES), strict=True)),
        lambda _: pd.Series(LABEL_LISTS_OF_NAMES, index=list("abcd")),
        lambda _: pd.DataFrame({"id": list("abcd"), "label": LABEL_LISTS_OF_NAMES}),
        lambda _: pl.DataFrame({"id": list("abcd"), "label": LABEL_LISTS_OF_NAMES}),
        lambda _: lambda record: LABEL_LISTS_OF_NAMES["abcd".index(record.id)],
        a_parquet_file,
    ],
    ids=["list", "dict", "series", "pandas", "polars", "function", "parquet"],
)
def test_lists_of_label_names_are_multilabel(fasta, tmp_path, labels, task):
    data = SequenceDataset(
        fasta(FOUR_SEQUENCES), labels=Labels(labels(tmp_path), task=task)
    )
    assert (data.task, data.classes) == ("multilabel", ("coding", "human", "mouse"))
    assert values(data) == MULTILABEL_ROWS


def test_sequence_tables_and_streams_accept_lists_of_label_names(fasta):
    frame = pd.DataFrame(
        {"sequence": list(FOUR_SEQUENCES.values()), "label": LABEL_LISTS_OF_NAMES}
    )
    assert values(SequenceDataset(frame)) == MULTILABEL_ROWS
    stream = SequenceStream(
        fasta(FOUR_SEQUENCES), labels=dict(zip("abcd", LABEL_LISTS_OF_NAMES, strict=True))
    )
    assert [item["label"].tolist() for item in stream] == MULTILABEL_ROWS


def test_none_among_lists_of_label_names_is_a_missing_label(fasta):
    lists = [["p", "q"], ["p"], None, []]
    for labels in (lists, pd.DataFrame({"id": list("abcd"), "label": lists})):
        with pytest.raises(LabelError, match="1 of 4 sequences have no label"):
            SequenceDataset(fasta(FOUR_SEQUENCES), labels=labels)
        data = SequenceDataset(
            fasta(FOUR_SEQUENCES), labels=Labels(labels, unlabelled="skip")
        )
        assert values(data) == [[1, 1], [1, 0], [0, 0]]


def test_lists_of_one_label_name_each_are_classes(fasta):
    data = SequenceDataset(fasta(FOUR_SEQUENCES), labels=[["p"], ["q"], ["p"], ["q"]])
    assert (data.task, values(data)) == ("classify", [0, 1, 0, 1])


def test_lists_of_several_label_names_cannot_be_classes(fasta):
    lists = [["p", "q"], ["p"], ["q"], ["q"]]
    with pytest.raises(LabelError, match=r'several names.* task="multilabel"'):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=Labels(lists, task="classify"))


def test_a_label_function_of_a_stream_must_not_return_lists_of_names(fasta):
    stream = SequenceStream(
        fasta(FOUR_SEQUENCES), labels=lambda record: [1] * len(record.id + "a")
    )
    assert len(list(stream)) == 4
    for wrong in (lambda _: ["p", "q"], lambda record: [0] * "abcd".index(record.id)):
        with pytest.raises(LabelError, match="a number, a name, or the same number"):
            list(SequenceStream(fasta(FOUR_SEQUENCES), labels=wrong))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("id,label\na,x\n,y\nc,x\nd,y\n", "line 3: the cell of 'id' is empty"),
        (pd.DataFrame({"id": ["a", None], "label": [0, 1]}), "row 2: an id is missing"),
        ({"a": 0, None: 1}, r"an id is missing \(None\)"),
    ],
    ids=["csv", "frame", "dict"],
)
def test_a_label_table_row_without_an_id_is_an_error(fasta, table, labels, message):
    labels = table(labels) if isinstance(labels, str) else labels
    with pytest.raises((LabelError, FormatError), match=message):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=labels)


def test_a_label_table_line_of_only_separators_is_skipped(labelled):
    data = labelled("id,label\na,x\n,\nb,y\nc,x\nd,y\n,\n")
    assert values(data) == [0, 1, 0, 1]


TEXT_ENCODERS = {
    "mark of UTF-8": lambda text: "\ufeff" + text,
    "Windows": lambda text: text.replace("\n", "\r\n"),
    "old Mac": lambda text: text.replace("\n", "\r"),
    "blanks": lambda text: text.replace(",", " , ").replace("\n", " \n"),
    "last lines": lambda text: text + "\n  \n\n",
    "no last line end": lambda text: text.rstrip("\n"),
    "quotes behind blanks": lambda text: text.replace(",", ', "').replace("\n", '"\n'),
    "a line again": lambda text: text + "a,x\n",
}


@pytest.mark.parametrize("how", TEXT_ENCODERS)
def test_a_label_table_may_have_any_encoding_and_line_ending(labelled, how):
    data = labelled(TEXT_ENCODERS[how]("id,label\na,x\nb,y\nc,x\nd,y\n"))
    assert (data.classes, values(data)) == (("x", "y"), [0, 1, 0, 1])
    assert data.report["labels_without_sequence"] == 0


@pytest.mark.parametrize("separator", [",", "\t", " "])
def test_a_newline_inside_quotes_is_part_of_a_label_cell(labelled, separator):
    lines = ["id,note,label", 'a,"p\nq",x', "b,k,y", "c,k,x", "d,k,y"]
    text = "\n".join(lines).replace(",", separator)
    assert values(labelled(text)) == [0, 1, 0, 1]
    with pytest.raises(LabelError, match=r"line 3, id 'a': the name 'p\\nq' has"):
        labelled(text, label_column="note")


@pytest.mark.parametrize("unlabelled", ["error", "skip"])
def test_a_label_table_without_rows_is_an_error(labelled, unlabelled):
    with pytest.raises(LabelError, match="4 of 4 sequences have no label in"):
        labelled("id,label\n", unlabelled=unlabelled)


def test_the_suggested_remedy_for_a_misspelled_class_works(labelled):
    text = "id,label\na,other\nb,prom\nc,promoter\nd,other\n"
    classes = ["other", "promoter"]
    said = "did you mean 'promoter'.*--missing prom --unlabelled skip"
    with pytest.raises(LabelError, match=said):
        labelled(text, classes=classes)
    kept = labelled(text, classes=classes, missing=["prom"], unlabelled="skip")
    assert values(kept) == [0, 1, 0]


def test_an_empty_label_in_a_table_is_an_error_with_its_line(labelled):
    with pytest.raises(LabelError, match=r"line 3, id 'b': the label is empty"):
        labelled("id,label\na,x\nb,\nc,y\nd,x\n")


def test_the_error_for_exchanged_id_and_label_columns_suggests_a_fix(labelled):
    with pytest.raises(LabelError, match=r"columns may be exchanged.*--id-column"):
        labelled("id,label\nx,a\ny,b\nx,c\ny,d\n")


def test_a_repeated_id_with_two_labels_does_not_suggest_an_exchange(labelled):
    with pytest.raises(LabelError, match=r"line 2 has 'x'$"):
        labelled("id,label\na,x\na,y\nc,x\nd,y\n")


def test_the_error_for_a_label_table_without_header_shows_its_first_id(labelled):
    with pytest.raises(LabelError, match=r"'a' is the id of a record.*names the columns"):
        labelled("a,x\nb,y\nc,x\nd,y\n")


def test_a_label_table_with_one_column_is_an_error(labelled):
    with pytest.raises(LabelError, match=r"'kind'; a table needs a column of ids"):
        labelled("kind\nx\ny\nx\ny\n")


FASTA_OF_NUMBERS = ">1\nACGT\n>2\nGGCA\n>3\nTTTT\n"
PANDAS_INDEXES_OF_IDS = {
    "integers": pd.Index([3, 1, 2]),
    "floats": pd.Index([3.0, 1.0, 2.0]),
    "texts": pd.Index(["3", "1", "2"]),
    "categories": pd.CategoricalIndex([3, 1, 2]),
    "evenly spaced": pd.RangeIndex(3, 0, -1),
}


@pytest.fixture
def numbers(tmp_path):
    path = tmp_path / "n.fa"
    path.write_text(FASTA_OF_NUMBERS)
    return str(path)


@pytest.mark.parametrize("index", PANDAS_INDEXES_OF_IDS.values(), ids=PANDAS_INDEXES_OF_IDS)
@pytest.mark.parametrize("is_frame", [False, True])
def test_labels_in_a_pandas_series_are_joined_by_id(numbers, index, is_frame):
    names = {3: "three", 1: "one", 2: "two"}
    labels = pd.Series([names[int(key)] for key in index], index=index, name="label")
    found = SequenceDataset(numbers, labels=labels.to_frame() if is_frame else labels)
    names = [found.classes[label] for label in found.labels]
    assert dict(zip(found.ids, names, strict=True)) == {
        "1": "one",
        "2": "two",
        "3": "three",
    }


def test_labels_of_a_stream_are_joined_by_an_integer_index(numbers):
    labels = pd.Series(["b", "a", "b"], index=[3, 1, 2])
    stream = SequenceStream(numbers, labels=labels)
    found = {item["id"]: stream.classes[item["label"]] for item in stream}
    assert found == {"1": "a", "2": "b", "3": "b"}


def test_labels_with_a_default_index_are_in_record_order(numbers):
    found = SequenceDataset(numbers, labels=pd.Series(["b", "a", "b"]))
    assert [found.classes[label] for label in found.labels] == ["b", "a", "b"]


def test_labels_whose_index_matches_no_id_suggest_to_numpy(tmp_path):
    path = tmp_path / "s.fa"
    path.write_text(">s1\nACGT\n>s2\nGGCA\n")
    frame = pd.DataFrame({"y": ["a", "x", "b"]}).query("y != 'x'")
    with pytest.raises(LabelError, match=r"the index has '0', '2'.*labels\.to_numpy\(\)"):
        SequenceDataset(str(path), labels=frame["y"])
    found = SequenceDataset(str(path), labels=frame["y"].to_numpy())
    assert [found.classes[label] for label in found.labels] == ["a", "b"]


def test_labels_in_a_pandas_series_need_sequences_with_ids():
    frame = pd.DataFrame({"s": ["AC", "GG", "TT"], "y": ["a", "b", "a"]}).iloc[[2, 0, 1]]
    with pytest.raises(LabelError, match="no ids to join it to"):
        SequenceDataset(frame["s"].tolist(), labels=frame["y"])
    found = SequenceDataset(frame["s"], labels=frame["y"])
    assert found.ids == ["2", "0", "1"]
    assert [found.classes[label] for label in found.labels] == ["a", "a", "b"]


def test_a_sequence_data_frame_may_contain_the_label_column():
    frame = pd.DataFrame(
        {"id": ["0", "1", "2"], "sequence": ["AC", "GG", "TT"], "y": ["a", "b", "a"]},
        index=[2, 0, 1],
    )
    found = SequenceDataset(frame, labels=frame["y"])
    assert found.ids == ["0", "1", "2"]
    assert [found.classes[label] for label in found.labels] == ["a", "b", "a"]


def test_the_sep_line_of_excel_sets_the_separator_of_a_label_table(labelled):
    data = labelled("sep=;\nid;label\na;x\nb;y\nc;x\nd;y\n")
    assert (data.classes, values(data)) == (("x", "y"), [0, 1, 0, 1])
    with pytest.raises(FormatError, match="line 4: expected 2 cells, found 1"):
        labelled("sep=;\nid;label\na;x\nb,y\n")


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_a_blank_may_follow_a_quoted_cell_in_a_label_table(labelled, separator):
    lines = ['"id" ,"label" ,"note"', '"a" ,"x" ,"p "" q"  ', '"b","y" , "r"']
    text = "\n".join([*lines, "c,x,s", 'd, "y"  ,""']).replace(",", separator) + "\n"
    assert values(labelled(text)) == [0, 1, 0, 1]


@pytest.mark.parametrize("header", ["id label\tnote", "#id label\tnote", "id\tlabel note"])
def test_a_label_table_may_mix_blanks_and_tabs(labelled, header):
    assert values(labelled(f"{header}\na x\tp\nb\ty q\nc x\tp\nd y\tq\n")) == [0, 1, 0, 1]


def test_a_blank_in_a_tab_separated_label_is_not_a_separator(labelled):
    text = "id\tmy label\na\tx y\nb\tz\nc\tx y\nd\tz\n"
    assert labelled(text, label_column="my label").classes == ("x y", "z")


def test_labels_match_ids_that_end_in_a_no_break_space(fasta, tmp_path):
    path = fasta({"a\u00a0": "AC", "b": "GG", "c": "TT"})
    table = tmp_path / "t.tsv"
    table.write_text("id\tlabel\na\tx\nb\u00a0\ty\nc\tx\n", encoding="utf-8")
    found = SequenceDataset(path, labels=table)
    assert (found.ids[0], found.labels.tolist()) == ("a\u00a0", [0, 1, 0])
    stream = SequenceStream(path, labels=table)
    assert [item["label"] for item in stream] == [0, 1, 0]


def test_an_array_of_labels_for_a_stream_is_an_error(fasta):
    with pytest.raises(ArgumentError, match=r"an array of 4: pass dict\(zip\(ids, labels"):
        SequenceStream(fasta(FOUR_SEQUENCES), labels=np.array(["a", "b", "a", "b"]))


BOOLEAN_LABELS = [True, False, False, True]
SOURCES_OF_BOOLEAN_LABELS = {
    "frame": lambda _: pd.DataFrame({"id": list("abcd"), "label": BOOLEAN_LABELS}),
    "series": lambda _: pd.Series(BOOLEAN_LABELS, index=list("abcd")),
    "list": lambda _: BOOLEAN_LABELS,
    "parquet": lambda path: _parquet_of(path, pa.array(BOOLEAN_LABELS)),
    "pandas": lambda path: _csv_of(path, ["True", "False", "False", "True"]),
    "polars": lambda path: _csv_of(path, ["true", "false", "false", "true"]),
    "R": lambda path: _csv_of(path, ["TRUE", "FALSE", "FALSE", "TRUE"]),
    "numbers": lambda path: _csv_of(path, ["1", "0", "0", "1"]),
}


def _csv_of(path, cells):
    rows = (f"{name},{cell}\n" for name, cell in zip("abcd", cells, strict=True))
    (path / "t.csv").write_text("id,label\n" + "".join(rows))
    return path / "t.csv"


def _parquet_of(path, cells):
    table = pa.table({"id": list("abcd"), "label": cells})
    parquet.write_table(table, path / "t.parquet")
    return path / "t.parquet"


@pytest.mark.parametrize("how", SOURCES_OF_BOOLEAN_LABELS)
@pytest.mark.parametrize(
    "classes", [None, ("False", "True"), ("0", "1"), ("true", "false")]
)
def test_boolean_labels_give_equal_classes_from_every_source(fasta, tmp_path, how, classes):
    labels = SOURCES_OF_BOOLEAN_LABELS[how](tmp_path)
    data = SequenceDataset(fasta(FOUR_SEQUENCES), labels=Labels(labels, classes=classes))
    expected = ("0", "1") if classes is None else classes
    first = [1, 0, 0, 1] if expected[0].casefold() != "true" else [0, 1, 1, 0]
    assert (data.classes, values(data)) == (expected, first)


@pytest.mark.parametrize("task", ["multilabel", "regress"])
def test_columns_of_boolean_labels_are_multilabel(fasta, task):
    frame = pd.DataFrame(
        {"id": list("abcd"), "p": BOOLEAN_LABELS, "q": ["TRUE", "FALSE"] * 2}
    )
    data = SequenceDataset(
        fasta(FOUR_SEQUENCES), labels=Labels(frame, label_column=["p", "q"], task=task)
    )
    assert data.labels.tolist() == [[1, 1], [0, 0], [0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("cell", "remedy"),
    [
        ("1,000", "write 1000 without the comma, or 1.000 if it is a decimal comma"),
        ("12,345,678", "write 12345678 without the comma"),
        ("1,000.5", "write 1000.5 without the comma"),
        ("0,5", "write a point: 0.5"),
    ],
)
def test_a_label_with_thousands_separators_is_an_error_with_a_remedy(fasta, cell, remedy):
    labels = {"a": cell, "b": "2", "c": "3", "d": "4"}
    for task in ("auto", "regress"):
        with pytest.raises(LabelError, match=re.escape(remedy)):
            SequenceDataset(fasta(FOUR_SEQUENCES), labels=Labels(labels, task=task))


def test_labels_that_float32_cannot_distinguish_are_an_error(fasta):
    labels = {"a": 1e8 + 1, "b": 1e8 + 2, "c": 1e8 + 3, "d": 1e8 + 4}
    with pytest.raises(LabelError, match=r"differ by at most 3, .* subtract a number near"):
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=Labels(labels, task="regress"))
    smaller = {name: value - 1e8 for name, value in labels.items()}
    assert values(
        SequenceDataset(fasta(FOUR_SEQUENCES), labels=Labels(smaller, task="regress"))
    ) == [
        1,
        2,
        3,
        4,
    ]


def test_large_regression_labels_with_large_differences_are_valid(fasta):
    labels = {"a": 123_456_789.0, "b": 5.0, "c": 5.0, "d": 100_000_001.0}
    data = SequenceDataset(fasta(FOUR_SEQUENCES), labels=Labels(labels, task="regress"))
    assert values(data) == [123_456_792.0, 5.0, 5.0, 100_000_000.0]


@pytest.mark.parametrize(
    ("cells", "options"),
    [
        (["1", "2", "-9", "2"], {}),
        (["1.5", "2", "-9", "0"], {"task": "regress"}),
        (["0.5", "2", "-999.0", "1"], {"task": "regress"}),
    ],
)
def test_a_missing_value_code_among_labels_causes_a_warning(tmp_path, cells, options):
    (tmp_path / "a.fa").write_text("".join(f">s{i}\nAC\n" for i in range(4)))
    labels = {f"s{i}": cell for i, cell in enumerate(cells)}
    file = tmp_path / "a.fa"
    with pytest.warns(DataWarning, match=f"'{cells[2]}' looks like a code for a missing"):
        SequenceDataset(file, labels=Labels(labels, **options))
    marks = ["", cells[2]]
    found = Labels(labels, missing=marks, unlabelled="skip", **options)
    named = SequenceDataset(file, labels=found)
    assert named.ids == ["s0", "s1", "s3"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "cells", [["-1", "0", "1", "0"], ["-9", "-2", "3", "4"], ["-9", "-9", "1", "1"]]
)
def test_negative_labels_that_are_not_missing_codes_do_not_warn(tmp_path, cells):
    (tmp_path / "a.fa").write_text("".join(f">s{i}\nAC\n" for i in range(4)))
    labels = {f"s{i}": cell for i, cell in enumerate(cells)}
    classes = sorted(set(cells))
    labels = Labels(labels, classes=classes)
    data = SequenceDataset(tmp_path / "a.fa", labels=labels)
    assert [data.classes[label] for label in data.labels] == cells
