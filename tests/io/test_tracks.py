"""Tracks have the values that pyBigWig reads; damaged files are errors."""

import gzip
import multiprocessing
import os
import pickle
import subprocess
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyBigWig
import pytest
from tests.track_files import CONTIGS, KINDS, pack_bigwig, write_bigwig

import seqloom as sl
from seqloom.errors import ArgumentError, FileError, FormatError, SeqloomError


def random_ranges(count: int, seed: int) -> list[tuple[str, int, int]]:
    rng = np.random.default_rng(seed)
    ranges = []
    for name in rng.choice(list(CONTIGS), count).tolist():
        start = int(rng.integers(CONTIGS[name]))
        ranges.append((name, start, int(rng.integers(start, CONTIGS[name])) + 1))
    return ranges


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_pybigwig(kind: str, seed: int, tmp_path: Path) -> None:
    path = write_bigwig(tmp_path / "a.bw", kind, seed)
    tracks, reference = sl.io.open_tracks(path), pyBigWig.open(str(path))
    assert tracks.contigs == reference.chroms()
    for name, start, stop in random_ranges(60, seed):
        expected = reference.values(name, start, stop, numpy=True)
        np.testing.assert_array_equal(tracks.values(name, start, stop)[0], expected)


@pytest.mark.parametrize("name", ["pybigwig", "pybigtools"])
def test_files_of_other_programs_are_read(name: str) -> None:
    # The files are from the tests of pyBigWig and pybigtools (MIT licence).
    path = Path(__file__).with_name("real_tracks") / f"{name}.bw"
    tracks, reference = sl.io.open_tracks(path), pyBigWig.open(str(path))
    assert tracks.contigs == reference.chroms()
    for contig, length in reference.chroms().items():
        stop = min(length, 1_000_000)
        expected = reference.values(contig, 0, stop, numpy=True)
        np.testing.assert_array_equal(tracks.values(contig, 0, stop)[0], expected)


@pytest.mark.parametrize("reduce", ["mean", "sum", "max"])
@pytest.mark.parametrize("kind", KINDS)
def test_bins_are_exact_statistics_of_pybigwig(
    kind: str, reduce: Any, tmp_path: Path
) -> None:
    path = write_bigwig(tmp_path / "a.bw", kind, 0)
    tracks, reference = sl.io.open_tracks(path), pyBigWig.open(str(path))
    for row, (name, start, stop) in enumerate(random_ranges(60, 1)):
        width = 1 + row % 40
        count = (stop - start) // width
        if count == 0:
            continue
        place = name, start, start + count * width
        found = tracks.values(*place, bin=width, reduce=reduce)[0]
        expected = reference.stats(*place, type=reduce, nBins=count, exact=True)
        np.testing.assert_allclose(found, np.array(expected, float), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("reduce", "function"), [("mean", np.mean), ("max", np.max)])
def test_missing_bases_can_count_as_zero(reduce, function, tmp_path: Path) -> None:
    path = write_bigwig(tmp_path / "a.bw", "ranges", 0)
    bases = np.nan_to_num(pyBigWig.open(str(path)).values("chr2", 0, 3000, numpy=True))
    found = sl.io.open_tracks(path).values(
        "chr2", 0, 3000, bin=50, reduce=reduce, missing=0
    )
    expected = function(bases.astype(np.float64).reshape(-1, 50), axis=1)
    np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_entries_are_the_intervals_of_pybigwig(kind: str, tmp_path: Path) -> None:
    path = write_bigwig(tmp_path / "a.bw", kind, 5)
    tracks, reference = sl.io.open_tracks(path), pyBigWig.open(str(path))
    for name, start, stop in random_ranges(30, 2):
        entries = tracks.entries(name, start, stop)
        rows = zip(*(column.tolist() for column in entries), strict=True)
        assert list(rows) == list(reference.intervals(name, start, stop) or ())


def test_many_ranges_have_the_values_of_single_ranges(tmp_path: Path) -> None:
    paths = [write_bigwig(tmp_path / f"{kind}.bw", kind, 7) for kind in KINDS]
    tracks = sl.io.open_tracks(paths)
    rng = np.random.default_rng(0)
    names = rng.choice(["chr1", "chr2"], 200).tolist()
    starts = rng.integers(-50, 2950, 200)
    found = tracks.fetch(names, starts, width=100, bin=20, missing=0)
    assert found.shape == (200, 3, 5)
    for row, (name, start) in enumerate(zip(names, starts.tolist(), strict=True)):
        expected = tracks.values(name, start, start + 100, bin=20, missing=0)
        np.testing.assert_array_equal(found[row], expected)


