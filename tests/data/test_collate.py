from collections import OrderedDict
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch.utils.data import default_collate as torch_collate

from seqloom.data import PadCollator, SequenceDataset, default_collate
from seqloom.encode import OneHot
from seqloom.errors import ArgumentError, ShapeError


class Pair(NamedTuple):
    first: int
    second: float


ITEMS = {
    "whole numbers": [1, 2, 3],
    "numbers": [0.5, 1.5],
    "truths": [True, False],
    "texts": ["a", "b"],
    "bytes": [b"a", b"b"],
    "arrays": [np.arange(3.0), np.ones(3)],
    "numpy numbers": [np.float32(1), np.float32(2)],
    "dicts": [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}],
    "ordered dicts": [OrderedDict(x=1), OrderedDict(x=2)],
    "tuples": [(1, "a"), (2, "b")],
    "lists": [[1, np.ones(2)], [2, np.zeros(2)]],
    "named tuples": [Pair(1, 0.5), Pair(2, 1.5)],
    "nests": [{"x": (1, {"y": np.ones(2)})}, {"x": (2, {"y": np.ones(2)})}],
}


def plain(batch):
    """Writes kinds and values, whichever library's."""
    if isinstance(batch, (np.ndarray, torch.Tensor)):
        array = np.asarray(batch)
        return array.dtype, array.tolist()
    if isinstance(batch, dict):
        return type(batch), {key: plain(value) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return type(batch), [plain(value) for value in batch]
    return batch


@pytest.mark.parametrize("items", ITEMS.values(), ids=ITEMS.keys())
def test_collating_gives_what_torch_gives(items):
    assert plain(default_collate(items)) == plain(torch_collate(items))


def test_unequal_arrays_are_an_error_that_names_the_collator():
    with pytest.raises(ShapeError, match="PadCollator"):
        default_collate([np.ones(2), np.ones(3)])


def test_unequal_lists_are_an_error():
    with pytest.raises(ShapeError, match="equally many"):
        default_collate([[1], [1, 2]])


def test_a_kind_without_a_batch_is_an_error_that_names_it():
    with pytest.raises(TypeError, match="found NoneType"):
        default_collate([None, None])


def test_padding_follows_each_item_and_is_marked():
    batch = PadCollator(value=-1)([{"inputs": np.zeros((2, n)), "id": n} for n in (1, 3)])
    assert batch["inputs"][0].tolist() == [[0, -1, -1], [0, -1, -1]]
    assert batch["mask"].tolist() == [[1, 0, 0], [1, 1, 1]]
    assert (batch["lengths"].tolist(), batch["id"].tolist()) == ([1, 3], [1, 3])


@pytest.mark.parametrize(
    ("options", "places"), [({"length": 9}, 9), ({"multiple": 4}, 4), ({}, 3)]
)
def test_the_number_of_places_is_the_callers(options, places):
    batch = PadCollator(**options)([{"inputs": np.zeros((2, n))} for n in (1, 3)])
    assert batch["inputs"].shape == (2, 2, places)


def test_an_item_longer_than_the_length_is_an_error():
    with pytest.raises(ShapeError, match="3 places, more than 2"):
        PadCollator(length=2)([{"inputs": np.zeros((4, 3))}])


@pytest.mark.parametrize("options", [{"length": 0}, {"multiple": 0}])
def test_places_below_one_are_an_error(options):
    with pytest.raises(ArgumentError):
        PadCollator(**options)


@pytest.mark.parametrize("channels", ["first", "last"])
@pytest.mark.parametrize("options", [{}, {"length": 12}, {"multiple": 4, "value": 7}])
def test_columns_are_what_the_items_give(fasta, channels, options):
    records = {f"s{i}": "ACGTACGTAC"[: 1 + i] for i in range(9)}
    data = SequenceDataset(
        fasta(records),
        encoder=OneHot("dna", channels=channels),
        labels=dict.fromkeys(records, 1) | {"s0": 0},
    )
    pad = PadCollator(axis=-1 if channels == "first" else 0, **options)
    rows = np.array([3, 0, 5])
    one_by_one, at_once = pad([data[i] for i in rows]), pad.columns(data, rows)
    assert list(one_by_one) == list(at_once)
    np.testing.assert_equal(one_by_one, at_once)


@pytest.mark.parametrize("collate", [PadCollator(), default_collate])
def test_a_batch_of_nothing_is_an_error(collate):
    with pytest.raises(ArgumentError, match="a batch needs at least one item"):
        collate([])
