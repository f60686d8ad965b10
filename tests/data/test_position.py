from typing import Any, cast

import numpy as np
import pytest

from seqloom.data import Subset
from seqloom.errors import ArgumentError, OutOfRangeError


@pytest.fixture(params=["whole", "part"])
def data(request, hundred):
    return hundred if request.param == "whole" else Subset(hundred, np.arange(10, 90))


@pytest.mark.parametrize("kind", [np.asarray, list])
def test_a_boolean_mask_selects_records_of_a_dataset(data, kind):
    mask = kind(np.asarray(data.labels) == 2)
    wanted = [name for name, label in zip(data.ids, data.labels, strict=True) if label == 2]
    assert Subset(data, mask).ids == wanted
    assert data.batch(mask)["id"] == wanted
    assert [item["id"] for item in data.__getitems__(mask)] == wanted


def test_a_dataset_mask_of_wrong_length_is_an_error(data):
    with pytest.raises(
        OutOfRangeError, match=r"a mask must have shape \(\d+,\), got \(3,\)"
    ):
        Subset(data, [True, False, True])


@pytest.mark.parametrize("index", [1.5, 1.0, True, np.True_, [0, 1], "0", None])
def test_the_index_of_a_dataset_item_must_be_an_integer(data, index):
    with pytest.raises(ArgumentError, match="an index must be one integer"):
        data[cast("Any", index)]


@pytest.mark.parametrize("indices", [[1.0], [0, 1.5], ["0"], [[0, 1]], True])
def test_indices_of_a_dataset_subset_must_be_integers(data, indices):
    for take in (data.batch, data.__getitems__, lambda rows: Subset(data, rows)):
        with pytest.raises(ArgumentError, match="integer"):
            take(indices)


@pytest.mark.parametrize("index", [100, -101, 10**30])
def test_an_index_beyond_the_end_of_a_dataset_is_an_error(data, index):
    with pytest.raises(OutOfRangeError, match="is out of range for"):
        data[index]


def test_an_empty_list_of_indices_selects_no_records(data):
    assert len(Subset(data, [])) == 0
    assert data.batch(np.array([-1]))["id"] == [data.ids[-1]]
