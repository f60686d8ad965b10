"""Tests of INFO and FORMAT fields and of genotypes in VCF files."""

import math
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

from seqloom.errors import ArgumentError, FormatError
from seqloom.io import open_variants

HEADER = (
    "##fileformat=VCFv4.3\n"
    "##contig=<ID=chr1,length=1000>\n"
    '##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">\n'
    '##INFO=<ID=AF,Number=A,Type=Float,Description="Frequency, of ALT">\n'
    '##INFO=<ID=DB,Number=0,Type=Flag,Description="In dbSNP">\n'
    '##INFO=<ID=GENE,Number=.,Type=String,Description="Gene">\n'
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
    '##FORMAT=<ID=DS,Number=A,Type=Float,Description="Dosage">\n'
    '##FORMAT=<ID=AD,Number=R,Type=Integer,Description="Depths">\n'
    '##FORMAT=<ID=FT,Number=1,Type=String,Description="Filter">\n'
)
FIXED = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
BCFTOOLS: Any = shutil.which("bcftools")
NEEDS_BCFTOOLS = pytest.mark.skipif(BCFTOOLS is None, reason="bcftools is not installed")
MISSING = -(2**31)


def write(folder, *records, samples=()):
    names = "".join(f"\t{name}" for name in ("FORMAT", *samples)) if samples else ""
    text = HEADER + FIXED + names + "\n"
    path = folder / "a.vcf"
    path.write_text(text + "".join(f"{record}\n" for record in records))
    return path


def write_info(folder, *infos):
    return write(folder, *(f"chr1\t5\t.\tA\tG,T\t.\tPASS\t{info}" for info in infos))


def write_samples(folder, *rows, alt="G,T"):
    count = len(rows[0].split()) - 1
    records = [
        f"chr1\t5\t.\tA\t{alt}\t.\tPASS\t.\t" + row.replace(" ", "\t") for row in rows
    ]
    return write(folder, *records, samples=[f"s{at}" for at in range(count)])


def read(path, **options):
    with open_variants(path, **options) as reader:
        (batch,) = reader.batches()
    return batch, reader.report


def query(path, form):
    found = subprocess.run(
        [BCFTOOLS, "query", "-f", form, path], capture_output=True, check=True, text=True
    )
    return [line.split("\t") for line in found.stdout.splitlines()]


def test_integers_are_columns_with_a_number_for_missing_values(tmp_path):
    batch, _ = read(write_info(tmp_path, "DP=3", ".", "DP=.", "DP=-7"), fields=["INFO/DP"])
    assert batch.info["DP"].dtype == np.int32
    assert batch.info["DP"].tolist() == [[3], [MISSING], [MISSING], [-7]]


def test_rows_of_floats_have_the_width_of_the_longest(tmp_path):
    batch, _ = read(write_info(tmp_path, "AF=0.5,.", "DP=1"), fields=["INFO/AF"])
    assert batch.info["AF"].dtype == np.float32
    assert np.array_equal(
        batch.info["AF"], [[0.5, math.nan], [math.nan, math.nan]], equal_nan=True
    )


def test_a_flag_is_a_boolean(tmp_path):
    batch, _ = read(write_info(tmp_path, "DB;DP=1", "DP=1", "DBX=1"), fields=["INFO/DB"])
    assert batch.info["DB"].tolist() == [True, False, False]


def test_text_is_that_of_the_file(tmp_path):
    batch, _ = read(write_info(tmp_path, "GENE=A%3B,B", "DP=1"), fields=["INFO/GENE"])
    assert batch.info["GENE"].to_list() == [b"A%3B,B", b"."]


def test_an_undeclared_field_has_the_type_of_the_specification(tmp_path):
    fields = ["INFO/AN", "INFO/XX"]
    batch, report = read(write_info(tmp_path, "AN=4;XX=7"), fields=fields)
    assert batch.info["AN"].tolist() == [[4]]
    assert batch.info["XX"].to_list() == [b"7"]
    assert report.oddities["undeclared_info"].count == 2


@pytest.mark.parametrize(
    ("kind", "info"),
    [
        ("repeated_info", "DP=3;DP=4"),
        ("info_without_value", "DP"),
        ("number_of_values", "DP=3,4"),
        ("number_of_values", "AF=0.5"),
    ],
)
def test_a_harmless_fault_of_info_is_counted(tmp_path, kind, info):
    _, report = read(write_info(tmp_path, info), fields=["INFO/DP", "INFO/AF"])
    assert {name: oddity.count for name, oddity in report.oddities.items()} == {kind: 1}


def test_all_values_are_read_if_the_header_declares_fewer(tmp_path):
    batch, _ = read(write_info(tmp_path, "DP=3,4"), fields=["INFO/DP"])
    assert batch.info["DP"].tolist() == [[3, 4]]


def test_a_value_of_another_type_is_an_error(tmp_path):
    with pytest.raises(FormatError, match=r'INFO/DP: expected an integer .* found "1.5"'):
        read(write_info(tmp_path, "DP=1.5"), fields=["INFO/DP"])


def test_genotypes_are_alleles_and_phase(tmp_path):
    path = write_samples(tmp_path, "GT 0|1 1/2 ./. 2|.", "GT 0|0 1|1 2/2 0/1")
    batch, _ = read(path, samples=True)
    assert batch.genotypes.dtype == np.int8
    assert batch.genotypes[0].tolist() == [[0, 1], [1, 2], [-1, -1], [2, -1]]
    assert batch.genotypes[1].tolist() == [[0, 0], [1, 1], [2, 2], [0, 1]]
    assert batch.phased.tolist() == [[True, False, False, True], [True, True, False, False]]


