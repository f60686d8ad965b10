import json
import re
import subprocess
import sys
from typing import Any

import bed_reader
import numpy as np
import pytest

from plink19 import needs_plink, run, table
from seqloom.errors import FormatError
from seqloom.io import genotype_stats, inspect, open_bed

EXPECTED_COUNTS = (41, 240)


def seqloom(*words):
    """Run the command in a new process."""
    command = [sys.executable, "-m", "seqloom", "bed", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    """A random PLINK set with both sexes and all types of chromosomes."""
    rng, path = np.random.default_rng(11), tmp_path_factory.mktemp("bed") / "x.bed"
    values = rng.binomial(
        2, rng.uniform(0, 0.6, EXPECTED_COUNTS[1]), EXPECTED_COUNTS
    ).astype("int8")
    values[rng.random(EXPECTED_COUNTS) < rng.uniform(0, 0.2, EXPECTED_COUNTS[1])] = -127
    properties: dict[str, Any] = {
        "fid": [f"f{number // 2}" for number in range(EXPECTED_COUNTS[0])],
        "iid": [f"i{number}" for number in range(EXPECTED_COUNTS[0])],
        "sex": rng.choice([0, 1, 2], EXPECTED_COUNTS[0]),
        "pheno": rng.choice(["1.5", "-9"], EXPECTED_COUNTS[0]),
        "chromosome": np.repeat(["1", "2", "X", "Y"], EXPECTED_COUNTS[1] // 4),
        "bp_position": np.arange(EXPECTED_COUNTS[1]),
        "allele_1": ["A"] * EXPECTED_COUNTS[1],
        "allele_2": ["C"] * EXPECTED_COUNTS[1],
    }
    bed_reader.to_bed(path, values, properties=properties)
    return path


def lines(path, rows):
    """Write a file of ids."""
    path.write_text("".join(f"{row}\n" for row in rows))
    return path


def read(path):
    """Read a PLINK set with bed_reader: the values and the columns of the tables."""
    with bed_reader.open_bed(path) as bed:
        return bed.read(dtype="int8"), {name: list(v) for name, v in bed.properties.items()}


def test_bed_inspect_prints_a_summary_of_the_set(bed):
    said = seqloom("inspect", bed)
    facts = dict(line.split(maxsplit=1) for line in said.stdout.splitlines())
    assert facts["chromosomes"].strip() == "1: 60, 2: 60, X: 60, Y: 60"
    assert facts["layout"].strip() == "each line is a variant (SNP-major)"
    assert facts["individuals"].strip() == "41, 41 of them founders"


def test_bed_inspect_prints_json(bed, call):
    told = json.loads(seqloom("inspect", bed, "--json").stdout)
    _, columns = read(bed)
    assert told["male"] == columns["sex"].count(1)
    assert told["missing_phenotypes"] == columns["pheno"].count("-9")
    assert json.loads(call("inspect", bed, "--json").out) == told


def test_bed_inspect_of_sequences_names_the_right_command(bed):
    with pytest.raises(FormatError, match=r"PLINK \.bed") as raised:
        inspect(bed)
    assert "inspect_bed" in raised.value.__notes__[0]


def test_inspecting_a_truncated_bed_is_an_error(bed, tmp_path):
    for suffix in (".fam", ".bim"):
        (tmp_path / f"cut{suffix}").write_bytes(bed.with_suffix(suffix).read_bytes())
    (tmp_path / "cut.bed").write_bytes(bed.read_bytes()[:-1])
    for words in (("inspect",), ("stats",), ("subset", tmp_path / "y.bed")):
        said = seqloom(words[0], tmp_path / "cut.bed", *words[1:])
        assert said.returncode == 2
        assert said.stderr.startswith(f"error: {tmp_path / 'cut.bed'}: expected")
    assert not list(tmp_path.glob("y.*"))


def test_bed_stats_writes_a_table_and_a_plot(bed, tmp_path):
    out, plot = tmp_path / "x.tsv", tmp_path / "x.svg"
    said = seqloom("stats", bed, "--out", out, "--plot", plot, "--threads", 1)
    assert said.stdout.startswith("genotypes        41 individuals x 240 variants")
    heading, *rows = [line.split("\t") for line in out.read_text().splitlines()]
    het = [int(row[heading.index("het")]) for row in rows]
    assert het == genotype_stats(bed).het.tolist()
    assert plot.read_text().startswith("<svg")
    again = seqloom("stats", bed, "--out", out)
    assert (again.returncode, "--overwrite" in again.stderr) == (2, True)


@needs_plink
def test_individuals_are_filtered_like_plink(bed, tmp_path, call):
    _, columns = read(bed)
    pairs = list(zip(columns["fid"], columns["iid"], strict=True))
    keep = lines(tmp_path / "keep", (f"{fid} {iid} x" for fid, iid in pairs[::2]))
    remove = lines(tmp_path / "remove", (f"{fid}\t{iid}" for fid, iid in pairs[:5]))
    extract = lines(tmp_path / "extract", columns["sid"][10:200])
    exclude = lines(tmp_path / "exclude", columns["sid"][::7])
    words = ("--keep", keep, "--remove", remove, "--extract", extract, "--exclude", exclude)
    run(bed, tmp_path / "plink", *words, "--make-bed")
    said = call("bed", "subset", bed, tmp_path / "ours.bed", *words)
    assert said.out == "individuals 18 of 41\nvariants    163 of 240\n"
    assert (tmp_path / "ours.bed").read_bytes() == (tmp_path / "plink.bed").read_bytes()
    ours, theirs = read(tmp_path / "ours.bed")[1], read(tmp_path / "plink.bed")[1]
    for name in ours.keys() - {"chromosome"}:  # PLINK writes chromosome X as 23
        assert ours[name] == theirs[name]


@needs_plink
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (("--maf", 0.1), ("--maf", 0.1)),
        (("--max-missing", 0.1), ("--geno", 0.1)),
        (("--hwe", 0.3), ("--hwe", 0.3)),
        (("--chromosome", "2", "X"), ("--chr", "2,X")),
        (
            ("--maf", 0.05, "--max-missing", 0.15, "--hwe", 0.01, "--chromosome", "1"),
            ("--maf", 0.05, "--geno", 0.15, "--hwe", 0.01, "--chr", "1"),
        ),
    ],
)
def test_variants_are_filtered_like_plink(bed, tmp_path, ours, theirs, call):
    run(bed, tmp_path / "plink", *theirs, "--make-bed")
    assert call("bed", "subset", bed, tmp_path / "ours.bed", *ours).code == 0
    assert read(tmp_path / "ours.bed")[1]["sid"] == read(tmp_path / "plink.bed")[1]["sid"]


