"""Missing, repeated and exchanged bgzip blocks, and files without their end block."""

import gzip

import numpy as np
import pytest

from fastx import BGZIP_END_BLOCK, FASTQ_SPECIMENS, bgzip, bgzip_block, read, real
from seqloom.errors import FormatError
from seqloom.io import SequenceIndex, write_sequences

FASTQ_NAMES = ["example", "tricky", "sanger_93", "wrapping_as_sanger"]
BGZIP_BLOCK_SIZES = [23, 100, 65280]
REAL_BGZIP_FILES = [
    ("quality", "example.fastq.bgz"),
    ("quality", "example_dos.fastq.bgz"),
    ("genomes", "phi-X174.fa.gz"),
    ("genomes", "volvox.fa.gz"),
    ("reads", "sample_parallel.fastq.bgz"),
    ("reads", "wrong_extension.fastq.gz"),
]


def check_end(path, whole):
    """Raise unless an index accepts the file or require_eof is False."""
    assert whole.endswith(BGZIP_END_BLOCK)
    path.write_bytes(whole)
    records = read(path)
    path.write_bytes(whole[: -len(BGZIP_END_BLOCK)])
    with pytest.raises(FormatError, match="without the block that marks the end") as error:
        read(path)
    assert error.value.kind == "compression"
    with pytest.raises(FormatError, match="without the block that marks the end"):
        SequenceIndex(path)
    assert read(path, require_eof=False) == records


@pytest.mark.parametrize("name", FASTQ_NAMES)
@pytest.mark.parametrize("size", BGZIP_BLOCK_SIZES)
def test_a_bgzip_file_without_its_end_block_is_an_error(tmp_path, name, size):
    check_end(
        tmp_path / "a.bgz", bgzip((FASTQ_SPECIMENS / f"{name}.fastq").read_bytes(), size)
    )


def test_written_bgzip_files_end_with_the_end_block(tmp_path):
    write_sequences(tmp_path / "a.fa.bgz", [(f"r{n}", "ACGT" * n) for n in range(1, 99)])
    check_end(tmp_path / "a.fa.bgz", (tmp_path / "a.fa.bgz").read_bytes())


@pytest.mark.parametrize("place", REAL_BGZIP_FILES, ids=lambda place: place[1])
def test_a_real_bgzip_file_without_its_end_block_is_an_error(tmp_path, place):
    check_end(tmp_path / "a", real(*place).read_bytes())


FASTA_RECORDS = [b">r%04d\n%s\n" % (n, b"ACGT" * 10) for n in range(264)]
BGZIP_BLOCKS = [
    bgzip_block(b"".join(FASTA_RECORDS[at : at + 24])) for at in range(0, 264, 24)
]
BLOCK_CHANGES = {
    "is gone": lambda at: BGZIP_BLOCKS[:at] + BGZIP_BLOCKS[at + 1 :],
    "stands twice": lambda at: BGZIP_BLOCKS[: at + 1] + BGZIP_BLOCKS[at:],
    "changed places": lambda at: (
        BGZIP_BLOCKS[:at] + BGZIP_BLOCKS[at : at + 2][::-1] + BGZIP_BLOCKS[at + 2 :]
    ),
}
CHANGES_AND_BLOCK_NUMBERS = [
    (how, at) for how in BLOCK_CHANGES for at in range(len(BGZIP_BLOCKS) - (how[0] == "c"))
]


@pytest.mark.parametrize("kind", ["sli", "fai and gzi"])
@pytest.mark.parametrize(("how", "at"), CHANGES_AND_BLOCK_NUMBERS)
def test_an_index_detects_a_missing_bgzip_block(tmp_path, how, at, kind):
    path = tmp_path / "a.fa.gz"
    path.write_bytes(b"".join(BGZIP_BLOCKS) + BGZIP_END_BLOCK)
    index = SequenceIndex(path)
    if kind != "sli":
        index.write_fai()
        (tmp_path / "a.fa.gz.sli").unlink()
    path.write_bytes(b"".join(BLOCK_CHANGES[how](at)) + BGZIP_END_BLOCK)
    assert gzip.decompress(path.read_bytes())  # each block is valid
    with pytest.raises(FormatError):
        fetch_all(path)


def fetch_all(path):
    """Read every record with the index."""
    index = SequenceIndex(path, build=False)
    return index.fetch_many(np.arange(len(index)))
