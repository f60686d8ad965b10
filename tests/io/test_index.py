"""Random access to records by index and by id, and to ranges."""

import gzip
import io
import os
import pickle
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from Bio import SeqIO, bgzf
from hypothesis import HealthCheck, given, settings, strategies as st

from seqloom._rust import _native
from seqloom.errors import (
    ArgumentError,
    FileError,
    FormatError,
    IdError,
    MissingFileError,
    OutOfRangeError,
)
from seqloom.io import SequenceIndex, build_index, open_sequences

COMPRESSIONS = ("plain", "gzip", "bgzip")


def write(path, text, container="plain"):
    """Compress text with the standard library or Biopython."""
    if container == "bgzip":
        with bgzf.BgzfWriter(str(path), "wb") as file:
            file.write(text)
    else:
        path.write_bytes(gzip.compress(text) if container == "gzip" else text)
    return path


def reads(count, seed=0):
    """Return FASTQ with reads of 0 to 150 bases and qualities that look like headers."""
    rng = random.Random(seed)  # noqa: S311 - test data
    rows = []
    for number in range(count):
        length = rng.randrange(151)
        letters = "".join(rng.choices("ACGTN", k=length))
        quality = "".join(rng.choices("@+!I~", k=length))
        rows.append(f"@r{number} x\n{letters}\n+\n{quality}\n")
    return "".join(rows).encode()


def genome(end="\n", width=60):
    """Return FASTA with a few long, wrapped records."""
    rng = random.Random(1)  # noqa: S311 - test data
    rows = []
    for number in range(5):
        letters = "".join(rng.choices("ACGTacgtN", k=3000 * number + 7))
        lines = [letters[i : i + width] for i in range(0, len(letters), width)]
        rows += [f">chr{number} of five", *lines]
    return (end.join(rows) + end).encode()


@pytest.fixture(params=COMPRESSIONS)
def container(request):
    return request.param


def test_random_access_by_index_returns_the_records_of_biopython(tmp_path, container):
    text = reads(3000)
    path = write(tmp_path / "r.fq", text, container)
    expected = [
        (r.id, str(r.seq).encode(), "".join(chr(q + 33) for q in quality).encode())
        for r in SeqIO.parse(io.StringIO(text.decode()), "fastq")
        for quality in [r.letter_annotations["phred_quality"]]
    ]
    index = SequenceIndex(path)
    assert (len(index), index.format) == (3000, "fastq")
    rows = np.random.default_rng(0).integers(-3000, 3000, 999)
    found = index.fetch_many(rows)
    assert [(r.id, r.sequence, r.quality) for r in found] == [expected[row] for row in rows]
    assert index.ids == [row[0] for row in expected]
    assert index.lengths.tolist() == [len(row[1]) for row in expected]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_ranges_fetched_from_a_chromosome_equal_its_slices(tmp_path, container, end):
    path = write(tmp_path / "g.fa", genome(end), container)
    index = SequenceIndex(path)
    with open_sequences(path) as reader:
        whole = {record.id: record.sequence for record in reader}
    rng = np.random.default_rng(0)
    names = [f"chr{number}" for number in rng.integers(0, 5, 300)]
    bounds = [np.sort(rng.integers(0, len(whole[name]) + 1, 2)) for name in names]
    starts, stops = np.array(bounds).T
    expected = [whole[n][a:b] for n, a, b in zip(names, starts, stops, strict=True)]
    assert index.fetch_intervals(names, starts, stops).to_list() == expected
    assert index.fetch("chr3", 55, 130) == whole["chr3"][55:130]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.lists(st.text("ACGT", max_size=9), max_size=5), min_size=1), st.data())
def test_sequence_files_with_any_line_length_can_be_indexed(tmp_path, records, data):
    lines = [f">r{n}\n" + "\n".join(lines) for n, lines in enumerate(records)]
    path = write(tmp_path / "a.fa", "\n".join(lines).encode())
    build_index(path)
    index = SequenceIndex(path)
    whole = ["".join(lines).encode() for lines in records]
    assert [record.sequence for record in index] == whole
    row = data.draw(st.integers(0, len(whole) - 1))
    stop = data.draw(st.integers(0, len(whole[row])))
    start = data.draw(st.integers(0, stop))
    assert index.fetch(row, start, stop) == whole[row][start:stop]


