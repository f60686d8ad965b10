"""Tests of reading regions of VCF files; the expected records come from bcftools."""

import gzip
import os
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

from seqloom.errors import ArgumentError, FileError, FormatError
from seqloom.io import VariantWriter, open_variants

HEADER = (
    "##fileformat=VCFv4.2\n"
    "##contig=<ID=chr1,length={length}>\n"
    "##contig=<ID=chr2,length=1000000>\n"
    "##contig=<ID=HLA:1,length=1000000>\n"
    "##contig=<ID=empty,length=10>\n"
    '##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">\n'
    '##INFO=<ID=END,Number=1,Type=Integer,Description="End">\n'
    "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
)
BCFTOOLS: Any = shutil.which("bcftools")
pytestmark = pytest.mark.skipif(BCFTOOLS is None, reason="bcftools is not installed")


def run(*command):
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def random_records(seed=1, count=3000):
    rng = np.random.default_rng(seed)
    for chrom in ("chr1", "chr2", "HLA:1"):
        for position in sorted(rng.integers(1, 900_000, count).tolist()):
            ref = "A" * int(rng.choice([1, 2, 30, 400], p=[0.7, 0.1, 0.1, 0.1]))
            end = position + int(rng.choice([-3, 0, 10, 30_000, 300_000]))
            info = f"END={end};DP=1" if rng.random() < 0.05 else f"DP={position};XEND=5"
            yield f"{chrom}\t{position}\t.\t{ref}\tG\t.\tPASS\t{info}\n"


def write(folder, records, kind="tbi", length=1_000_000, name="a.vcf"):
    plain = folder / name
    plain.write_text(HEADER.format(length=length) + "".join(records))
    path = folder / f"{name}.gz"
    run(BCFTOOLS, "view", "--no-version", "-Oz", "-o", path, plain)
    run(BCFTOOLS, "index", f"--{kind}", path)
    return path


