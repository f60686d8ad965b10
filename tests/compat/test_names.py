"""The replacement of bed_reader has the same names, and its helper functions work."""

import inspect
import sys
from pathlib import Path
from typing import Any

import bed_reader
import numpy as np
import pytest

import seqloom as sl
from genotypes import BED_READER_SETS
from seqloom.compat import bed_reader as ours
from seqloom.compat.bed_reader import _open_bed
from seqloom.errors import ArgumentError, MissingExtraError, OutOfRangeError, ShapeError


def test_every_python_function_of_bed_reader_exists_with_its_arguments():
    theirs = {
        n: t
        for n, t in vars(bed_reader).items()
        if inspect.isfunction(t) or inspect.isclass(t)
    }
    assert set(theirs) <= set(ours.__all__)
    for name in ("get_num_threads", "sample_file", "sample_url", "tmp_path"):
        found, expected = (inspect.signature(vars(m)[name]) for m in (ours, bed_reader))
        assert list(found.parameters) == list(expected.parameters)


@pytest.mark.parametrize(
    "called",
    [
        ours.open_bed.__init__,
        ours.open_bed.read,
        ours.open_bed.read_sparse,
        ours.to_bed,
        ours.create_bed.__init__,
        ours.create_bed.write,
    ],
    ids=lambda each: each.__qualname__,
)
def test_methods_of_open_bed_have_the_arguments_of_bed_reader(called):
    theirs: Any = bed_reader
    for name in called.__qualname__.split("."):
        theirs = getattr(theirs, name)
    expected = inspect.signature(theirs).parameters
    found = {n: p for n, p in inspect.signature(called).parameters.items() if n != "out"}
    assert list(found) == list(expected)
    assert [p.default for p in found.values()] == [p.default for p in expected.values()]
    assert [p.kind for p in found.values()] == [p.kind for p in expected.values()]


def test_every_name_of_the_bed_reader_extension_exists_or_is_documented():
    native = {name for name, thing in vars(bed_reader).items() if inspect.isbuiltin(thing)}
    listed = inspect.getdoc(ours) or ""
    assert {
        name
        for name in native - set(ours.__all__)
        if name not in listed and not any(stem in listed for stem in patterns_of(name))
    } == set()


def patterns_of(name):
    """Return the patterns, such as ``read_*``, that match the name of a function."""
    parts = name.split("_")
    return [f"{'_'.join(parts[:n])}_*" for n in range(1, len(parts))]


def test_compatibility_classes_are_subclasses_of_seqloom_io_classes():
    assert issubclass(ours.open_bed, sl.io.open_bed)
    assert issubclass(ours.create_bed, sl.io.create_bed)
    assert _open_bed.open_bed is ours.open_bed


@pytest.mark.parametrize("name", ["location", "fam_location", "bim_location"])
def test_an_argument_given_by_its_old_and_new_name_is_an_error(tmp_path, name):
    ours.to_bed(tmp_path / "x.bed", [[0, 1], [2, -127], [1, 1]])
    old = name.replace("location", "filepath")
    file = tmp_path / {"l": "x.bed", "f": "x.fam", "b": "x.bim"}[name[0]]
    rest: dict[str, Any] = {"location": None if name == "location" else tmp_path / "x.bed"}
    assert ours.open_bed(**rest, **{old: file}).shape == (3, 2)
    with pytest.raises(ArgumentError, match=f"Cannot set both {name} and {old}"):
        ours.open_bed(**rest | {name: file, old: file})


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("major", ["SNP", "individual"])
def test_the_argument_force_python_only_has_no_effect(tmp_path, major, plain):
    values = np.array([[0, 1], [2, -127], [1, 1]], np.int8)
    ours.to_bed(tmp_path / "x.bed", values, major=major, force_python_only=plain)
    how = {"major": major, "force_python_only": plain}
    with ours.create_bed(tmp_path / "y.bed", 3, 2, **how) as bed:
        for line in values.T if major == "SNP" else values:
            bed.write(line)
    for name in "xy":
        found = ours.open_bed(tmp_path / f"{name}.bed").read(None, "int8", "F", plain)
        np.testing.assert_array_equal(found, values)


def test_an_argument_or_environment_variable_sets_the_thread_count(monkeypatch):
    monkeypatch.setenv("NUM_THREADS", "7")
    assert (ours.get_num_threads(3), ours.get_num_threads()) == (3, 7)


def test_an_environment_variable_sets_the_folder_of_sample_files(monkeypatch):
    monkeypatch.setenv("BED_READER_DATA_DIR", str(BED_READER_SETS))
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert ours.sample_file("small.bed") == str(BED_READER_SETS / "small.bed")
    assert ours.sample_url("small.bed") == (BED_READER_SETS / "small.bed").as_uri()


def test_without_pooch_the_error_explains_how_to_get_sample_files(monkeypatch, tmp_path):
    monkeypatch.setenv("BED_READER_DATA_DIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError, match="pip install pooch; or set"):
        ours.sample_file("small.bed")


def test_hashes_of_sample_files_equal_those_of_bed_reader():
    theirs = (BED_READER_SETS.parent / "registry.txt").read_text().splitlines()
    listed = (Path(ours.__file__).parent / "samples.txt").read_text().splitlines()
    assert listed == [line for line in theirs if "memmap" not in line]


def test_subset_f64_f64_copies_like_bed_reader():
    values = np.random.default_rng(0).random((4, 5, 3))
    rows, columns = np.array([3, 0, 3], np.uintp), np.array([1, 1], np.uintp)
    found, expected = np.empty((3, 2, 3)), np.empty((3, 2, 3))
    ours.subset_f64_f64(values, rows, columns, found, 1)
    bed_reader.subset_f64_f64(values, rows, columns, expected, 1)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("shape", "row", "out", "error"),
    [
        ((2, 2, 1), 0, np.empty((1, 2, 1)), ShapeError),
        ((2, 2, 1), 2, np.empty((1, 1, 1)), OutOfRangeError),
        ((2, 2), 0, np.empty((1, 1, 1)), ArgumentError),
        ((2, 2, 1), 0, np.empty((1, 1, 1), np.float32), ArgumentError),
    ],
)
def test_subset_f64_f64_rejects_unsuitable_arrays(shape, row, out, error):
    with pytest.raises(error):
        ours.subset_f64_f64(np.zeros(shape), [row], [0], out, 1)
