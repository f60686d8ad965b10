"""Packed batches equal those of a simple implementation with Biopython."""

import gzip
import itertools
import pathlib
import pickle
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import seqloom.data
from packed_oracle import pack, parts_of, read, same_batches, tokens_of, windows_of
from seqloom.data import Ids, VarlenCollator
from seqloom.encode import Tokens
from seqloom.errors import ArgumentError, FileError, MissingFileError, OutOfRangeError

PackedStream: Any = seqloom.data.PackedStream  # settings are passed as untyped dicts

PROTEIN_CHARACTERS = "LAGVSERTIDPKQNFYMHWCXBUZO"


def write(path, lengths, seed=0):
    """Write records of the given lengths, in lines of 60 residues."""
    rng, residues = (
        np.random.default_rng(seed),
        np.frombuffer(PROTEIN_CHARACTERS.encode(), np.uint8),
    )
    with path.open("w") as file:
        for number, length in enumerate(lengths):
            places = rng.integers(0, len(residues), length)
            letters = residues[places].tobytes().decode()
            lines = [letters[at : at + 60] for at in range(0, length, 60)]
            file.write("\n".join([f">sp|P{number} some text", *lines, ""]))
    return path


def uniprot_like(count, seed=0):
    lengths = np.random.default_rng(seed).normal(np.log(290), 0.70, count)
    return np.clip(np.exp(lengths), 20, 1022).astype(int)


@pytest.fixture(scope="module")
def proteins(tmp_path_factory):
    """Three hundred proteins in one file."""
    return write(tmp_path_factory.mktemp("packed") / "p.fa", uniprot_like(300))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cases")


cases = st.tuples(
    st.lists(st.integers(1, 60), min_size=1, max_size=80),
    st.integers(40, 120),
    st.integers(1, 20),
    st.integers(5, 30),
    st.integers(0, 4),
)


@given(cases)
def test_packed_batches_equal_those_of_a_python_implementation(folder, case):
    lengths, max_tokens, window, most, overlap = case
    path = write(folder / "a.fa", lengths)
    windows = [
        (name, ordinal, start, tokens_of(letters))
        for ordinal, (name, whole) in enumerate(read(path))
        for start, letters in windows_of(whole, most, overlap)
    ]
    wanted = pack([len(each[3]) for each in windows], max_tokens, window)
    stream = PackedStream(
        path, max_tokens=max_tokens, window=window, max_length=most, overlap=overlap
    )
    found = [parts_of(batch) for batch in stream]
    assert found == [[windows[number] for number in batch] for batch in wanted]


@given(cases)
def test_packed_windows_without_their_overlaps_restore_every_record(folder, case):
    lengths, max_tokens, window, most, overlap = case
    path = write(folder / "b.fa", lengths)
    stream = PackedStream(
        path, max_tokens=max_tokens, window=window, max_length=most, overlap=overlap
    )
    merged = [np.full(length, -1) for length in lengths]
    for batch in stream:
        rows = zip(parts_of(batch), batch["keep"].tolist(), batch["lengths"], strict=True)
        for (_, ordinal, start, tokens), (first, stop), length in rows:
            assert length == lengths[ordinal]
            part = merged[ordinal][start + first : start + stop]
            assert (part == -1).all()
            part[:] = tokens[1:-1][first:stop]
    wanted = [tokens_of(letters)[1:-1] for _, letters in read(path)]
    assert [row.tolist() for row in merged] == wanted


def test_a_packed_stream_contains_every_record_once(proteins):
    seen = np.zeros(300, np.uint8)
    for batch in PackedStream(proteins, max_tokens=2048):
        np.add.at(seen, batch["ordinals"], 1)
    assert (seen == 1).all()


