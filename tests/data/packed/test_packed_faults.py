"""Files and records that cannot be packed."""

import gzip
from typing import Any

import pytest

import seqloom.data
from packed_oracle import read, tokens_of
from seqloom.encode import Tokens
from seqloom.errors import AlphabetError, FormatError, SeqloomError, ShapeError

PackedStream: Any = seqloom.data.PackedStream  # settings are passed as untyped dicts

PARAMETRIZE_THREADS = pytest.mark.parametrize("threads", [1, 2])


def read_to_error(path, *arguments, **options):
    """Return the ordinals of the records before the error, and the error."""
    found = []
    with pytest.raises(SeqloomError) as caught:
        found.extend(PackedStream(path, *arguments, **options))
    return [n for batch in found for n in batch["ordinals"].tolist()], caught.value


@PARAMETRIZE_THREADS
def test_an_invalid_character_is_an_error_with_file_record_line_and_byte(fasta, threads):
    path = fasta([("a", "MK"), ("b one", "MK\nT!V"), ("c", "M")])
    before, error = read_to_error(path, num_threads=threads)
    assert isinstance(error, AlphabetError)
    assert before == [0]
    assert f"{path}: record 1 (b), line 5, byte 17" in str(error)
    assert (error.record, error.position, error.character) == (1, 3, "!")
    assert error.path == str(path)


def test_positions_of_invalid_characters_count_from_the_record_start(fasta):
    path = fasta({"a": "MKTV" * 10 + "!" + "MKTV"})
    _, error = read_to_error(path, max_length=8, overlap=2)
    assert isinstance(error, AlphabetError)
    assert (error.record, error.position) == (0, 40)


@pytest.mark.parametrize("stop", [7, 8, 9, 40])
def test_a_stop_symbol_inside_a_record_is_kept_at_a_window_end(fasta, stop):
    letters = "MKTV" * 11
    path = fasta({"a": letters[:stop] + "*" + letters[stop:]})
    _, error = read_to_error(path, max_length=8, overlap=2)
    assert isinstance(error, AlphabetError)
    assert (error.position, error.character) == (stop, "*")


def test_packing_a_record_with_two_final_stop_symbols_is_an_error(fasta):
    with pytest.raises(AlphabetError):
        Tokens("esm2")("MK**")
    _, error = read_to_error(fasta({"a": "MK**"}))
    assert isinstance(error, AlphabetError)
    assert error.position == 2


@PARAMETRIZE_THREADS
def test_a_record_longer_than_max_tokens_is_an_error_with_a_remedy(fasta, threads):
    path = fasta({"a": "MK", "b": "M" * 100_000})
    before, error = read_to_error(path, num_threads=threads)
    assert isinstance(error, ShapeError)
    assert before == [0]
    assert str(error) == (
        f"{path}: record 1 (b): 100,000 residues are 100,002 tokens, more than "
        "max_tokens=4,096: pass max_tokens=100002 or more, or max_length= with overlap= to "
        "split long records into windows"
    )


def test_packed_windows_cover_a_long_record_completely(fasta):
    path = fasta({"a": "MKTV" * 25_000})
    batches = list(PackedStream(path, max_length=1022, overlap=128))
    kept = sum(int(stop - first) for b in batches for first, stop in b["keep"])
    assert kept == 100_000


@PARAMETRIZE_THREADS
def test_packing_an_empty_record_is_an_error(fasta, threads):
    path = fasta({"a": "MK", "b": "", "c": "M"})
    before, error = read_to_error(path, num_threads=threads)
    assert isinstance(error, FormatError)
    assert before == [0]
    assert f"{path}: record 1 (b): no residues, expected at least one; " in str(error)
    assert 'empty="keep"' in str(error)


def test_packing_treats_a_record_of_only_a_stop_symbol_as_empty(fasta):
    _, error = read_to_error(fasta({"a": "*"}))
    assert "no residues" in str(error)


def test_the_option_empty_keep_packs_empty_records(fasta):
    path = fasta({"a": "MK", "b": "", "c": "M"})
    batch = next(iter(PackedStream(path, empty="keep")))
    assert batch["cu_seqlens"].tolist() == [0, 4, 6, 9]
    assert batch["lengths"].tolist() == [2, 0, 1]


def test_a_packed_stream_of_an_empty_file_is_an_error(tmp_path):
    path = tmp_path / "a.fa"
    path.write_text("")
    before, error = read_to_error(path)
    assert isinstance(error, FormatError)
    assert (before, error.path) == ([], str(path))


@PARAMETRIZE_THREADS
def test_a_packed_stream_yields_records_before_a_gzip_truncation(tmp_path, threads):
    path = tmp_path / "a.fa.gz"
    text = "".join(f">r{i}\n{'MKTV' * (i % 50 + 1)}\n" for i in range(5000))
    path.write_bytes(gzip.compress(text.encode())[:-2000])
    before, error = read_to_error(path, num_threads=threads)
    assert isinstance(error, FormatError)
    assert len(before) > 1000
    assert sorted(before) == [*range(len(before))]


@pytest.mark.parametrize(
    "text", ["ACGT\n", ">a\nMK\n>b\nM K\n", ">a\nMK\n>\nMK\n", ">a\nM\0K\n"]
)
def test_a_packed_stream_reports_invalid_files_like_the_reader(tmp_path, text):
    path = tmp_path / "a.fa"
    path.write_text(text)
    with pytest.raises(FormatError) as wanted:
        list(_records(path))
    _, error = read_to_error(path)
    assert str(error) == str(wanted.value)


def _records(path):
    from seqloom.io import open_sequences

    with open_sequences(path) as reader:
        yield from reader


def test_a_packed_stream_accepts_reading_options(tmp_path):
    path = tmp_path / "a.fa"
    path.write_text(">a\n;note\nM K\n>\nMT\n")
    options = {"comments": "skip", "whitespace": "strip", "ids": "number"}
    batch = next(iter(PackedStream(path, **options)))
    assert batch["sequence_ids"] == ["a", "1"]
    assert batch["input_ids"].tolist() == tokens_of("MK") + tokens_of("MT")


def test_a_packed_stream_reads_fastq(tmp_path):
    path = tmp_path / "a.fq"
    path.write_text("@a\nACGT\n+\nIIII\n")
    batch = next(iter(PackedStream(path, Tokens("dna"))))
    assert batch["input_ids"].tolist() == [0, 4, 5, 6, 7, 2]


def test_the_reference_parser_for_packing_reads_fasta(fasta):
    path = fasta({"a": "MK", "b": "M"})
    assert read(path) == [("a", "MK"), ("b", "M")]