def test_a_sample_list_with_one_column_contains_individual_ids(bed, tmp_path, call):
    keep = lines(tmp_path / "keep", ["i3", "i40", "nobody"])
    said = call("bed", "subset", bed, tmp_path / "y.bed", "--keep", keep)
    assert said.out.endswith(f"note: 1 ids of {keep} are not in the set: nobody\n")
    values, columns = read(tmp_path / "y.bed")
    assert columns["iid"] == ["i3", "i40"]
    np.testing.assert_array_equal(values, read(bed)[0][[3, 40]])


def test_a_filter_that_keeps_no_sample_or_variant_is_an_error(bed, tmp_path, call):
    said = call("bed", "subset", bed, tmp_path / "y.bed", "--chromosome", "7")
    assert (said.code, said.err[:27]) == (2, "error: no variant passes th")
    assert not list(tmp_path.iterdir())


def test_the_error_for_unknown_sample_or_variant_ids_names_them(bed, tmp_path, call):
    keep = lines(tmp_path / "keep.txt", ["nobody"])
    said = call("bed", "subset", bed, tmp_path / "y.bed", "--keep", keep)
    assert said.code == 2
    assert said.err.endswith(f"note: 1 ids of {keep} are not in the set: nobody\n")


def test_a_missing_output_folder_is_an_error_before_any_counting(bed, tmp_path, call):
    for words in (
        ("stats", bed, "--out", tmp_path / "no/y.tsv"),
        ("convert", bed, tmp_path / "no/y.raw"),
        ("subset", bed, tmp_path / "no/y.bed"),
    ):
        said = call("bed", *words)
        assert (said.code, said.out) == (2, "")
        assert f"the folder {tmp_path / 'no'} does not exist" in said.err


