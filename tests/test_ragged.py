import numpy as np
import pytest
from hypothesis import given, strategies as st

from seqloom._ragged import Ragged
from seqloom.errors import OutOfRangeError, ShapeError

rows_of = st.lists(st.binary(max_size=9), max_size=12)


@given(rows_of)
def test_a_ragged_array_converts_back_to_the_original_list(rows):
    ragged = Ragged.from_list(rows)
    assert ragged.to_list() == rows == [bytes(row) for row in ragged]
    assert ragged.lengths.tolist() == [len(row) for row in rows]


@given(rows_of, st.slices(12))
def test_a_slice_of_a_ragged_array_equals_the_slice_of_a_list(rows, part):
    assert Ragged.from_list(rows)[part].to_list() == rows[part]


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=12), st.data())
def test_take_returns_the_selected_rows_of_a_ragged_array(rows, data):
    wanted = data.draw(st.lists(st.integers(0, len(rows) - 1)))
    assert Ragged.from_list(rows).take(wanted).to_list() == [rows[i] for i in wanted]


def test_a_slice_of_adjacent_rows_is_a_view():
    ragged = Ragged.from_list([b"AC", b"G", b"T"])
    assert np.shares_memory(ragged[1:].data, ragged.data)


@pytest.mark.parametrize("index", [2, -3])
def test_a_row_index_out_of_range_is_an_error(index):
    with pytest.raises(OutOfRangeError, match=r"row -?\d: there are 2"):
        Ragged.from_list([b"A", b"C"])[index]


def test_taking_a_row_out_of_range_is_an_error():
    with pytest.raises(OutOfRangeError):
        Ragged.from_list([b"A", b"C"]).take([0, -1])


def test_offsets_that_do_not_cover_the_data_are_an_error():
    with pytest.raises(ShapeError):
        Ragged(np.zeros(3, np.uint8), np.array([0, 2]))
