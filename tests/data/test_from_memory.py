"""Sequences in memory and in tables have the same batches as sequences in a file."""

import gzip
import pickle
from typing import Any, cast

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord
from pyarrow import parquet

import seqloom as sl
from seqloom.data import (
    DataLoader,
    Labels,
    PadCollator,
    SequenceDataset,
    SequenceStream,
    guess_alphabet,
)
from seqloom.encode import OneHot
from seqloom.errors import (
    ArgumentError,
    DataWarning,
    FormatError,
    LabelError,
    MissingFileError,
)

RECORD_IDS = ["a", "b", "c", "d"]
SEQUENCES = ["ACGT", "ggccN", "TT", "CATT"]
CLASS_LABELS = ["neg", "pos", "neg", "pos"]
TABLE_COLUMNS = {"id": RECORD_IDS, "sequence": SEQUENCES, "label": CLASS_LABELS}
TABLE_ROWS = [
    dict(zip(TABLE_COLUMNS, row, strict=True))
    for row in zip(RECORD_IDS, SEQUENCES, CLASS_LABELS, strict=True)
]
CSV_TEXT = "id,sequence,label\n" + "".join(
    ",".join(row.values()) + "\n" for row in TABLE_ROWS
)

SOURCES_WITH_LABELS = {
    "dict of columns": lambda: TABLE_COLUMNS,
    "list of dicts": lambda: TABLE_ROWS,
    "pandas": lambda: pd.DataFrame(TABLE_COLUMNS),
    "index": lambda: pd.DataFrame(TABLE_COLUMNS).set_index("id"),
    "polars": lambda: pl.DataFrame(TABLE_COLUMNS),
    "arrow": lambda: pa.table(TABLE_COLUMNS),
    "hugging face": lambda: datasets.Dataset.from_dict(TABLE_COLUMNS),
    "classes": lambda: datasets.Dataset.from_dict(TABLE_COLUMNS).class_encode_column(
        "label"
    ),
    "stream": lambda: datasets.Dataset.from_dict(TABLE_COLUMNS).to_iterable_dataset(),
}
SOURCES_WITHOUT_LABELS = {
    "dict": lambda: dict(zip(RECORD_IDS, SEQUENCES, strict=True)),
    "pairs": lambda: list(zip(RECORD_IDS, SEQUENCES, strict=True)),
    "biopython": lambda: [
        SeqRecord(Seq(row), id=name)
        for name, row in zip(RECORD_IDS, SEQUENCES, strict=True)
    ],
    "records": lambda: [
        sl.io.SequenceRecord(name, "", row.encode())
        for name, row in zip(RECORD_IDS, SEQUENCES, strict=True)
    ],
    "series": lambda: pd.Series(SEQUENCES, index=RECORD_IDS),
}
SOURCES_WITHOUT_IDS = {
    "texts": lambda: SEQUENCES,
    "bytes": lambda: [row.encode() for row in SEQUENCES],
    "array": lambda: np.array(SEQUENCES),
    "objects": lambda: np.array(SEQUENCES, object),
    "byte array": lambda: np.array(SEQUENCES, "S"),
    "polars": lambda: pl.Series(SEQUENCES),
    "generator": lambda: (row for row in SEQUENCES),
    "tuple": lambda: tuple(SEQUENCES),
    "arrays": lambda: [np.frombuffer(row.encode(), np.uint8) for row in SEQUENCES],
}


@pytest.fixture
def from_file(fasta):
    """A dataset of the same records from a FASTA file."""

    def make(ids, **options):
        path = fasta(dict(zip(ids, SEQUENCES, strict=True)))
        return SequenceDataset(path, encoder=OneHot("dna"), **options)

    return make


def assert_same(data, expected):
    """Raise unless two batches are bitwise equal, except for the names of files."""
    loaders = (
        DataLoader(each, 3, shuffle=True, seed=5, collate_fn=PadCollator())
        for each in (data, expected)
    )
    for mine, theirs in zip(*loaders, strict=True):
        assert mine.keys() == theirs.keys()
        assert list(mine["id"]) == list(theirs["id"])
        for key in theirs.keys() - {"id", "file"}:
            np.testing.assert_array_equal(mine[key], theirs[key])
    assert data.fingerprint() == expected.fingerprint()


