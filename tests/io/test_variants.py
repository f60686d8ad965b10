"""Tests of reading VCF files; the expected values come from bcftools and a slow parser."""

import gzip
import math
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

from seqloom.errors import ArgumentError, FormatError, MissingFileError
from seqloom.io import open_variants

COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
HEADER = (
    "##fileformat=VCFv4.2\n"
    "##contig=<ID=chr1,length=1000>\n"
    '##FILTER=<ID=q10,Description="Quality, below 10">\n' + COLUMNS
)
BCFTOOLS: Any = shutil.which("bcftools")
NEEDS_BCFTOOLS = pytest.mark.skipif(BCFTOOLS is None, reason="bcftools is not installed")


def random_records(seed, count=300):
    rng = np.random.default_rng(seed)
    position, lines = 0, []
    for _ in range(count):
        position += int(rng.integers(0, 50))
        ref = "".join(rng.choice(list("ACGT"), int(rng.integers(1, 6))))
        alts = [
            "".join(rng.choice(list("ACGT"), int(rng.integers(1, 4))))
            for _ in range(int(rng.integers(1, 4)))
        ]
        alt = rng.choice([",".join(alts), ".", "<DEL>", "A,*"])
        quality = rng.choice([".", "30", "0.125", "1e-3", "99.9"])
        fixed = rng.choice([".", "rs1", "rs2;x"]), ref, alt, quality
        tail = rng.choice(["PASS", "q10", "."]), rng.choice([".", "DP=3"])
        lines.append("\t".join(["chr1", str(position + 1), *fixed, *tail]) + "\n")
    return lines


def parse_slowly(text):
    """Parse the records of a VCF text without seqloom."""
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        chrom, position, name, ref, alt, quality, filters = line.split("\t")[:7]
        value = math.nan if quality == "." else float(np.float32(quality))
        rows.append((chrom, int(position) - 1, name, ref, alt, value, filters, number))
    return rows


def to_rows(batch):
    texts = [
        [item.decode() for item in column.to_list()]
        for column in (batch.ids, batch.refs, batch.alts, batch.filters)
    ]
    ids, refs, alts, filters = texts
    return list(
        zip(
            batch.chroms,
            batch.starts.tolist(),
            ids,
            refs,
            alts,
            batch.qualities.tolist(),
            filters,
            batch.lines.tolist(),
            strict=True,
        )
    )


def read_rows(path, n=4096, **options):
    with open_variants(path, **options) as reader:
        rows = [row for batch in reader.batches(n) for row in to_rows(batch)]
    return rows, reader.report


def write(folder, text, name="a.vcf"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read_text(folder, text):
    return read_rows(write(folder, text))


def fail(folder, text):
    with pytest.raises(FormatError) as failure:
        read_text(folder, text)
    return failure.value


@pytest.mark.parametrize("n", [1, 7, 4096])
def test_columns_equal_those_of_a_slow_parser(tmp_path, n):
    text = HEADER + "".join(random_records(1))
    rows, report = read_rows(write(tmp_path, text), n)
    expected = parse_slowly(text)
    assert str(rows) == str(expected)
    assert report.records == len(expected)
    assert report.oddities == {}


@pytest.mark.parametrize("threads", [1, 3])
def test_compression_and_threads_do_not_change_the_records(tmp_path, threads):
    text = HEADER + "".join(random_records(2, 40_000))
    plain = read_rows(write(tmp_path, text))[0]
    packed = write(tmp_path, gzip.compress(text.encode(), 1), "a.vcf.gz")
    assert str(read_rows(packed, threads=threads)[0]) == str(plain)


@NEEDS_BCFTOOLS
def test_columns_equal_those_of_bcftools(tmp_path):
    path = write(tmp_path, HEADER + "".join(random_records(3)))
    form = "%CHROM\\t%POS0\\t%ID\\t%REF\\t%ALT\\t%FILTER\\n"
    query = subprocess.run(
        [BCFTOOLS, "query", "-f", form, path], capture_output=True, check=True, text=True
    )
    expected = [tuple(line.split("\t")) for line in query.stdout.splitlines()]
    rows = read_rows(path)[0]
    found = [(row[0], str(row[1]), *row[2:5], row[6]) for row in rows]
    assert found == expected


def test_the_header_gives_contigs_and_text(tmp_path):
    header = HEADER.replace(COLUMNS, "##contig=<ID=MT>\n" + COLUMNS)
    with open_variants(write(tmp_path, header)) as reader:
        assert reader.contigs == {"chr1": 1000, "MT": None}
        assert reader.header == header
        assert list(reader.batches()) == []


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("undeclared_contig", HEADER + "chr2\t5\t.\tA\tG\t.\tPASS\t.\n"),
        ("undeclared_filter", HEADER + "chr1\t5\t.\tA\tG\t.\tq99\t.\n"),
        ("position_zero", HEADER + "chr1\t0\t.\tN\t<DEL>\t.\tPASS\t.\n"),
        ("infinite_quality", HEADER + "chr1\t5\t.\tA\tG\tinf\tPASS\t.\n"),
        ("lower_case_reference", HEADER + "chr1\t5\t.\ta\tG\t.\tPASS\t.\n"),
        ("empty_info", HEADER + "chr1\t5\t.\tA\tG\t.\tPASS\t\n"),
        ("empty_line", HEADER + "chr1\t5\t.\tA\tG\t.\tPASS\t.\n\n"),
        ("windows_line_end", HEADER + "chr1\t5\t.\tA\tG\t.\tPASS\t.\r\n"),
        ("missing_fileformat", HEADER[21:] + "chr1\t5\t.\tA\tG\t.\tPASS\t.\n"),
        ("unknown_version", HEADER.replace("v4.2", "v4.9") + "chr1\t5\t.\tA\tG\t.\t.\t.\n"),
        (
            "duplicate_declaration",
            HEADER.replace("##F", "##contig=<ID=chr1>\n##F")
            + "chr1\t5\t.\tA\tG\t.\t.\t.\n",
        ),
    ],
)
def test_a_harmless_fault_is_counted(tmp_path, kind, text):
    rows, report = read_text(tmp_path, text)
    assert len(rows) == 1
    assert {name: oddity.count for name, oddity in report.oddities.items()} == {kind: 1}


