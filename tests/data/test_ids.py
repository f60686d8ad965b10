"""Ids that are decoded on first access."""

import copy
import json
import pickle
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from seqloom.augment import Mutate
from seqloom.data import DataLoader, Ids, SequenceDataset, SequenceStream
from seqloom.encode import OneHot
from seqloom.errors import ArgumentError, FormatError, LabelError


@pytest.fixture
def ids():
    return Ids(lambda: ["x", "y", "z"], 3)


def test_ids_of_a_batch_are_decoded_once_on_first_access():
    made = []
    ids = Ids(lambda: made.append(1) or ["x"], 1)
    assert not made
    assert (len(ids), ids[0], list(ids), "x" in ids, made) == (1, "x", ["x"], True, [1])


def test_ids_of_a_batch_behave_like_a_list(ids):
    wanted = ["x", "y", "z"]
    assert ids == wanted
    assert wanted == ids
    assert ids != ["x"]
    assert (ids[-1], ids[1:], repr(ids)) == ("z", ["y", "z"], "['x', 'y', 'z']")
    more = ["w"]
    assert ids + more == ["x", "y", "z", "w"]
    assert more + ids == ["w", "x", "y", "z"]
    assert (ids.index("y"), ids.count("q"), list(reversed(ids))) == (1, 0, ["z", "y", "x"])


def test_the_ids_class_is_a_collections_sequence(ids):
    assert isinstance(ids, Sequence)


def test_the_to_list_method_of_ids_returns_a_new_list(ids):
    ids.to_list().append("w")
    assert list(ids) == ["x", "y", "z"]


def test_adding_ids_to_anything_but_a_list_is_an_error(ids):
    with pytest.raises(TypeError):
        ("w",) + ids  # noqa: RUF005 - what is asked


@pytest.mark.parametrize(
    "options", [{}, {"in_memory": False}, {"augment": Mutate(rate=0.1)}, {"encoder": None}]
)
def test_batches_of_every_dataset_have_ids_of_one_class(tmp_path, options):
    path = tmp_path / "a.fa"
    path.write_text(">x one\nACGT\n>y\nACGT\n")
    chosen = {"encoder": OneHot("dna")} | options
    for data in (SequenceDataset(path, **chosen), SequenceDataset(path, **chosen)[:1]):
        ids = data.batch([0])["id"]
        assert (type(ids), ids) == (Ids, ["x"])


def test_an_index_beyond_the_end_of_ids_is_an_error(ids):
    with pytest.raises(IndexError):
        ids[3]


def test_ids_can_be_converted_to_numpy_arrays_and_sets(ids):
    assert np.asarray(ids).tolist() == ["x", "y", "z"]
    assert set(ids) == {"x", "y", "z"}


def pickled(ids):
    return pickle.loads(pickle.dumps(ids))  # noqa: S301 - our own


@pytest.mark.parametrize("again", [copy.deepcopy, pickled])
def test_a_copy_of_ids_is_a_list(ids, again):
    assert again(ids) == ["x", "y", "z"]
    assert type(again(ids)) is list


# Arguments for each method of a list.
LIST_METHOD_CALLS: dict[str, tuple[Any, ...]] = {
    "__add__": (["w"],),
    "__contains__": ("y",),
    "__delitem__": (0,),
    "__eq__": (["x", "y", "z"],),
    "__ge__": (["x"],),
    "__getitem__": (1,),
    "__gt__": (["x"],),
    "__iadd__": (["w"],),
    "__imul__": (2,),
    "__iter__": (),
    "__le__": (["x"],),
    "__len__": (),
    "__lt__": (["z"],),
    "__mul__": (2,),
    "__ne__": (["x"],),
    "__repr__": (),
    "__reversed__": (),
    "__rmul__": (2,),
    "__setitem__": (0, "w"),
    "append": ("w",),
    "clear": (),
    "copy": (),
    "count": ("x",),
    "extend": (["w"],),
    "index": ("z",),
    "insert": (1, "w"),
    "pop": (),
    "remove": ("y",),
    "reverse": (),
    "sort": (),
}


