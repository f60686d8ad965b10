"""The error for an unsupported file type contains a command that converts the file."""

import io
import zipfile

import numpy as np
import pytest

from fastx import bgzip
from seqloom import io as sio
from seqloom.data import GenotypeDataset, IntervalDataset, SequenceDataset, SequenceStream
from seqloom.errors import FormatError


def workbook():
    """Return a zip archive with the first entries of an Excel workbook."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name in ("[Content_Types].xml", "xl/workbook.xml"):
            file.writestr(name, "<x/>")
    return packed.getvalue()


VCF_BYTES = (
    b"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    b"chr1\t5\t9\tA\tG\t50\tPASS\t.\n"
)
GTF_BYTES = b'#!genome-build x\nchr1\tr\tgene\t5\t9\t.\t+\t.\tgene_id "g";\n'
XLS_BYTES = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(60)
UNIPROT_BYTES = b"ID   CYC_HUMAN     Reviewed;     12 AA.\nAC   P99999;\n"
# (content, name of the file type, remedies for sequences, intervals and tables)
FILES_OF_OTHER_TYPES = {
    "vcf": (VCF_BYTES, "VCF", ("plink2 --vcf", "%POS0", "plink2 --vcf")),
    "vcf.gz": (bgzip(VCF_BYTES), "VCF", ("plink2 --vcf", "%POS0", "plink2 --vcf")),
    "no header": (
        VCF_BYTES.splitlines(keepends=True)[-1],
        "VCF",
        ("plink2", "%POS0", "plink2"),
    ),
    "gtf": (GTF_BYTES, "GFF or GTF", ("BED", "$4 - 1", "")),
    "bam": (bgzip(b"BAM\1" + bytes(60)), "BAM", ("samtools fastq", "bamtobed", "")),
    "sam": (b"@SQ\tSN:chr1\tLN:9\n", "SAM", ("samtools fastq", "bamtobed", "")),
    "cram": (b"CRAM\3\0" + bytes(60), "CRAM", ("samtools fastq", "bamtobed", "")),
    "xlsx": (workbook(), "Excel", ("FASTA", "CSV", "CSV")),
    "xls": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(60),
        "Excel",
        ("FASTA", "CSV", "CSV"),
    ),
    "uniprot": (UNIPROT_BYTES, "UniProt", ("'swiss'", "", "")),
    "bigwig": (b"\x26\xfc\x8f\x88" + bytes(60), "bigWig", ("", "bigWigToBedGraph", "")),
    "bigbed": (b"\xeb\xf2\x89\x87" + bytes(60), "bigBed", ("BED", "bigBedToBed", "")),
    "bgen": (b"\x14\0\0\0" * 4 + b"bgen", "BGEN", ("plink2 --bgen", "BED", "")),
    "h5ad": (b"\x89HDF\r\n\x1a\n" + bytes(60), "HDF5", ("", "", "read_h5ad")),
}


@pytest.fixture
def genome(tmp_path):
    path = tmp_path / "g.fa"
    path.write_text(">chr1\n" + "ACGT" * 9 + "\n")
    return path


@pytest.fixture
def bed(tmp_path):
    """A genotype dataset of two individuals."""
    sio.to_bed(tmp_path / "a.bed", np.zeros((2, 3), np.int8))
    return tmp_path / "a.bed"


def error_message(what):
    with pytest.raises(FormatError) as caught:
        what()
    return str(caught.value)


@pytest.mark.parametrize("kind", FILES_OF_OTHER_TYPES)
def test_sequence_readers_name_the_type_of_an_unsupported_file(tmp_path, kind):
    content, name, (way, _, _) = FILES_OF_OTHER_TYPES[kind]
    (tmp_path / "a").write_bytes(content)
    for read in (sio.inspect, SequenceDataset, lambda path: list(SequenceStream(path))):
        message = error_message(lambda read=read: read(tmp_path / "a"))
        assert name in message
        assert way in message
        assert "--comments skip" not in message


@pytest.mark.parametrize("kind", FILES_OF_OTHER_TYPES)
def test_interval_readers_name_the_type_of_an_unsupported_file(tmp_path, genome, kind):
    content, name, (_, way, _) = FILES_OF_OTHER_TYPES[kind]
    (tmp_path / "a").write_bytes(content)
    message = error_message(lambda: IntervalDataset(genome, tmp_path / "a"))
    assert name in message
    assert way in message


@pytest.mark.parametrize("kind", FILES_OF_OTHER_TYPES)
def test_table_readers_name_the_type_of_an_unsupported_file(tmp_path, genome, bed, kind):
    content, name, (_, _, way) = FILES_OF_OTHER_TYPES[kind]
    path = tmp_path / "a"
    path.write_bytes(content)
    for read in (
        lambda: SequenceDataset(genome, labels=path),
        lambda: GenotypeDataset(bed, path),
        lambda: GenotypeDataset(bed, [0.5, 1.5], path),
    ):
        message = error_message(read)
        assert name in message
        assert way in message


def test_sequence_files_are_rejected_as_labels_and_intervals(genome):
    assert "FASTA" in error_message(lambda: SequenceDataset(genome, labels=genome))
    assert "FASTA" in error_message(lambda: IntervalDataset(genome, genome))