@pytest.mark.parametrize("kind", SOURCES_WITH_LABELS)
def test_a_table_in_memory_gives_the_batches_of_a_file(from_file, kind):
    data = SequenceDataset(SOURCES_WITH_LABELS[kind](), encoder=OneHot("dna"))
    assert_same(
        data, from_file(RECORD_IDS, labels=dict(zip(RECORD_IDS, CLASS_LABELS, strict=True)))
    )


@pytest.mark.parametrize("kind", SOURCES_WITHOUT_LABELS)
def test_sequences_with_ids_in_memory_give_the_batches_of_a_file(from_file, kind):
    assert_same(
        SequenceDataset(SOURCES_WITHOUT_LABELS[kind](), encoder=OneHot("dna")),
        from_file(RECORD_IDS),
    )


@pytest.mark.parametrize("kind", SOURCES_WITHOUT_IDS)
def test_sequences_in_memory_without_ids_are_numbered(from_file, kind):
    data = SequenceDataset(
        SOURCES_WITHOUT_IDS[kind](), encoder=OneHot("dna"), labels=[0, 1, 0, 1]
    )
    assert_same(data, from_file(list("0123"), labels=[0, 1, 0, 1]))


def test_each_row_of_a_byte_array_is_a_sequence():
    array = np.array([list(b"ACGT"), list(b"GGCC")], np.uint8)
    assert [item["sequence"] for item in SequenceDataset(array)] == [b"ACGT", b"GGCC"]


def test_records_in_memory_keep_their_qualities():
    records = [sl.io.SequenceRecord("x", "of me", b"AC", b"I#")]
    item = SequenceDataset(records)[0]
    assert (item["id"], item["quality"]) == ("x", b"I#")
    short = [sl.io.SequenceRecord("x", "", b"AC", b"I")]
    with pytest.raises(FormatError, match=r"record 0 \(x\): 1 qualities for 2 residues"):
        SequenceDataset(short)


TABLE_FILES = {
    "a.csv": CSV_TEXT.encode(),
    "a.tsv": CSV_TEXT.replace(",", "\t").encode(),
    "a.txt": CSV_TEXT.encode(),
    "a.csv.gz": gzip.compress(CSV_TEXT.encode()),
    "quoted.csv": b"\xef\xbb\xbf"
    + CSV_TEXT.replace("ACGT", '"ACGT"').replace("\n", "\r\n").encode(),
}


@pytest.mark.parametrize("name", [*TABLE_FILES, "a.parquet"])
def test_a_table_of_sequences_gives_the_batches_of_a_fasta_file(from_file, tmp_path, name):
    path = tmp_path / name
    if name in TABLE_FILES:
        path.write_bytes(TABLE_FILES[name])
    else:
        parquet.write_table(pa.table(TABLE_COLUMNS), path)
    data = SequenceDataset(path, encoder=OneHot("dna"))
    assert_same(
        data, from_file(RECORD_IDS, labels=dict(zip(RECORD_IDS, CLASS_LABELS, strict=True)))
    )
    assert data[0]["file"] == str(path)


def test_several_tables_of_sequences_are_read_in_order(tmp_path):
    for number in range(2):
        (tmp_path / f"{number}.csv").write_text(f"sequence,label\nACGT,{number}\n")
    data = SequenceDataset(tmp_path / "?.csv")
    assert [item["ordinal"] for item in data] == [0, 1]
    assert (data.ids, np.asarray(data.labels).tolist()) == (["0", "0"], [0, 1])


def test_a_dataset_can_choose_the_columns_of_a_sequence_table(tmp_path):
    path = tmp_path / "scan.csv"
    path.write_text("mutant,mutated_sequence,score\nA1C,CCGT,0.5\nA1G,GCGT,-1.5\n")
    data = SequenceDataset(
        path,
        sequence_column="mutated_sequence",
        id_column="mutant",
        labels=Labels(label_column="score", task="regress"),
    )
    assert (data.ids, np.asarray(data.labels).tolist()) == (["A1C", "A1G"], [0.5, -1.5])
    with pytest.raises(LabelError, match=r"no column 'sequence'.*mutated_sequence"):
        SequenceDataset(path)