def test_a_sequence_index_finds_a_record_by_id(tmp_path, container):
    index = SequenceIndex(write(tmp_path / "g.fa", genome(), container))
    assert (index["chr2"].id, index[b"chr2"].id) == ("chr2", "chr2")
    assert index["chr2"].description == "of five"
    assert "chr2" in index
    assert "chr" not in index
    assert 2 not in index


def test_fetching_an_unknown_id_is_an_error_that_names_the_file(tmp_path):
    index = SequenceIndex(write(tmp_path / "g.fa", genome()))
    with pytest.raises(IdError, match=r"g\.fa: no record has the id 'chrX'"):
        index["chrX"]
    with pytest.raises(KeyError):
        index.fetch("chrX", 0, 1)


def test_fetching_a_repeated_id_is_an_error(tmp_path):
    index = SequenceIndex(write(tmp_path / "a.fa", b">a\nA\n>b\nC\n>a x\nG\n>a\nT\n"))
    with pytest.raises(IdError, match=r"3 records have the id 'a' \(0, 2, 3\)"):
        index["a"]
    assert index["b"].sequence == b"C"
    assert index[2].sequence == b"G"


def test_a_record_index_out_of_range_is_an_error_with_the_size(tmp_path):
    index = SequenceIndex(write(tmp_path / "g.fa", genome()))
    with pytest.raises(OutOfRangeError, match="record 5 of 5"):
        index[5]
    with pytest.raises(OutOfRangeError, match="record -6 of 5"):
        index.fetch_many([0, -6])
    with pytest.raises(
        OutOfRangeError, match=r"record 0 \(chr0\) has 7 residues, got 3 to 8"
    ):
        index.fetch("chr0", 3, 8)
    for start, stop in [(-1, 3), (4, 3)]:
        with pytest.raises(IndexError):
            index.fetch("chr0", start, stop)


@pytest.mark.parametrize("number", [1 << 63, -(1 << 63) - 1, 10**30])
def test_indexing_sequences_by_an_int_beyond_64_bits_is_an_error(tmp_path, number):
    index = SequenceIndex(write(tmp_path / "g.fa", genome()))
    for wrong in (
        lambda: index[number],
        lambda: index.fetch_many([number]),
        lambda: index.fetch("chr0", 0, number),
    ):
        with pytest.raises(IndexError, match=str(abs(number))):
            wrong()


def test_large_unsigned_integers_are_not_negative_indices(tmp_path):
    index = SequenceIndex(write(tmp_path / "g.fa", genome()))
    with pytest.raises(IndexError):
        index.fetch_many(np.array([2**64 - 1], np.uint64))
    assert index.fetch_many(np.array([4], np.uint64)).ids == ["chr4"]


def test_an_interrupted_indexing_leaves_no_index_file(tmp_path, container):
    path = write(tmp_path / "r.fq", reads(500), container)
    progress = _native.IndexProgress()
    progress.stop()
    with pytest.raises(FileError, match="was not indexed: interrupted"):
        _native.build_index(str(path), f"{path}.sli", progress, 2)
    assert list(tmp_path.iterdir()) == [path]


def press_ctrl_c(_):
    raise KeyboardInterrupt


def test_ctrl_c_stops_the_indexing_of_a_file(tmp_path):
    path = write(tmp_path / "r.fq", reads(500))
    with pytest.raises(KeyboardInterrupt):
        build_index(path, on_progress=press_ctrl_c)
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("cut", [1, 2])
def test_an_index_detects_a_gzip_truncated_between_members(tmp_path, cut):
    parts = [gzip.compress(text) for text in (b"@a\nAC\n+\nII\n", b"@b\nG\n+\nI\n") * 2]
    path = tmp_path / "r.fq.gz"
    path.write_bytes(b"".join(parts))
    SequenceIndex(path)
    path.write_bytes(b"".join(parts[:-cut]))
    with open_sequences(path) as reader:
        assert sum(1 for _ in reader) == 4 - cut
    with pytest.raises(FormatError, match="the file is truncated"):
        SequenceIndex(path)


