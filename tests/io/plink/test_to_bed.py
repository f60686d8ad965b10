"""A written PLINK set equals that of bed_reader; a failed write changes no file."""

import itertools
import os
import signal
import sys

import bed_reader
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from genotypes import GENOTYPE_DTYPES, specimens
from seqloom.errors import ArgumentError, FileError, FormatError, IdError
from seqloom.io import open_bed, to_bed

EXPECTED_GENOTYPES = [[1, 0, -127, 0], [2, 0, -127, 2], [0, 1, 2, 0]]
PLINK_FILE_SUFFIXES = ("bed", "fam", "bim")
anywhere = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40
)


def content(path):
    """Return the bytes of the existing files of a PLINK set, by suffix."""
    files = {suffix: path.with_suffix(f".{suffix}") for suffix in PLINK_FILE_SUFFIXES}
    return {suffix: file.read_bytes() for suffix, file in files.items() if file.exists()}


def names(folder):
    """Return the names of all files in a folder, including hidden files."""
    return sorted(file.name for file in folder.iterdir())


@anywhere
@given(
    specimen=specimens(),
    kind=st.sampled_from(GENOTYPE_DTYPES),
    order=st.sampled_from("CF"),
    count_a1=st.booleans(),
)
def test_to_bed_writes_files_like_bed_reader(tmp_path, specimen, kind, order, count_a1):
    values = specimen.values.astype(kind, order)
    if kind != "int8":
        values[values == -127] = np.nan
    how = {"count_A1": count_a1, "major": specimen.major}
    to_bed(tmp_path / "ours.bed", values, **how)
    bed_reader.to_bed(tmp_path / "theirs.bed", values, **how)
    ours, theirs = content(tmp_path / "ours.bed"), content(tmp_path / "theirs.bed")
    assert (ours["bed"], ours["fam"]) == (theirs["bed"], theirs["fam"])
    assert open_bed(tmp_path / "ours.bed").shape == values.shape


def test_genotype_arrays_larger_than_a_write_block_are_read_back(tmp_path):
    values = np.random.default_rng(0).integers(0, 3, (3001, 3003), np.int8)
    for major in ("SNP", "individual"):
        for array in (values, values.astype("float32"), np.asfortranarray(values)):
            to_bed(tmp_path / "x.bed", array, major=major)
            np.testing.assert_array_equal(
                open_bed(tmp_path / "x.bed").read(dtype="int8"), values
            )


def test_properties_written_by_to_bed_are_read_back(tmp_path):
    given = {
        "fid": ["f1", "f1", "f2"],
        "iid": ["i1", "i2", "i3"],
        "sex": [1, 2, 0],
        "pheno": [0.5, np.nan, 2],
        "chromosome": ["1", "1", "X", "Y"],
        "sid": ["a", "b", "c#1", "d"],
        "cm_position": [0.1, 1e-7, 12345.678, 0],
        "bp_position": [1, 2, 3, 2**31 - 1],
        "allele_1": ["A", "ACGT" * 500, "C", "T"],
        "allele_2": None,
    }
    to_bed(tmp_path / "x.bed", EXPECTED_GENOTYPES, properties=given)
    found = open_bed(tmp_path / "x.bed").properties
    assert found["pheno"].tolist() == ["0.5", "0", "2.0"]
    assert found["father"].tolist() == ["0", "0", "0"]
    assert found["allele_2"].tolist() == ["A2"] * 4
    for name in set(given) - {"pheno", "allele_2", "cm_position"}:
        assert found[name].tolist() == given[name], name
    np.testing.assert_array_equal(
        found["cm_position"], np.array([0.1, 1e-7, 12345.678, 0], "float32")
    )


def test_genotypes_of_any_integer_dtype_can_be_written(tmp_path):
    for kind in ("int16", "int64", "int32"):
        to_bed(tmp_path / "x.bed", np.array(EXPECTED_GENOTYPES, kind))
        assert (
            open_bed(tmp_path / "x.bed").read(dtype="int8").tolist() == EXPECTED_GENOTYPES
        )


