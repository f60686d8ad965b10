"""Tests of writing VCF files with further INFO fields; bcftools and tabix read them."""

import gzip
import shutil
import subprocess

import numpy as np
import pytest

from seqloom.errors import ArgumentError, FileError, FormatError
from seqloom.io import VariantWriter

HEADER = (
    "##fileformat=VCFv4.2\n"
    "##contig=<ID=chr1,length=1000000>\n"
    "##contig=<ID=chr2,length={length}>\n"
    '##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">\n'
    '##INFO=<ID=END,Number=1,Type=Integer,Description="End">\n'
    '##INFO=<ID=OLD,Number=1,Type=Integer,Description="Old">\n'
    "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
)
SCORE = ("SCORE", "A", "Float", 'The "score"')
PROGRAMS = [shutil.which(name) for name in ("bcftools", "tabix")]
NEEDS_PROGRAMS = pytest.mark.skipif(None in PROGRAMS, reason="bcftools is not installed")


def write(folder, *records, length=1_000_000):
    path = folder / "source.vcf"
    path.write_text(HEADER.format(length=length) + "".join(f"{it}\n" for it in records))
    return path


def record(position, info=".", chrom="chr1", ref="A"):
    return f"{chrom}\t{position}\t.\t{ref}\tG\t.\tPASS\t{info}"


def read_text(path):
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def infos(path):
    lines = read_text(path).splitlines()
    return [line.split("\t")[7] for line in lines if line[0] != "#"]


def run(*command):
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return done.stdout


def write_all(path, source, texts, **options):
    writer = VariantWriter(path, source, info=[SCORE], **options)
    writer.write(texts)
    return writer.close()


@pytest.mark.parametrize("name", ["out.vcf", "out.vcf.gz"])
def test_a_text_is_added_to_info(tmp_path, name):
    source = write(tmp_path, record(5), record(6, "DP=3"), record(7, "DP=4"))
    texts = ["SCORE=0.5", "SCORE=1", ""]
    summary = write_all(tmp_path / name, source, texts)
    assert infos(tmp_path / name) == ["SCORE=0.5", "DP=3;SCORE=1", "DP=4"]
    assert summary.records == 3


def test_a_field_of_the_source_with_the_same_id_is_replaced(tmp_path):
    source = write(tmp_path, record(5, "OLD=1;DP=2"), record(6, "OLD=3"))
    with VariantWriter(
        tmp_path / "out.vcf", source, info=[("OLD", "1", "Float", "New")]
    ) as writer:
        writer.write(["OLD=7", ""])
    assert infos(tmp_path / "out.vcf") == ["DP=2;OLD=7", "."]
    header = (tmp_path / "out.vcf").read_text()
    assert header.count("##INFO=<ID=OLD,") == 1
    assert '##INFO=<ID=OLD,Number=1,Type=Float,Description="New">' in header


def test_the_header_of_the_source_is_kept(tmp_path):
    source = write(tmp_path)
    write_all(tmp_path / "out.vcf", source, [])
    added = '##INFO=<ID=SCORE,Number=A,Type=Float,Description="The \\"score\\"">\n#CHROM'
    assert (tmp_path / "out.vcf").read_text() == source.read_text().replace("#CHROM", added)


def test_the_columns_after_info_are_kept(tmp_path):
    source = tmp_path / "source.vcf"
    text = HEADER.format(length=9).rstrip() + "\tFORMAT\ts1\n"
    source.write_text(text + record(5) + "\tGT:DP\t0|1:3\n")
    write_all(tmp_path / "out.vcf", source, ["SCORE=1"])
    last = (tmp_path / "out.vcf").read_text().splitlines()[-1]
    assert last == record(5, "SCORE=1") + "\tGT:DP\t0|1:3"


def random_records(count, chroms=("chr1", "chr2")):
    generator = np.random.default_rng(3)
    for chrom in chroms:
        for position in sorted(generator.integers(1, 900_000, count).tolist()):
            end = position + int(generator.choice([10, 30_000, 90_000]))
            info = f"END={end}" if generator.random() < 0.02 else f"DP={position}"
            yield record(position, info, chrom, "A" * int(generator.integers(1, 5)))


