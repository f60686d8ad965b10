"""Tests of reading BCF files; the expected values come from bcftools and from VCF files."""

import gzip
import re
import shutil
import struct
import subprocess
from typing import Any

import numpy as np
import pytest

from seqloom.errors import FileError, FormatError
from seqloom.io import VariantWriter, open_variants

HEADER = (
    "##fileformat=VCFv4.3\n"
    '##FILTER=<ID=PASS,Description="All filters passed">\n'
    '##FILTER=<ID=q10,Description="Low, IDX=7">\n'
    '##FILTER=<ID=s50,Description="Few">\n'
    "##contig=<ID=chr1,length=1000000>\n"
    "##contig=<ID=chr2,length=1000000>\n"
    '##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">\n'
    '##INFO=<ID=AF,Number=A,Type=Float,Description="Frequency">\n'
    '##INFO=<ID=DB,Number=0,Type=Flag,Description="In dbSNP">\n'
    '##INFO=<ID=GENE,Number=.,Type=String,Description="Gene">\n'
    '##INFO=<ID=END,Number=1,Type=Integer,Description="End">\n'
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
    '##FORMAT=<ID=DS,Number=A,Type=Float,Description="Dosage">\n'
    '##FORMAT=<ID=AD,Number=R,Type=Integer,Description="Depths">\n'
    '##FORMAT=<ID=FT,Number=1,Type=String,Description="Filter">\n'
)
SAMPLES = [f"s{at}" for at in range(5)]
COLUMNS = "#CHROM POS ID REF ALT QUAL FILTER INFO".replace(" ", "\t")
FIELDS = ["INFO/DP", "INFO/AF", "INFO/DB", "INFO/GENE"]
FORMATS = ["FORMAT/DS", "FORMAT/AD", "FORMAT/FT"]
BCFTOOLS: Any = shutil.which("bcftools")
pytestmark = pytest.mark.skipif(BCFTOOLS is None, reason="bcftools is not installed")


def run(*command):
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def random_info(rng, alternatives):
    integers = [0, 5, -3, 120, 127, -120, -121, 300, 40_000, -40_000, 2**31 - 1]
    frequencies = ",".join(rng.choice([".", "0.25", "1e-05", "0.1"], alternatives))
    entries = {
        "DP": str(int(rng.choice(integers))),
        "AF": frequencies,
        "DB": None,
        "GENE": str(rng.choice(["BRCA1", "A,B,C", "x" * 40, "."])),
    }
    chosen = [key for key in entries if rng.random() < 0.6]
    rng.shuffle(chosen)
    texts = [key if entries[key] is None else f"{key}={entries[key]}" for key in chosen]
    return ";".join(texts) or "."


def random_genotype(rng, alternatives, ploidy):
    alleles = rng.integers(-1, alternatives + 1, ploidy).tolist()
    separator = rng.choice(["/", "|"])
    return separator.join("." if allele < 0 else str(allele) for allele in alleles)


def random_samples(rng, alternatives):
    if rng.random() < 0.5:
        return ["GT", *(random_genotype(rng, alternatives, 2) for _ in SAMPLES)]
    keys = [key for key in ("GT", "DS", "AD", "FT") if rng.random() < 0.7] or ["AD"]
    cells = [":".join(keys)]
    for _ in SAMPLES:
        depths = ",".join(str(it) for it in rng.integers(0, 400, alternatives + 1))
        values = {
            "GT": random_genotype(rng, alternatives, int(rng.integers(1, 4))),
            "DS": ",".join(rng.choice([".", "0.5", "1.25"], alternatives)),
            "AD": str(rng.choice([depths, ".", "7"])),
            "FT": str(rng.choice(["PASS", ".", "LowQual"])),
        }
        cells.append(":".join(values[key] for key in keys))
    return cells


def random_records(seed, count=400):
    rng = np.random.default_rng(seed)
    for chrom in ("chr1", "chr2"):
        for position in sorted(rng.integers(1, 900_000, count).tolist()):
            alternatives = int(rng.integers(1, 4))
            bases = [
                "".join(rng.choice(list("ACGT"), int(rng.integers(1, 30)))) for _ in "xxxx"
            ]
            row = [
                chrom,
                str(position),
                str(rng.choice([".", "rs1", "rs2;rs3"])),
                bases[0],
                ",".join(bases[1 : alternatives + 1]),
                str(rng.choice([".", "30", "0.125", "99.9"])),
                str(rng.choice([".", "PASS", "q10", "q10;s50"])),
                random_info(rng, alternatives),
                *random_samples(rng, alternatives),
            ]
            yield "\t".join(row) + "\n"


