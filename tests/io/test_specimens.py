"""Published test files raise the right error, or have the records that Biopython reads."""

import gzip
from io import StringIO

import pytest
from Bio import SeqIO

from fastx import COMPRESSORS, FASTQ_SPECIMENS, read, real
from seqloom.errors import FormatError

BIOPYTHON_FORMAT_NAMES = {
    "phred33": "fastq-sanger",
    "phred64": "fastq-illumina",
    "solexa": "fastq-solexa",
}
# The error in each invalid file of Cock and others (2010).
EXPECTED_ERROR_KINDS = {
    "diff_ids": "names",
    "double_qual": "header",
    "double_seq": "cut",
    "long_qual": "length",
    "no_qual": "length",
    "qual_del": "quality",
    "qual_escape": "quality",
    "qual_null": "quality",
    "qual_space": "quality",
    "qual_tab": "quality",
    "qual_unit_sep": "quality",
    "qual_vtab": "quality",
    "short_qual": "length",
    "spaces": "letter",
    "tabs": "letter",
    "trunc_at_plus": "cut",
    "trunc_at_qual": "cut",
    "trunc_at_seq": "cut",
    "trunc_in_plus": "cut",
    "trunc_in_qual": "cut",
    "trunc_in_seq": "cut",
    "trunc_in_title": "cut",
}
VALID_FASTQ_NAMES = sorted(
    path.name for path in FASTQ_SPECIMENS.glob("*.fastq") if "error" not in path.name
)


def encoding_of(name):
    """Return the quality encoding that a file name implies."""
    written_as = name.partition("_as_")[2] or name
    if "solexa" in written_as:
        return "solexa"
    return "phred64" if "illumina" in written_as else "phred33"


@pytest.mark.parametrize(("name", "kind"), EXPECTED_ERROR_KINDS.items())
@pytest.mark.parametrize("pack", COMPRESSORS.values(), ids=COMPRESSORS)
def test_an_invalid_fastq_specimen_is_rejected_with_the_right_error(
    tmp_path, name, kind, pack
):
    (tmp_path / "a").write_bytes(
        pack((FASTQ_SPECIMENS / f"error_{name}.fastq").read_bytes())
    )
    with pytest.raises(FormatError) as caught:
        read(tmp_path / "a")
    assert caught.value.kind == kind
    assert caught.value.line is not None


def test_all_invalid_fastq_specimens_are_tested():
    names = {path.stem.removeprefix("error_") for path in FASTQ_SPECIMENS.glob("error_*")}
    assert names == set(EXPECTED_ERROR_KINDS)
    assert len(EXPECTED_ERROR_KINDS) == 22


@pytest.mark.parametrize("name", VALID_FASTQ_NAMES)
def test_a_valid_fastq_specimen_is_read_like_by_biopython(name):
    encoding = encoding_of(name)
    compare_fastq(FASTQ_SPECIMENS / name, encoding)


def compare_fastq(path, encoding):
    """Compare the records of a file with Biopython's; qualities are characters."""
    with path.open(encoding="ascii") as file:
        records = list(SeqIO.parse(file, BIOPYTHON_FORMAT_NAMES[encoding]))
        letters = [
            record.format(BIOPYTHON_FORMAT_NAMES[encoding]).splitlines()[-1]
            for record in records
        ]
    found = read(path, quality=encoding)
    assert [(head.decode(), text.decode()) for head, text, _ in found] == [
        (record.description, str(record.seq)) for record in records
    ]
    assert [quality.decode() for *_, quality in found] == [
        line if len(record) else "" for line, record in zip(letters, records, strict=True)
    ]


@pytest.mark.parametrize(
    "packed", ["example.fastq.gz", "example.fastq.bgz", "example_dos.fastq.bgz"]
)
def test_a_compressed_fastq_file_is_read_like_the_uncompressed_file(packed):
    assert read(FASTQ_SPECIMENS / packed) == read(
        FASTQ_SPECIMENS / packed.rpartition(".")[0]
    )


def specimens(kind):
    """Return the specimens of a format, and whether each is valid."""
    folder = real("specimens", kind)
    text = (folder / "index.yml").read_text(encoding="utf-8")
    entries = [part for part in text.split("- filename:") if part.strip()]
    return {folder / part.split()[0]: "valid: false" not in part for part in entries}


def test_every_fastq_specimen_has_an_expected_result():
    for path, is_valid in specimens("FASTQ").items():
        if is_valid:
            compare_fastq(path, encoding_of(path.name))
        else:
            with pytest.raises(FormatError):
                read(path)


OPTIONS_OF_SPECIMEN = {
    "f003.fasta": {"comments": "skip"},
    "example1.txt": {"whitespace": "strip"},
}


def test_every_fasta_specimen_has_an_expected_result():
    for path, is_valid in specimens("FASTA").items():
        if not is_valid:
            with pytest.raises(FormatError):
                read(path)
            continue
        if path.name in OPTIONS_OF_SPECIMEN:
            with pytest.raises(FormatError):
                read(path)
        assert strip(read(path, **OPTIONS_OF_SPECIMEN.get(path.name, {}))) == biopython(
            path
        ), path


def strip(found):
    """Return records without qualities, as text."""
    return [(head.decode().strip(), text.decode()) for head, text, _ in found]


def biopython(path):
    """Return the records of a FASTA file from Biopython, without comment lines."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    text = StringIO("".join(line for line in lines if line[0] not in ";#"))
    return [(each.description, str(each.seq)) for each in SeqIO.parse(text, "fasta")]


REAL_FASTQ_FILES = [
    "Illimina1.8.fq.gz",
    "PRJNA271013_head.fq",
    "multimember_split.fastq.gz",
    "sample_parallel.fastq.bgz",
    "wrong_extension.fastq.gz",
]


@pytest.mark.parametrize("name", REAL_FASTQ_FILES)
def test_real_reads_are_read_like_by_biopython(name):
    path = real("reads", name)
    raw = path.read_bytes()
    text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    lines = text.decode("latin-1").splitlines()
    expected = list(zip(lines[0::4], lines[1::4], lines[3::4], strict=True))
    found = [(f"@{h.decode('latin-1')}", s.decode(), q.decode()) for h, s, q in read(path)]
    assert found == expected
