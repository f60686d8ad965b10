"""Ends of fragments are counted at their bases, and never shifted twice."""

import contextlib
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyBigWig
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import seqloom as sl
from fastx import COMPRESSORS
from seqloom.errors import ArgumentError, DataWarning, FormatError

SIZES = {"chr1": 300, "chr2": 80, "chr10": 120}
# Shares of A, C, G and T around the middle of Tn5 sites, and around plus ends of DNase-seq.
# They were published with chrombpnet, from data of GSE101074 and ENCSR025EYJ.
TN5 = """
.3758 .1410 .1945 .2887  .2124 .2557 .4140 .1179  .2087 .2536 .1922 .3456
.2289 .2810 .1963 .2938  .1685 .3422 .1563 .3330  .3401 .1602 .1577 .3420
.3369 .1467 .3426 .1738  .2838 .1995 .3005 .2163  .3334 .2022 .2571 .2073
.1479 .3869 .2510 .2142  .2859 .2259 .1659 .3222
"""
DNASE = """
.1743 .2846 .3475 .1936  .2083 .2720 .3044 .2153  .3201 .1829 .2597 .2373
.0864 .4722 .2397 .2017  .2282 .2500 .2021 .3197  .1608 .3038 .3118 .2236
.1849 .3415 .3668 .1068  .1952 .3789 .2039 .2220  .2504 .3022 .2224 .2250
.2389 .2641 .2712 .2258
"""


@pytest.fixture
def genome(tmp_path: Path) -> Path:
    path = tmp_path / "g.fa"
    path.write_text("".join(f">{name}\n{'ACGT' * (n // 4)}\n" for name, n in SIZES.items()))
    return path


def count_slowly(
    lines: list[str], shift: tuple[int, int], *, repeat: bool
) -> dict[str, list[Counter[int]]]:
    """Count the ends of each strand."""
    counts: dict[str, list[Counter[int]]] = {}
    for line in lines:
        name, start, stop, _, times = line.split("\t")
        plus, minus = counts.setdefault(name, [Counter(), Counter()])
        for _ in range(int(times) if repeat else 1):
            plus[int(start) + shift[0]] += 1
            minus[int(stop) - 1 + shift[1]] += 1
    return counts


def read(path: Path) -> dict[str, dict[int, float]]:
    """Read the bases of a file that have values, with another package."""
    found = {}
    with pyBigWig.open(str(path)) as file:
        assert file.chroms() == SIZES
        for name, size in SIZES.items():
            values = file.values(name, 0, size, numpy=True)
            rows = np.flatnonzero(~np.isnan(values)).tolist()
            found[name] = {row: float(values[row]) for row in rows}
    return {name: counts for name, counts in found.items() if counts}


FRAGMENTS = st.lists(
    st.tuples(st.integers(10, 60), st.integers(1, 15), st.integers(1, 300)),
    min_size=1,
    max_size=40,
)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    tables=st.dictionaries(st.sampled_from(list(SIZES)), FRAGMENTS, min_size=1),
    shift=st.tuples(st.integers(-9, 9), st.integers(-9, 5)),
    repeat=st.booleans(),
    kind=st.sampled_from(list(COMPRESSORS)),
)
def test_counts_are_those_of_a_slow_program(tables, shift, repeat, kind, genome: Path):
    lines = [
        f"{name}\t{start}\t{start + length}\tcell\t{times}"
        for name, rows in tables.items()
        for start, length, times in rows
    ]
    source, out = genome.with_name("f.tsv"), genome.with_name("a.bw")
    source.write_bytes(COMPRESSORS[kind]("\n".join(["# head", *lines, ""]).encode()))
    options: Any = {"assay": "atac", "shift": shift, "count_duplicates": repeat}
    report = sl.data.pileup(source, genome, out, **options)
    expected = count_slowly(lines, shift, repeat=repeat)
    assert report.ends == 2 * len(lines)
    assert read(out) == {name: plus + minus for name, (plus, minus) in expected.items()}
    sl.data.pileup(source, genome, out, strands=True, **options)
    for at, strand in enumerate(("plus", "minus")):
        found = read(genome.with_name(f"a.{strand}.bw"))
        assert found == {name: counts[at] for name, counts in expected.items()}