def test_record_indices_must_be_integers(tmp_path):
    index = SequenceIndex(write(tmp_path / "g.fa", genome()))
    with pytest.raises(ArgumentError, match="expected integers"):
        index.fetch_many([0.5])
    assert len(index.fetch_many([])) == 0


def test_an_existing_sequence_index_is_reused(tmp_path, container):
    path = write(tmp_path / "r.fq", reads(500), container)
    SequenceIndex(path)
    side = Path(f"{path}.sli")
    before = side.stat().st_mtime_ns
    assert SequenceIndex(path).note is None
    os.utime(path)
    assert SequenceIndex(path, build=False)[7].id == "r7"
    assert side.stat().st_mtime_ns == before


def test_an_index_detects_a_fastq_truncated_between_records(tmp_path):
    path = write(tmp_path / "r.fq", reads(500))
    SequenceIndex(path)
    text = path.read_bytes()
    path.write_bytes(text[: text.index(b"@r400 x\n")])
    with open_sequences(path) as reader:
        assert sum(1 for _ in reader) == 400
    with pytest.raises(FormatError, match="the file is truncated"):
        SequenceIndex(path)


def test_an_index_detects_a_fasta_truncated_in_its_last_record(tmp_path):
    path = write(tmp_path / "g.fa", genome())
    SequenceIndex(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FormatError, match="the file is truncated"):
        SequenceIndex(path)


def test_a_replaced_sequence_file_is_indexed_again_with_a_warning(tmp_path, container):
    path = write(tmp_path / "r.fq", reads(500), container)
    SequenceIndex(path)
    write(path, reads(600, seed=5), container)
    with pytest.raises(FormatError, match="has changed since it was indexed"):
        SequenceIndex(path, build=False)
    with pytest.warns(UserWarning, match="the index was rebuilt"):
        index = SequenceIndex(path)
    assert len(index) == 600
    assert SequenceIndex(path).note is None


def test_an_index_detects_a_changed_base_when_the_record_is_read(tmp_path):
    path = write(tmp_path / "r.fq", b"@a\nACGT\n+\nIIII\n@b\nACGT\n+\nIIII\n")
    index = SequenceIndex(path)
    with path.open("r+b") as file:
        file.seek(4)
        file.write(b"G")
    assert index[1].sequence == b"ACGT"
    with pytest.raises(FormatError, match="does not match its index"):
        index[0]


def test_exchanged_bgzip_blocks_are_detected(tmp_path):
    text = b"".join(b">r%06d\n%s\n" % (n, b"ACGT" * 10) for n in range(9000))
    path = write(tmp_path / "a.fa.gz", text, "bgzip")
    index = SequenceIndex(path)
    data = path.read_bytes()
    blocks = [block[0] for block in bgzf.BgzfBlocks(io.BytesIO(data))]
    first, second, third = blocks[1:4]
    swapped = data[:first] + data[second:third] + data[first:second] + data[third:]
    path.write_bytes(swapped)
    with pytest.raises(FormatError, match=r"does not match its index|damaged"):
        index.fetch_many(np.arange(len(index)))


@pytest.mark.parametrize("place", [0, 9, 60, 300, -60])
def test_a_corrupt_sequence_index_is_rebuilt(tmp_path, place):
    path = write(tmp_path / "r.fq", reads(500))
    side = build_index(path)
    data = bytearray(side.read_bytes())
    data[place] ^= 1
    side.write_bytes(data)
    whole = [record.id for record in open_sequences(path)]
    try:
        index = SequenceIndex(path, build=False)
        found = index.fetch_many(np.arange(500)).ids
    except FormatError:
        with pytest.warns(UserWarning, match="the index was rebuilt"):
            found = SequenceIndex(path).ids
    assert found == whole


def test_the_index_of_a_file_in_a_read_only_folder_stays_in_memory(tmp_path):
    path = write(tmp_path / "r.fq", reads(50))
    index = SequenceIndex(path, index=tmp_path / "r.fq" / "no-folder.sli")
    assert index.note is not None
    assert "kept in memory" in index.note
    assert index["r7"].id == "r7"


