"""Files of the writer are read by pyBigWig and pybigtools."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pybigtools
import pyBigWig
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError


def write_random(path: Path, seed: int, contigs: int) -> dict[str, np.ndarray]:
    """Write ranges, then single bases; return the value of each base."""
    rng = np.random.default_rng(seed)
    lengths = {f"chr{n}": int(rng.integers(80, 20_000)) for n in range(1, contigs + 1)}
    bases = {n: np.full(size, np.nan, np.float32) for n, size in lengths.items()}
    with sl.io.TrackWriter(path, lengths) as writer:
        for name, size in lengths.items():
            cuts = np.sort(rng.choice(size, 2 * (size // 40), replace=False))
            starts, stops = cuts[::2], cuts[1::2]
            values = rng.normal(size=len(starts)).astype(np.float32)
            writer.write(name, starts, stops=stops, values=values)
            for start, stop, value in zip(starts, stops, values, strict=True):
                bases[name][start:stop] = value
            last = int(stops[-1])
            counts = rng.poisson(1, size - last).astype(np.float32)
            counts[rng.random(counts.size) < 0.2] = np.nan
            writer.write_values(name, last, counts)
            bases[name][last:] = counts
    return bases


@pytest.mark.parametrize(("seed", "contigs"), [(0, 1), (1, 5), (2, 300)])
def test_other_packages_read_what_was_written(
    seed: int, contigs: int, tmp_path: Path
) -> None:
    path = tmp_path / "a.bw"
    bases = write_random(path, seed, contigs)
    own, one = sl.io.open_tracks(path), pyBigWig.open(str(path))
    other = pybigtools.open(str(path))
    assert own.contigs == one.chroms() == {name: it.size for name, it in bases.items()}
    for name, expected in bases.items():
        np.testing.assert_array_equal(own.values(name, 0, expected.size)[0], expected)
        np.testing.assert_array_equal(
            one.values(name, 0, expected.size, numpy=True), expected
        )
        found = other.values(name, 0, expected.size, fillna=None)
        np.testing.assert_array_equal(np.asarray(found, np.float32), expected)


def test_summaries_of_zoom_levels_are_those_of_the_values(tmp_path: Path) -> None:
    path = tmp_path / "a.bw"
    bases = write_random(path, 3, 2)
    file = pyBigWig.open(str(path))
    whole = np.concatenate(list(bases.values()))
    assert file.header()["nBasesCovered"] == np.isfinite(whole).sum()
    for name, values in bases.items():
        place = name, 0, values.size
        wide = values.astype(np.float64)
        assert file.stats(*place, type="mean")[0] == pytest.approx(np.nanmean(wide))
        assert file.stats(*place, type="max")[0] == pytest.approx(np.nanmax(wide))


def test_the_file_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.bw"
    writer = sl.io.TrackWriter(path, {"chr1": 10})
    with pytest.raises(ArgumentError, match="no contig"), writer:
        writer.write_values("chr2", 0, [1, 2])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ([(0, 5, 1.0), (4, 6, 1.0)], r"chr1:4-6 must be .* begin at 5 or later"),
        ([(0, 11, 1.0)], "chr1:0-11 must be within 0 to 10"),
        ([(3, 3, 1.0)], "not be empty"),
        ([(-1, 3, 1.0)], "starts must be integers from 0 to"),
    ],
)
def test_wrong_ranges_are_refused(ranges: list[Any], message: str, tmp_path: Path) -> None:
    starts, stops, values = zip(*ranges, strict=True)
    with (
        pytest.raises(ArgumentError, match=message),
        sl.io.TrackWriter(tmp_path / "a.bw", {"chr1": 10}) as writer,
    ):
        writer.write("chr1", starts, stops=stops, values=values)


def test_contigs_are_written_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "a.bw"
    rng = np.random.default_rng(8)
    bases = {f"chr{n}": rng.normal(size=900 * n).astype(np.float32) for n in range(1, 30)}
    with sl.io.TrackWriter(path, {name: it.size for name, it in bases.items()}) as writer:
        for at in rng.permutation(29).tolist():
            writer.write_values(f"chr{at + 1}", 0, bases[f"chr{at + 1}"])
    own, one, other = (
        sl.io.open_tracks(path),
        pyBigWig.open(str(path)),
        pybigtools.open(str(path)),
    )
    for name, expected in bases.items():
        place = name, 0, expected.size
        np.testing.assert_array_equal(own.values(*place)[0], expected)
        np.testing.assert_array_equal(one.values(*place, numpy=True), expected)
        np.testing.assert_array_equal(
            np.float32(other.values(*place, fillna=None)), expected
        )
        assert one.stats(*place)[0] == pytest.approx(expected.mean(), rel=1e-4)


def test_values_of_a_contig_are_written_together(tmp_path: Path) -> None:
    with sl.io.TrackWriter(tmp_path / "a.bw", {"chr1": 10, "chr2": 10}) as writer:
        writer.write_values("chr1", 0, [1])
        writer.write_values("chr2", 0, [1])
        with pytest.raises(ArgumentError, match="chr1 come again"):
            writer.write_values("chr1", 5, [1])


def test_a_wrong_range_leaves_out_the_whole_call(tmp_path: Path) -> None:
    with sl.io.TrackWriter(tmp_path / "a.bw", {"chr1": 10}) as writer:
        with pytest.raises(ArgumentError, match="chr1:4-6"):
            writer.write("chr1", [0, 4], stops=[5, 6], values=[1, 1])
        writer.write("chr1", [2], stops=[3], values=[7])
    entries = sl.io.open_tracks(tmp_path / "a.bw").entries("chr1")
    assert entries.values.tolist() == [7]


@pytest.mark.parametrize("contigs", [{"": 5}, {"a\0b": 5}, {1: 5, "1": 6}])
def test_wrong_names_of_contigs_are_refused(contigs: Any, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="contigs must have different names"):
        sl.io.TrackWriter(tmp_path / "a.bw", contigs)


def test_infinite_values_are_refused(tmp_path: Path) -> None:
    writer = sl.io.TrackWriter(tmp_path / "a.bw", {"chr1": 10})
    with pytest.raises(ArgumentError, match="larger or infinite"), writer:
        writer.write_values("chr1", 0, [1, 1e300])


def test_an_array_of_two_tracks_is_refused(tmp_path: Path) -> None:
    writer = sl.io.TrackWriter(tmp_path / "a.bw", {"chr1": 10})
    with (
        pytest.raises(ArgumentError, match=r"got an array \(2, 3\)"),
        writer,
    ):
        writer.write_values("chr1", 0, np.ones((2, 3)))


def test_many_short_contigs_have_one_zoom_level(tmp_path: Path) -> None:
    contigs = {f"c{number}": 10 for number in range(500)}
    with sl.io.TrackWriter(tmp_path / "a.bw", contigs) as writer:
        for name in contigs:
            writer.write_values(name, 0, [1, 2])
    assert pyBigWig.open(str(tmp_path / "a.bw")).header()["nLevels"] == 1


def test_a_forked_process_leaves_the_file_of_its_parent(tmp_path: Path) -> None:
    program = f"""