def test_the_table_and_the_plot_must_have_different_file_names(bed, tmp_path, call):
    said = call(
        "bed", "stats", bed, "--out", tmp_path / "y.svg", "--plot", tmp_path / "y.svg"
    )
    assert (said.code, "give two names" in said.err) == (2, True)
    assert not list(tmp_path.iterdir())


def test_bed_commands_never_overwrite_their_input_files(bed, tmp_path, call):
    for words in (
        ("subset", bed, bed),
        ("convert", bed, bed),
        ("stats", bed, "--out", bed),
    ):
        said = call("bed", *words, "--overwrite")
        assert (said.code, "is both read and written" in said.err) == (2, True)
    (tmp_path / "y.fam").write_text("mine\n")
    said = call("bed", "convert", bed, tmp_path / "y.bed")
    assert said.err.startswith(f"error: {tmp_path / 'y.fam'}: already exists")


def test_converting_the_layout_of_a_bed_twice_restores_the_file(bed, tmp_path, call):
    turned, back = tmp_path / "turned.bed", tmp_path / "back.bed"
    assert call("bed", "convert", bed, turned).code == 0
    assert bed_reader.open_bed(turned).major == "individual"
    np.testing.assert_array_equal(read(turned)[0], read(bed)[0])
    call("bed", "convert", turned, back)
    assert back.read_bytes() == bed.read_bytes()
    assert read(back)[1] == read(bed)[1]


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_exported_arrays_equal_those_of_bed_reader(bed, tmp_path, dtype, call):
    values = bed_reader.open_bed(bed).read(dtype=dtype)
    for name in ("y.npy", "y.npz"):
        call("bed", "convert", bed, tmp_path / name, "--dtype", dtype)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), values)
    with np.load(tmp_path / "y.npz") as found:
        np.testing.assert_array_equal(found["genotypes"], values)
        assert found["iid"].tolist() == read(bed)[1]["iid"]


@needs_plink
def test_an_exported_raw_file_equals_that_of_plink(bed, tmp_path, call):
    run(bed, tmp_path / "plink", "--recode", "A")
    assert call("bed", "convert", bed, tmp_path / "ours.raw").code == 0
    ours, theirs = table(tmp_path / "ours", "raw"), table(tmp_path / "plink", "raw")
    assert list(ours) == list(theirs)
    for name in ours:
        assert list(ours[name]) == list(theirs[name])


PHENOTYPE_COLUMNS = {
    "states": ["0", "-9", "1", "2", "NA", "x"],
    "values": ["0", "-9", "1.5", "2", "NA", "."],
    "one state": ["0", "0", "1", "1", "0", "-9"],
    "nobody's": ["0", "-9", "NA", "0", "0", "0"],
    "zero among numbers": ["0", "3", "3", "-9.5", "0", "2"],
}


@needs_plink
@pytest.mark.parametrize("phenotypes", PHENOTYPE_COLUMNS.values(), ids=PHENOTYPE_COLUMNS)
def test_missing_phenotypes_and_sexes_are_written_like_plink(tmp_path, phenotypes, call):
    path = tmp_path / "x.bed"
    properties = {"pheno": phenotypes, "sex": [0, 1, 2, 3, -9, 1]}
    bed_reader.to_bed(path, np.zeros((6, 2), "int8"), properties=properties)
    run(path, tmp_path / "plink", "--recode", "A")
    assert call("bed", "convert", path, tmp_path / "ours.raw").code == 0
    ours, theirs = table(tmp_path / "ours", "raw"), table(tmp_path / "plink", "raw")
    for name in ("SEX", "PHENOTYPE"):
        assert list(ours[name]) == list(theirs[name])


def test_a_phenotype_with_a_decimal_comma_is_an_error(tmp_path, call):
    path = tmp_path / "x.bed"
    bed_reader.to_bed(path, np.zeros((2, 1), "int8"), properties={"pheno": ["1,25", "2"]})
    said = call("bed", "convert", path, tmp_path / "x.raw")
    assert (said.code, "the phenotype 1,25 is not a number" in said.err) == (2, True)
    assert not (tmp_path / "x.raw").exists()


