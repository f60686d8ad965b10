"""Ids that are made into texts at the first look."""

import copy
import pickle
from collections.abc import Sequence

import numpy as np
import pytest

from seqloom.augment import Mutate
from seqloom.data import DataLoader, Ids, SequenceDataset, SequenceStream
from seqloom.encode import OneHot


@pytest.fixture
def ids():
    return Ids(lambda: ["x", "y", "z"], 3)


def test_ids_are_made_once_and_at_the_first_look():
    made = []
    ids = Ids(lambda: made.append(1) or ["x"], 1)
    assert len(ids) == 1
    assert not made
    assert (ids[0], list(ids), "x" in ids, made) == ("x", ["x"], True, [1])


def test_ids_behave_as_a_list_does(ids):
    wanted = ["x", "y", "z"]
    assert ids == wanted
    assert wanted == ids
    assert ids != ["x"]
    assert (ids[-1], ids[1:], repr(ids)) == ("z", ["y", "z"], "['x', 'y', 'z']")
    more = ["w"]
    assert ids + more == ["x", "y", "z", "w"]
    assert more + ids == ["w", "x", "y", "z"]
    assert (ids.index("y"), ids.count("q"), list(reversed(ids))) == (1, 0, ["z", "y", "x"])


def test_ids_are_a_sequence(ids):
    assert isinstance(ids, Sequence)


def test_a_list_of_ids_is_its_own(ids):
    ids.to_list().append("w")
    assert list(ids) == ["x", "y", "z"]


def test_ids_are_added_to_lists_alone(ids):
    with pytest.raises(TypeError):
        ("w",) + ids  # noqa: RUF005 - what is asked


@pytest.mark.parametrize(
    "options", [{}, {"in_memory": False}, {"augment": Mutate(rate=0.1)}, {"encoder": None}]
)
def test_ids_are_of_one_kind_whatever_makes_the_batch(tmp_path, options):
    path = tmp_path / "a.fa"
    path.write_text(">x one\nACGT\n>y\nACGT\n")
    chosen = {"encoder": OneHot("dna")} | options
    for data in (SequenceDataset(path, **chosen), SequenceDataset(path, **chosen)[:1]):
        ids = data.batch([0])["id"]
        assert (type(ids), ids) == (Ids, ["x"])


def test_beyond_the_end_there_is_no_id(ids):
    with pytest.raises(IndexError):
        ids[3]


def test_numpy_and_a_set_take_ids(ids):
    assert np.asarray(ids).tolist() == ["x", "y", "z"]
    assert set(ids) == {"x", "y", "z"}


def pickled(ids):
    return pickle.loads(pickle.dumps(ids))  # noqa: S301 - our own


@pytest.mark.parametrize("again", [copy.deepcopy, pickled])
def test_a_copy_of_ids_is_a_list(ids, again):
    assert again(ids) == ["x", "y", "z"]
    assert type(again(ids)) is list


@pytest.mark.parametrize("kind", [SequenceDataset, SequenceStream])
def test_ids_of_a_batch_stay_right_whatever_becomes_of_it(tmp_path, kind):
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


def test_ids_that_are_no_utf8_are_spelled_with_backslashes(tmp_path):
    path = tmp_path / "a.fa"
    path.write_bytes(b">\xff one\nAC\n>\xc3\xa9\nGT\n")
    batch = SequenceDataset(path, encoder=OneHot("dna")).batch([0, 1])
    assert batch["id"] == ["\\xff", "é"]