def test_several_label_columns_of_a_table_are_several_labels():
    table = {"sequence": SEQUENCES, "p": list("1010"), "q": list("0110")}
    data = SequenceDataset(table, labels=Labels(label_column=("p", "q")))
    assert data.task == "multilabel"
    assert np.asarray(data.labels).tolist() == [[1, 0], [0, 1], [1, 1], [0, 0]]


def test_labels_of_a_table_can_be_ignored_or_replaced():
    assert SequenceDataset(TABLE_COLUMNS, labels=False).labels is None
    by_id = dict(zip(RECORD_IDS, "yxxy", strict=True))
    assert SequenceDataset(TABLE_COLUMNS, labels=by_id).classes == ("x", "y")
    other = TABLE_COLUMNS | {"kind": list("uvuv")}
    assert SequenceDataset(other, labels="kind").classes == ("u", "v")


def test_a_missing_label_in_a_table_is_an_error_or_skipped():
    table = {"sequence": SEQUENCES, "label": ["neg", float("nan"), "pos", None]}
    with pytest.raises(
        LabelError, match="2 of 4 sequences have no label in the dict: 1, 3"
    ):
        SequenceDataset(table)
    data = SequenceDataset(table, labels=Labels(unlabelled="skip"))
    assert (data.ids, data.report["unlabelled"]) == (["0", "2"], 2)


@pytest.mark.parametrize("name", ["a.csv", "a.txt"])
def test_comment_lines_may_precede_a_table_of_sequences(tmp_path, name):
    (tmp_path / name).write_text("# made by me\nid,sequence,label\na,AC,x\nb,GG,y\n")
    data = SequenceDataset(tmp_path / name)
    assert (data.ids, data.classes) == (["a", "b"], ("x", "y"))


def test_a_sequence_in_a_table_may_exceed_the_limit_of_the_csv_module(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text(f"sequence,label\n{'ACGT' * 50_000},1\nGG,0\n")
    assert SequenceDataset(path).lengths.tolist() == [200_000, 2]


def test_worker_processes_receive_sequences_from_memory():
    data = SequenceDataset(TABLE_COLUMNS, encoder=OneHot("dna"))
    here = DataLoader(data, 2, collate_fn=PadCollator())
    items = cast("torch.utils.data.Dataset[Any]", data)
    there = torch.utils.data.DataLoader(items, 2, num_workers=1, collate_fn=PadCollator())
    for mine, theirs in zip(here, there, strict=True):
        np.testing.assert_array_equal(mine["inputs"], theirs["inputs"])


def test_a_pickled_dataset_contains_its_sequences_from_memory():
    data = SequenceDataset(TABLE_COLUMNS, encoder=OneHot("dna"))
    again = pickle.loads(pickle.dumps(data))  # noqa: S301 - our own
    assert again.ids == RECORD_IDS
    assert again.fingerprint() == data.fingerprint()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            ["ACGT", None],
            r"<list>: record 1 \(1\): expected a sequence, found a missing value",
        ),
        ({"x": float("nan")}, r"<dict>: record 0 \(x\): .* found a missing value"),
        ([b"ACGT", 7], r"record 1 \(1\): expected a sequence, found 7"),
        ([b"AC GT"], r"record 0 \(0\), position 2: .*b' '; whitespace=\"strip\""),
        ([b"AC>T"], r"position 2: expected a residue, found b'>'"),
        ({"x": "ACÄT"}, r"record 0 \(x\), position 2: expected a residue"),
    ],
    ids=range(6),
)
def test_the_error_for_an_invalid_sequence_in_memory_names_the_record(data, message):
    with pytest.raises(FormatError, match=message):
        SequenceDataset(data)


@pytest.mark.parametrize("kind", ["list", "dict", "csv"])
def test_the_option_whitespace_strip_removes_blanks_in_tables(tmp_path, kind):
    (tmp_path / "a.csv").write_text("id,sequence\n0,AC GT\n")
    data = {"list": [b"AC GT"], "dict": {"0": "AC\tGT\n"}, "csv": tmp_path / "a.csv"}[kind]
    assert SequenceDataset(data, whitespace="strip")[0]["sequence"] == b"ACGT"


