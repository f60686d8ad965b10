"""`check_leakage` finds planted overlaps and copies, and none in shuffled sequence."""

import random
import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import ks_2samp

import seqloom as sl
from seqloom.data._similarity import _MAX_HOMOLOGY_KMERS
from seqloom.errors import ArgumentError, FormatError

COMPLEMENT = str.maketrans("ACGT", "TGCA")
WIDTH, COUNT = 200, 100


def random_bases(draw, size):
    """Random bases, mostly A and T, as in most genomes."""
    return "".join(draw.choices("ACGT", [3, 2, 2, 3], k=size))


def mutate(draw, text, share=0.05):
    """A copy with substitutions, and with some insertions and deletions."""
    bases = list(text)
    for at in draw.sample(range(len(bases)), round(share * len(bases))):
        kind = draw.random()
        if kind < 0.8:
            bases[at] = draw.choice([it for it in "ACGT" if it != text[at]])
        else:
            bases[at] = "" if kind < 0.9 else bases[at] + draw.choice("ACGT")
    return "".join(bases)


def table_of(rows) -> dict[str, list[Any]]:
    """A table of intervals from tuples of chrom, start and stop."""
    chroms, starts, stops = map(list, zip(*rows, strict=True))
    return {"chrom": chroms, "start": starts, "stop": stops}


def write_genome(path, chromosomes):
    """Write sequences as FASTA."""
    path.write_text("".join(f">{name}\n{text}\n" for name, text in chromosomes.items()))
    return path