def test_positions_outside_of_a_contig_are_missing(tmp_path: Path) -> None:
    path = write_bigwig(tmp_path / "a.bw", "ranges", 0)
    values = sl.io.open_tracks(path).values("chrM", -2, 202)[0]
    assert np.isnan(values[:2]).all()
    assert np.isnan(values[-2:]).all()


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_byte_orders_are_read(order: str, tmp_path: Path) -> None:
    path = tmp_path / "a.bw"
    path.write_bytes(pack_bigwig(order, [(2, 4, 1.5), (6, 7, -2)], 10))
    nan = np.nan
    np.testing.assert_array_equal(
        sl.io.open_tracks(path).values("chr1", 0, 10)[0],
        [nan, nan, 1.5, 1.5, nan, nan, -2, nan, nan, nan],
    )


def test_bedgraph_and_bigwig_have_the_same_values(tmp_path: Path) -> None:
    path = write_bigwig(tmp_path / "a.bw", "ranges", 3)
    lines = ["# a comment", "track type=bedGraph", ""]
    for name in CONTIGS:
        for start, stop, value in pyBigWig.open(str(path)).intervals(name):
            lines.append(f"{name}\t{start}\t{stop}\t{value!r}")
    text = tmp_path / "a.bedgraph.gz"
    text.write_bytes(gzip.compress("\n".join(lines).encode()))
    tracks = sl.io.open_tracks([path, text])
    for name, start, stop in random_ranges(30, 3):
        one, other = tracks.values(name, start, stop)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chr1 0 5\n", r"a\.bedgraph.*line 1.*expected four columns .* found 3"),
        ("chr1 5 5 1\n", r"line 1.*expected start < stop, found 5 and 5"),
        ("chr1 0 5 x\n", r"line 1.*the value must be a number, found \"x\""),
        ("chr1 -1 5 1\n", r"line 1.*start must be an integer of at least 0, found \"-1\""),
        (
            "chr1 5 9 1\nchr1 8 12 1\n",
            r"line 2.*chr1:8-12 begins before .*; sort",
        ),
    ],
)
def test_a_wrong_line_of_bedgraph_is_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.bedgraph"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        sl.io.open_tracks(path)


def test_an_absent_contig_is_an_error_unless_it_is_allowed(tmp_path: Path) -> None:
    path = write_bigwig(tmp_path / "a.bw", "ranges", 0)
    with pytest.raises(ArgumentError, match=r"no contig 'chr9'.*absent_contigs"):
        sl.io.open_tracks(path).values("chr9", 0, 5)
    allowed = sl.io.open_tracks(path, absent_contigs=True)
    assert np.isnan(allowed.values("chr9", 0, 5)).all()
    assert not allowed.values("chr9", 0, 5, missing=0).any()


def test_other_names_of_a_contig_are_found(tmp_path: Path) -> None:
    tracks = sl.io.open_tracks(write_bigwig(tmp_path / "a.bw", "ranges", 0))
    np.testing.assert_array_equal(tracks.values("1", 0, 900), tracks.values("chr1", 0, 900))
    np.testing.assert_array_equal(tracks.values("MT", 0, 90), tracks.values("chrM", 0, 90))


def test_a_missing_base_can_be_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.bedgraph"
    path.write_text("chr1 0 4 2\nchr1 5 9 1\n")
    tracks = sl.io.open_tracks(path)
    assert tracks.values("chr1", 5, 9, missing="error").tolist() == [[1, 1, 1, 1]]
    with pytest.raises(FormatError, match=r"position 4 of chr1 has no value"):
        tracks.values("chr1", 0, 9, missing="error")