def test_the_report_states_the_first_line_and_the_text(tmp_path):
    record = "chr2\t5\t.\tA\tG\t.\tPASS\t.\n"
    oddity = read_text(tmp_path, HEADER + record + record)[1].oddities["undeclared_contig"]
    assert (oddity.count, oddity.line, oddity.example) == (2, 5, "chr2")


def test_position_zero_gives_a_start_of_minus_one(tmp_path):
    rows, _ = read_text(tmp_path, HEADER + "chr1\t0\t.\tN\t<DEL>\t.\tPASS\t.\n")
    assert rows[0][1] == -1


def test_the_last_line_needs_no_line_end(tmp_path):
    assert len(read_text(tmp_path, HEADER + "chr1\t5\t.\tA\tG\t.\tPASS\t.")[0]) == 1


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            "chr1\t5\t.\tA\tG\t.\tPASS",
            "expected at least 8 columns separated by tabs, found 7",
        ),
        ("chr1 5 . A G . PASS .", "separated by spaces: replace the spaces by tabs"),
        ("chr1\tx\t.\tA\tG\t.\tPASS\t.", "POS: expected an integer of at least 0, found"),
        ("chr1\t-5\t.\tA\tG\t.\tPASS\t.", "POS: expected an integer of at least 0, found"),
        ("chr1\t5\t.\t\tG\t.\tPASS\t.", "REF is empty; a missing value is ."),
        ("chr1\t5\t.\tA\t\t.\tPASS\t.", "ALT is empty; a missing value is ."),
        ("\t5\t.\tA\tG\t.\tPASS\t.", "CHROM is empty; a missing value is ."),
        ("chr1\t5\t.\tA\tG\thigh\tPASS\t.", 'QUAL: expected a number or ., found "high"'),
    ],
)
def test_an_invalid_record_is_an_error_with_line_and_byte(tmp_path, record, message):
    error = fail(tmp_path, HEADER + "chr1\t1\t.\tA\tG\t.\tPASS\t.\n" + record + "\n")
    assert message in str(error)
    assert (error.line, error.record) == (6, 1)
    assert error.byte == len(HEADER) + 22


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty; expected a VCF header"),
        (">chr1\nACGT\n", "expected a VCF file, which begins with ##fileformat=VCFv4"),
        ("##fileformat=VCFv4.2\n", "ends before the line of column names (#CHROM...)"),
        ("##fileformat=VCFv4.2\nchr1\t5\n", "expected a header line (##...)"),
        (COLUMNS.replace("\t", " "), "separated by spaces: replace the spaces by tabs"),
        (
            "#CHROM\tPOS\tID\n",
            "expected the columns #CHROM POS ID REF ALT QUAL FILTER INFO",
        ),
    ],
)
def test_an_invalid_header_is_an_error(tmp_path, text, message):
    assert message in str(fail(tmp_path, text))


def test_records_before_an_invalid_record_are_returned_first(tmp_path):
    good = "chr1\t1\t.\tA\tG\t.\tPASS\t.\n"
    with open_variants(write(tmp_path, HEADER + good * 3 + "chr1\n")) as reader:
        batches = reader.batches()
        assert len(next(batches)) == 3
        for _ in range(2):
            with pytest.raises(FormatError):
                next(batches)


@pytest.mark.parametrize("kept", [0.5, 0.99])
def test_a_truncated_gzip_is_an_error(tmp_path, kept):
    packed = gzip.compress((HEADER + "".join(random_records(4, 3000))).encode())
    path = write(tmp_path, packed[: int(len(packed) * kept)], "a.vcf.gz")
    with pytest.raises(FormatError):
        read_rows(path)


def test_a_file_object_is_read(tmp_path):
    with write(tmp_path, HEADER + "chr1\t5\t.\tA\tG\t.\tPASS\t.\n").open("rb") as file:
        assert len(read_rows(file)[0]) == 1


def test_a_closed_reader_is_an_error(tmp_path):
    reader = open_variants(write(tmp_path, HEADER))
    batches = reader.batches()
    reader.close()
    with pytest.raises(ArgumentError, match="the reader is closed"):
        next(batches)


def test_a_file_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(MissingFileError):
        open_variants(tmp_path / "none.vcf")
