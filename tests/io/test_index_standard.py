"""`.fai` and `.gzi` files, compared with those of samtools and bgzip."""

import struct
from pathlib import Path

import pytest
from Bio import bgzf

from fastx import bgzip as bgzip_text
from seqloom.errors import ArgumentError, FormatError
from seqloom.io import SequenceIndex, build_index

# Output of `samtools faidx` and `samtools fqidx` 1.24.
FASTA_BYTES = b">one x\nACGTACGT\nACGTACGT\nACG\n>two\nAC\n>four y z\nACGTA\nCG\n"
FASTA_FAI = "one\t19\t7\t8\t9\ntwo\t2\t34\t2\t3\nfour\t7\t47\t5\t6\n"
FASTQ_BYTES = b"@a x\nACGTA\n+\nIIIII\n@b\nACG\nT\n+b\n@@@\nI\n"
FASTQ_FAI = "a\t5\t5\t5\t6\t13\nb\t4\t22\t3\t4\t31\n"


@pytest.mark.parametrize(
    ("text", "fai"), [(FASTA_BYTES, FASTA_FAI), (FASTQ_BYTES, FASTQ_FAI)]
)
def test_the_written_fai_equals_that_of_samtools(tmp_path, text, fai):
    (tmp_path / "a").write_bytes(text)
    (written,) = SequenceIndex(tmp_path / "a").write_fai()
    assert written.read_text() == fai


@pytest.mark.parametrize(
    ("text", "fai"), [(FASTA_BYTES, FASTA_FAI), (FASTQ_BYTES, FASTQ_FAI)]
)
def test_an_existing_fai_file_can_serve_as_index(tmp_path, text, fai):
    (tmp_path / "a").write_bytes(text)
    expected = list(SequenceIndex(tmp_path / "a"))
    Path(tmp_path / "a.sli").unlink()
    (tmp_path / "a.fai").write_text(fai)
    index = SequenceIndex(tmp_path / "a")
    assert list(index) == expected
    assert index.fetch(0, 1, 5) == expected[0].sequence[1:5]
    assert not (tmp_path / "a.sli").exists()


@pytest.mark.parametrize("cut", range(2, 20))
def test_a_fai_detects_truncation_within_the_last_record(tmp_path, cut):
    (tmp_path / "a").write_bytes(FASTA_BYTES[:-cut])
    (tmp_path / "a.fai").write_text(FASTA_FAI)
    with pytest.raises(FormatError, match=r"a\.fai: "):
        SequenceIndex(tmp_path / "a")


def test_a_fai_of_a_file_without_a_final_newline_is_valid(tmp_path):
    (tmp_path / "a").write_bytes(FASTA_BYTES[:-1])
    (tmp_path / "a.fai").write_text(FASTA_FAI)
    assert SequenceIndex(tmp_path / "a")[-1].sequence == b"ACGTACG"


def test_a_fai_detects_a_fastq_truncated_at_a_record_boundary(tmp_path):
    (tmp_path / "a").write_bytes(FASTQ_BYTES[: FASTQ_BYTES.index(b"@b\n")])
    (tmp_path / "a.fai").write_text(FASTQ_FAI)
    with pytest.raises(FormatError, match="does not lie within"):
        SequenceIndex(tmp_path / "a")


WRONG_FAI_FILES = {
    "off by one": lambda fai: fai.replace("two\t2\t34", "two\t2\t35"),
    "another id": lambda fai: fai.replace("one", "uno"),
    "a record less": lambda fai: fai.replace("two\t2\t34\t2\t3\n", ""),
    "the last off by one": lambda fai: fai.replace("\t47\t", "\t48\t"),
    "too long": lambda fai: fai.replace("one\t19", "one\t18446744073709551615"),
    "cut": lambda fai: fai[:-3],
    "empty": lambda _: "",
    "binary": lambda _: "binary\x00",
    "of FASTQ": lambda _: FASTQ_FAI,
}