@pytest.mark.parametrize("place", [("chr1", -1, 3), ("chr9", 0, 3)])
def test_bases_outside_of_the_file_can_be_an_error(place: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.bedgraph"
    path.write_text("chr1 0 4 2\n")
    tracks = sl.io.open_tracks(path, absent_contigs=True)
    with pytest.raises(FormatError, match=f"position {place[1]} of .* has no value"):
        tracks.values(*place, missing="error")


def test_contigs_may_have_the_names_of_header_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.bedgraph"
    path.write_text("track name=x\ntracked_1 0 4 2\nbrowser position\nbrowser2 0 4 3\n")
    assert list(sl.io.open_tracks(path).contigs) == ["tracked_1", "browser2"]


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    # The pipe opens only if a process writes to it.
    command = ["/bin/sh", "-c", f"echo chr1 0 4 2 > {tmp_path / 'pipe'}"]
    with (
        subprocess.Popen(command),
        pytest.raises(FileError, match="tracks are read from regular files"),
    ):
        sl.io.open_tracks(tmp_path / "pipe")


def test_tracks_with_other_names_of_a_contig_share_it(tmp_path: Path) -> None:
    for name, contig in (("a", "chr1"), ("b", "1")):
        (tmp_path / f"{name}.bedgraph").write_text(f"{contig} 0 4 2\n")
    tracks = sl.io.open_tracks([tmp_path / "a.bedgraph", tmp_path / "b.bedgraph"])
    assert list(tracks.contigs) == ["chr1"]
    assert tracks.values("1", 0, 2).tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize(
    ("chroms", "starts", "message"),
    [
        (["chr1"], [0.9], "starts must be integers"),
        ("chr1", [0], "chroms must be a list of names"),
        (["chr1"], [0, 1], r"got the shapes \(1,\) and \(2,\)"),
    ],
)
def test_wrong_ranges_are_named(
    chroms: Any, starts: Any, message: str, tmp_path: Path
) -> None:
    tracks = sl.io.open_tracks(write_bigwig(tmp_path / "a.bw", "ranges", 0))
    with pytest.raises(ArgumentError, match=message):
        tracks.fetch(chroms, starts, width=5)


def test_a_file_without_values_has_only_missing_bases(tmp_path: Path) -> None:
    with sl.io.TrackWriter(tmp_path / "a.bw", {"chr1": 100}):
        pass
    assert np.isnan(sl.io.open_tracks(tmp_path / "a.bw").values("chr1", 0, 100)).all()


def test_tracks_of_two_genome_builds_are_refused(tmp_path: Path) -> None:
    for name, length in (("a.bw", 100), ("b.bw", 120)):
        with sl.io.TrackWriter(tmp_path / name, {"chr1": length}):
            pass
    with pytest.raises(FormatError, match=r"b\.bw: chr1 has 120 bases, but 100 in .*a\.bw"):
        sl.io.open_tracks([tmp_path / "a.bw", tmp_path / "b.bw"])


def test_a_bigbed_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.bb").write_bytes((0x8789F2EB).to_bytes(4, "little") + bytes(60))
    with pytest.raises(FormatError, match="bigBed file, which has intervals"):
        sl.io.open_tracks(tmp_path / "a.bb")


def test_a_url_is_not_a_path() -> None:
    with pytest.raises(ArgumentError, match=r"https://x\.org/a\.bw is a URL.*download"):
        sl.io.open_tracks("https://x.org/a.bw")


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.bw").write_bytes(b"")
    with pytest.raises(FormatError, match="the file is empty; expected a bigWig"):
        sl.io.open_tracks(tmp_path / "a.bw")


def test_a_bigwig_file_without_values_is_read(tmp_path: Path) -> None:
    with pyBigWig.open(str(tmp_path / "a.bw"), "w") as file:
        file.addHeader([("chr1", 50)])
    assert np.isnan(sl.io.open_tracks(tmp_path / "a.bw").values("chr1", 0, 50)).all()


def read_all(path: Path) -> None:
    tracks = sl.io.open_tracks(path)
    for name in tracks.contigs:
        tracks.values(name, 0, 30_000)


def test_a_truncated_file_is_an_error(tmp_path: Path) -> None:
    path = write_bigwig(tmp_path / "a.bw", "ranges", 0)
    content = path.read_bytes()
    index = int.from_bytes(content[24:32], "little")
    for size in (4, 63, 200, index - 1, index + 47):
        path.write_bytes(content[:size])
        with pytest.raises(FormatError, match=r"truncated|damaged"):
            read_all(path)


def test_random_damage_never_ends_the_process(tmp_path: Path) -> None:
    path = write_bigwig(tmp_path / "a.bw", "ranges", 0)
    content, rng = path.read_bytes(), np.random.default_rng(0)
    errors: list[str] = []
    for _ in range(300):
        damaged = np.frombuffer(content, np.uint8).copy()
        damaged[rng.integers(0, damaged.size, 3)] = rng.integers(0, 256, 3)
        path.write_bytes(damaged.tobytes())
        try:
            read_all(path)
        except SeqloomError as error:
            errors.append(str(error))
    assert 0 < len(errors) < 300
    assert all(str(path) in message for message in errors)


def read_values(tracks: sl.io.Tracks) -> np.ndarray:
    return tracks.values("chr1", 0, 3000)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes_read_the_same_values(method: str, tmp_path: Path) -> None:
    tracks = sl.io.open_tracks(write_bigwig(tmp_path / "a.bw", "ranges", 0))
    expected = read_values(tracks)
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        for found in pool.map(read_values, [tracks] * 4):
            np.testing.assert_array_equal(found, expected)


def test_pickled_tracks_keep_names_and_pairs(tmp_path: Path) -> None:
    paths = [write_bigwig(tmp_path / f"{sign}.bw", "ranges", 0) for sign in "pm"]
    tracks = sl.io.open_tracks({"atac": tuple(paths), "dnase": paths[0]})
    copy = pickle.loads(pickle.dumps(tracks))  # noqa: S301 - our own object
    assert copy.names == tracks.names == ("atac+", "atac-", "dnase")
    assert copy.pairs == tracks.pairs == ((0, 1),)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bin": 3}, "width must be a multiple of bin; got width=10 and bin=3"),
        ({"missing": 1}, 'missing must be "nan", 0 or "error", got 1'),
        ({"reduce": "median"}, "reduce must be"),
    ],
)
def test_wrong_options_are_named(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    tracks = sl.io.open_tracks(write_bigwig(tmp_path / "a.bw", "ranges", 0))
    with pytest.raises(ArgumentError, match=message):
        tracks.values("chr1", 0, 10, **options)