def outcome(thing, name):
    """Return the result of a list method, as a list if it is an iterator, and the list."""
    answer = getattr(thing, name)(*LIST_METHOD_CALLS[name])
    return (list(answer) if hasattr(answer, "__next__") else answer), list(thing)


@pytest.mark.parametrize("name", LIST_METHOD_CALLS)
def test_every_list_method_of_ids_agrees_with_list(ids, name):
    assert outcome(ids, name) == outcome(["x", "y", "z"], name)


def test_the_tests_of_ids_cover_every_list_method():
    apart = {"__new__", "__init__", "__getattribute__", "__hash__", "__class_getitem__"}
    assert LIST_METHOD_CALLS.keys() == vars(list).keys() - apart - {"__doc__", "__sizeof__"}


@pytest.mark.parametrize("name", ["__add__", "__eq__", "__lt__", "__iadd__", "extend"])
def test_ids_objects_can_be_compared_with_each_other(ids, name):
    other = Ids(lambda: ["x", "y", "w"], 3)
    wanted = getattr(["x", "y", "z"], name)(["x", "y", "w"])
    assert getattr(ids, name)(other) == wanted


def test_ids_can_be_created_from_any_iterable(ids):
    again = type(ids)(name for name in ids)
    assert (type(again), again, type(ids)()) == (Ids, ["x", "y", "z"], [])


@pytest.mark.parametrize("arguments", [(lambda: ["x"],), (["x"], 1)])
def test_ids_created_from_a_function_need_a_count(arguments):
    with pytest.raises(ArgumentError, match="count"):
        Ids(*arguments)


LIBRARY_CALLS: dict[str, Callable[[Any], Any]] = {
    "json": json.dumps,
    "json with an indent": lambda ids: json.dumps(ids, indent=1),
    "json in a dict": lambda ids: json.dumps({"id": ids}),
    "join": ",".join,
    "sorted": sorted,
    "tuple": tuple,
    "star": lambda ids: [*ids],
    "polars": lambda ids: pl.Series(ids).to_list(),
    "arrow": lambda ids: pa.array(ids).to_pylist(),
    "pandas": lambda ids: pd.DataFrame({"id": ids})["id"].tolist(),
    "numpy": lambda ids: np.array(ids, object).tolist(),
}


@pytest.mark.parametrize("library", LIBRARY_CALLS)
def test_json_pandas_and_polars_accept_ids_as_a_list(ids, library):
    assert LIBRARY_CALLS[library](ids) == LIBRARY_CALLS[library](["x", "y", "z"])


def test_c_code_that_reads_lists_directly_fails_on_undecoded_ids(ids):
    with pytest.raises(TypeError, match="UndecodedId"):
        msgspec.json.encode(ids)
    assert msgspec.json.encode(ids.to_list()) == b'["x","y","z"]'
    with pytest.raises(pa.ArrowInvalid, match="UndecodedId"):
        pa.array([Ids(lambda: ["x"], 1)])


def test_converting_a_batch_to_tensors_does_not_decode_ids(toy):
    made = iter(DataLoader(toy(), 4, output="torch"))
    ids = next(made)["id"]
    assert list.__len__(ids) == 1
    assert ids == ["r0", "r1", "r2", "r3"]


@pytest.mark.parametrize("kind", [SequenceDataset, SequenceStream])
def test_ids_stay_valid_after_their_batch_changes(tmp_path, kind):
    names = [f"r{i}" for i in range(50)]
    path = tmp_path / "a.fa"
    path.write_text("".join(f">{name} more\nACGT\n" for name in names))
    loader = DataLoader(kind(path, encoder=OneHot("dna")), 8, num_workers=2)
    kept = []
    for batch in loader:
        kept.append(batch["id"])
        batch["ordinal"][:] = 0
        batch["inputs"][:] = 0
    assert [name for ids in kept for name in ids] == names


def test_ids_that_are_not_utf8_are_escaped_with_backslashes(tmp_path):
    path = tmp_path / "a.fa"
    path.write_bytes(b">\xff one\nAC\n>\xc3\xa9\nGT\n")
    batch = SequenceDataset(path, encoder=OneHot("dna")).batch([0, 1])
    assert batch["id"] == ["\\xff", "é"]