import os, seqloom as sl
with sl.io.TrackWriter({str(tmp_path / "a.bw")!r}, {{"chr1": 10}}) as writer:
    writer.write_values("chr1", 0, [1, 2, 3])
    if os.fork() == 0:
        try:
            writer.write_values("chr1", 5, [4])
            writer.__exit__(None)
        except sl.errors.FileError as error:
            print(error, flush=True)
        del writer
        os._exit(0)
    os.wait()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert "create a TrackWriter in each process" in done.stdout
    values = sl.io.open_tracks(tmp_path / "a.bw").values("chr1", 0, 4, missing=0)
    assert values.tolist() == [[1, 2, 3, 0]]


def test_a_file_that_could_not_be_written_never_appears(tmp_path: Path) -> None:
    program = f"""
import resource, numpy as np, seqloom as sl
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
errors = 0
random = np.random.default_rng(0)
try:
    with sl.io.TrackWriter({str(tmp_path / "a.bw")!r}, {{"chr1": 10_000_000}}) as writer:
        for number in range(9):
            try:
                values = random.normal(size=20_000)
                writer.write_values("chr1", 1_000_000 * number, values)
            except sl.errors.FileError:
                errors += 1
except sl.errors.FileError as error:
    print(errors > 0, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert "True" in done.stdout
    assert not (tmp_path / "a.bw").exists()