def write_vcf(folder, records, samples=SAMPLES, name="a"):
    columns = "\t".join([COLUMNS, "FORMAT", *samples] if samples else [COLUMNS])
    path = folder / f"{name}.vcf"
    path.write_text(HEADER + columns + "\n" + "".join(records))
    return path


def to_bcf(vcf):
    path = vcf.with_suffix(".bcf")
    run(BCFTOOLS, "view", "--no-version", "-Ob", "-o", path, vcf)
    return path


@pytest.fixture(scope="module", params=["bgzip", "plain"])
def files(request, tmp_path_factory):
    vcf = write_vcf(tmp_path_factory.mktemp("bcf"), random_records(1))
    bcf = to_bcf(vcf)
    if request.param == "plain":
        bcf.write_bytes(gzip.decompress(bcf.read_bytes()))
    return vcf, bcf


def read(path, n=1000, **options):
    with open_variants(path, **options) as reader:
        return list(reader.batches(n)), reader


def to_lists(column):
    return column.to_list() if hasattr(column, "to_list") else column.tolist()


def all_values(batch):
    fixed = ("starts", "ids", "refs", "alts", "qualities", "filters", "genotypes", "phased")
    values = {name: to_lists(getattr(batch, name)) for name in fixed}
    values |= {name: to_lists(column) for name, column in batch.info.items()}
    values |= {name: to_lists(column) for name, column in batch.format.items()}
    return values | {"chroms": batch.chroms}


@pytest.mark.parametrize("n", [1000, 7])
def test_a_bcf_file_has_the_columns_of_its_vcf_file(files, n):
    options: dict[str, Any] = {"samples": True, "fields": FIELDS + FORMATS}
    expected, found = (read(path, n, **options)[0] for path in files)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        for name, values in all_values(other).items():
            assert str(all_values(one)[name]) == str(values), name


def test_the_header_of_a_bcf_file_equals_that_of_bcftools(files):
    with open_variants(files[1], samples=True) as reader:
        assert reader.header == run(BCFTOOLS, "view", "--no-version", "-h", files[1])
        assert reader.samples == SAMPLES
        assert reader.contigs == {"chr1": 1_000_000, "chr2": 1_000_000}


def test_chosen_samples_equal_those_of_the_vcf_file(files):
    options: dict[str, Any] = {"samples": ["s3", "s0"], "fields": ["FORMAT/AD"]}
    expected, found = (read(path, **options)[0][0] for path in files)
    assert str(all_values(found)) == str(all_values(expected))


def test_columns_equal_those_of_bcftools(files):
    form = "%CHROM\\t%POS0\\t%ID\\t%REF\\t%ALT\\t%FILTER\\t%INFO/GENE[\\t%GT]\\n"
    expected = [
        line.split("\t")
        for line in run(BCFTOOLS, "query", "-f", form, files[1]).split("\n")
    ]
    (batch,), _ = read(files[1], samples=True, fields=["INFO/GENE"])
    texts = (batch.ids, batch.refs, batch.alts, batch.filters, batch.info["GENE"])
    columns = [[item.decode() for item in column.to_list()] for column in texts]
    starts = [str(start) for start in batch.starts.tolist()]
    rows = [list(row) for row in zip(batch.chroms, starts, *columns, strict=True)]
    genotypes = zip(batch.genotypes.tolist(), batch.phased.tolist(), strict=True)
    for row, (alleles, phased) in zip(rows, genotypes, strict=True):
        texts = [to_genotype(*pair) for pair in zip(alleles, phased, strict=True)]
        # bcftools writes a single dot for a record without GT.
        row.extend(["."] * len(texts) if set(texts) == {"./."} else texts)
    assert rows == [row for row in expected if row != [""]]


def to_genotype(alleles, is_phased):
    names = ["." if allele == -1 else str(allele) for allele in alleles if allele > -2]
    return ("|" if is_phased else "/").join(names)


def test_lines_are_numbers_of_records(files):
    batches, reader = read(files[1], 100)
    lines = [line for batch in batches for line in batch.lines.tolist()]
    assert lines == list(range(1, 801))
    assert reader.report.records == 800
    assert reader.report.oddities == {}