def test_a_packed_batch_has_consistent_offsets_and_lengths(proteins):
    for batch in PackedStream(proteins, max_tokens=2048):
        sizes = np.diff(batch["cu_seqlens"])
        assert batch["input_ids"].size == batch["cu_seqlens"][-1] <= 2048
        positions = [at for size in sizes.tolist() for at in range(size)]
        assert batch["position_ids"].tolist() == positions
        assert batch["max_seqlen"] == sizes.max()
        assert batch["num_sequences"] == sizes.size == len(batch["sequence_ids"])
        assert (batch["lengths"] == sizes - 2).all()
        assert (batch["keep"] == np.stack([0 * sizes, sizes - 2], 1)).all()
        kinds = ("input_ids", "position_ids", "cu_seqlens", "keep")
        assert {batch[key].dtype.name for key in kinds} == {"int32"}
        others = ("ordinals", "starts", "lengths")
        assert {batch[key].dtype.name for key in others} == {"int64"}
        assert isinstance(batch["sequence_ids"], Ids)


@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize("max_tokens", [2048, 16_384])
def test_packed_batches_do_not_depend_on_the_number_of_threads(
    proteins, threads, max_tokens
):
    alone = PackedStream(proteins, max_tokens=max_tokens, num_threads=1)
    several = PackedStream(proteins, max_tokens=max_tokens, num_threads=threads)
    assert same_batches(list(alone), list(several))
    assert alone.content == several.content


def test_packed_stream_batches_equal_those_of_the_collator(proteins):
    items = [
        {"id": name, "sequence": letters, "ordinal": ordinal}
        for ordinal, (name, letters) in enumerate(read(proteins))
    ]
    collate = VarlenCollator(tokens=Tokens("esm2"), max_tokens=2048)
    wanted = [
        [(name, n) for name, n in zip(b["sequence_ids"], b["ordinals"], strict=True)]
        for b in collate.stream(items)
    ]
    found = [
        [(name, n) for name, n in zip(b["sequence_ids"], b["ordinals"], strict=True)]
        for b in PackedStream(proteins, max_tokens=2048)
    ]
    assert found == wanted


def test_packed_batches_of_16384_tokens_are_nearly_full(tmp_path):
    path = write(tmp_path / "p.fa", uniprot_like(30_000))
    sizes = [batch["input_ids"].size for batch in PackedStream(path, max_tokens=16384)]
    assert np.mean(sizes) / 16384 >= 0.998


def test_ordinals_in_packed_batches_count_over_all_files(tmp_path):
    paths = [
        write(tmp_path / f"{name}.fa", [5, 6, 7], seed) for seed, name in enumerate("ab")
    ]
    batches = list(PackedStream(paths, max_tokens=9))
    assert sorted(itertools.chain(*(b["ordinals"].tolist() for b in batches))) == [
        *range(6)
    ]


def test_a_second_pass_over_a_packed_stream_returns_equal_batches(proteins):
    stream = PackedStream(proteins, max_tokens=2048)
    assert same_batches(list(stream), list(stream))


def test_a_packed_stream_expands_a_file_pattern(tmp_path):
    for name in "ab":
        write(tmp_path / f"{name}.fa", [5])
    batch = next(iter(PackedStream(tmp_path / "*.fa")))
    assert batch["ordinals"].tolist() == [0, 1]


@pytest.mark.parametrize("packed", ["plain", "gzip", "bgzip"])
@pytest.mark.parametrize("bounds", [(0, 300), (7, 8), (100, 250), (290, 300), (5, 5)])
def test_a_packed_record_range_equals_the_range_of_the_whole_file(
    proteins, tmp_path, packed, bounds
):
    path = _compress(proteins, tmp_path, packed)
    first, stop = bounds
    found = sorted(
        part
        for b in PackedStream(path, max_tokens=2048, records=bounds)
        for part in parts_of(b)
    )
    wanted = [
        (name, ordinal, 0, tokens_of(letters))
        for ordinal, (name, letters) in enumerate(read(proteins))
        if first <= ordinal < stop
    ]
    assert found == sorted(wanted)


def _compress(plain, folder, packed):
    """Return a file with the records of ``plain``, compressed as requested."""
    if packed == "plain":
        return plain
    path = folder / "p.fa.gz"
    if packed == "gzip":
        path.write_bytes(gzip.compress(plain.read_bytes()))
    else:
        from seqloom.io import open_sequences, write_sequences

        with open_sequences(plain) as reader:
            write_sequences(path, reader)
    return path


