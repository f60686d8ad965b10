"""Integers beyond 64 bits, and values that are not integers, cause one-line errors."""

import sys

import numpy as np
import pytest

from seqloom.errors import ArgumentError
from seqloom.io import SequenceIndex, build_index, open_sequences, write_sequences

INTEGERS_BEYOND_64_BITS = {
    "one bit too many": 1 << 63,
    "two": 1 << 64,
    "far too many": 10**5000,
}


@pytest.fixture
def path(tmp_path):
    """A file of two records."""
    (tmp_path / "a.fa").write_text(">a\nACGT\n>b\nGG\n")
    return tmp_path / "a.fa"


@pytest.mark.parametrize(
    "number", INTEGERS_BEYOND_64_BITS.values(), ids=INTEGERS_BEYOND_64_BITS
)
@pytest.mark.parametrize("name", ["expect", "max_record"])
def test_a_reading_option_beyond_64_bits_is_an_error(path, name, number):
    with pytest.raises(ArgumentError, match=rf"{name} must be below 2\*\*63"):
        open_sequences(path, **{name: number})


@pytest.mark.parametrize("name", ["expect", "max_record"])
@pytest.mark.parametrize("number", [2.5, "2"])
def test_a_reading_option_that_is_not_an_integer_is_an_error(path, name, number):
    with pytest.raises(ArgumentError, match=f"{name} must be an integer, got"):
        open_sequences(path, **{name: number})


@pytest.mark.parametrize(
    "number", INTEGERS_BEYOND_64_BITS.values(), ids=INTEGERS_BEYOND_64_BITS
)
@pytest.mark.parametrize("interleaved", [False, True])
def test_a_batch_size_beyond_64_bits_is_an_error(path, interleaved, number):
    with open_sequences(path, interleaved=interleaved) as reader:
        with pytest.raises(ArgumentError, match=r"n must be below 2\*\*63"):
            reader.batches(number)
        with pytest.raises(ArgumentError, match=r"max_bytes must be below 2\*\*63"):
            reader.batches(1, max_bytes=number)


@pytest.mark.parametrize("number", [0, -1, 10**30, 1.5])
def test_read_batch_rejects_sizes_beyond_64_bits(path, number):
    with open_sequences(path) as reader, pytest.raises(ArgumentError, match="n must be"):
        reader.read_batch(number)


def test_a_batch_size_of_the_largest_64_bit_integer_reads_all_records(path):
    with open_sequences(path, max_record=sys.maxsize) as reader:
        assert len(reader.read_batch(sys.maxsize, sys.maxsize)) == 2
    path.write_text(">a\nAC\n>a\nGG\n")
    with open_sequences(path, interleaved=True) as reader:
        assert len(next(reader.batches(sys.maxsize))[0]) == 1


@pytest.mark.parametrize("threads", [-1, 2.5, "2", True, 1 << 17, 1 << 64])
@pytest.mark.parametrize("call", [build_index, SequenceIndex, open_sequences])
def test_an_impossible_number_of_threads_is_an_error(path, call, threads):
    with pytest.raises(
        ArgumentError, match="num_threads must be an integer from 1 to 65536"
    ):
        call(path, num_threads=threads)


@pytest.mark.parametrize("threads", [0, None])
def test_a_thread_count_of_zero_means_all_cores(path, threads):
    build_index(path, num_threads=threads)
    assert len(SequenceIndex(path, num_threads=threads)) == 2
    with open_sequences(path, num_threads=threads) as reader:
        assert len(list(reader)) == 2


@pytest.mark.parametrize("width", [10**30, 2.5])
def test_an_invalid_line_width_is_an_error(tmp_path, width):
    with pytest.raises(ArgumentError, match="line_width must be"):
        write_sequences(tmp_path / "o.fa", [("a", "AC")], line_width=width)


@pytest.mark.parametrize("number", [1 << 64, 10**30, -(10**30)])
def test_a_record_index_beyond_64_bits_is_an_index_error(path, number):
    index = SequenceIndex(path)
    for wrong in (
        lambda: index.fetch(number, 0, 1),
        lambda: index.fetch_intervals([number], [0], [1]),
        lambda: index.fetch("a", number, 1),
    ):
        with pytest.raises(
            IndexError,
            match=f"index of a record, got {number}, which does not fit 64 bits",
        ):
            wrong()


@pytest.mark.parametrize("key", [None, 1.5, [1], slice(0, 1)], ids=str)
def test_fetching_by_a_key_that_is_neither_id_nor_integer_is_an_error(path, key):
    index = SequenceIndex(path)
    for find in (lambda: index[key], lambda: index.fetch(key, 0, 1)):
        with pytest.raises(ArgumentError, match="by its id or by an integer index; got"):
            find()


def test_fetching_by_a_mixture_of_ids_and_integers_is_an_error(path):
    with pytest.raises(ArgumentError, match="all ids or all indices, got both"):
        SequenceIndex(path).fetch_intervals(["a", 10**30], [0, 0], [1, 1])


@pytest.mark.parametrize("rows", [[0.7], np.array([True, False])], ids=str)
def test_indices_of_batch_rows_must_be_integers(path, rows):
    with open_sequences(path) as reader:
        batch = reader.read_batch(2)
    with pytest.raises(ArgumentError, match="expected integers"):
        batch.take(rows)


def test_a_batch_row_beyond_64_bits_is_an_index_error(path):
    with open_sequences(path) as reader:
        batch = reader.read_batch(2)
    with pytest.raises(IndexError, match="does not fit 64 bits"):
        batch.take([10**30])