def test_regions_equal_those_of_the_vcf_file(tmp_path):
    rows = ["chr1\t{}\t.\t{}\tG\t.\t.\t{}\n".format(*it) for it in [
        (5, "A", "."), (7, "ACGT", "."), (9, "A", "END=300000"), (12, "A", "END=3"),
        (20_000, "AC", "DP=1"), (299_999, "A", "."), (500_000, "A", "."),
    ]]  # fmt: skip
    vcf = write_vcf(tmp_path, rows, samples=())
    bcf = to_bcf(vcf)
    run(BCFTOOLS, "index", bcf)
    for region in ["chr1", "chr1:8", "chr1:10", "chr1:13-19999", "chr1:300000", "chr2"]:
        form = "%POS0 %INFO\\n"
        expected = run(BCFTOOLS, "query", "-f", form, "-r", region, bcf).splitlines()
        batches, _ = read(bcf, region=region)
        starts = [start for batch in batches for start in batch.starts.tolist()]
        assert starts == [int(line.split()[0]) for line in expected], region


def test_the_index_of_another_bcf_file_is_an_error(tmp_path):
    first = to_bcf(write_vcf(tmp_path, random_records(2)))
    run(BCFTOOLS, "index", first)
    other = to_bcf(write_vcf(tmp_path, list(random_records(3))[350:], name="b"))
    shutil.copy(f"{first}.csi", f"{other}.csi")
    with pytest.raises(FormatError):
        read(other, region="chr2")


def test_many_alleles_have_wide_numbers(tmp_path):
    alt = ",".join("A" + "C" * count for count in range(1, 200))
    rows = [f"chr1\t5\t.\tA\t{alt}\t.\t.\t.\tGT\t0|{at}\n" for at in (1, 62, 63, 126, 199)]
    vcf = write_vcf(tmp_path, rows, samples=["s"])
    (batch,), _ = read(to_bcf(vcf), samples=True)
    assert batch.genotypes[:, 0].tolist() == [[0, at] for at in (1, 62, 63, 126, 199)]


def test_no_genotypes_are_missing_alleles(tmp_path):
    rows = ["chr1\t5\t.\tA\tG\t.\t.\t.\tAD\t1,2\n", "chr1\t6\t.\tA\tG\t.\t.\t.\tGT\t0|1\n"]
    vcf = write_vcf(tmp_path, rows, samples=["s"])
    (batch,), _ = read(to_bcf(vcf), samples=True)
    assert batch.genotypes[:, 0].tolist() == [[-1, -1], [0, 1]]


def split(path):
    """Return the header of a BCF file and its records, as bytes."""
    data = gzip.decompress(path.read_bytes())
    start = 9 + struct.unpack_from("<I", data, 5)[0]
    records, at = [], start
    while at < len(data):
        shared, individual = struct.unpack_from("<II", data, at)
        size = 8 + shared + individual
        records.append(data[at : at + size])
        at += size
    return data[:start], records


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    rows = [
        f"chr1\t{at}\trs1\tA\tG\t5\tPASS\tDP=3;AF=0.5\tGT:AD\t0|1:1,2\n" for at in (5, 6)
    ]
    return split(to_bcf(write_vcf(tmp_path_factory.mktemp("parts"), rows, ["s"])))


DAMAGE_OPTIONS: dict[str, Any] = {"samples": True, "fields": ["INFO/DP", "FORMAT/AD"]}


def write_bytes(folder, data):
    path = folder / "a.bcf"
    path.write_bytes(data)
    return path


def read_damaged(folder, header, records):
    path = write_bytes(folder, header + b"".join(records))
    batches, reader = read(path, **DAMAGE_OPTIONS)
    return sum(len(batch) for batch in batches), reader


def test_names_without_numbers_have_those_of_their_order(tmp_path, parts):
    header, records = parts
    text = re.sub(rb",IDX=\d+>", b">", header[9:])
    shorter = header[:5] + struct.pack("<I", len(text)) + text
    expected, found = (
        read(write_bytes(tmp_path, start + b"".join(records)), **DAMAGE_OPTIONS)[0][0]
        for start in (header, shorter)
    )
    assert str(all_values(found)) == str(all_values(expected))
    assert found.info["DP"].tolist() == [[3], [3]]


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, struct.pack("<I", 2**31), "the file ends inside a record"),
        (4, struct.pack("<I", 2**32 - 1), "the file ends inside a record"),
        (0, struct.pack("<I", 3), "the record is shorter than its values"),
        (8, struct.pack("<i", 9), "the header has no contig with the number 9"),
        (12, struct.pack("<i", -5), "POS: expected an integer of at least 0, found -4"),
        (
            26,
            struct.pack("<H", 900),
            "the record is shorter than its values|not text",
        ),
        (28, b"\x02", "expected 1 samples, as in the header, found 2"),
        (32, b"\xf7\x13\xff\xff\xff\x7f", "the record is shorter than its values"),
        (32, b"\xf7\x11\x85", "a vector has the length -123"),
        (32, b"\x14", "expected a value type"),
    ],
)
def test_a_corrupt_record_is_an_error_with_its_number_and_byte(
    tmp_path, parts, at, value, message
):
    header, (first, second) = parts
    second = second[:at] + value + second[at + len(value) :]
    with pytest.raises(FormatError, match=message) as failure:
        read_damaged(tmp_path, header, [first, second])
    byte = len(header) + len(first)
    assert (failure.value.record, failure.value.byte) == (1, byte)
    assert f"a.bcf: record 2, byte {byte} of the data: " in str(failure.value)