@pytest.mark.parametrize("suffix", ["sli", "fai"])
def test_a_folder_with_the_name_of_an_index_is_ignored(tmp_path, suffix):
    path = write(tmp_path / "a.fa", b">a\nAC\n")
    Path(f"{path}.{suffix}").mkdir()
    assert SequenceIndex(path)["a"].sequence == b"AC"


def test_an_index_stays_in_memory_if_a_folder_has_its_file_name(tmp_path):
    path = write(tmp_path / "a.fa", b">a\nAC\n")
    Path(f"{path}.sli").mkdir()
    assert "kept in memory (" in str(SequenceIndex(path).note)
    assert pickle.loads(pickle.dumps(SequenceIndex(path)))["a"].sequence == b"AC"  # noqa: S301
    with pytest.raises(FileError, match=r"a\.fa\.sli: is a folder; expected"):
        build_index(path)
    with pytest.raises(MissingFileError, match=r"a\.fa\.sli: no such index"):
        SequenceIndex(path, build=False)


BUILD_INDEX_SCRIPT = (
    "import sys; from seqloom.io import build_index; build_index(sys.argv[1])"
)


def kill_while_it_writes(path):
    """Kill a process that builds an index; return whether a temporary file remains."""
    process = subprocess.Popen([sys.executable, "-c", BUILD_INDEX_SCRIPT, str(path)])
    while process.poll() is None and not list(path.parent.glob(".*.part")):
        time.sleep(0.001)
    process.kill()
    process.wait()
    return bool(list(path.parent.glob(".*.part")))


def test_the_next_indexing_removes_temporary_files_of_a_killed_one(tmp_path):
    path = write(tmp_path / "r.fq", reads(100_000))
    assert any(kill_while_it_writes(path) for _ in range(10))
    assert build_index(path).is_file()
    assert not list(tmp_path.glob(".*.part"))


def test_a_missing_index_with_build_false_is_an_error(tmp_path):
    path = write(tmp_path / "r.fq", reads(5))
    with pytest.raises(MissingFileError, match=r"r\.fq\.sli: no such index"):
        SequenceIndex(path, build=False)
    with pytest.raises(MissingFileError, match="nope"):
        SequenceIndex(tmp_path / "nope.fq")
    with pytest.raises(FileError):
        SequenceIndex(tmp_path)


def test_an_invalid_record_is_reported_during_indexing(tmp_path, container):
    text = reads(3000) + b"@bad\nACGT\n+\nIII\n"
    path = write(tmp_path / "r.fq", text, container)
    with pytest.raises(FormatError, match=r"record 3000 \(bad\), line 1200") as caught:
        SequenceIndex(path)
    assert caught.value.record == 3000
    assert not Path(f"{path}.sli").exists()


def test_a_truncated_gzip_cannot_be_indexed(tmp_path):
    path = write(tmp_path / "r.fq.gz", reads(3000), "gzip")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FormatError, match="data is truncated"):
        SequenceIndex(path)


def test_threads_can_share_a_sequence_index(tmp_path, container):
    index = SequenceIndex(write(tmp_path / "r.fq", reads(3000), container))
    wrong = []

    def read(seed):
        many = np.random.default_rng(seed).integers(0, 3000, (20, 50))
        found = [index.fetch_many(rows).ids for rows in many]
        expected = [[f"r{row}" for row in rows] for rows in many]
        wrong.extend([seed] if found != expected else [])

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_byte_order_mark_is_not_part_of_a_sequence_record(tmp_path):
    index = SequenceIndex(write(tmp_path / "a.fa", b"\xef\xbb\xbf>a\nAC\n>b\nG\n"))
    assert [record.sequence for record in index] == [b"AC", b"G"]


def test_indexing_a_missing_file_with_build_false_is_an_error(tmp_path):
    with pytest.raises(MissingFileError, match=r"none\.fa: no such file"):
        SequenceIndex(tmp_path / "none.fa", build=False)