UNIPROT_FASTA = (
    ">sp|P00001|CYC_A Cytochrome OS=A\nMK\n>tr|Q00002|B_B X\nMW\n>sp|P00003|C_C Y\nMA\n"
)
UNIPROT_ACCESSIONS = ["P00001", "Q00002", "P00003"]
ID_SOURCES = {
    "first group": r"\|(.+?)\|",
    "named group": r"(sp|tr)\|(?P<id>.+?)\|",
    "whole match": r"[PQ]\d{5}",
    "compiled": re.compile(r"\|(.+?)\|"),
}


@pytest.fixture
def uniprot(tmp_path):
    (tmp_path / "u.fa").write_text(UNIPROT_FASTA)
    (tmp_path / "t.tsv").write_text("id\tlabel\nP00001\tx\nP00003\tx\nQ00002\ty\n")
    return tmp_path / "u.fa", tmp_path / "t.tsv"


@pytest.mark.parametrize("how", ID_SOURCES)
def test_the_option_id_pattern_extracts_ids_from_headers(uniprot, how):
    path, labels = uniprot
    data = SequenceDataset(path, labels=labels, id_from_header=ID_SOURCES[how])
    assert (data.ids, np.asarray(data.labels).tolist()) == (UNIPROT_ACCESSIONS, [0, 1, 0])
    again = pickle.loads(pickle.dumps(data))  # noqa: S301 - our own
    assert again.batch([2, 0])["id"] == [UNIPROT_ACCESSIONS[2], UNIPROT_ACCESSIONS[0]]
    stream = SequenceStream(path, labels=labels, id_from_header=ID_SOURCES[how])
    items = list(stream)
    assert [item["id"] for item in items] == UNIPROT_ACCESSIONS
    assert [item["label"] for item in items] == [0, 1, 0]


def test_the_option_id_pattern_applies_to_tables_and_memory(tmp_path):
    (tmp_path / "t.csv").write_text("id,sequence\nsp|P00001|A,MK\nsp|P00002|B,MW\n")
    for data in (tmp_path / "t.csv", {"sp|P00001|A": "MK", "sp|P00002|B": "MW"}):
        found = SequenceDataset(data, id_from_header=r"\|(.+?)\|")
        assert found.ids == ["P00001", "P00002"]


def test_labels_by_accession_without_a_pattern_suggest_id_pattern(uniprot):
    path, labels = uniprot
    with pytest.raises(LabelError) as error:
        SequenceDataset(path, labels=labels)
    found = re.search(r"id_from_header=r'(.+?)' \(--id-from-header", str(error.value))
    assert found is not None
    assert (
        SequenceDataset(path, labels=labels, id_from_header=found[1]).ids
        == UNIPROT_ACCESSIONS
    )
    names = {"CYC_A": "x", "B_B": "y", "C_C": "x"}
    with pytest.raises(LabelError) as error:
        SequenceDataset(path, labels=names)
    found = re.search(r"id_from_header=r'(.+?)' \(--id-from-header", str(error.value))
    assert found is not None
    assert SequenceDataset(path, labels=names, id_from_header=found[1]).ids == [*names]


@pytest.mark.parametrize(
    "make", [SequenceDataset, lambda *a, **k: list(SequenceStream(*a, **k))]
)
@pytest.mark.parametrize(
    ("pattern", "found"), [("sp.(P.+?)_", "nothing"), ("OS=A|.* X", "'tr")]
)
def test_a_header_without_a_match_of_id_pattern_is_an_error(uniprot, make, pattern, found):
    with pytest.raises(FormatError, match=rf"u.fa: record 1: id_from_header .* {found}"):
        make(uniprot[0], id_from_header=pattern)


@pytest.mark.parametrize("pattern", ["(", 3])
def test_an_invalid_id_pattern_is_an_error(uniprot, pattern):
    with pytest.raises(ArgumentError, match="regular expression"):
        SequenceDataset(uniprot[0], id_from_header=pattern)
