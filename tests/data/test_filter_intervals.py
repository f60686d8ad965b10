"""Filtered intervals equal those of a slow twin, and of bedtools if it is installed."""

import random
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import seqloom as sl
from seqloom.data.interval._composition import BaseCounts, count_bases
from seqloom.data.interval._spans import Spans, open_genome
from seqloom.errors import ArgumentError, FormatError

needs_bedtools = pytest.mark.skipif(not shutil.which("bedtools"), reason="no bedtools")
RNG = random.Random(1)  # noqa: S311 - a test
CHROMOSOMES = {
    name: "".join(RNG.choices("ACGTacgtNRU", [9] * 8 + [4, 1, 1], k=size))
    for name, size in {"chr1": 500, "chr2": 333, "chrX": 97}.items()
}
KNOWN_BASES = frozenset("ACGTUacgtu")


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    path = tmp_path_factory.mktemp("genome") / "g.fa"
    lines = (f">{name} x\n{text}\n" for name, text in CHROMOSOMES.items())
    path.write_text("".join(lines))
    return path


def table_of(rows, **columns):
    """A table of intervals from tuples of chrom, start and stop."""
    names = ("chrom", "start", "stop")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)) | columns


def intersects(one, other):
    """Return whether two intervals share a base."""
    shared = min(one[2], other[2]) - max(one[1], other[1])
    return one[0] == other[0] and shared > 0


def filter_slowly(rows, exclude, values, max_unknown, min_coverage):
    """The reason to drop each interval without overlaps; None if it remains."""
    reasons = []
    for row, value in zip(rows, values, strict=True):
        chrom, start, stop = row
        text = CHROMOSOMES[chrom][max(start, 0) : stop]
        unknown = sum(base not in KNOWN_BASES for base in text)
        if start < 0 or stop > len(CHROMOSOMES[chrom]):
            reasons.append("edge")
        elif any(intersects(row, other) for other in exclude):
            reasons.append("excluded")
        elif unknown > max_unknown * (stop - start):
            reasons.append("unknown")
        else:
            reasons.append("coverage" if value < min_coverage else None)
    return reasons


def drop_overlaps_slowly(rows, values, reasons):
    """The reasons, with "overlap" for intervals that overlap a better one."""
    reasons, best = list(reasons), []
    for at in sorted(range(len(rows)), key=lambda it: -values[it]):
        if reasons[at] is None and any(intersects(rows[at], other) for other in best):
            reasons[at] = "overlap"
        elif reasons[at] is None:
            best.append(rows[at])
    return reasons


intervals = st.tuples(
    st.sampled_from(sorted(CHROMOSOMES)), st.integers(-5, 520), st.integers(1, 60)
).map(lambda it: (it[0], it[1], it[1] + it[2]))


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(intervals, min_size=1, max_size=25),
    exclude=st.lists(intervals.filter(lambda it: it[1] >= 0), min_size=1, max_size=6),
    seed=st.integers(0, 99),
    max_unknown=st.sampled_from([0, 0.05, 0.2, 1]),
)
def test_each_interval_is_dropped_for_the_first_rule_that_it_breaks(
    genome, rows, exclude, seed, max_unknown
):
    draw = random.Random(seed)  # noqa: S311 - a test
    values = [draw.randrange(6) for _ in rows]
    found = sl.data.filter_intervals(
        table_of(rows, signal=values),
        genome,
        exclude=table_of(exclude),
        max_unknown=max_unknown,
        coverage="signal",
        min_coverage=2,
        overlaps="drop",
    )
    reasons = filter_slowly(rows, exclude, values, max_unknown, 2)
    reasons = drop_overlaps_slowly(rows, values, reasons)
    expected = [row for row, it in zip(rows, reasons, strict=True) if it is None]
    columns = (found[name] for name in ("chrom", "start", "stop"))
    assert list(zip(*columns, strict=True)) == expected
    names = ("edge", "excluded", "unknown", "coverage", "overlap")
    assert found.report["dropped"] == {it: reasons.count(it) for it in names}
    assert found.report["input"] == len(rows)
    assert found.report["output"] == len(expected)