@NEEDS_PROGRAMS
@pytest.mark.parametrize(("length", "suffix"), [(10**6, ".tbi"), (3 * 10**9, ".csi")])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_index_gives_the_records_of_a_region(tmp_path, length, suffix, threads):
    bcftools, tabix = PROGRAMS
    source = write(tmp_path, *random_records(8000), length=length)
    path = tmp_path / "out.vcf.gz"
    texts = ["SCORE=0.5"] * 16_000
    summary = write_all(path, source, texts, threads=threads)
    assert summary.index == f"{path}{suffix}"
    whole = read_text(path)
    other = tmp_path / "other.vcf.gz"
    shutil.copy(path, other)
    run(bcftools, "index", "--csi" if suffix == ".csi" else "--tbi", other)
    for region in ("chr1:1-20000", "chr2:400000-400100", "chr2", "chr1:899000-999999"):
        found = run(tabix, path, region)
        assert found == run(tabix, other, region)
        assert found
    assert run(bcftools, "index", "--nrecords", path) == "16000\n"
    assert run(bcftools, "view", "--no-version", path).count("\n") == whole.count("\n") + 1


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([record(9), record(5)], "chr1 has position 5 after 9"),
        (
            [record(9), record(5, chrom="chr2"), record(10)],
            "those of chr1 are not together",
        ),
    ],
)
def test_unsorted_records_get_no_index(tmp_path, rows, reason):
    path = tmp_path / "out.vcf.gz"
    summary = write_all(path, write(tmp_path, *rows), ["SCORE=1"] * len(rows))
    assert summary.index is None
    assert reason in summary.no_index
    assert not list(tmp_path.glob("*.tbi"))


def test_an_old_index_of_an_unsorted_file_is_removed(tmp_path):
    path = tmp_path / "out.vcf.gz"
    (tmp_path / "out.vcf.gz.csi").write_bytes(b"old")
    write_all(path, write(tmp_path, record(9), record(5)), ["", ""])
    assert not (tmp_path / "out.vcf.gz.csi").exists()


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["X=1"] * 3, "more rows than .* has records"),
        (["X=1"], "has more records"),
        (["X=1", "X= 1"], "INFO must not have tabs, spaces or line ends"),
    ],
)
def test_a_failure_leaves_no_file(tmp_path, texts, message):
    source = write(tmp_path, record(5), record(6))
    with (
        pytest.raises(ArgumentError, match=message),
        VariantWriter(tmp_path / "out.vcf.gz", source) as writer,
    ):
        writer.write(texts)
    assert [path.name for path in tmp_path.iterdir()] == ["source.vcf"]


@pytest.mark.parametrize(
    "field",
    [
        ("A B", "1", "Float", ""),
        ("A", "x y", "Float", ""),
        ("A", "1", "Real", ""),
        ("A", "1"),
    ],
)
def test_an_invalid_field_is_an_error(tmp_path, field):
    with pytest.raises(ArgumentError, match="info: "):
        VariantWriter(tmp_path / "out.vcf", write(tmp_path), info=[field])


def test_an_invalid_record_of_the_source_is_an_error_with_its_line(tmp_path):
    source = write(tmp_path, "chr1\t5")
    with pytest.raises(FormatError, match=r"line 8.*at least 8 columns"):
        write_all(tmp_path / "out.vcf", source, [""])


def test_the_source_cannot_be_overwritten(tmp_path):
    source = write(tmp_path)
    with pytest.raises(ArgumentError, match="the same file"):
        VariantWriter(source, source)


def test_standard_input_cannot_be_the_source(tmp_path):
    with pytest.raises(FileError, match="standard input can only be read once"):
        VariantWriter(tmp_path / "out.vcf", "-")


def test_a_written_file_has_a_version_if_the_source_has_none(tmp_path):
    columns = "#CHROM POS ID REF ALT QUAL FILTER INFO\n".replace(" ", "\t")
    (tmp_path / "a.vcf").write_text(f"{columns}chr1\t7\t.\tA\tG\t.\t.\t.\n")
    with VariantWriter(tmp_path / "b.vcf", tmp_path / "a.vcf") as writer:
        writer.write(["X=1"])
    assert (tmp_path / "b.vcf").read_text().startswith("##fileformat=VCFv4.2\n#CHROM")


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (("a-b", "1", "Float", "x"), "an id must have only"),
        (("X", "Q", "Float", "x"), "number of X must be an integer"),
        (("X", "1", "Double", "x"), "type of X must be Integer"),
    ],
)
def test_an_invalid_declaration_is_an_error(tmp_path, field, message):
    columns = "#CHROM POS ID REF ALT QUAL FILTER INFO\n".replace(" ", "\t")
    (tmp_path / "a.vcf").write_text(f"##fileformat=VCFv4.2\n{columns}")
    with pytest.raises(ArgumentError, match=message):
        VariantWriter(tmp_path / "b.vcf", tmp_path / "a.vcf", info=[field])


def test_one_text_instead_of_a_list_is_an_error(tmp_path):
    columns = "#CHROM POS ID REF ALT QUAL FILTER INFO\n".replace(" ", "\t")
    (tmp_path / "a.vcf").write_text(f"{columns}chr1\t7\t.\tA\tG\t.\t.\t.\n")
    with (
        pytest.raises(ArgumentError, match="a list with a text for each record"),
        VariantWriter(tmp_path / "b.vcf", tmp_path / "a.vcf") as writer,
    ):
        writer.write("X=1")