@pytest.mark.parametrize("change", WRONG_FAI_FILES)
def test_a_fai_of_another_file_is_an_error(tmp_path, change):
    (tmp_path / "a").write_bytes(FASTA_BYTES)
    (tmp_path / "a.fai").write_text(WRONG_FAI_FILES[change](FASTA_FAI))
    with pytest.raises(FormatError, match=r"a\.fai"):
        SequenceIndex(tmp_path / "a")


@pytest.mark.parametrize("compress", [bytes, bgzip_text])
@pytest.mark.parametrize("line", ["", "seven\t4\t63\t4\t5\n"])
def test_a_fai_without_the_last_records_is_an_error(tmp_path, compress, line):
    path = tmp_path / "a"
    path.write_bytes(compress(FASTA_BYTES + b">seven\nACGT\n>eight\nGGGG\n"))
    (tmp_path / "a.fai").write_text(FASTA_FAI + line)
    found = ">eight" if line else ">seven"
    with pytest.raises(FormatError, match=rf"a\.fai: lacks the records.*{found}"):
        SequenceIndex(path)


def test_a_fai_without_the_second_record_of_an_id_is_an_error(tmp_path):
    # `samtools faidx` omits a record whose id occurred before.
    (tmp_path / "a").write_bytes(FASTA_BYTES + b">one\nACGT\n")
    (tmp_path / "a.fai").write_text(FASTA_FAI)
    with pytest.raises(FormatError, match=r"lacks the records.*>one") as caught:
        SequenceIndex(tmp_path / "a")
    assert f"seqloom index {tmp_path / 'a'}" in str(caught.value)
    build_index(tmp_path / "a")
    assert list(SequenceIndex(tmp_path / "a").ids) == ["one", "two", "four", "one"]


@pytest.mark.parametrize("end", [b"", b"\n\n", b"\r\n", b" \n" * 70_000])
def test_blank_lines_at_the_end_of_a_fai_are_ignored(tmp_path, end):
    (tmp_path / "a").write_bytes(FASTA_BYTES.rstrip(b"\n") + end)
    (tmp_path / "a.fai").write_text(FASTA_FAI)
    assert list(SequenceIndex(tmp_path / "a").ids) == ["one", "two", "four"]


def test_a_fai_without_one_of_many_records_is_an_error(tmp_path):
    (tmp_path / "a").write_bytes(b"".join(b">r%d x\nACGT\n" % n for n in range(5000)))
    SequenceIndex(tmp_path / "a").write_fai()
    (tmp_path / "a.sli").unlink()
    lines = (tmp_path / "a.fai").read_text().splitlines(keepends=True)
    (tmp_path / "a.fai").write_text("".join(lines[:1233] + lines[1234:]))
    with pytest.raises(FormatError, match="lacks records"):
        SequenceIndex(tmp_path / "a")


def test_a_fai_in_another_order_is_an_error_with_a_remedy(tmp_path):
    (tmp_path / "a").write_bytes(FASTA_BYTES)
    lines = FASTA_FAI.splitlines(keepends=True)
    (tmp_path / "a.fai").write_text("".join(sorted(lines)))
    with pytest.raises(FormatError, match=r"order of the file.*seqloom index"):
        SequenceIndex(tmp_path / "a")


def bgzip(path):
    """Write many records in several blocks; return the blocks that Biopython finds."""
    with bgzf.BgzfWriter(str(path), "wb") as file:
        for number in range(9000):
            file.write(b">r%d\nACGTACGTACGT\nACG\n" % number)
    with path.open("rb") as file:
        return [(block[0], block[2]) for block in bgzf.BgzfBlocks(file)]


def gzi_of(entries, more=0):
    return struct.pack("<Q", len(entries) + more) + b"".join(
        struct.pack("<2Q", *e) for e in entries
    )


def test_the_written_gzi_contains_the_block_offsets(tmp_path):
    blocks = bgzip(tmp_path / "a.fa.gz")
    written = SequenceIndex(tmp_path / "a.fa.gz").write_fai()
    assert [path.suffix for path in written] == [".gzi", ".fai"]
    assert written[0].read_bytes() == gzi_of(blocks[1:])