@settings(max_examples=100, deadline=None)
@given(st.text("ACGTUNRacgtunr*-\n\x00@`fb", max_size=70))
def test_bases_are_counted_before_each_position(text):
    letters = np.frombuffer(text.encode(), np.uint8)
    found = BaseCounts(letters).before(np.arange(letters.size + 1)).tolist()
    gc = [sum(it in "GCgc" for it in text[:at]) for at in range(len(text) + 1)]
    known = [sum(it in KNOWN_BASES for it in text[:at]) for at in range(len(text) + 1)]
    assert found == [one + (two << 32) for one, two in zip(gc, known, strict=True)]


@pytest.mark.parametrize("size", [8, 64, 1000])
def test_the_size_of_a_block_does_not_change_counts(genome, monkeypatch, size):
    spans = Spans(*(np.array(it) for it in ([0, 1, 2, 0], [3, 0, 40, 7], [490, 9, 97, 8])))
    expected = count_bases(spans, open_genome(genome))
    monkeypatch.setattr("seqloom.data.interval._composition._BLOCK_BASES", size)
    for one, other in zip(count_bases(spans, open_genome(genome)), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    texts = [
        list(CHROMOSOMES.values())[it][a:b]
        for it, a, b in zip(spans.chroms, spans.starts, spans.stops, strict=True)
    ]
    assert expected[0].tolist() == [sum(it in "GCgc" for it in text) for text in texts]
    assert expected[1].tolist() == [sum(it in KNOWN_BASES for it in text) for text in texts]


@needs_bedtools
def test_excluded_intervals_equal_those_of_bedtools(genome, tmp_path):
    draw = random.Random(4)  # noqa: S311 - a test
    for name, count in (("peaks", 60), ("blacklist", 5)):
        starts = [
            (chrom, draw.randrange(60)) for chrom in CHROMOSOMES for _ in range(count)
        ]
        lines = (f"{chrom}\t{at}\t{at + draw.randrange(1, 9)}\n" for chrom, at in starts)
        (tmp_path / f"{name}.bed").write_text("".join(lines))
    peaks, blacklist = tmp_path / "peaks.bed", tmp_path / "blacklist.bed"
    command = ["bedtools", "intersect", "-v", "-a", peaks, "-b", blacklist]
    expected = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = sl.data.filter_intervals(peaks, genome, exclude=blacklist, max_unknown=1)
    found.write(tmp_path / "found.bed")
    assert (tmp_path / "found.bed").read_text() == expected


NARROW_PEAK = (
    "chr1\t100\t160\tp1\t5\t+\t9.5\t-1\t-1\t20\n"
    "chr1\t130\t180\tp2\t5\t-\t3.5\t-1\t-1\t-1\n"
    "chr2\t10\t40\tp3\t5\t.\t7\t-1\t-1\t3\n"
)


def test_resized_intervals_have_the_positions_of_the_dataset(genome, tmp_path):
    (tmp_path / "a.bed").write_text(NARROW_PEAK)
    found = sl.data.filter_intervals(tmp_path / "a.bed", genome, width=15, max_unknown=1)
    expected = sl.data.IntervalDataset(genome, tmp_path / "a.bed", width=15)
    assert sl.data.IntervalDataset(genome, found).ids == expected.ids
    assert sl.data.IntervalDataset(genome, found, width=9).ids == (
        sl.data.IntervalDataset(genome, tmp_path / "a.bed", width=9).ids
    )


def test_a_written_file_has_every_column(genome, tmp_path):
    (tmp_path / "a.bed").write_text(NARROW_PEAK)
    found = sl.data.filter_intervals(tmp_path / "a.bed", genome, max_unknown=1)
    found.write(tmp_path / "b.bed")
    again = sl.data.filter_intervals(tmp_path / "b.bed", genome, max_unknown=1)
    assert dict(again.table) == dict(found.table)
    assert (tmp_path / "b.bed").read_text().splitlines()[1] == NARROW_PEAK.splitlines()[0]


def test_of_overlapping_intervals_the_one_with_the_highest_signal_remains(genome, tmp_path):
    (tmp_path / "a.bed").write_text(NARROW_PEAK)
    found = sl.data.filter_intervals(
        tmp_path / "a.bed", genome, coverage="signal", overlaps="drop", max_unknown=1
    )
    assert found["name"] == ["p1", "p3"]
    assert found.report["examples"] == {"overlap": ["chr1:130-180(-)"]}


def test_a_missing_value_of_the_coverage_drops_the_interval(genome):
    rows = table_of([("chr1", 0, 5), ("chr1", 9, 12)], signal=["2", "."])
    found = sl.data.filter_intervals(rows, genome, coverage="signal", max_unknown=1)
    assert found["start"] == [0]
    assert found.report["dropped"]["coverage"] == 1


def test_an_exclude_list_of_another_genome_is_an_error(genome):
    rows = table_of([("chr1", 0, 5)])
    with pytest.raises(FormatError, match="none of the contigs 1; the genome has chr1"):
        sl.data.filter_intervals(rows, genome, exclude=table_of([("1", 0, 5)]))


def test_contigs_of_the_exclude_list_may_be_missing(genome):
    rows, exclude = table_of([("chr1", 0, 5)]), table_of([("chr1", 4, 9), ("chrM", 0, 5)])
    found = sl.data.filter_intervals(rows, genome, exclude=exclude, max_unknown=1)
    assert (len(found), found.report["ignored"]) == (0, 1)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "must have the columns of the intervals, got none"),
        ({"chrom": ["a", "b"], "start": [1]}, "got 2 in 'chrom', 1 in 'start'"),
    ],
)
def test_a_table_of_regions_has_columns_of_one_length(table, message):
    with pytest.raises(ArgumentError, match=message):
        sl.data.Regions(table, {})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_unknown": 2}, "max_unknown must be a number from 0 to 1, got 2"),
        ({"min_coverage": 2}, "need coverage="),
        ({"coverage": "signl"}, "no column 'signl' .coverage."),
        ({"overlaps": "merge"}, 'overlaps must be "keep" or "drop"'),
        ({"width": 0}, "width"),
        (
            {"coverage": "signal", "min_coverage": 5, "max_coverage": 1},
            "min_coverage must be at most max_coverage, got 5 and 1",
        ),
    ],
)
def test_wrong_arguments_are_errors(genome, options, message):
    with pytest.raises(ArgumentError, match=message):
        sl.data.filter_intervals(table_of([("chr1", 0, 5)], signal=[1]), genome, **options)


