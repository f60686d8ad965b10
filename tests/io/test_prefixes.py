"""A file truncated at any byte is an error, never a shorter record."""

import gzip
import re
from io import BytesIO

import pytest

from fastx import FASTQ_SPECIMENS, bgzip, read, real
from seqloom.errors import FormatError
from seqloom.io import SequenceIndex, build_index

FASTQ_NAMES = [
    "example",
    "example_dos",
    "misc_dna_as_sanger",
    "misc_rna_as_sanger",
    "sanger_faked",
    "sanger_93",
    "wrapping_as_sanger",
    "illumina_full_range_as_sanger",
    "solexa_full_range_as_sanger",
    "tricky",
]
FASTQ_BYTES = {
    name: (FASTQ_SPECIMENS / f"{name}.fastq").read_bytes() for name in FASTQ_NAMES
}


def fasta(count, width):
    """Return this number of records of two lines."""
    lines = [
        (b">s%d x" % i, b"ACGTN"[: 1 + i % 5] * width, b"G" * width) for i in range(count)
    ]
    return b"".join(line + b"\n" for record in lines for line in record)


FASTA_BYTES = {f"{n} records": fasta(n, 61 // n) for n in range(1, 11)}


def outcome(content, **options):
    """Return the records of a file, or None for an error."""
    try:
        return read(BytesIO(content), **options)
    except FormatError:
        return None


@pytest.mark.parametrize("name", FASTQ_BYTES)
def test_a_truncated_fastq_is_an_error_except_between_records(name):
    text = FASTQ_BYTES[name]
    whole = read(BytesIO(text))
    for end in range(1, len(text)):
        found = outcome(text[:end])
        if found is not None:
            assert found == whole[: len(found)], end
            assert (
                len(found) == len(whole) or outcome(text[:end], expect=len(whole)) is None
            )


@pytest.mark.parametrize("pack", [gzip.compress, bgzip], ids=["gzip", "bgzip"])
@pytest.mark.parametrize(
    "text", [*FASTQ_BYTES.values(), *FASTA_BYTES.values()], ids=[*FASTQ_BYTES, *FASTA_BYTES]
)
def test_a_truncated_compressed_file_is_an_error(text, pack):
    content = pack(text)
    assert [end for end in range(len(content)) if outcome(content[:end]) is not None] == []


def specimens(kind):
    """Return the small valid files of a published collection."""
    paths = sorted(real("specimens", kind).iterdir())
    every = {path: path.read_bytes() for path in paths if path.suffix == f".{kind.lower()}"}
    return {path: text for path, text in every.items() if len(text) < 3000}


TRUNCATION_STEP_BYTES = [11, pytest.param(1, marks=pytest.mark.soak)]


@pytest.mark.parametrize("step", TRUNCATION_STEP_BYTES)
def test_a_truncated_fastq_of_another_tool_yields_whole_records(step):
    valid = {path: outcome(text) for path, text in specimens("FASTQ").items()}
    wholes = {path: records for path, records in valid.items() if records is not None}
    assert len(wholes) == 33
    for path, whole in wholes.items():
        text = path.read_bytes()
        for end in range(1, len(text), step):
            found = outcome(text[:end])
            assert found is None or found == whole[: len(found)], (path.name, end)


@pytest.mark.parametrize("step", TRUNCATION_STEP_BYTES)
@pytest.mark.parametrize("kind", ["FASTA", "FASTQ"])
def test_an_index_detects_every_truncation_of_files_of_other_tools(tmp_path, kind, step):
    file, tried = tmp_path / "a", 0
    for text in specimens(kind).values():
        file.write_bytes(text)
        if outcome(text) is None:
            continue
        (tmp_path / "a.sli").unlink(missing_ok=True)
        build_index(file)
        for end in range(0, len(text), step):
            file.write_bytes(text[:end])
            with pytest.raises(FormatError):
                SequenceIndex(file, build=False)
            tried += 1
    assert tried > 18_000 // step


def test_the_record_count_reveals_a_gzip_truncated_between_members():
    first, second = gzip.compress(b"@a\nAC\n+\nII\n"), gzip.compress(b"@b\nGG\n+\nII\n")
    assert len(read(BytesIO(first + second), expect=2)) == 2
    assert len(outcome(first) or ()) == 1
    with pytest.raises(FormatError, match="expected 2 records, found 1") as caught:
        read(BytesIO(first), expect=2)
    assert caught.value.kind == "count"


def test_a_bgzip_truncated_between_blocks_lacks_its_end_block():
    whole = bgzip(b">a\nACGT\n>b\nGG\n", 8)
    (cut,) = [m.start() for m in re.finditer(rb"\x1f\x8b", whole)][1:2]
    assert outcome(whole[:cut]) is None
    assert len(outcome(whole[:cut], require_eof=False) or ()) == 1


def test_the_record_count_reveals_a_fasta_truncated_between_records():
    text = b">a\nACGT\n>b\nGG\n"
    assert len(outcome(text[:8]) or ()) == 1
    assert outcome(text[:8], expect=2) is None
