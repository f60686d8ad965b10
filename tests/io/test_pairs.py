import gzip
from io import BytesIO
from typing import Any, cast

import pytest
from hypothesis import given, strategies as st

from fastx import rows
from seqloom.errors import ArgumentError, DataWarning, FormatError
from seqloom.io import open_sequences


def fastq(names, letters="ACGT"):
    """Return FASTQ with these headers."""
    text = "".join(f"@{name}\n{letters}\n+\n{'I' * len(letters)}\n" for name in names)
    return BytesIO(text.encode())


def names(reader):
    """Return the headers of both reads of each pair."""
    return [(one.header.decode(), other.header.decode()) for one, other in reader]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("r", "r"),
        ("r/1", "r/2"),
        ("r/1 length=9", "r/2 length=7"),
        ("M0:1:2 1:N:0:AC", "M0:1:2 2:N:0:AC"),
        ("SRR1.7.1 7 length=4", "SRR1.7.2 7 length=4"),
        ("r_1", "r_2"),
    ],
)
def test_mates_of_a_read_pair_are_recognised_by_id(one, other):
    with open_sequences((fastq([one]), fastq([other]))) as reader:
        assert names(reader) == [(one, other)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("r", "s"),
        ("r/2", "r/1"),
        ("r/1", "r/1"),
        ("r.2", "r.1"),
        ("SRR1.2", "SRR1.3"),
        ("r.1", "r_2"),
    ],
)
def test_mates_of_different_fragments_are_an_error(one, other):
    first, second = fastq(["a", one]), fastq(["a", other])
    first.name, second.name = "r1.fq", "r2.fq"
    with (
        open_sequences((first, second)) as reader,
        pytest.raises(
            FormatError, match=f"r1.fq and r2.fq: pair 1: .*'{one}' and '{other}'"
        ),
    ):
        names(reader)


@pytest.mark.parametrize(("one", "other"), [("1", "1"), ("2", "1"), ("2", "2")])
def test_wrong_read_numbers_in_comments_cause_a_warning(one, other):
    first, second = (fastq([f"m:7 {end}:N:0:AC"]) for end in (one, other))
    said = f"reads {one} and {other} of a fragment"
    with open_sequences((first, second)) as reader, pytest.warns(DataWarning, match=said):
        assert len(list(reader)) == 1


@pytest.mark.filterwarnings("error")
def test_read_numbers_1_and_2_in_comments_cause_no_warning():
    first, second = (fastq([f"m:7 {end}:N:0:AC"]) for end in "12")
    with open_sequences((first, second)) as reader:
        assert len(list(reader)) == 1


@pytest.mark.parametrize(("ended", "longer"), [(0, 1), (1, 0)])
def test_the_error_for_unequal_paired_files_names_two_files(tmp_path, ended, longer):
    paths = [tmp_path / "r1.fq", tmp_path / "r2.fq"]
    paths[ended].write_bytes(fastq("ab").getvalue())
    paths[longer].write_bytes(fastq("abc").getvalue())
    words = rf"r{ended + 1}.fq: ends after 2 records, but .*r{longer + 1}.fq .* 2 \(c\)"
    with open_sequences(tuple(paths)) as reader, pytest.raises(FormatError, match=words):
        names(reader)


@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 60))
def test_the_batches_of_two_paired_files_have_equal_sizes(count, n, max_bytes):
    ids = [f"r{number}" for number in range(count)]
    first, second = fastq(ids), fastq(ids, "GGCCA")
    with open_sequences((first, second)) as reader:
        pairs = list(reader.batches(n, max_bytes=max_bytes))
    assert all(1 <= len(one) == len(other) <= n for one, other in pairs)
    assert [r[0].decode() for one, _ in pairs for r in rows(one)] == ids
    assert {r[1] for _, other in pairs for r in rows(other)} == {b"GGCCA"}


@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 60))
def test_interleaved_reads_are_returned_as_batches_of_mates(count, n, max_bytes):
    ids = [f"r{number}/{mate}" for number in range(count) for mate in (1, 2)]
    with open_sequences(fastq(ids), interleaved=True) as reader:
        pairs = list(reader.batches(n, max_bytes=max_bytes))
    assert all(1 <= len(one) == len(other) for one, other in pairs)
    found = [
        r[0].decode()
        for pair in pairs
        for two in zip(*map(rows, pair), strict=True)
        for r in two
    ]
    assert found == ids


def test_an_odd_number_of_interleaved_reads_is_an_error():
    with (
        open_sequences(fastq("aab"), interleaved=True) as reader,
        pytest.raises(FormatError, match=r"record 2 \(b\): expected its mate.*3 records"),
    ):
        names(reader)


def test_the_option_expect_is_a_number_of_pairs_for_paired_files():
    with open_sequences(fastq("aabb"), interleaved=True, expect=2) as reader:
        assert len(names(reader)) == 2
    with (
        open_sequences((fastq("ab"), fastq("ab")), expect=3) as reader,
        pytest.raises(FormatError, match="expected 3 records, found 2"),
    ):
        names(reader)


def test_files_of_a_pair_may_have_different_compression(tmp_path):
    (tmp_path / "r1.fq").write_bytes(fastq("ab").getvalue())
    (tmp_path / "r2.fq.gz").write_bytes(gzip.compress(fastq("ab").getvalue()))
    with open_sequences((tmp_path / "r1.fq", tmp_path / "r2.fq.gz")) as reader:
        assert names(reader) == [("a", "a"), ("b", "b")]
        assert reader.format == "fastq"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"interleaved": True}, "means one file with both reads, got a pair"),
        ({"on_error": "skip"}, "would skip single reads of pairs"),
    ],
)
def test_reading_options_that_would_separate_mates_are_errors(options, words):
    with pytest.raises(ArgumentError, match=words):
        open_sequences((fastq("a"), fastq("a")), **options)


def test_paired_reading_needs_exactly_two_files():
    with pytest.raises(ArgumentError, match="one file or a pair of files, got 3 files"):
        open_sequences(cast("Any", (fastq("a"), fastq("a"), fastq("a"))))


def test_pairing_a_file_with_itself_is_an_error(tmp_path):
    (tmp_path / "a.fq").write_bytes(fastq("a").getvalue())
    (tmp_path / "b.fq").symlink_to("a.fq")
    with pytest.raises(ArgumentError, match="both paths are the same file"):
        open_sequences((tmp_path / "a.fq", tmp_path / "b.fq"))
