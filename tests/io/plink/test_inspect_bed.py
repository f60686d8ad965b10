import bed_reader
import numpy as np
import pytest

from seqloom.errors import FormatError, MissingFileError
from seqloom.io import inspect_bed, open_bed


def write_set(path, shape, *, major="SNP", **properties):
    """Write a PLINK set in which all genotypes are heterozygous."""
    values = np.ones(shape, "int8")
    bed_reader.to_bed(path, values, properties=properties, major=major)
    return path


@pytest.mark.parametrize("major", ["SNP", "individual"])
def test_inspect_bed_counts_the_contents_of_fam_and_bim(tmp_path, major):
    bed = write_set(
        tmp_path / "x.bed",
        (5, 4),
        major=major,
        fid=["a", "a", "b", "a", "c"],
        iid=["1", "2", "1", "1", "1"],
        sex=[1, 1, 2, 0, 5],
        father=["0", "p", "0", "0", "0"],
        mother=["0", "0", "m", "0", "0"],
        pheno=["-9", "1", "NA", "1", "2"],
        chromosome=["1", "1", "X", "1"],
        sid=["s", "s", "t", "s"],
    )
    found = inspect_bed(bed)
    assert (found.major, found.individuals, found.variants) == (major, 5, 4)
    assert (found.male, found.female, found.unknown_sex) == (2, 1, 2)
    assert (found.founders, found.same_iid, found.same_sid) == (3, 1, 2)
    assert found.phenotypes == {"1": 2, "-9": 1, "NA": 1, "2": 1}
    assert found.missing_phenotypes == 2
    assert found.chromosomes == {"1": 3, "X": 1}
    assert found.file_bytes == bed.stat().st_size


def test_inspect_bed_counts_hidden_fam_columns_as_unknown(tmp_path):
    bed = write_set(tmp_path / "x.bed", (3, 2))
    hidden = dict.fromkeys(("sex", "father", "mother", "pheno", "chromosome", "sid", "fid"))
    found = inspect_bed(open_bed(bed, properties=hidden | {"iid": None}))
    assert (found.unknown_sex, found.founders, found.same_iid) == (3, 3, 0)
    assert (found.phenotypes, found.chromosomes) == ({}, {})


def test_a_fam_with_too_few_rows_is_an_error_even_if_the_bed_size_fits(tmp_path):
    bed = write_set(tmp_path / "x.bed", (6, 64))
    lines = [f"f i{number} 0 0 0 0\n" for number in range(5)]
    bed.with_suffix(".fam").write_text("".join(lines))
    with pytest.raises(FormatError, match=r"\.fam is too short"):
        inspect_bed(bed)


@pytest.mark.parametrize("individuals", [7, 8])
def test_a_fam_that_may_have_too_many_rows_causes_a_warning(tmp_path, individuals):
    # The same bytes could encode individuals who are homozygous A1 for every variant.
    bed = write_set(tmp_path / "x.bed", (6, 64))
    lines = [f"f i{number} 0 0 0 0\n" for number in range(individuals)]
    bed.with_suffix(".fam").write_text("".join(lines))
    with pytest.warns(UserWarning, match=r"\.fam is too long"):
        inspect_bed(bed)


def test_the_error_for_a_missing_fam_or_bim_names_the_file(tmp_path):
    bed = write_set(tmp_path / "x.bed", (3, 2))
    bed.with_suffix(".bim").unlink()
    with pytest.raises(MissingFileError, match=r"x\.bim"):
        inspect_bed(bed)