def test_counts_equal_those_of_bedtools(genome: Path, tmp_path: Path):
    rng = np.random.default_rng(5)
    starts = rng.integers(0, 200, 500)
    rows = [
        (it, it + size) for it, size in zip(starts, rng.integers(6, 100, 500), strict=True)
    ]
    source = tmp_path / "f.bed"
    source.write_text("".join(f"chr1\t{one}\t{other}\n" for one, other in rows))
    sl.data.pileup(source, genome, tmp_path / "a.bw", assay="atac", shift="4/-4")
    # The reads of both strands, shifted as in the preprocessing of chrombpnet.
    reads = [f"chr1\t{one + 4}\t{other}\tx\t0\t+\n" for one, other in rows]
    reads += [f"chr1\t{one}\t{other - 4}\tx\t0\t-\n" for one, other in rows]
    (tmp_path / "reads.bed").write_text("".join(reads))
    (tmp_path / "sizes").write_text("chr1\t300\n")
    program = shutil.which("bedtools")
    if program is None:
        pytest.skip("needs bedtools")
    words = [
        "genomecov",
        "-bg",
        "-5",
        "-i",
        tmp_path / "reads.bed",
        "-g",
        tmp_path / "sizes",
    ]
    text = subprocess.run(
        [program, *words], capture_output=True, text=True, check=True
    ).stdout
    with pyBigWig.open(str(tmp_path / "a.bw")) as file:
        found = [f"chr1\t{a}\t{b}\t{c:.0f}" for a, b, c in file.intervals("chr1")]
    assert found == text.splitlines()


def simulate(folder: Path, matrix: str, middle: int, shift: tuple[int, int]) -> list[Path]:
    """Write fragments whose ends are the row `middle` of preferred sites, plus a shift."""
    rng = np.random.default_rng(17)
    bases = rng.integers(0, 4, 200_000)
    text = "".join("ACGT"[it] for it in bases)
    (folder / "g.fa").write_text(f">chr1\n{text}\n")
    table = np.log([float(it) for it in matrix.split()]).reshape(-1, 4)
    width, size = len(table), bases.size - len(table) + 1
    weights = {}
    for sign, rows in (("+", table), ("-", table[::-1, ::-1])):
        weights[sign] = np.exp(sum(rows[k][bases[k : k + size]] for k in range(width)))
    total = np.cumsum(weights["-"])
    plus = np.sort(
        rng.choice(size - 400, 30_000, p=weights["+"][:-400] / weights["+"][:-400].sum())
    )
    low, high = total[plus + 40], total[plus + 390]
    minus = np.searchsorted(total, low + rng.random(plus.size) * (high - low))
    starts, lasts = plus + middle, minus + width - 1 - middle
    rows = zip(starts + shift[0], lasts + 1 + shift[1], strict=True)
    (folder / "f.tsv").write_text("".join(f"chr1\t{a}\t{b}\tx\t3\n" for a, b in rows))
    return [folder / "f.tsv", folder / "g.fa", folder / "a.bw"]


@pytest.mark.parametrize(
    ("had", "added"),
    [((0, 0), (4, -4)), ((4, -5), (0, 1)), ((4, -4), (0, 0)), ((5, -4), (-1, 0))],
)
def test_the_shift_of_atac_is_found_and_completed(had, added, tmp_path: Path):
    files = simulate(tmp_path, TN5, 1, had)
    report = sl.data.pileup(*files, assay="atac", shift="auto")
    assert (report.file_shift, report.shift, report.output_shift) == (had, added, (4, -4))


@pytest.mark.parametrize(("had", "added"), [((0, 0), (0, 1)), ((0, 1), (0, 0))])
def test_the_shift_of_dnase_is_found_and_completed(had, added, tmp_path: Path):
    files = simulate(tmp_path, DNASE, 5, had)
    report = sl.data.pileup(*files, assay="dnase", shift="auto")
    assert (report.file_shift, report.shift) == (had, added)


@pytest.mark.parametrize("had", [(4, -5), (4, -4)])
@pytest.mark.parametrize("shift", ["+4/-5", "+4/-4"])
def test_a_second_shift_is_refused(had, shift, tmp_path: Path):
    files = simulate(tmp_path, TN5, 1, had)
    with pytest.raises(ArgumentError, match=r"moves the ends away from \+4/-4"):
        sl.data.pileup(*files, assay="atac", shift=shift)
    assert not files[2].exists()


def test_a_shift_in_the_wrong_direction_is_refused(tmp_path: Path):
    files = simulate(tmp_path, TN5, 1, (0, 0))
    message = (
        r"shift -4/\+4 moves the ends away from \+4/-4: the motif shows 0/0; add \+4/-4"
    )
    with pytest.raises(ArgumentError, match=message):
        sl.data.pileup(*files, assay="atac", shift=(-4, 4))