WRONG_GZI_FILES = {
    "two less": lambda entries: entries[:-2],
    "backwards": lambda entries: entries[::-1],
    "off by one in the file": lambda entries: [(a + 1, b) for a, b in entries],
    "off by one in the text": lambda entries: [(a, b + 1) for a, b in entries],
    "one more, which stands twice": lambda entries: [*entries, entries[-1]],
    "past the end": lambda entries: [*entries, (1 << 60, 1 << 60)],
}


@pytest.mark.parametrize("change", WRONG_GZI_FILES)
def test_a_gzi_of_another_file_is_an_error(tmp_path, change):
    path = tmp_path / "a.fa.gz"
    blocks = bgzip(path)
    SequenceIndex(path).write_fai()
    Path(f"{path}.sli").unlink()
    assert SequenceIndex(path)["r8999"].sequence == b"ACGTACGTACGTACG"
    Path(f"{path}.gzi").write_bytes(gzi_of(WRONG_GZI_FILES[change](blocks[1:])))
    with pytest.raises(FormatError, match=r"a\.fa\.gz\.gzi"):
        SequenceIndex(path)


def test_a_gzi_with_an_impossible_count_is_an_error(tmp_path):
    path = tmp_path / "a.fa.gz"
    bgzip(path)
    SequenceIndex(path).write_fai()
    Path(f"{path}.sli").unlink()
    Path(f"{path}.gzi").write_bytes(struct.pack("<Q", 1 << 60) + bytes(32))
    with pytest.raises(FormatError, match="1152921504606846976 entries"):
        SequenceIndex(path)


@pytest.mark.parametrize("more", [-1, 1, (1 << 60), (1 << 63)])
def test_a_gzi_with_a_wrong_count_is_an_error(tmp_path, more):
    path = tmp_path / "a.fa.gz"
    blocks = bgzip(path)
    SequenceIndex(path).write_fai()
    Path(f"{path}.sli").unlink()
    Path(f"{path}.gzi").write_bytes(gzi_of(blocks[1:], more))
    with pytest.raises(FormatError, match=r"a\.fa\.gz\.gzi.*entries"):
        SequenceIndex(path)


def test_a_gzi_detects_a_missing_block(tmp_path):
    path = tmp_path / "a.fa.gz"
    blocks = bgzip(path)
    SequenceIndex(path).write_fai()
    Path(f"{path}.sli").unlink()
    data = path.read_bytes()
    path.write_bytes(data[: blocks[1][0]] + data[blocks[2][0] :])
    with pytest.raises(FormatError, match=r"a\.fa\.gz\.(gzi|fai)"):
        SequenceIndex(path)


def test_writing_a_fai_of_records_that_it_cannot_represent_is_an_error(tmp_path):
    (tmp_path / "odd.fa").write_text(">a\nA\nCC\nG\n")
    with pytest.raises(FormatError, match="record 0 has lines of unequal length"):
        SequenceIndex(tmp_path / "odd.fa").write_fai()
    (tmp_path / "twice.fa").write_text(">a\nA\n>a\nC\n")
    with pytest.raises(FormatError, match="record 1 has the id of an earlier record"):
        SequenceIndex(tmp_path / "twice.fa").write_fai()


def test_a_plain_gzip_file_has_no_gzi_index(tmp_path):
    import gzip

    (tmp_path / "a.gz").write_bytes(gzip.compress(b">a\nAC\n"))
    with pytest.raises(ArgumentError, match="only a bgzip"):
        SequenceIndex(tmp_path / "a.gz").write_fai()


def test_the_index_command_replaces_an_invalid_fai(tmp_path):
    (tmp_path / "a").write_bytes(FASTA_BYTES)
    (tmp_path / "a.fai").write_text(FASTQ_FAI)
    build_index(tmp_path / "a")
    SequenceIndex(tmp_path / "a").write_fai()
    assert (tmp_path / "a.fai").read_text() == FASTA_FAI
