import os
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError


def test_a_genotype_dataset_accepts_an_open_bed(write_bed, cache):
    path = write_bed(30, 20).path
    with sl.io.open_bed(path) as bed:
        data = sl.data.GenotypeDataset(bed, cache=cache)
    expected = sl.data.GenotypeDataset(path, cache=cache)
    np.testing.assert_array_equal(data.to_numpy()["inputs"], expected.to_numpy()["inputs"])


def test_an_open_bed_may_have_fam_and_bim_in_other_folders(write_bed, cache, tmp_path):
    path = write_bed(30, 20).path
    fam = path.with_suffix(".fam").rename(tmp_path / "people.txt")
    bed = sl.io.open_bed(path, fam_location=fam)
    assert len(sl.data.GenotypeDataset(bed, cache=cache)) == 30


def test_a_genotype_dataset_rejects_a_bed_with_replaced_properties(write_bed):
    bed = sl.io.open_bed(write_bed(2, 3).path, properties={"iid": ["a", "b"]})
    with pytest.raises(ArgumentError, match=r"other properties \(iid\)"):
        sl.data.GenotypeDataset(bed)


def test_a_genotype_dataset_rejects_a_bed_that_counts_allele_2(write_bed):
    bed = sl.io.open_bed(write_bed(2, 3).path, count_A1=False)
    with pytest.raises(ArgumentError, match="pass GenotypeDataset"):
        sl.data.GenotypeDataset(bed)


@pytest.mark.parametrize("opened", [False, True])
def test_a_genotype_dataset_rejects_a_url_with_a_remedy(opened):
    url = "http://localhost:1/a.bed"
    bed = sl.io.open_bed(url, skip_format_check=True) if opened else url
    with pytest.raises(ArgumentError, match="copy the files"):
        sl.data.GenotypeDataset(bed)


def test_the_error_for_missing_genotype_files_names_the_bed(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.bed: no such file"):
        sl.data.GenotypeDataset(tmp_path / "none.bed")


def test_a_genotype_dataset_rejects_an_invalid_encoder(write_bed):
    strange: Any = "unit"
    with pytest.raises(ArgumentError, match="must be a GenotypeEncoder"):
        sl.data.GenotypeDataset(write_bed(2, 3).path, encoder=strange)


def test_a_bed_that_changes_while_it_is_read_is_an_error(write_bed, cache):
    path = write_bed(30, 20).path
    data = sl.data.GenotypeDataset(path, by="variant", memory=0, cache=cache)
    later = path.stat().st_mtime_ns + 1_000_000_000
    with path.open("r+b") as file:
        file.seek(3)
        file.write(b"\x3f")
    os.utime(path, ns=(later, later))
    with pytest.raises(
        sl.errors.FormatError, match=r"a\.bed: was written since it was opened"
    ):
        data.batch([0])