def test_a_truncated_file_is_an_error_at_every_byte(tmp_path, parts):
    header, (first, second) = parts
    whole = header + first + second
    ends = {len(whole): 2, len(header) + len(first): 1, len(header): 0}
    for size in range(len(whole) + 1):
        if size in ends:
            assert read_damaged(tmp_path, whole[:size], [])[0] == ends[size]
            continue
        with pytest.raises(FormatError):
            read_damaged(tmp_path, whole[:size], [])


def test_random_damage_is_an_error_or_a_readable_file(tmp_path, parts):
    whole = b"".join([parts[0], *parts[1]])
    rng = np.random.default_rng(5)
    messages: list[str] = []
    for _ in range(1500):
        data = bytearray(whole)
        at = int(rng.integers(len(parts[0]) if rng.random() < 0.9 else 0, len(data)))
        data[at : at + 2] = rng.bytes(int(rng.integers(1, 3)))
        try:
            read_damaged(tmp_path, bytes(data), [])
        except FormatError as error:
            messages.append(str(error))
    assert 0 < len(messages) < 1500
    assert all(it.startswith(f"{tmp_path / 'a.bcf'}: ") for it in messages)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (b"BCF\x04\x00", "expected a VCF file or a BCF file of version 2.1 or 2.2"),
        (b"BAM\x01\x00", "expected a VCF file or a BCF file of version 2.1 or 2.2"),
        (b"BCF", "the file ends inside the header"),
        (b"BCF\x02\x02\xff\xff\xff\xff##file", "the file ends inside the header"),
        (b"BCF\x02\x02\x04\x00\x00\x00##a\n", "no line of column names"),
    ],
)
def test_an_invalid_start_is_an_error(tmp_path, start, message):
    with pytest.raises(FormatError, match=message):
        read_damaged(tmp_path, start, [])


def test_a_file_without_an_index_is_an_error_with_the_remedy(tmp_path):
    path = to_bcf(write_vcf(tmp_path, random_records(1, 3)))
    with pytest.raises(FileError, match=r"bcftools index .*a\.bcf"):
        open_variants(path, region="chr1")


def test_the_writer_converts_a_bcf_file_to_vcf(files, tmp_path):
    path, texts = tmp_path / "out.vcf.gz", [f"END={5 * 10**6}"] * 800
    info = [("END", "1", "Integer", "Last position")]
    with VariantWriter(path, files[1], info=info) as writer:
        writer.write(texts)
    options: dict[str, Any] = {"samples": True, "fields": FIELDS + FORMATS}
    (expected,), (found,) = (read(it, **options)[0] for it in (files[0], path))
    assert str(all_values(found)) == str(all_values(expected))
    with open_variants(path, region="chr2:4000000", fields=["INFO/END"]) as reader:
        assert sum(len(batch) for batch in reader.batches()) == 400
        assert "IDX=" not in reader.header.replace("IDX=7", "")


def test_a_converted_record_has_the_text_of_bcftools(tmp_path):
    row = "chr1\t5\trs1\tA\tG,T\t3.5\tq10;s50\tDP=3;DB;AF=0.5,.;GENE=a,b"
    row += "\tGT:AD:DS:FT\t0|1:1,2,3:0.25,.:PASS\t./2:.:.:.\t1:7:0.1,1e-05:x\n"
    vcf = write_vcf(
        tmp_path, [row, "chr2\t6\t.\tA\t.\t.\t.\t.\t.\t.\t.\t.\n"], ["a", "b", "c"]
    )
    bcf = to_bcf(vcf)
    with VariantWriter(tmp_path / "out.vcf", bcf) as writer:
        writer.write(["", ""])
    expected = run(BCFTOOLS, "view", "--no-version", bcf).replace("1e-05", "1e-5")
    assert (tmp_path / "out.vcf").read_text() == expected