def test_an_invalid_character_in_memory_is_reported_with_its_record():
    with pytest.raises(sl.errors.AlphabetError, match=r"<list>: record 1 \(1\), residue 2"):
        SequenceDataset(["ACGT", "ACJT"], encoder=OneHot("dna"))


def test_a_list_of_paths_is_read_as_files(fasta, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fasta({"x": "GG"}, "ACGT")
    assert SequenceDataset(["ACGT"]).ids == ["x"]
    assert SequenceDataset("ACGT").ids == ["x"]
    with pytest.raises(MissingFileError):
        SequenceDataset(["reads.fa", "more.fa"])
    with pytest.raises(MissingFileError, match="reads: no such file"):
        SequenceDataset(["reads"])


@pytest.mark.parametrize("data", [7, None, [("x", "AC", 1)], {"train": TABLE_COLUMNS}])
def test_the_error_for_neither_files_nor_sequences_names_the_argument(data):
    with pytest.raises((ArgumentError, FormatError), match=r"sequence"):
        SequenceDataset(data)


def test_the_alphabet_of_sequences_in_memory_can_be_guessed():
    assert guess_alphabet(["ACGT" * 5000, "GGCC"]) == "dna"
    assert guess_alphabet({"p": ["MKVLF", "MEEPQ"]}, sequence_column="p") == "protein"


def test_the_error_for_a_stream_of_a_table_suggests_sequence_dataset(tmp_path):
    (tmp_path / "a.csv").write_text(CSV_TEXT)
    for data in (tmp_path / "a.csv", TABLE_COLUMNS, SEQUENCES):
        with pytest.raises(ArgumentError, match="SequenceDataset"):
            SequenceStream(data)


SOURCES_WITH_BLANKS_IN_IDS = {
    "dict": lambda: {"sample 1": "ACGT", "sample 2": "GG"},
    "frame": lambda: pd.DataFrame({"id": ["sample 1", "sample 2"], "sequence": ["A", "G"]}),
    "index": lambda: pd.Series(["ACGT", "GG"], index=["sample 1", "sample 2"]),
}


@pytest.mark.parametrize("name", SOURCES_WITH_BLANKS_IN_IDS)
def test_ids_in_memory_that_differ_only_after_a_blank_are_an_error(name):
    with pytest.raises(FormatError, match="'sample 1' and 'sample 2' have the same first"):
        SequenceDataset(SOURCES_WITH_BLANKS_IN_IDS[name]())


def test_table_ids_that_differ_only_after_a_blank_are_an_error(tmp_path):
    (tmp_path / "a.csv").write_text("id,sequence\nsample 1,ACGT\nsample 2,GG\n")
    with pytest.raises(FormatError, match="write ids without blanks"):
        SequenceDataset(tmp_path / "a.csv")


CHARACTER_ARRAYS = {
    "U1": np.array([["A", "C"], ["G", "T"]]),
    "S1": np.array([[b"A", b"C"], [b"G", b"T"]]),
    "object": np.array([["A", "C"], ["G", "T"]], object),
    "uint8": np.frombuffer(b"ACGT", np.uint8).reshape(2, 2),
}


@pytest.mark.parametrize("kind", CHARACTER_ARRAYS)
def test_each_row_of_a_character_array_is_a_sequence(kind):
    data = SequenceDataset(CHARACTER_ARRAYS[kind])
    assert [item["sequence"] for item in data] == [b"AC", b"GT"]
    assert data.ids == ["0", "1"]


def test_an_array_of_strings_may_contain_pairs_of_id_and_sequence():
    data = SequenceDataset(np.array([["x", "AC"], ["y", "GT"]]))
    assert (data.ids, data[1]["sequence"]) == (["x", "y"], b"GT")


SOURCES_WITH_LONG_HEADERS = {
    "pairs": [("x first", "AC"), (b"y second", "GT")],
    "dict": {"x first": "AC", "y second": "GT"},
    "frame": pd.DataFrame({"id": ["x first", "y second"], "sequence": ["AC", "GT"]}),
    "index": pd.Series(["AC", "GT"], index=["x first", "y second"]),
}


@pytest.mark.parametrize("kind", SOURCES_WITH_LONG_HEADERS)
def test_an_id_in_memory_ends_at_the_first_blank_as_in_a_file(tmp_path, kind):
    (tmp_path / "a.fa").write_text(">x first\nAC\n>y second\nGT\n")
    assert (
        SequenceDataset(SOURCES_WITH_LONG_HEADERS[kind]).ids
        == SequenceDataset(tmp_path / "a.fa").ids
    )


SOURCES_WITH_MISSING_IDS = {
    "none": [("x", "AC"), (None, "GT")],
    "empty": {"x": "AC", "": "GT"},
    "blank": [("x", "AC"), (" \t", "GT")],
    "nan": pd.DataFrame({"id": ["x", float("nan")], "sequence": ["AC", "GT"]}),
    "dicts": [{"id": "x", "sequence": "AC"}, {"sequence": "GT"}],
    "record": [sl.io.SequenceRecord(name, "", b"AC") for name in ("x", "")],
}


@pytest.mark.parametrize("kind", SOURCES_WITH_MISSING_IDS)
def test_sequences_in_memory_without_an_id_are_an_error_or_numbered(kind):
    with pytest.raises(FormatError, match=r'record 1: expected an id, .* ids="number"'):
        SequenceDataset(SOURCES_WITH_MISSING_IDS[kind])
    assert SequenceDataset(SOURCES_WITH_MISSING_IDS[kind], ids="number").ids == ["x", "1"]


def test_table_rows_without_an_id_are_an_error_or_numbered(tmp_path):
    (tmp_path / "a.csv").write_text("id,sequence\nx,AC\n,GT\n")
    with pytest.raises(FormatError, match=r"a\.csv: record 1: expected an id"):
        SequenceDataset(tmp_path / "a.csv")
    assert SequenceDataset(tmp_path / "a.csv", ids="number").ids == ["x", "1"]


@pytest.mark.parametrize(
    "rows",
    [
        [("x", "AC"), "GT"],
        ["GT", ("x", "AC")],
        [{"sequence": "AC"}, "GT"],
        [sl.io.SequenceRecord("x", "", b"AC"), "GT"],
    ],
    ids=range(4),
)
def test_sequences_of_different_python_types_are_an_error(rows):
    with pytest.raises(FormatError, match=r"record 1 is .*, but record 0 is"):
        SequenceDataset(rows)


@pytest.mark.parametrize(
    "given",
    [{"AC", "GT"}, np.array("AC"), np.full((2, 2, 2), "A")],
    ids=["set", "scalar", "cube"],
)
def test_sets_and_scalars_are_rejected_as_sequences(given):
    with pytest.raises(ArgumentError, match="sequences must be one or more files"):
        SequenceDataset(given)


def test_column_names_of_a_sequence_data_frame_may_be_numbers():
    frame = pd.DataFrame({0: ["AC", "GT"], 1: ["no", "yes"]})
    data = SequenceDataset(frame, sequence_column="0", labels=Labels(label_column="1"))
    assert (data.classes, [item["sequence"] for item in data]) == (
        ("no", "yes"),
        [b"AC", b"GT"],
    )


@pytest.mark.parametrize("option", ["sequence_column", "id_column"])
def test_the_option_for_a_sequence_column_must_be_a_string(option):
    options: dict[str, Any] = {option: 0}
    with pytest.raises(ArgumentError, match=f"{option} must be the name of a column"):
        SequenceDataset(pd.DataFrame({0: [1, 2], "sequence": ["AC", "GT"]}), **options)


def test_the_name_of_a_label_column_must_be_a_string():
    number: Any = 0
    with pytest.raises(ArgumentError, match="label_column must be the name of a column"):
        Labels(label_column=number)


def test_labels_are_joined_by_the_first_word_of_an_id():
    data = {"x first": "AC", "y second": "GT"}
    with pytest.raises(
        LabelError, match="the labels have 'x first', but an id ends at the fir"
    ):
        SequenceDataset(data, labels={"x first": 0, "y second": 1})
    assert SequenceDataset(data, labels={"x": 0, "y": 1}).classes == ("0", "1")


@pytest.mark.parametrize("given", [{}, pd.DataFrame({"sequence": []}), "a.csv"], ids=type)
def test_an_empty_list_of_sequences_is_an_error(tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("id,sequence\n")
    with pytest.raises(FormatError, match="expected sequences, found none"):
        SequenceDataset(given)


def test_unused_columns_of_a_sequence_table_may_lack_a_name(tmp_path):
    (tmp_path / "a.csv").write_text("id,sequence,,,n,n\nx,AC,,,1,2\ny,GT,,,3,4\n")
    assert SequenceDataset(tmp_path / "a.csv").ids == ["x", "y"]
    with pytest.raises(LabelError, match="2 columns are named 'n'"):
        SequenceDataset(tmp_path / "a.csv", labels=Labels(label_column="n"))


def test_the_integer_index_of_a_sequence_data_frame_becomes_the_ids():
    frame = pd.DataFrame({"eid": [1005, 1001], "sequence": ["AC", "GG"]}).set_index("eid")
    assert SequenceDataset(frame).ids == ["1005", "1001"]
    assert SequenceDataset(frame, id_column="eid").ids == ["1005", "1001"]
    assert SequenceDataset(frame["sequence"]).ids == ["1005", "1001"]
    with pytest.raises(LabelError, match="no column 'iid'"):
        SequenceDataset(frame, id_column="iid")


def test_integer_ids_in_a_float_column_with_nan_stay_integers():
    frame = pd.DataFrame({"id": [7.0, 8.0], "sequence": ["AC", "GG"]})
    assert SequenceDataset(frame).ids == ["7", "8"]


CLASS_LABEL_FEATURES = datasets.Features(
    {
        "id": datasets.Value("string"),
        "sequence": datasets.Value("string"),
        "label": datasets.ClassLabel(names=["neg", "pos"]),
    }
)
CLASS_LABEL_DATASET = datasets.Dataset.from_dict(
    {**TABLE_COLUMNS, "label": [0, 1, -1, 1]}, features=CLASS_LABEL_FEATURES
)
CLASS_LABEL_SOURCES = {
    "whole": lambda: (CLASS_LABEL_DATASET, None),
    "streamed": lambda: (CLASS_LABEL_DATASET.to_iterable_dataset(), None),
    "torch": lambda: (CLASS_LABEL_DATASET.with_format("torch"), None),
    "column": lambda: (
        dict(zip(RECORD_IDS, SEQUENCES, strict=True)),
        CLASS_LABEL_DATASET["label"],
    ),
    "columns": lambda: (CLASS_LABEL_DATASET["sequence"], CLASS_LABEL_DATASET["label"]),
}


@pytest.mark.parametrize("how", CLASS_LABEL_SOURCES)
def test_hugging_face_class_labels_are_read_as_class_names(how):
    data, labels = CLASS_LABEL_SOURCES[how]()
    found = SequenceDataset(data, labels=Labels(labels, unlabelled="skip"))
    assert found.classes == ("neg", "pos")
    assert found.labels.tolist() == [0, 1, 1]
    assert found.report["unlabelled"] == 1


def test_pandas_columns_in_a_dict_must_have_equal_indices():
    texts = pd.Series(["AAAA", "CCCC", "GGGG"], index=["x", "y", "z"])
    labels = pd.Series(["c", "b", "a"], index=["z", "y", "x"])
    with pytest.raises(
        LabelError, match="'sequence' and 'label' are series with different"
    ):
        SequenceDataset({"sequence": texts, "label": labels})
    data = SequenceDataset({"sequence": texts, "label": labels[::-1]})
    assert (data.ids, data.labels.tolist()) == (["x", "y", "z"], [0, 1, 2])


def test_a_sequence_that_looks_like_a_missing_value_causes_a_warning(tmp_path):
    (tmp_path / "a.csv").write_text("id,sequence\na,MKV\nb,NA\nc,NA\n")
    said = "the sequence 'NA' of the record 'b' and of 1 more looks like a missing value"
    with pytest.warns(DataWarning, match=said):
        assert SequenceDataset(tmp_path / "a.csv").lengths.tolist() == [3, 2, 2]