def test_exported_genotypes_in_tsv_have_one_line_for_each_individual(bed, tmp_path, call):
    call("bed", "convert", bed, tmp_path / "y.tsv")
    heading, *rows = [
        line.split("\t") for line in (tmp_path / "y.tsv").read_text().splitlines()
    ]
    assert heading[:3] == ["FID", "IID", "sid1"]
    values = [[-127 if word == "NA" else int(word) for word in row[2:]] for row in rows]
    np.testing.assert_array_equal(values, read(bed)[0])


def test_an_output_name_without_a_known_format_is_an_error(bed, tmp_path, call):
    said = call("bed", "convert", bed, tmp_path / "y.vcf")
    assert (said.code, ".npz, .raw, .tsv" in said.err) == (2, True)
    assert call("bed", "stats").err.endswith("seqloom bed stats --help lists the options\n")


def odd_bed(folder):
    """A PLINK set with different padding codes."""
    values = np.random.default_rng(0).integers(0, 3, (5, 20)).astype("int8")
    bed_reader.to_bed(folder / "x.bed", values)
    content = bytearray((folder / "x.bed").read_bytes())
    content[4::2] = [
        byte | (0x54 if line else 0xFC) for line, byte in enumerate(content[4::2])
    ]
    (folder / "x.bed").write_bytes(content)
    return folder / "x.bed"


@pytest.mark.parametrize("words", ["inspect", "stats", "convert y.npy", "subset y.bed"])
def test_the_check_of_the_padding_bits_of_a_bed_can_be_skipped(tmp_path, call, words):
    command, *target = words.split()
    place = [tmp_path / name for name in target]
    bed = odd_bed(tmp_path)
    said = call("bed", command, bed, *place)
    assert (said.code, "--skip-format-check" in said.err) == (2, True)
    assert call("bed", command, bed, *place, "--skip-format-check").code == 0


@pytest.mark.parametrize("words", ["inspect", "stats", "convert y.npy", "subset y.bed"])
def test_a_warning_is_printed_in_one_line_without_a_source_location(tmp_path, words):
    bed_reader.to_bed(tmp_path / "x.bed", np.resize([[0], [1], [2], [1], [2]], (5, 20)))
    content = bytearray((tmp_path / "x.bed").read_bytes())
    content[4::2] = [byte | 0x54 for byte in content[4::2]]
    (tmp_path / "x.bed").write_bytes(content)
    command, *target = words.split()
    said = seqloom(command, tmp_path / "x.bed", *(tmp_path / name for name in target))
    assert said.returncode == 0
    assert re.match(r"warning: .*x\.bed: after the last of 5 individuals", said.stderr)
    assert ".py" not in said.stderr


@pytest.mark.parametrize("header", ["#FID IID", "FID\tIID\tSID", "#IID FID", "iid"])
def test_a_list_of_sample_ids_may_have_a_header_line(bed, tmp_path, call, header):
    _, columns = read(bed)
    ids = {"FID": columns["fid"], "IID": columns["iid"], "SID": ["x"] * 3}
    names = header.lstrip("#").upper().split()
    rows = [" ".join(ids[name][row] for name in names) for row in range(3)]
    keep = lines(tmp_path / "keep", [header, *rows])
    said = call("bed", "subset", bed, tmp_path / "y.bed", "--keep", keep)
    assert (said.code, "not in the set" in said.out) == (0, False)
    assert open_bed(tmp_path / "y.bed").iid.tolist() == columns["iid"][:3]


@pytest.mark.parametrize("option", ["--keep", "--remove", "--extract", "--exclude"])
def test_a_byte_order_mark_is_not_part_of_an_id(bed, tmp_path, call, option):
    _, columns = read(bed)
    is_variant = option in {"--extract", "--exclude"}
    first = columns["sid"][0] if is_variant else f"{columns['fid'][0]} {columns['iid'][0]}"
    (tmp_path / "ids").write_bytes(b"\xef\xbb\xbf" + first.encode() + b"\n")
    assert (
        call("bed", "subset", bed, tmp_path / "y.bed", option, tmp_path / "ids").code == 0
    )
    left = open_bed(tmp_path / "y.bed").shape[is_variant]
    whole = len(columns["sid" if is_variant else "iid"])
    assert left == (1 if option in {"--keep", "--extract"} else whole - 1)
