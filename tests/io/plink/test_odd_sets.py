"""Sets from other tools are read, with a warning if they may contain a mistake."""

import gzip
import threading
import time
import warnings
from typing import Any

import bed_reader
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import seqloom as sl
import seqloom.compat.bed_reader as bed_reader_names
from plink19 import needs_plink, run
from seqloom.errors import DataWarning, FormatError
from seqloom.io import genotype_stats, inspect_bed, open_bed, to_bed
from seqloom.io.plink import _file_set

PLINK_FILE_SUFFIXES = (".bed", ".fam", ".bim")


def some(individuals, variants, seed=0):
    """Random genotypes; no individual has equal genotypes in all variants."""
    rng = np.random.default_rng(seed)
    return rng.choice(np.array([0, 1, 2, -127], "int8"), (individuals, variants))


def fill_up(path, individuals, codes):
    """Write codes into the padding bits of each row."""
    content, stride = bytearray(path.read_bytes()), -(-individuals // 4)
    used = individuals % 4
    for line, code in enumerate(codes):
        filler = sum(code << 2 * place for place in range(used, 4))
        content[3 + stride * (line + 1) - 1] |= filler
    path.write_bytes(content)
    return path


BED_READ_FUNCTIONS = {
    "all": lambda bed: bed.read(dtype="int8"),
    "a part": lambda bed: bed.read(np.s_[:, 2], dtype="int8"),
    "statistics": genotype_stats,
    "inspect": inspect_bed,
    "a dataset": lambda bed: sl.data.GenotypeDataset(bed, labels=False)[0],
}


@pytest.mark.parametrize("read", BED_READ_FUNCTIONS.values(), ids=BED_READ_FUNCTIONS)
@pytest.mark.parametrize("code", [1, 2, 3])
@pytest.mark.parametrize("individuals", [5, 6, 7])
def test_equal_padding_codes_in_all_bed_rows_cause_a_warning(
    tmp_path, read, code, individuals
):
    values = some(individuals, 20)
    to_bed(tmp_path / "x.bed", values)
    fill_up(tmp_path / "x.bed", individuals, [code] * 20)
    with pytest.warns(UserWarning, match=f"after the last .* the bits are {code:02b}"):
        read(open_bed(tmp_path / "x.bed"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = open_bed(tmp_path / "x.bed").read(dtype="int8")
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("read", BED_READ_FUNCTIONS.values(), ids=BED_READ_FUNCTIONS)
def test_different_nonzero_padding_bits_in_a_bed_are_an_error(tmp_path, read):
    to_bed(tmp_path / "x.bed", some(5, 20))
    fill_up(tmp_path / "x.bed", 5, [3] * 19 + [2])
    with pytest.raises(FormatError, match=r"\.fam is (too )?short|holds more|too short"):
        read(open_bed(tmp_path / "x.bed"))


def test_a_padding_warning_is_issued_once_for_each_open_bed(tmp_path):
    to_bed(tmp_path / "x.bed", some(5, 20))
    bed = open_bed(fill_up(tmp_path / "x.bed", 5, [1] * 20))
    with pytest.warns(UserWarning, match="after the last"):
        bed.read()
    bed.read(np.s_[:, 3])


@pytest.mark.parametrize("major", ["SNP", "individual"])
@settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 90)),
    seed=st.integers(0, 9),
    constant=st.sampled_from([None, 0, 1, 2, -127]),
    last=st.integers(1, 4),
)
def test_a_bed_of_any_size_is_read_back(tmp_path, major, shape, seed, constant, last):
    values = some(shape[0], shape[1], seed)
    if constant is not None:
        values[-last:] = constant
        values[:, -last:] = constant
    to_bed(tmp_path / "x.bed", values, major=major)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*homozygous A1 in all")
        found = open_bed(tmp_path / "x.bed").read(dtype="int8")
        np.testing.assert_array_equal(found, values)
        inspect_bed(tmp_path / "x.bed")
        genotype_stats(tmp_path / "x.bed")


def test_phenotypes_after_the_sixth_column_are_ignored(tmp_path):
    to_bed(tmp_path / "x.bed", some(4, 3))
    rows = [f"f{n} i{n} 0 0 1 {n}.5 7 {n}e3\n" for n in range(4)]
    (tmp_path / "x.fam").write_text("".join(rows))
    bed = open_bed(tmp_path / "x.bed")
    assert bed.pheno.tolist() == ["0.5", "1.5", "2.5", "3.5"]
    assert bed.iid.tolist() == bed_reader.open_bed(tmp_path / "x.bed").iid.tolist()
    data = sl.data.GenotypeDataset(tmp_path / "x.bed")
    assert [float(data[n]["label"]) for n in range(4)] == [0.5, 1.5, 2.5, 3.5]