def test_places_above_the_ploidy_are_minus_two(tmp_path):
    batch, _ = read(write_samples(tmp_path, "GT 0|1 1", "GT 0/1/2 0|1"), samples=True)
    assert batch.genotypes.tolist() == [
        [[0, 1, -2], [1, -2, -2]],
        [[0, 1, 2], [0, 1, -2]],
    ]


def test_an_allele_number_above_127_makes_the_column_wider(tmp_path):
    alt = ",".join(f"A{'C' * count}" for count in range(1, 140))
    batch, _ = read(write_samples(tmp_path, "GT 0|1", "GT 0|138", alt=alt), samples=True)
    assert batch.genotypes.dtype == np.int16
    assert batch.genotypes[:, 0].tolist() == [[0, 1], [0, 138]]


def test_a_record_without_gt_has_missing_alleles(tmp_path):
    batch, _ = read(write_samples(tmp_path, "DS 0.5,1", "GT 0|1"), samples=True)
    assert batch.genotypes[:, 0].tolist() == [[-1, -1], [0, 1]]


@pytest.mark.parametrize("row", ["GT 0|0 0|1 1|1", "GT:DS 0|0:1 0|1:2 1|1:3"])
def test_chosen_samples_have_the_order_of_the_list(tmp_path, row):
    with open_variants(write_samples(tmp_path, row), samples=["s2", "s0"]) as reader:
        assert reader.samples == ["s2", "s0"]
        (batch,) = reader.batches()
    assert batch.genotypes[0].tolist() == [[1, 1], [0, 0]]


def test_trailing_values_of_a_sample_may_be_left_out(tmp_path):
    path = write_samples(tmp_path, "GT:AD:DS:FT 0|1:3,4,5:0.5,1:PASS 0|1:7 .")
    batch, _ = read(path, samples=True, fields=["FORMAT/AD", "FORMAT/DS", "FORMAT/FT"])
    missing = [MISSING] * 3
    ad = [[3, 4, 5], [7, MISSING, MISSING], missing]
    assert batch.format["AD"].tolist() == [ad]
    assert batch.format["DS"].shape == (1, 3, 2)
    assert batch.format["FT"].to_list() == [b"PASS", b".", b"."]
    assert batch.genotypes[0].tolist() == [[0, 1], [0, 1], [-1, -2]]


def test_no_samples_are_read_by_default(tmp_path):
    batch, _ = read(write_samples(tmp_path, "GT 0|1"))
    assert batch.genotypes is None
    assert batch.phased is None


def test_another_number_of_samples_is_an_error_with_its_line(tmp_path):
    path = write_samples(tmp_path, "GT 0|1 0|1", "GT 0|1")
    with open_variants(path, samples=True) as reader:
        batches = reader.batches()
        assert len(next(batches)) == 1
        with pytest.raises(FormatError, match=r"expected 2 columns of samples.*found 1"):
            next(batches)


def test_an_invalid_genotype_is_an_error_that_names_the_sample(tmp_path):
    with pytest.raises(
        FormatError, match=r'line 12.*sample 2: GT: expected .* found "0\+1"'
    ):
        read(write_samples(tmp_path, "GT 0|1 0+1"), samples=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": ["s9"]}, "the file has no sample"),
        ({"samples": "s0"}, "samples must be True, None or a list of names"),
        ({"fields": "INFO/AF"}, "fields must be a list of names"),
        ({"fields": ["AF"]}, "write INFO/NAME or FORMAT/NAME"),
        ({"fields": ["INFO/AF", "INFO/AF"]}, "more than once"),
        ({"fields": ["FORMAT/DS"]}, "FORMAT fields belong to samples"),
    ],
)
def test_an_invalid_choice_is_an_error(tmp_path, options, message):
    with pytest.raises(ArgumentError, match=message):
        open_variants(write_samples(tmp_path, "GT 0|1"), **options)


def random_row(generator):
    form = "GT" if generator.random() < 0.5 else "GT:DS:AD"
    row = [form]
    for _ in range(5):
        alleles = generator.choice(["0", "1", "2", "."], int(generator.integers(1, 3)))
        values = [generator.choice(["/", "|"]).join(alleles)]
        if form != "GT":
            numbers = generator.random(2).round(3)
            values += [",".join(str(float(number)) for number in numbers), "3,.,5"]
        row.append(":".join(values))
    return " ".join(row)


@NEEDS_BCFTOOLS
def test_genotypes_equal_those_of_bcftools(tmp_path):
    generator = np.random.default_rng(5)
    path = write_samples(tmp_path, *(random_row(generator) for _ in range(200)))
    batch, _ = read(path, samples=True)
    found = []
    for row, phased in zip(batch.genotypes.tolist(), batch.phased.tolist(), strict=True):
        texts = []
        for alleles, is_phased in zip(row, phased, strict=True):
            names = [
                "." if allele == -1 else str(allele) for allele in alleles if allele > -2
            ]
            texts.append(("|" if is_phased else "/").join(names))
        found.append(texts)
    assert found == [row[:-1] for row in query(path, "[%GT\\t]\\n")]


@NEEDS_BCFTOOLS
def test_fields_equal_those_of_bcftools(tmp_path):
    generator = np.random.default_rng(6)
    path = write_samples(tmp_path, *(random_row(generator) for _ in range(200)))
    batch, _ = read(path, samples=True, fields=["FORMAT/DS"])
    values = batch.format["DS"]
    expected = []
    for row in query(path, "[%DS\\t]\\n"):
        numbers = [text.split(",") if text != "." else ["nan"] * 2 for text in row[:5]]
        expected.append([[float(number) for number in pair] for pair in numbers])
    assert np.allclose(values, expected, rtol=1e-5, equal_nan=True)