@pytest.fixture(scope="module", params=["tbi", "csi", "long", "ours"])
def indexed(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexed")
    length = 3 * 10**9 if request.param == "long" else 10**6
    kind = "tbi" if request.param == "tbi" else "csi"
    path = write(folder, random_records(), kind, length)
    if request.param != "ours":
        return path
    ours = folder / "ours.vcf.gz"
    with VariantWriter(ours, path) as writer:
        writer.write([""] * 9000)
    return ours


def read(path, region, **options):
    with open_variants(path, region=region, **options) as reader:
        batches = list(reader.batches(100))
    rows = []
    for batch in batches:
        columns = batch.chroms, batch.starts.tolist(), batch.refs.to_list()
        rows += zip(*columns, strict=True)
    return rows, reader.report


def query(path, *regions):
    # Without INFO in the format, bcftools 1.16 does not parse INFO/END.
    form = "%CHROM\\t%POS0\\t%REF\\t%INFO\\n"
    return parse_query(run(BCFTOOLS, "query", "-f", form, "-r", ",".join(regions), path))


def parse_query(text):
    rows = [line.split("\t")[:3] for line in text.splitlines()]
    return [(chrom, int(start), ref.encode()) for chrom, start, ref in rows]


def query_by_file(path, folder, chrom, start, end):
    """Query a contig whose name has a colon, which bcftools accepts only in a file."""
    table = folder / "regions.txt"
    table.write_text(f"{chrom}\t{start}\t{end}\n")
    form = "%CHROM\\t%POS0\\t%REF\\t%INFO\\n"
    return parse_query(run(BCFTOOLS, "query", "-f", form, "-R", table, path))


REGIONS = [
    "chr1",
    "chr2:1-20000",
    "chr1:400,000-400,100",
    "chr1:400,000-",
    "chr2:123456",
    "chr2:899000-2000000",
    "empty",
]


@pytest.mark.parametrize("region", REGIONS)
def test_the_records_of_a_region_equal_those_of_bcftools(indexed, region):
    expected = query(indexed, region.replace(",", ""))
    assert read(indexed, region)[0] == expected
    assert expected or region == "empty"


@pytest.mark.parametrize("region", ["HLA:1", "HLA:1:500000-510000"])
def test_the_name_of_a_contig_may_have_a_colon(indexed, tmp_path, region):
    ends = (1, 2_000_000) if region == "HLA:1" else (500_000, 510_000)
    expected = query_by_file(indexed, tmp_path, "HLA:1", *ends)
    assert expected
    assert read(indexed, region)[0] == expected


def test_random_regions_equal_those_of_bcftools(indexed):
    rng = np.random.default_rng(2)
    for _ in range(40):
        start, size = int(rng.integers(1, 900_000)), int(rng.choice([1, 50, 5000, 10**6]))
        region = f"chr2:{start}-{start + size - 1}"
        assert read(indexed, region)[0] == query(indexed, region), region


def test_a_list_of_regions_gives_each_record_once_in_file_order(indexed):
    regions = ["chr2:5000-50000", "chr1:800000-", "chr2:20000-60000", "chr2:5000-50000"]
    expected = query(indexed, "chr1:800000-", "chr2:5000-60000")
    assert read(indexed, regions)[0] == expected


def test_every_record_of_all_contigs_is_read_once(indexed):
    with open_variants(indexed) as reader:
        starts = [start for batch in reader.batches() for start in batch.starts.tolist()]
    rows = read(indexed, ["HLA:1", "chr2", "chr1"])[0]
    assert [row[1] for row in rows] == starts


@pytest.mark.parametrize(
    ("region", "starts"),
    [("chr1", [-1, -1, 0, 1]), ("chr1:1", [-1, 0]), ("chr1:2-5", [0, 1])],
)
def test_position_zero_is_before_the_first_base(tmp_path, region, starts):
    # bcftools 1.16 loses records at position 0; tabix finds them.
    rows = [(0, "N"), (0, "NA"), (1, "AC"), (2, "CA")]
    records = [f"chr1\t{at}\t.\t{ref}\tG\t.\tPASS\t.\n" for at, ref in rows]
    assert [row[1] for row in read(write(tmp_path, records), region)[0]] == starts


def test_the_report_counts_the_records_of_the_region(tmp_path):
    path = write(tmp_path, random_records())
    rows, report = read(path, "chr2:5000-20000")
    assert report.records == len(rows)
    assert report.oddities == {}


def test_lines_are_numbers_of_records(tmp_path):
    path = write(tmp_path, random_records())
    with open_variants(path, region="chr2:5000-20000") as reader:
        lines = [line for batch in reader.batches(7) for line in batch.lines.tolist()]
    assert lines == list(range(1, len(lines) + 1))


def test_a_contig_that_only_the_index_names_is_read(tmp_path):
    path = write(tmp_path, random_records())
    text = gzip.decompress(path.read_bytes()).decode()
    text = "".join(line for line in text.splitlines(keepends=True) if "ID=chr" not in line)
    (tmp_path / "b.vcf").write_text(text)
    with VariantWriter(tmp_path / "b.vcf.gz", tmp_path / "b.vcf") as writer:
        writer.write([""] * 9000)
    rows, report = read(tmp_path / "b.vcf.gz", "chr2:5000-20000")
    assert rows == query(path, "chr2:5000-20000")
    assert report.oddities["undeclared_contig"].count == len(rows)


def test_a_truncated_file_is_an_error(tmp_path):
    path = write(tmp_path, random_records())
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(FormatError, match=r"index|truncated"):
        read(path, "HLA:1")


def test_fields_and_samples_of_a_region_are_those_of_the_file(tmp_path):
    rows = [f"chr1\t{at}\t.\tA\tG\t.\t.\tDP={at}\tGT\t0|{at % 2}\n" for at in (5, 6, 7)]
    header = HEADER.format(length=99).rstrip() + "\tFORMAT\ts1\n"
    (tmp_path / "a.vcf").write_text(header + "".join(rows))
    with VariantWriter(tmp_path / "a.vcf.gz", tmp_path / "a.vcf") as writer:
        writer.write([""] * 3)
    options: dict[str, Any] = {"region": "chr1:6-", "samples": True, "fields": ["INFO/DP"]}
    with open_variants(tmp_path / "a.vcf.gz", **options) as reader:
        (batch,) = reader.batches()
    assert batch.info["DP"].tolist() == [[6], [7]]
    assert batch.genotypes[:, 0].tolist() == [[0, 0], [0, 1]]


def test_an_invalid_record_of_a_region_is_an_error_with_its_number(tmp_path):
    rows = list(random_records(count=5))
    rows[3] = rows[3].replace("\t.\tPASS", "\thigh\tPASS")
    (tmp_path / "b.vcf").write_text(HEADER.format(length=10**6) + "".join(rows))
    with VariantWriter(tmp_path / "b.vcf.gz", tmp_path / "b.vcf") as writer:
        writer.write([""] * 15)
    with open_variants(tmp_path / "b.vcf.gz", region="chr1") as reader:
        batches = reader.batches()
        assert len(next(batches)) == 3
        with pytest.raises(FormatError, match=r"chr1:\d+: QUAL: expected") as failure:
            next(batches)
    assert (failure.value.record, failure.value.line) == (3, None)


def test_an_unknown_contig_is_an_error_that_names_those_of_the_file(tmp_path):
    path = write(tmp_path, random_records(count=3))
    with pytest.raises(ArgumentError, match=r'"3:5".*chr1, chr2, HLA:1, empty'):
        open_variants(path, region="3:5")


@pytest.mark.parametrize("region", ["chr1:0-5", "chr1:9-5", "chr1:x", "chr1:-5", ""])
def test_an_invalid_region_is_an_error(tmp_path, region):
    with pytest.raises(ArgumentError, match="region"):
        open_variants(write(tmp_path, random_records(count=3)), region=region)


def test_an_empty_list_of_regions_is_an_error(tmp_path):
    with pytest.raises(ArgumentError, match="region is an empty list"):
        open_variants(write(tmp_path, random_records(count=3)), region=[])


def test_a_file_without_an_index_is_an_error_with_the_remedy(tmp_path):
    path = write(tmp_path, random_records(count=3))
    path.with_name("a.vcf.gz.tbi").unlink()
    with pytest.raises(FileError, match=r"needs an index.*bcftools index .*a\.vcf\.gz"):
        open_variants(path, region="chr1")


def test_a_plain_file_is_an_error_with_the_remedy(tmp_path):
    write(tmp_path, random_records(count=3))
    with pytest.raises(ArgumentError, match=r"not none: run `bcftools view -Oz"):
        open_variants(tmp_path / "a.vcf", region="chr1")


def test_standard_input_has_no_regions():
    with pytest.raises(ArgumentError, match=r"-: region= needs the path of a file"):
        open_variants("-", region="chr1")


def test_a_file_object_has_no_regions(tmp_path):
    path = write(tmp_path, random_records(count=3))
    with path.open("rb") as file, pytest.raises(ArgumentError, match="needs the path"):
        open_variants(file, region="chr1")


def test_an_index_older_than_the_file_is_counted(tmp_path):
    path = write(tmp_path, random_records(count=3))
    os.utime(path.with_name("a.vcf.gz.tbi"), (1e9, 1e9))
    oddities = read(path, "chr1")[1].oddities
    assert {kind: it.count for kind, it in oddities.items()} == {"index_older_than_file": 1}


@pytest.mark.parametrize("kind", ["tbi", "csi"])
def test_the_index_of_another_file_is_an_error(tmp_path, kind):
    path = write(tmp_path, random_records(), kind)
    other = write(tmp_path, list(random_records(5, 800))[700:], kind, name="b.vcf")
    shutil.copy(f"{path}.{kind}", f"{other}.{kind}")
    with pytest.raises(FormatError, match="index"):
        read(other, "chr1")
    with pytest.raises(FormatError, match="index"):
        read(other, "chr2:300000-")


@pytest.mark.parametrize("kind", ["tbi", "csi"])
def test_a_damaged_index_is_an_error_or_gives_no_wrong_record(tmp_path, kind):
    path = write(tmp_path, random_records(count=300), kind)
    index = path.with_name(f"a.vcf.gz.{kind}")
    whole = gzip.decompress(index.read_bytes())
    records = set(query(path, "chr1"))
    rng = np.random.default_rng(7)
    for _ in range(150):
        data = bytearray(whole)
        at = int(rng.integers(len(data)))
        data[at : at + 4] = rng.bytes(4)
        index.write_bytes(bytes(data[: int(rng.choice([at, len(data)]))]))
        try:
            rows = read(path, "chr1")[0]
        except (FormatError, FileError, ArgumentError):
            continue
        assert set(rows) <= records


def test_a_region_of_another_type_is_an_error(tmp_path):
    (tmp_path / "a.vcf").write_text("##fileformat=VCFv4.2\n")
    with pytest.raises(ArgumentError, match="region must be a string such as"):
        open_variants(tmp_path / "a.vcf", region=5)  # pyright: ignore[reportArgumentType]