def test_fam_lines_with_different_numbers_of_columns_are_an_error(tmp_path):
    to_bed(tmp_path / "x.bed", some(2, 3))
    (tmp_path / "x.fam").write_text("f a 0 0 1 1 2\nf b 0 0 1 1\n")
    with pytest.raises(FormatError, match=r"line 2.*expected 7 columns, as in line 1"):
        _ = open_bed(tmp_path / "x.bed").iid


def gzipped(path):
    """Compress a file and remove it."""
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return packed


def test_gzipped_fam_and_bim_files_can_be_read(tmp_path):
    values = some(6, 9)
    to_bed(tmp_path / "x.bed", values, {"iid": list("abcdef"), "pheno": list("123456")})
    for suffix in PLINK_FILE_SUFFIXES[1:]:
        gzipped(tmp_path / f"x{suffix}")
    bed = open_bed(tmp_path / "x.bed")
    assert (bed.shape, [*bed.iid]) == ((6, 9), [*"abcdef"])
    np.testing.assert_array_equal(bed.read(dtype="int8"), values)
    assert inspect_bed(tmp_path / "x.bed").variants == 9
    data = sl.data.GenotypeDataset(tmp_path / "x.bed")
    assert [int(data[n]["label"]) for n in range(6)] == [1, 2, 3, 4, 5, 6]


def test_the_path_of_a_gzipped_fam_or_bim_can_be_given(tmp_path):
    to_bed(tmp_path / "x.bed", some(6, 9))
    named = gzipped(tmp_path / "x.fam").rename(tmp_path / "people")
    assert open_bed(tmp_path / "x.bed", fam_location=named).iid_count == 6


def test_a_truncated_gzipped_fam_or_bim_is_an_error(tmp_path):
    to_bed(tmp_path / "x.bed", some(6, 9))
    packed = gzipped(tmp_path / "x.fam")
    packed.write_bytes(packed.read_bytes()[:-5])
    with pytest.raises(FormatError, match=r"x\.fam\.gz: gzip: "):
        _ = open_bed(tmp_path / "x.bed").iid


untyped: Any = sl  # users' calls are not type-checked

INVALID_PATH_CALLS = {
    "several sets": lambda: untyped.data.GenotypeDataset(["a.bed", "b.bed"]),
    "an array": lambda: untyped.data.GenotypeDataset(np.zeros((2, 3))),
    "a table's number": lambda: untyped.data.GenotypeDataset("a.bed", fam=3),
    "several genomes": lambda: untyped.io.SequenceIndex(["a.fa"]),
    "several files": lambda: untyped.io.inspect(["a.fa"]),
    "no path": lambda: untyped.io.write_sequences(None, []),
    "no records": lambda: untyped.io.write_sequences("a.fa", 5),
    "names alone": lambda: untyped.io.open_bed("a.bed", properties=["iid"]),
    "rows of two lengths": lambda: untyped.io.to_bed("a.bed", [[0], [0, 1]]),
    "no cache": lambda: untyped.data.cached(None, 3),
}


@pytest.mark.parametrize("call", INVALID_PATH_CALLS.values(), ids=INVALID_PATH_CALLS)
def test_a_bed_path_of_a_wrong_type_is_an_error_of_one_sentence(call):
    with pytest.raises(
        sl.errors.ArgumentError, match=r"must be|expected|only datasets of sequences"
    ):
        call()