@pytest.mark.parametrize("major", ["SNP", "individual"])
@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("int8", 3, "3"),
        ("int8", -1, "-1"),
        ("int64", 256, "256"),
        ("float32", 0.5, "0.5"),
        ("float64", -127, "-127.0"),
        ("float32", np.inf, "inf"),
    ],
)
def test_a_value_that_is_not_a_genotype_is_an_error_with_its_position(
    tmp_path, major, kind, value, said
):
    values = np.zeros((6, 9), kind)
    values[4, 7] = value
    with pytest.raises(ArgumentError, match=f"Individual 4, variant 7 is {said} "):
        to_bed(tmp_path / "x.bed", values, major=major)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ({"val": [1, 0]}, ArgumentError, r"a matrix \(dimensions: 2\), got 1"),
        ({"val": [["a"]]}, ArgumentError, "not known, only"),
        ({"val": np.zeros((4, 6))[::2, ::2]}, ArgumentError, "val must be contiguous"),
        ({"major": "both"}, ArgumentError, "must be 'SNP' or 'individual', not 'both'"),
        ({"properties": {"iid": ["a"]}}, ArgumentError, "override iid, 1, .* iid_count, 3"),
        ({"properties": {"colour": []}}, IdError, "'colour' not known"),
        ({"properties": {"sid": ["a b", "c", "d", "e"]}}, ArgumentError, "a b"),
        ({"fam_filepath": "x.bed"}, ArgumentError, "three different files"),
        ({"filepath": "s3://bucket/x.bed"}, ArgumentError, "a local folder"),
        ({"filepath": "no/x.bed"}, FileError, "no/x.bed: cannot be written"),
    ],
)
def test_a_bed_that_cannot_be_written_leaves_no_files(
    tmp_path, monkeypatch, call, error, message
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        to_bed(**{"filepath": "x.bed", "val": EXPECTED_GENOTYPES} | call)
    assert names(tmp_path) == []


def test_a_failed_write_of_a_bed_keeps_the_old_files(tmp_path):
    to_bed(tmp_path / "x.bed", EXPECTED_GENOTYPES)
    before, there = content(tmp_path / "x.bed"), names(tmp_path)
    with pytest.raises(ArgumentError):
        to_bed(tmp_path / "x.bed", [[0, 1], [2, 3]])
    assert (content(tmp_path / "x.bed"), names(tmp_path)) == (before, there)


def test_to_bed_can_write_fam_and_bim_to_other_paths(tmp_path):
    (tmp_path / "tables").mkdir()
    fam, bim = tmp_path / "tables/a.fam", tmp_path / "b.bim"
    to_bed(tmp_path / "x.bed", EXPECTED_GENOTYPES, fam_filepath=fam, bim_filepath=bim)
    assert names(tmp_path) == ["b.bim", "tables", "x.bed"]
    assert open_bed(tmp_path / "x.bed", fam_location=fam, bim_location=bim).shape == (3, 4)


def write_until(step, folder):
    """Write a PLINK set in a process that is killed before its n-th file operation."""
    if (child := os.fork()) == 0:
        try:
            sys.addaudithook(kill_at(step))
            to_bed(folder / "x.bed", np.ones((5, 6)), bim_filepath=folder / "tables/x.bim")
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_at(step):
    """Return an audit hook that Python calls before each file operation."""
    left = itertools.count(step, -1)

    def see(event, args):
        touches = event in {"open", "os.rename", "os.remove"} and "x." in str(args[0])
        if touches and next(left) == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return see


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("stride", [3, pytest.param(1, marks=pytest.mark.soak)])
def test_a_bed_writer_killed_at_any_step_leaves_old_or_new_files(tmp_path, stride):
    bim = tmp_path / "tables/x.bim"
    bim.parent.mkdir()
    found, code = set(), None
    for step in range(0, 200, stride):
        to_bed(tmp_path / "x.bed", np.zeros((3, 4)), bim_filepath=bim)
        old = read_raw(tmp_path)
        code = write_until(step, tmp_path)
        raw = read_raw(tmp_path)
        shape = open_bed(tmp_path / "x.bed", bim_location=bim).shape
        new = read_raw(tmp_path)
        assert raw in (old, new) or "x.bed" not in raw, step
        assert (shape == (3, 4) and new == old) or (shape == (5, 6) and new != old), step
        found.add(shape)
        if code == 0:
            break
    assert code == 0
    assert found == {(3, 4), (5, 6)}
    assert names(tmp_path) == ["tables", "x.bed", "x.fam"]
    assert names(bim.parent) == ["x.bim"]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_bed_read_during_a_write_is_complete_or_an_error(tmp_path):
    path = tmp_path / "x.bed"
    to_bed(path, np.zeros((3, 4)))
    if (child := os.fork()) == 0:
        write_in_turn(path)
    seen, (ended, status) = set(), (0, 0)
    while not ended:
        seen.add(read_one_set(path))
        ended, status = os.waitpid(child, os.WNOHANG)
    assert os.waitstatus_to_exitcode(status) == 0
    assert seen - {None} == {(3, 4, 0.0), (5, 6, 1.0)}


def write_in_turn(path):
    """Replace a PLINK set by another, in a new process."""
    try:
        for _ in range(15):
            to_bed(path, np.ones((5, 6)))
            to_bed(path, np.zeros((3, 4)))
        os._exit(0)
    finally:
        os._exit(1)


def read_one_set(path):
    """Return the versions of the tables and the .bed, or nothing if they changed."""
    try:
        bed = open_bed(path)
        found = bed.iid.size, bed.sid.size, bed.read().mean()
    except FileError as error:
        return None if "replaced or changed" in str(error) else str(error)
    return found


@pytest.mark.parametrize("journal", [b"", b"[1]", b"{}", b"\xff"])
def test_the_error_for_a_corrupt_write_journal_names_its_file(tmp_path, journal):
    to_bed(tmp_path / "x.bed", EXPECTED_GENOTYPES)
    (tmp_path / ".x.bed.seqloom.set").write_bytes(journal)
    with pytest.raises(FormatError, match=r"\.x\.bed\.seqloom\.set: cannot be read"):
        open_bed(tmp_path / "x.bed").read()


def read_raw(folder):
    """Return the files that a program without support for journals reads."""
    files = (folder / "x.bed", folder / "x.fam", folder / "tables/x.bim")
    return {file.name: file.read_bytes() for file in files if file.exists()}