def intervals_of(chrom, text, width=WIDTH):
    """Adjacent intervals of a chromosome."""
    starts = range(0, len(text) - width + 1, width)
    return [(chrom, start, start + width) for start in starts]


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A genome, its training intervals, and validation intervals with planted copies."""
    draw = random.Random(3)  # noqa: S311 - a test
    first = random_bases(draw, WIDTH * COUNT)
    copies = []
    for at in range(0, COUNT * WIDTH, WIDTH):
        text = mutate(draw, first[at : at + WIDTH])
        copies.append(text.translate(COMPLEMENT)[::-1] if at % 400 else text)
    others = [random_bases(draw, WIDTH) for _ in range(COUNT)]
    texts = [it for pair in zip(copies, others, strict=True) for it in pair]
    ends = np.cumsum([0, *map(len, texts)]).tolist()
    rows = [("chr2", start, stop) for start, stop in pairwise(ends)]
    chromosomes = {"chr1": first, "chr2": "".join(texts).lower()}
    path = write_genome(tmp_path_factory.mktemp("planted") / "g.fa", chromosomes)
    return path, intervals_of("chr1", first), rows


def test_planted_copies_of_both_strands_are_found(planted):
    genome, train, valid = planted
    report = sl.data.check_leakage(table_of(train), table_of(valid), genome)
    found = set(zip(*(report.leaks[it] for it in ("chrom", "start", "stop")), strict=True))
    assert report.overlapping == 0
    assert len(found & set(valid[::2])) >= 0.9 * COUNT
    assert not found & set(valid[1::2])


def test_the_training_interval_of_a_copy_is_named(planted):
    genome, train, valid = planted
    report = sl.data.check_leakage(table_of(train), table_of(valid), genome)
    numbers = {row: at // 2 for at, row in enumerate(valid)}
    columns = (report.leaks[it] for it in ("chrom", "start", "stop", "train", "reason"))
    for chrom, start, stop, name, reason in zip(*columns, strict=True):
        at = numbers[chrom, start, stop] * WIDTH
        assert (name, reason) == (f"chr1:{at}-{at + WIDTH}", "homology")


def test_shuffled_sequence_has_no_leak(tmp_path):
    draw = random.Random(5)  # noqa: S311 - a test
    first = random_bases(draw, 100_000)
    second = "".join(draw.sample(first, len(first)))
    genome = write_genome(tmp_path / "g.fa", {"chr1": first, "chr2": second})
    one, two = (intervals_of(*it) for it in (("chr1", first), ("chr2", second)))
    report = sl.data.check_leakage(table_of(one), table_of(two), genome)
    assert (report.overlapping, report.homologous) == (0, 0)
    assert report.gc_distance is not None
    assert report.gc_distance < 0.1


@pytest.mark.parametrize("limit", [_MAX_HOMOLOGY_KMERS, 20_000])
def test_kmers_of_large_sets_find_planted_copies(planted, monkeypatch, limit):
    monkeypatch.setattr("seqloom.data._similarity._MAX_SMALL_RESIDUES", 0)
    monkeypatch.setattr("seqloom.data._similarity._MAX_HOMOLOGY_KMERS", limit)
    genome, train, valid = planted
    report = sl.data.check_leakage(table_of(train), table_of(valid), genome)
    assert report.k == 16
    found = set(zip(*(report.leaks[it] for it in ("chrom", "start", "stop")), strict=True))
    assert len(found & set(valid[::2])) >= 0.9 * COUNT
    assert not found & set(valid[1::2])


def test_a_small_sample_of_the_kmers_finds_no_leak_in_shuffled_sequence(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("seqloom.data._similarity._MAX_SMALL_RESIDUES", 0)
    monkeypatch.setattr("seqloom.data._similarity._MAX_HOMOLOGY_KMERS", 8_000)
    draw = random.Random(6)  # noqa: S311 - a test
    first, second = (random_bases(draw, 400_000) for _ in range(2))
    genome = write_genome(tmp_path / "g.fa", {"chr1": first, "chr2": second})
    one, two = (intervals_of(*it) for it in (("chr1", first), ("chr2", second)))
    report = sl.data.check_leakage(table_of(one), table_of(two), genome)
    assert report.homologous == 0


@pytest.mark.parametrize(
    "name", ["interval._leakage._READ_BASES", "_similarity._BLOCK_PAIRS"]
)
def test_the_size_of_a_block_does_not_change_the_leaks(planted, monkeypatch, name):
    genome, train, valid = planted
    expected = sl.data.check_leakage(table_of(train), table_of(valid), genome)
    monkeypatch.setattr(f"seqloom.data.{name}", 500)
    found = sl.data.check_leakage(table_of(train), table_of(valid), genome)
    assert dict(found.leaks.table) == dict(expected.leaks.table)


random_intervals = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 400), st.integers(1, 50)).map(
        lambda it: (it[0], it[1], it[1] + it[2])
    ),
    min_size=1,
    max_size=20,
)


@pytest.fixture(scope="module")
def unknown_genome(tmp_path_factory):
    path = tmp_path_factory.mktemp("unknown") / "g.fa"
    return write_genome(path, {"a": "N" * 460, "b": "N" * 460})


@settings(max_examples=150, deadline=None)
@given(train=random_intervals, valid=random_intervals)
def test_each_overlap_is_found(unknown_genome, train, valid):
    def share(one, other):
        bases = min(one[2], other[2]) - max(one[1], other[1])
        return max(bases, 0) / (one[2] - one[1]) if one[0] == other[0] else 0

    report = sl.data.check_leakage(table_of(train), table_of(valid), unknown_genome)
    expected = [row for row in valid if any(share(row, other) for other in train)]
    columns = (report.leaks[it] for it in ("chrom", "start", "stop"))
    assert list(zip(*columns, strict=True)) == expected
    pairs = zip(expected, report.leaks["train"], report.leaks["shared"], strict=True)
    for row, name, shared in pairs:
        chrom, start, stop = re.fullmatch(r"(.+):(\d+)-(\d+)", name).groups()
        assert (chrom, int(start), int(stop)) in train
        assert share(row, (chrom, int(start), int(stop))) == shared > 0
    for one, summary in ((train, report.train), (valid, report.valid)):
        pairs = [(at, it) for at in range(len(one)) for it in range(len(one)) if at != it]
        assert summary.overlapping == len(
            {at for at, it in pairs if share(one[at], one[it])}
        )


def test_distances_equal_those_of_scipy(planted):
    genome, train, valid = planted
    report = sl.data.check_leakage(table_of(train), table_of(valid[:31]), genome)
    one, two = report.train, report.valid
    assert report.gc_distance == pytest.approx(ks_2samp(one.gc, two.gc)[0])
    distance = ks_2samp(one.lengths, two.lengths)[0]
    assert report.length_distance == pytest.approx(distance)


def test_no_leak_remains_after_the_leaks_are_excluded(planted):
    genome, train, valid = planted
    leaks = sl.data.check_leakage(table_of(train), table_of(valid), genome).leaks
    rest = sl.data.filter_intervals(table_of(valid), genome, exclude=leaks)
    assert len(rest) == len(valid) - len(leaks)
    assert not len(sl.data.check_leakage(table_of(train), rest, genome).leaks)


def test_no_leaks_exclude_nothing(planted):
    genome, train, _ = planted
    report = sl.data.check_leakage(
        table_of(train[:1]), table_of([("chr1", 600, 800)]), genome
    )
    rest = sl.data.filter_intervals(table_of(train), genome, exclude=report.leaks)
    assert (len(report.leaks), len(rest)) == (0, len(train))


def test_equal_sequences_of_few_kmers_leak_on_both_strands(tmp_path):
    texts = {"a": "AACGTTTGCAATC", "b": "aacgtttgcaatc", "c": "GATTGCAAACGTT"}
    genome = write_genome(tmp_path / "g.fa", texts | {"d": "GATTGCAAACGTA"})
    rows = [(name, 0, 13) for name in "abcd"]
    report = sl.data.check_leakage(table_of(rows[:1]), table_of(rows[1:]), genome)
    assert report.leaks["chrom"] == ["b", "c"]
    assert report.leaks["shared"] == [1, 1]


def test_equal_sequences_shorter_than_a_kmer_do_not_leak(planted):
    genome = planted[0]
    train, valid = ([("chr1", at, at + 1) for at in range(it, it + 20)] for it in (0, 50))
    assert not len(sl.data.check_leakage(table_of(train), table_of(valid), genome).leaks)


def test_an_interval_without_known_bases_has_no_gc_content(tmp_path):
    genome = write_genome(tmp_path / "g.fa", {"a": "GC" * 20 + "N" * 40 + "AC" * 20})
    train, valid = [("a", 0, 40), ("a", 40, 80)], [("a", 80, 120), ("a", 42, 80)]
    report = sl.data.check_leakage(table_of(train), table_of(valid), genome)
    assert np.isnan(report.train.gc[1])
    assert report.to_dict()["train"]["mean_gc"] == 1
    assert report.gc_distance == 1
    assert report.tables()[0].rows[4][1:] == ("100.0 %", "50.0 %", "1.000")
    report.write(tmp_path / "check.html")


def test_a_set_without_known_bases_has_no_gc_distance(tmp_path):
    genome = write_genome(tmp_path / "g.fa", {"a": "GC" * 20 + "N" * 40})
    train, valid = table_of([("a", 0, 40)]), table_of([("a", 40, 80)])
    report = sl.data.check_leakage(train, valid, genome)
    assert report.gc_distance is report.to_dict()["valid"]["mean_gc"] is None
    report.write(tmp_path / "check.html")
    assert "unknown" in (tmp_path / "check.html").read_text()


def count_leaks(one, two, genome):
    """The number of intervals of a part of a dataset that repeat another part."""
    train, valid = (
        {it: part.group(it) for it in ("chrom", "start", "stop")} for part in (one, two)
    )
    return len(sl.data.check_leakage(train, valid, genome).leaks)


def test_parts_of_a_split_by_homology_share_no_sequence(planted):
    genome, train, valid = planted
    shifted = [(chrom, start + 150, stop + 150) for chrom, start, stop in train[:-1:3]]
    data = sl.data.IntervalDataset(genome, table_of([*train, *valid, *shifted]))
    one, two = sl.data.split(data, (0.7, 0.3))
    assert count_leaks(one, two, genome)
    one, two = sl.data.split(data, (0.7, 0.3), groups="homology")
    pairs = [(one, two), *sl.data.folds(data, 3, groups="homology")]
    assert [count_leaks(*pair, genome) for pair in pairs] == [0] * 4


def test_the_width_of_the_model_decides_which_intervals_overlap(planted):
    genome = planted[0]
    train, valid = table_of([("chr1", 1000, 1010)]), table_of([("chr1", 1100, 1110)])
    assert sl.data.check_leakage(train, valid, genome, width=100).overlapping == 0
    assert sl.data.check_leakage(train, valid, genome, width=101).overlapping == 1


def test_bases_beyond_a_contig_are_counted(planted):
    genome = planted[0]
    report = sl.data.check_leakage(
        table_of([("chr1", 0, 20)]), table_of([("chr1", 5000, 5040)]), genome, width=40
    )
    assert (report.train.edge, report.valid.edge) == (1, 0)
    assert (report.train.unknown, report.valid.unknown) == (0.25, 0)


def test_classes_are_counted(planted):
    train = table_of([("chr1", it, it + 20) for it in (0, 50, 90, 130)])
    valid = table_of([("chr1", it, it + 20) for it in (400, 450)])
    train["kind"], valid["kind"] = ["open", "open", "open", "shut"], ["shut", "other"]
    report = sl.data.check_leakage(train, valid, planted[0], label="kind")
    assert report.train.classes == {"open": 3, "shut": 1}
    assert report.class_distance == pytest.approx(0.75)
    assert report.to_dict()["valid"]["classes"] == {"other": 1, "shut": 1}


@pytest.mark.parametrize(
    ("label", "message"),
    [("knd", "no column 'knd'"), ("score", "60 distinct values, but classes")],
)
def test_a_column_without_classes_is_an_error(planted, label, message):
    rows = table_of([("chr1", it, it + 20) for it in range(60)]) | {
        "kind": ["a"] * 60,
        "score": list(range(60)),
    }
    with pytest.raises(ArgumentError, match=message):
        sl.data.check_leakage(rows, rows, planted[0], label=label)


def test_an_interval_outside_its_contig_is_an_error(planted):
    rows = table_of([("chr1", 10**6, 10**6 + 5)])
    with pytest.raises(FormatError, match="is not within the 20,000 residues of chr1"):
        sl.data.check_leakage(rows, rows, planted[0])


def test_the_page_lists_the_leaks(planted, tmp_path):
    genome, train, valid = planted
    report = sl.data.check_leakage(table_of(train), table_of(valid), genome)
    report.write(tmp_path / "check.html")
    page = (tmp_path / "check.html").read_text()
    assert report.leaks["train"][0] in page
    assert f"{report.homologous:,} more" in page