@pytest.mark.parametrize("options", [{"max_unknown": 2}, {"min_coverage": "x"}])
def test_limits_are_checked_before_the_genome_is_read(options):
    with pytest.raises(ArgumentError):
        sl.data.filter_intervals("no.bed", "no.fa", coverage="signal", **options)


def test_long_and_short_intervals_are_compared(genome):
    rows = [("chr1", 0, 500), *(("chr1", at, at + 1) for at in range(200))]
    values = [1.5, *(float(at % 3 != 1) for at in range(200))]
    found = sl.data.filter_intervals(
        table_of(rows, signal=values),
        genome,
        max_unknown=1,
        coverage="signal",
        overlaps="drop",
    )
    assert found["stop"] == [500]
    rows[0] = ("chr1", 199, 500)
    found = sl.data.filter_intervals(
        table_of(rows, signal=values),
        genome,
        max_unknown=1,
        coverage="signal",
        overlaps="drop",
    )
    assert sorted(found["start"]) == list(range(200))


def test_an_empty_table_excludes_nothing(genome):
    rows, none = table_of([("chr1", 0, 5)]), {"chrom": [], "start": [], "stop": []}
    found = sl.data.filter_intervals(rows, genome, exclude=none, max_unknown=1)
    assert len(found) == 1


def test_text_in_the_column_of_coverage_is_an_error_with_its_line(genome, tmp_path):
    (tmp_path / "a.bed").write_text("chr1\t0\t5\ta\t1\nchr1\t5\t9\tb\thigh\n")
    with pytest.raises(FormatError, match="line 2: score must be a number, found 'high'"):
        sl.data.filter_intervals(tmp_path / "a.bed", genome, coverage="score")