def test_a_warning_reports_what_remains_to_be_added(tmp_path: Path):
    files = simulate(tmp_path, TN5, 1, (4, -5))
    with pytest.warns(DataWarning, match=r"have the shift \+4/-5, .* adds 0/\+1"):
        sl.data.pileup(*files, assay="atac")


def test_an_unclear_motif_is_not_guessed(tmp_path: Path):
    files = simulate(tmp_path, "1 1 1 1 " * 11, 1, (0, 0))
    with pytest.raises(ArgumentError, match="the bias motif is unclear"):
        sl.data.pileup(*files, assay="atac", shift="auto")
    assert sl.data.pileup(*files, assay="atac").file_shift is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chr1\t1\t9\nchr2\t1\t9\nchr1\t2\t9\n", "line 3.*come again.*sort -k1,1"),
        ("chr1\t9\t9\n", "expected start < stop"),
        ("chr1\t-1\t9\n", "start must be an integer of at least 0"),
        ("chr1\t1\t99999999999\n", "stop must be an integer"),
        ("chr1 1 9\n", "three columns"),
        ("chr1\t1\t301\n", "position 300, outside of the 300 bases"),
        ("chr3\t1\t9\n", "the genome has no contig .*chr3"),
        ("chr1\t1\t9\tread\t0\t-\n", "these are reads, not fragments"),
        ("# nothing\n", "f.tsv: no fragment is on a contig of .*g.fa; use the genome"),
    ],
)
def test_invalid_files_are_errors_and_nothing_is_written(text, message, genome: Path):
    source, out = genome.with_name("f.tsv"), genome.with_name("a.bw")
    source.write_text(text)
    with pytest.raises(FormatError, match=message):
        sl.data.pileup(source, genome, out, assay="atac")
    assert not out.exists()


def test_duplicates_need_a_positive_number(genome: Path):
    source, out = genome.with_name("f.tsv"), genome.with_name("a.bw")
    for row in ("chr1\t1\t9\tx", "chr1\t1\t9\tx\t0", "chr1\t1\t9\tx\tmany"):
        source.write_text(row)
        with pytest.raises(FormatError, match="number of duplicates"):
            sl.data.pileup(source, genome, out, assay="atac", count_duplicates=True)


def test_what_is_outside_is_left_out_and_counted(genome: Path):
    source, out = genome.with_name("f.tsv"), genome.with_name("a.bw")
    source.write_text("chr1\t2\t301\nchrX\t1\t9\nchrX\t1\t9\nchr2\t0\t9\n")
    report = sl.data.pileup(
        source, genome, out, assay="atac", shift=(-1, 0), outside="drop"
    )
    assert (report.fragments, report.outside, report.absent) == (2, 2, {"chrX": 2})
    assert read(out) == {"chr1": {1: 1}, "chr2": {8: 1}}


@pytest.mark.parametrize(
    "shift", ["4", "4/5/6", (1, 2, 3), (True, 1), None, "4/x", (1, 9999)]
)
def test_an_invalid_shift_is_an_error(shift, genome: Path):
    with pytest.raises(ArgumentError, match='shift must be "auto"'):
        sl.data.pileup("f.tsv", genome, "a.bw", assay="atac", shift=shift)


def test_the_input_is_never_replaced(genome: Path):
    source = genome.with_name("f.tsv")
    source.write_text("chr1\t1\t9\n")
    with pytest.raises(ArgumentError, match="also an input file"):
        sl.data.pileup(source, genome, source, assay="atac")


def test_the_output_is_a_bigwig_file(genome: Path):
    source = genome.with_name("f.tsv")
    source.write_text("chr1\t1\t9\n")
    with pytest.raises(ArgumentError, match=r"the suffix .bw or .bigwig, got .*pp.txt"):
        sl.data.pileup(source, genome, genome.with_name("pp.txt"), assay="atac")
    assert sl.data.pileup(source, genome, genome.with_name("p.bigWig"), assay="atac").ends


LINE = st.one_of(st.binary(max_size=20), st.just(b"chr1\t1\t9\tx\t2"))


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(lines=st.lists(LINE, max_size=5), repeat=st.booleans())
def test_any_bytes_are_counted_or_an_error_of_the_file(lines, repeat, genome: Path):
    source, out = genome.with_name("f.tsv"), genome.with_name("a.bw")
    source.write_bytes(b"\n".join(lines))
    with contextlib.suppress(FormatError):
        report = sl.data.pileup(source, genome, out, assay="atac", count_duplicates=repeat)
        assert report.ends == 2 * sum(line == b"chr1\t1\t9\tx\t2" for line in lines)