def test_a_packed_record_range_reads_only_its_bytes(tmp_path):
    path = write(
        tmp_path / "p.fa", [500] * 20_000
    )  # larger than the 1 MiB that the check reads
    list(PackedStream(path, records=(0, 1)))  # creates the index
    before = _bytes_read()
    list(PackedStream(path, records=(1000, 1100), num_threads=1))
    assert _bytes_read() - before < 0.25 * path.stat().st_size


def _bytes_read():
    with pathlib.Path("/proc/self/io").open() as file:
        return int(file.readline().split()[1])


def test_the_content_hash_of_a_packed_stream_covers_ids_and_sequences(tmp_path):
    texts = {
        "same": ">a x\nMK\nTV\n>b\nMM\n",
        "other lines": ">a y\nMKT\nV\n>b\nMM\n",
        "id": ">a x\nMKTV\n>c\nMM\n",
        "letters": ">a x\nMKTL\n>b\nMM\n",
        "order": ">b\nMM\n>a x\nMKTV\n",
        "cut": ">a x\nMKTVM\n>b\nM\n",
    }
    found = {}
    for name, text in texts.items():
        path = tmp_path / "a.fa"
        path.write_text(text)
        stream = PackedStream(path)
        assert stream.content is None
        list(stream)
        found[name] = stream.content
    assert found.pop("other lines") == found["same"]
    assert len(set(found.values())) == 5
    assert all(len(content) == 16 for content in found.values())


def test_a_final_stop_symbol_is_not_packed_as_a_token(tmp_path):
    path = tmp_path / "a.fa"
    path.write_text(">a\nmkX\n>b\nMKT*\n")
    batch = next(iter(PackedStream(path, Tokens("esm2"))))
    assert batch["lengths"].tolist() == [3, 3]


def test_packed_ids_with_invalid_utf8_are_strings(tmp_path):
    path = tmp_path / "a.fa"
    path.write_bytes(b">a/b'\"\x1b[31m\xff text\nMK\n>" + b"x" * 300 + b"\nM\n")
    batch = next(iter(PackedStream(path)))
    assert batch["sequence_ids"] == ["a/b'\"\x1b[31m\\xff", "x" * 300]


def test_a_packed_stream_can_be_pickled(proteins):
    sealed = ForkingPickler.dumps(PackedStream(proteins, max_tokens=2048))
    stream = pickle.loads(sealed)  # noqa: S301 - our own
    assert same_batches(list(stream), list(PackedStream(proteins, max_tokens=2048)))


def test_stopping_a_packed_stream_early_ends_its_threads(proteins):
    for _ in range(50):
        stream = PackedStream(proteins, max_tokens=1100, num_threads=2)
        next(iter(stream))
    assert sum("seqloom-packed" in name for name in _threads()) == 0


def _threads():
    from pathlib import Path

    return [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"window": 0}, "window"),
        ({"max_length": 0}, "max_length"),
        ({"overlap": 3}, r"overlap=3 needs max_length="),
        ({"max_length": 4, "overlap": 4}, "overlap must be below max_length=4, got 4"),
        ({"max_length": 9, "max_tokens": 10}, "9 residues are 11 tokens, more than"),
        ({"empty": "skip"}, "empty"),
        ({"comments": "keep"}, "comments"),
        ({"records": (3, 2)}, "the stop of records"),
        ({"records": 3}, "records must be a pair"),
        ({"tokens": "esm2"}, "tokens must be"),
        ({"tokens": Tokens("dna", k=3), "max_length": 9}, "one token per residue"),
    ],
)
def test_the_error_for_an_invalid_packing_option_names_it(proteins, options, message):
    with pytest.raises(ArgumentError, match=message):
        PackedStream(proteins, **options)


def test_packing_a_record_range_beyond_the_end_is_an_error(proteins):
    with pytest.raises(OutOfRangeError, match="has only 300"):
        list(PackedStream(proteins, records=(0, 301)))


def test_a_packed_record_range_of_several_files_is_an_error(proteins):
    with pytest.raises(ArgumentError, match="2 files"):
        PackedStream([proteins, proteins], records=(0, 1))


def test_packing_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(MissingFileError):
        list(PackedStream(tmp_path / "none.fa"))


def test_packing_from_standard_input_is_an_error():
    with pytest.raises(FileError, match="save it to a file"):
        PackedStream("-")