def write_set(folder, shape, alleles=("A", "G")):
    """Write a set like PLINK, with the alleles of a genotyping chip."""
    first, second = ([allele] * shape[1] for allele in alleles)
    columns = {"allele_1": first, "allele_2": second, "sex": [1, 2] * (shape[0] // 2)}
    to_bed(folder / "x.bed", some(*shape), columns)
    return folder / "x.bed"


def exchange(path):
    """Exchange the tables."""
    fam, bim = path.with_suffix(".fam"), path.with_suffix(".bim")
    texts = fam.read_bytes(), bim.read_bytes()
    fam.write_bytes(texts[1]), bim.write_bytes(texts[0])


@pytest.mark.parametrize("read", BED_READ_FUNCTIONS.values(), ids=BED_READ_FUNCTIONS)
@pytest.mark.parametrize("shape", [(6, 6), (8, 20)])
def test_a_fam_named_bim_and_a_bim_named_fam_are_an_error(tmp_path, read, shape):
    path = write_set(tmp_path, shape)
    exchange(path)
    with pytest.raises(
        FormatError, match=r"x.fam: the tables are exchanged: .*x.bim lists"
    ):
        read(open_bed(path))


def test_exchanged_arguments_for_fam_and_bim_are_an_error(tmp_path):
    path = write_set(tmp_path, (6, 6))
    tables = path.with_suffix(".bim"), path.with_suffix(".fam")
    with pytest.raises(FormatError, match="the tables are exchanged"):
        _ = open_bed(path, fam_location=tables[0], bim_location=tables[1]).shape


@pytest.mark.parametrize("alleles", [("1", "2"), ("0", "A"), ("A", "0"), ("<DEL>", "AC")])
def test_tables_with_numeric_alleles_are_not_mistaken_for_exchanged_ones(tmp_path, alleles):
    bed = open_bed(write_set(tmp_path, (6, 6), alleles))
    np.testing.assert_array_equal(bed.read(dtype="int8"), some(6, 6))
    assert (bed.sex == [1, 2] * 3).all()


def test_exchanged_fam_and_bim_with_numeric_alleles_are_not_detected(tmp_path):
    path = write_set(tmp_path, (6, 6), ("1", "2"))
    exchange(path)
    bed = open_bed(path)
    assert [*bed.iid] == [f"sid{i}" for i in range(1, 7)]
    assert bed.read(dtype="int8").shape == (6, 6)


EXAMPLE_FAM = "f0 s0 0 0 1 1\nf1 s1 0 0 2 2\nf2 s2 0 0 1 3\n"
EXAMPLE_BIM = "1\trs0\t0\t1\tA\tG\n1\trs1\t0\t2\tA\tG\n"
# A byte stores four genotypes, so each row of three individuals or of two variants has
# padding.
BED_ROWS_OF_LAYOUT = {1: b"\x38\x0e", 0: b"\x08\x0e\x03"}
TABLE_HEADERS = {
    "PLINK 1's names": ("fam", "FID IID PAT MAT SEX PHENOTYPE\n"),
    "PLINK 2's names": ("fam", "#FID IID PAT MAT SEX PHENO1\n"),
    "bed_reader's names": ("fam", "fid iid father mother sex pheno\n"),
    "another order": ("fam", '"IID" "FID" "SEX" "PAT" "MAT" "y"\n'),
    "names of R": ("fam", '"V1" "V2" "V3" "V4" "V5" "V6"\n'),
    "names of pandas": ("fam", "0 1 2 3 4 5\n"),
    "a comment": ("fam", "# made by a pipeline of ours\n"),
    "a byte order mark": ("fam", "\ufeffFID IID PAT MAT SEX PHENOTYPE\n"),
    "PLINK 2's names of variants": ("bim", "#CHROM ID CM POS ALT REF\n"),
    "bed_reader's names of variants": (
        "bim",
        "chromosome\tsid\tcm_position\tbp_position\tallele_1\tallele_2\n",
    ),
    "five columns": ("bim", "CHR SNP BP A1 A2\n"),
    "a comment on variants": ("bim", "# build 37, not 38 !\n"),
}


def three_people(folder, major=1):
    """Write a PLINK set from the bytes of its files."""
    (folder / "h.fam").write_text(EXAMPLE_FAM)
    (folder / "h.bim").write_text(EXAMPLE_BIM)
    (folder / "h.bed").write_bytes(b"\x6c\x1b" + bytes([major]) + BED_ROWS_OF_LAYOUT[major])
    return folder / "h.bed"


TABLE_READ_FUNCTIONS = {
    **BED_READ_FUNCTIONS,
    "the shape": lambda bed: bed.shape,
    "the ids": lambda bed: (bed.iid, bed.sid),
    "bed_reader's names": lambda bed: bed_reader_names.open_bed(bed.location).read(),
}


@pytest.mark.parametrize("read", TABLE_READ_FUNCTIONS.values(), ids=TABLE_READ_FUNCTIONS)
@pytest.mark.parametrize(("suffix", "line"), TABLE_HEADERS.values(), ids=TABLE_HEADERS)
def test_a_header_line_in_a_fam_or_bim_is_an_error(tmp_path, suffix, line, read):
    path = three_people(tmp_path)
    table = path.with_suffix(f".{suffix}")
    table.write_text(line + table.read_text())
    with pytest.raises(FormatError, match=rf"h\.{suffix}: line 1 is a .*delete this line"):
        read(open_bed(path))


@pytest.mark.parametrize("major", [1, 0])
@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("key", ["PLINK 1's names", "five columns"])
def test_a_header_in_a_compressed_fam_or_bim_is_an_error(tmp_path, key, pack, major):
    path, (suffix, line) = three_people(tmp_path, major), TABLE_HEADERS[key]
    table = path.with_suffix(f".{suffix}")
    table.write_text(line + table.read_text())
    if pack:
        gzipped(table)
    with pytest.raises(FormatError, match=rf"h\.{suffix}.*: line 1 is a header"):
        open_bed(path).read()


@pytest.mark.parametrize("name", ["shape", "iid"])
@pytest.mark.parametrize("rows", [3, 100_000])
def test_a_comment_after_rows_of_a_fam_is_an_error_with_its_line(tmp_path, name, rows):
    path = three_people(tmp_path)
    text = "f0 s0 0 0 1 1\n" * rows + "# the last ones are new\n" + EXAMPLE_FAM
    path.with_suffix(".fam").write_text(text)
    with pytest.raises(FormatError, match=rf"h\.fam: line {rows + 1} is a comment"):
        getattr(open_bed(path), name)


def test_a_family_id_may_begin_with_a_hash(tmp_path):
    path = three_people(tmp_path)
    path.with_suffix(".fam").write_text(EXAMPLE_FAM.replace("f1", "#f1"))
    assert open_bed(path).fid.tolist() == ["f0", "#f1", "f2"]


@pytest.mark.parametrize(
    ("text", "code"),
    [("M", 1), ("F", 2), ("m", 1), ("f", 2), ("1", 1), ("2", 2), ("0", 0), ("1.0", 1)],
)
def test_m_and_f_in_a_fam_mean_sex_1_and_2(tmp_path, text, code):
    path = three_people(tmp_path)
    path.with_suffix(".fam").write_text(EXAMPLE_FAM.replace("0 0 2", f"0 0 {text}"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert open_bed(path).sex.tolist() == [1, code, 1]


@pytest.mark.parametrize("text", ["other", "NA", "U", "1.5", "99999999999", "Male"])
def test_an_invalid_sex_in_a_fam_is_unknown_with_a_warning(tmp_path, text):
    path = three_people(tmp_path)
    path.with_suffix(".fam").write_text(EXAMPLE_FAM.replace("0 0 1", f"0 0 {text}"))
    with pytest.warns(
        DataWarning, match=rf"h\.fam: the sex of 2 individuals is '{text}' .* unknown"
    ) as caught:
        summary = inspect_bed(path)
    assert (summary.male, summary.female, summary.unknown_sex) == (0, 1, 2)
    assert [it.filename for it in caught] == [__file__]


@needs_plink
def test_fam_sexes_that_plink_reads_as_unknown_are_unknown(tmp_path):
    path = three_people(tmp_path)
    path.with_suffix(".fam").write_text("f a 0 0 other 1\nf b 0 0 NA 1\nf c 0 0 2 1\n")
    run(path, tmp_path / "plink", "--make-just-fam")
    lines = (tmp_path / "plink.fam").read_text().splitlines()
    theirs = [line.split()[4] for line in lines]
    with pytest.warns(DataWarning, match="2 individuals"):
        assert np.asarray(open_bed(path).sex).astype(str).tolist() == theirs


def test_a_reader_waits_while_a_bed_is_being_replaced(tmp_path):
    """Wait for 0.1 s."""
    bed, away, found = tmp_path / "x.bed", tmp_path / "away", []
    to_bed(bed, some(5, 7))
    wanted = open_bed(bed).read(dtype="int8").tolist()
    reader = threading.Thread(
        target=lambda: found.append(open_bed(bed).read(dtype="int8").tolist())
    )
    with _file_set.block_set_writers(bed):
        bed.rename(away)
        reader.start()
        time.sleep(0.1)
        away.rename(bed)
    reader.join()
    assert found == [wanted]
