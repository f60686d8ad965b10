"""Negatives have the G+C content of peaks; bedtools is the oracle if it is installed."""

import shutil
import subprocess
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import seqloom as sl
from seqloom.data.interval._composition import count_ranges
from seqloom.data.interval._spans import open_genome
from seqloom.errors import ArgumentError, DataWarning

needs_bedtools = pytest.mark.skipif(not shutil.which("bedtools"), reason="no bedtools")
LENGTHS = {"chr1": 60_000, "chr2": 35_000, "chr3": 4_000}
WIDTH = 120


def random_chromosome(draw, length):
    """A sequence whose G+C content varies, with a part of unknown bases."""
    gc = np.repeat(draw.uniform(0.2, 0.8, length // 500 + 1), 500)[:length]
    is_strong, is_second = draw.random(length) < gc, draw.random(length) < 0.5
    codes = np.where(is_strong, 2, 0) + is_second
    letters = np.frombuffer(b"ATGCatgc", np.uint8)[codes + 4 * (draw.random(length) < 0.1)]
    letters[length // 3 : length // 3 + 150] = ord("N")
    letters[draw.random(length) < 0.01] = ord("n")
    return letters.tobytes().decode()


DRAW = np.random.default_rng(2)
CHROMOSOMES = {name: random_chromosome(DRAW, length) for name, length in LENGTHS.items()}


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    path = tmp_path_factory.mktemp("genome") / "g.fa"
    lines = (
        f">{name}\n" + "".join(f"{text[at : at + 60]}\n" for at in range(0, len(text), 60))
        for name, text in CHROMOSOMES.items()
    )
    path.write_text("".join(lines))
    return path


def random_peaks(seed, count=60):
    """A table of peaks on two chromosomes."""
    draw = np.random.default_rng(seed)
    chroms = [["chr1", "chr2"][it] for it in draw.integers(0, 2, count)]
    starts = [int(draw.integers(0, LENGTHS[it] - WIDTH)) for it in chroms]
    return {"chrom": chroms, "start": starts, "stop": [it + WIDTH for it in starts]}


def rows_of(table):
    """The intervals of a table as tuples."""
    rows = zip(table["chrom"], table["start"], table["stop"], strict=True)
    return [(str(chrom), int(start), int(stop)) for chrom, start, stop in rows]


def share_slowly(row, max_unknown=0.1):
    """The G+C content of an interval; None with too many unknown bases."""
    text = CHROMOSOMES[row[0]][row[1] : row[2]].upper()
    known = sum(map(text.count, "ACGT"))
    if len(text) - known > max_unknown * len(text):
        return None
    return (text.count("G") + text.count("C")) / known


def histogram(shares, size=0.02):
    """The number of shares in each bin."""
    numbers = [int(share / size + 1e-9) for share in shares if share is not None]
    return np.bincount(numbers, minlength=51)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), ratio=st.sampled_from([0.5, 1, 2, 3]))
def test_negatives_have_the_histogram_of_the_peaks(genome, seed, ratio):
    peaks = random_peaks(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        found = sl.data.negatives(peaks, genome, ratio=ratio, seed=seed)
    shares = [share_slowly(row) for row in rows_of(found)]
    expected = histogram([share_slowly(row) for row in rows_of(peaks)])
    assert found["gc"] == shares
    missing = ratio * expected - histogram(shares)
    if found.report["missing"] == 0 and ratio >= 1:
        assert not missing.any()
    assert abs(missing.sum() - found.report["missing"]) < 1
    assert sum(found.report["missing_by_gc"].values()) == found.report["missing"]
    assert found.report["wanted"] == len(found) + found.report["missing"]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000))
def test_negatives_overlap_neither_peaks_nor_excluded_intervals_nor_each_other(
    genome, seed
):
    peaks, exclude = random_peaks(seed), random_peaks(seed + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        found = sl.data.negatives(peaks, genome, ratio=3, exclude=exclude, seed=seed)
    taken = {name: np.zeros(length, int) for name, length in LENGTHS.items()}
    for chrom, start, stop in [*rows_of(peaks), *rows_of(exclude)]:
        taken[chrom][start:stop] = 1
    for chrom, start, stop in rows_of(found):
        assert 0 <= start < stop <= LENGTHS[chrom]
        assert stop - start == WIDTH
        assert not taken[chrom][start:stop].any()
        taken[chrom][start:stop] = 2


@needs_bedtools
def test_bedtools_finds_no_overlap_and_the_same_histogram(genome, tmp_path):
    def run(*words):
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        return [line.split("\t") for line in done.stdout.splitlines()]

    names = ["peaks", "exclude", "found"]
    peaks, exclude, found = (tmp_path / f"{name}.bed" for name in names)
    for path, table in ((peaks, random_peaks(5, 40)), (exclude, random_peaks(6, 20))):
        path.write_text(
            "".join(f"{row[0]}\t{row[1]}\t{row[2]}\n" for row in rows_of(table))
        )
    with pytest.warns(DataWarning, match="too many unknown bases"):
        sl.data.negatives(peaks, genome, exclude=exclude, gc_bins=0.1).write(found)
    assert not run("bedtools", "intersect", "-u", "-a", found, "-b", peaks, exclude)
    sorted_by_bedtools = run("bedtools", "sort", "-i", found)
    assert len(run("bedtools", "merge", "-d", "-1", "-i", found)) == len(sorted_by_bedtools)
    shares = {}
    for path in (peaks, found):
        rows = run("bedtools", "nuc", "-fi", genome, "-bed", path)[1:]
        counts = np.array([row[-7:] for row in rows], int)  # A, C, G, T, N, others, length
        known = counts[:, :4].sum(axis=1)
        is_kept = counts[:, 6] - known <= 0.1 * counts[:, 6]
        shares[path] = (counts[:, 1:3].sum(axis=1) / known)[is_kept].tolist()
    assert histogram(shares[found], 0.1).tolist() == histogram(shares[peaks], 0.1).tolist()


def test_the_seed_decides_the_negatives(genome):
    peaks = random_peaks(1)
    one, again, other = (
        rows_of(sl.data.negatives(peaks, genome, seed=it, gc_bins=0.1)) for it in (1, 1, 2)
    )
    assert one == again
    assert len(set(one) & set(other)) < len(one) / 2


@pytest.mark.parametrize("threads", ["1", "3"])
def test_threads_and_blocks_do_not_change_counts(genome, monkeypatch, threads):
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    monkeypatch.setattr("seqloom.data.interval._composition._BLOCK_BASES", 1000)
    starts = np.sort(np.random.default_rng(0).integers(0, 59_000, 400))
    ranges = (starts, starts + 950), (starts[:0], starts[:0])
    (gc, known), empty = count_ranges(open_genome(genome), 0, *ranges)
    texts = [CHROMOSOMES["chr1"][it : it + 950].upper() for it in starts.tolist()]
    assert gc.tolist() == [text.count("G") + text.count("C") for text in texts]
    assert known.tolist() == [sum(map(text.count, "ACGT")) for text in texts]
    assert not empty[0].size


def test_too_few_candidates_are_counted_with_a_warning(tmp_path):
    path = tmp_path / "g.fa"
    path.write_text(f">chr1\n{'GC' * 300}{'AT' * 300}{'GC' * 100}\n")
    peaks = {"chrom": ["chr1"] * 3, "start": [0, 100, 700], "stop": [100, 200, 800]}
    with pytest.warns(
        DataWarning, match="2 of 9 negatives are missing; for example, 2 with 0.98-1"
    ):
        found = sl.data.negatives(peaks, path, ratio=3, width=100)
    assert found.report["missing"] == 2
    assert found.report["missing_by_gc"] == {"0.98-1": 2}


def test_peaks_with_unknown_bases_have_no_negatives(genome):
    peaks = {"chrom": ["chr1"] * 2, "start": [100, 20_000], "stop": [220, 20_120]}
    with pytest.warns(DataWarning, match="1 of 2 peaks have too many unknown bases .max_"):
        found = sl.data.negatives(peaks, genome, gc_bins=0.1)
    assert (len(found), found.report["unknown"]) == (1, 1)


def test_width_resizes_peaks_at_their_summits(genome):
    peaks = {"chrom": ["chr1"], "start": [500], "stop": [900], "summit": [30]}
    found = sl.data.negatives(peaks, genome, width=50, ratio=4)
    share = share_slowly(("chr1", 505, 555))
    assert histogram(found["gc"]).tolist() == histogram([share] * 4).tolist()


def test_the_dataset_reads_peaks_and_negatives_as_two_classes(genome, tmp_path):
    found = sl.data.negatives(random_peaks(3), genome, gc_bins=0.1)
    found.write(tmp_path / "closed.bed")
    sl.data.Regions(random_peaks(3), {}).write(tmp_path / "open.bed")
    files = [tmp_path / "open.bed", tmp_path / "closed.bed"]
    data = sl.data.IntervalDataset(genome, files, labels="file")
    assert len(data) == 60 + len(found)
    assert len(sl.data.IntervalDataset(genome, found)) == len(found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratio": 0}, "ratio must be a number above 0, got 0"),
        ({"gc_bins": 1.5}, "gc_bins must be a number from 0.0001 to 1, got 1.5"),
        ({"gc_bins": 0}, "gc_bins must be a number from 0.0001 to 1, got 0"),
        ({"max_unknown": -1}, "max_unknown must be a number from 0 to 1"),
        ({"width": 1.5}, "width"),
        ({"width": None}, "peaks have 5 to 7 bases: pass width="),
    ],
)
def test_wrong_arguments_are_errors(genome, options, message):
    peaks = {"chrom": ["chr1"] * 2, "start": [0, 9], "stop": [5, 16]}
    with pytest.raises(ArgumentError, match=message):
        sl.data.negatives(peaks, genome, **{"width": 5} | options)


def test_a_contig_shorter_than_the_width_has_no_negatives(genome):
    peaks = {"chrom": ["chr3"], "start": [10], "stop": [20]}
    with pytest.warns(DataWarning, match="1 of 1 negatives are missing"):
        found = sl.data.negatives(peaks, genome, width=5_000, max_unknown=1)
    assert not len(found)


def test_contigs_shorter_than_the_distance_of_candidates_have_negatives(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("seqloom.data.interval._negatives._MAX_CANDIDATES", 20)
    path, names = tmp_path / "g.fa", [f"c{at}" for at in range(40)]
    path.write_text("".join(f">{name}\n{'ACGT' * 250}\n" for name in names))
    peaks = {"chrom": names, "start": [0] * 40, "stop": [100] * 40}
    with pytest.warns(DataWarning, match="negatives are missing"):
        found = sl.data.negatives(peaks, path)
    assert len(found) > 25  # on average, 8 / 9 of the 40 candidates are no peaks


def test_an_empty_table_excludes_nothing(genome):
    peaks, none = random_peaks(3), {"chrom": [], "start": [], "stop": []}
    expected = sl.data.negatives(peaks, genome, gc_bins=0.1)
    found = sl.data.negatives(peaks, genome, gc_bins=0.1, exclude=none)
    assert rows_of(found) == rows_of(expected)
