"""The sequences of intervals equal those that Biopython extracts."""

import gzip
import pickle
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from seqloom.data import IntervalDataset, Labels, SequenceDataset, folds, split, windows
from seqloom.encode import Integer, OneHot
from seqloom.errors import (
    AlphabetError,
    ArgumentError,
    FormatError,
    LabelError,
    MissingFileError,
)

seq = pytest.importorskip("Bio.Seq")

RNG = random.Random(1)  # noqa: S311 - a test
CHROMOSOMES = {
    name: "".join(RNG.choices("ACGTNacgtRY", k=size))
    for name, size in {"chr1": 500, "chr2": 333, "chrX": 97}.items()
}


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    path = tmp_path_factory.mktemp("genome") / "g.fa"
    wrapped = (
        f">{name} x\n" + "\n".join(text[i : i + 60] for i in range(0, len(text), 60)) + "\n"
        for name, text in CHROMOSOMES.items()
    )
    path.write_text("".join(wrapped))
    return path


@pytest.fixture
def bed(tmp_path):
    def write(text, name="a.bed"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def read(chrom, start, stop, strand="+"):
    """Return the expected sequence from Biopython, with N beyond the ends."""
    text = CHROMOSOMES[chrom]
    places = range(start, stop)
    whole = "".join(text[i] if 0 <= i < len(text) else "N" for i in places)
    return str(seq.Seq(whole).reverse_complement() if strand == "-" else whole).encode()


rows = st.sampled_from(sorted(CHROMOSOMES)).flatmap(
    lambda chrom: st.tuples(
        st.just(chrom),
        st.integers(0, len(CHROMOSOMES[chrom]) - 1),
        st.integers(1, 60),
        st.sampled_from("+-."),
    )
)


@settings(max_examples=30, deadline=None)
@given(st.lists(rows, min_size=1, max_size=20))
def test_interval_sequences_agree_with_biopython(genome, found):
    intervals = [(c, s, min(s + n, len(CHROMOSOMES[c])), d) for c, s, n, d in found]
    table = dict(
        zip(("chrom", "start", "stop", "strand"), zip(*intervals, strict=True), strict=True)
    )
    data = IntervalDataset(genome, table)
    assert [item["sequence"] for item in data] == [read(*row) for row in intervals]


@settings(max_examples=30, deadline=None)
@given(rows, st.integers(1, 80), st.integers(0, 30), st.integers(0, 3))
def test_jittered_and_padded_intervals_equal_genome_slices(
    genome, row, width, jitter, epoch
):
    chrom, start, size, strand = row
    table = {"chrom": [chrom], "start": [start], "stop": [start + size], "strand": [strand]}
    try:
        data = IntervalDataset(
            genome, table, width=width, jitter=jitter, edge="pad", seed=7
        )
    except FormatError:
        middle = start + (start + size - start) // 2
        assert middle - width // 2 >= len(CHROMOSOMES[chrom])
        return
    batch = data.batch([0], epoch=epoch)
    first = (2 * start + size) // 2 - width // 2
    assert abs(int(batch["start"][0]) - first) <= jitter
    assert int(batch["stop"][0]) - int(batch["start"][0]) == width
    wanted = read(chrom, int(batch["start"][0]), int(batch["stop"][0]), strand)
    assert batch["sequence"] == [wanted]


def test_an_interval_item_has_its_position(genome, bed):
    data = IntervalDataset(genome, bed("chr1\t5\t9\nchr2\t3\t8\n"))
    assert data[-1] == {
        "id": "chr2:3-8(.)",
        "sequence": read("chr2", 3, 8),
        "file": str(genome),
        "ordinal": 1,
        "chrom": "chr2",
        "start": 3,
        "stop": 8,
        "strand": ".",
    }


@pytest.mark.parametrize("how", [{"alphabet": "rna"}, {"encoder": OneHot("rna")}])
def test_the_minus_strand_of_rna_has_u_as_complement_of_a(tmp_path, how):
    (tmp_path / "r.fa").write_text(">c\nAACGUU\n")
    table = {"chrom": ["c"], "start": [0], "stop": [5], "strand": ["-"]}
    data = IntervalDataset(tmp_path / "r.fa", table, **how)
    expected = seq.reverse_complement_rna("AACGU")
    item = data[0]
    assert item.get("sequence", expected.encode()) == expected.encode()
    if "inputs" in item:
        assert OneHot("rna").decode(item["inputs"]) == [expected.encode()]


def test_complementing_u_without_an_alphabet_is_an_error(tmp_path):
    (tmp_path / "r.fa").write_text(">c\nAACGUU\n")
    table = {"chrom": ["c", "c"], "start": [0, 0], "stop": [5, 5], "strand": ["+", "-"]}
    data = IntervalDataset(tmp_path / "r.fa", table)
    assert data[0]["sequence"] == b"AACGU"
    with pytest.raises(ArgumentError, match='alphabet="rna"'):
        data[1]


def test_the_option_strand_false_ignores_the_strand(genome, bed):
    path = bed("chr1\t5\t9\tx\t0\t-\n")
    assert IntervalDataset(genome, path, strand=False)[0]["sequence"] == read("chr1", 5, 9)


def test_a_peak_is_centred_on_its_summit(genome, bed):
    path = bed("chr1\t100\t200\tp\t0\t.\t1.5\t-1\t-1\t30\n", "a.narrowPeak")
    item = IntervalDataset(genome, path, width=20)[0]
    assert (item["id"], item["sequence"]) == ("chr1:120-140(.)", read("chr1", 120, 140))


def test_a_peak_without_a_summit_is_centred_on_its_middle(genome, bed):
    path = bed("chr1\t100\t200\tp\t0\t.\t1.5\t-1\t-1\t-1\n")
    assert IntervalDataset(genome, path, width=20)[0]["start"] == 140


def test_comments_and_track_lines_of_a_bed_are_skipped(genome, bed):
    path = bed("track name=x\n# a\nbrowser position\n\nchr1\t1\t2\n")
    assert IntervalDataset(genome, path).ids == ["chr1:1-2(.)"]


def test_columns_of_an_interval_table_are_found_by_its_header(genome, bed):
    path = bed("#chrom\tend\tstart\tkind\nchr1\t9\t5\tx\n", "a.tsv")
    data = IntervalDataset(genome, path)
    assert (data.ids, data.group("kind")) == (["chr1:5-9(.)"], ["x"])


def test_a_compressed_interval_bed_is_read(genome, tmp_path):
    (tmp_path / "a.bed.gz").write_bytes(gzip.compress(b"chr1\t5\t9\n"))
    assert len(IntervalDataset(genome, tmp_path / "a.bed.gz")) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chr1\t1\t5\nchr1\t9\t5\n", "line 2: expected 0 <= start < stop, found start 9"),
        ("chr1\t-1\t5\n", "line 1: expected 0 <= start < stop, found start -1"),
        ("chr1\t1\n", "line 1: expected chrom, start and stop"),
        ("chr1\t1\t5\n\nchr1\t1\t5\tx\n", "line 3: expected 3 columns, found 4"),
        ("chr1\ta\t5\n", "line 1: start must be an integer, found 'a'"),
        ("chr1\t1\t1_0\n", "line 1: stop must be an integer, found '1_0'"),
        ("chr1\t\u0661\t5\n", "line 1: start must be an integer, found '\u0661'"),
        ("chr1\t1\t5\tx\t0\t*+\n", r"line 1: strand must be \+, - or \., found '\*\+'"),
        ("chr1\t1\t5\nchr9\t1\t5\n", "line 2: .*has no sequence 'chr9', it has chr1, chr2"),
        (
            "chr1\t1\t5\nchr1\t400\t501\n",
            "line 2: chr1:400-501 is not within the 500",
        ),
        ("", "expected chrom, start and stop"),
        ("chrom\tstart\tstop\n", "expected intervals, found none"),
    ],
)
def test_an_invalid_interval_is_reported_with_its_line(genome, bed, text, message):
    with pytest.raises(FormatError, match=message):
        IntervalDataset(genome, bed(text))


@pytest.mark.parametrize("width", [None, 12])
@pytest.mark.parametrize(("start", "stop"), [(-3, 9), (0, 12), (491, 503), (-2, 502)])
def test_intervals_are_padded_beyond_chromosome_ends(genome, start, stop, width):
    table = {"chrom": ["chr1"], "start": [start], "stop": [stop], "strand": ["+"]}
    item = IntervalDataset(genome, table, width=width, edge="pad")[0]
    middle = (start + stop) // 2
    span = (start, stop) if width is None else (middle - 6, middle + 6)
    assert (item["start"], item["stop"]) == span
    assert item["sequence"] == read("chr1", *span)


def test_the_option_edge_drop_removes_intervals_beyond_a_chromosome(genome, bed):
    data = IntervalDataset(genome, bed("chr1\t-1\t5\nchr1\t1\t5\n"), edge="drop")
    assert (len(data), data.report["dropped"]) == (1, 1)


def test_padding_an_interval_outside_its_chromosome_is_an_error(genome, bed):
    with pytest.raises(FormatError, match=r"line 1: .* is not within"):
        IntervalDataset(genome, bed("chr1\t-9\t-2\n"), edge="pad")


def test_dropped_intervals_are_counted_and_keep_their_ordinals(genome, bed):
    path = bed("chr1\t2\t4\nchr1\t100\t104\nchr1\t498\t500\n")
    data = IntervalDataset(genome, path, width=10, jitter=3, edge="drop")
    assert [int(item["ordinal"]) for item in data] == [1]
    assert data.report["dropped"] == 2
    assert data.report["dropped_examples"] == ["chr1:-2-8(.)", "chr1:494-504(.)"]


def test_the_jitter_of_an_interval_depends_on_seed_epoch_and_ordinal(genome):
    table = {"chrom": ["chr1"] * 40, "start": [200] * 40, "stop": [210] * 40}
    data = IntervalDataset(genome, table, jitter=50, seed=3)
    first = data.batch(range(40), epoch=1)["start"]
    assert len(set(first.tolist())) > 20
    again = [data.batch([i], epoch=1)["start"][0] for i in range(40)]
    assert again == first.tolist()
    assert data.batch(range(40), epoch=2)["start"].tolist() != first.tolist()
    other = IntervalDataset(genome, table, jitter=50, seed=4)
    assert other.batch(range(40), epoch=1)["start"].tolist() != first.tolist()


def test_jitter_shifts_intervals_by_every_allowed_distance(genome):
    table = {"chrom": ["chr1"] * 400, "start": [200] * 400, "stop": [210] * 400}
    data = IntervalDataset(genome, table, jitter=2)
    assert set(data.batch(range(400))["start"].tolist()) == {198, 199, 200, 201, 202}


def test_set_epoch_changes_the_jitter_of_intervals(genome):
    table = {"chrom": ["chr1"], "start": [200], "stop": [210]}
    data = IntervalDataset(genome, table, jitter=100)
    starts = set()
    for epoch in range(4):
        data.set_epoch(epoch)
        starts.add(int(data[0]["start"]))
        assert data[0]["start"] == data.batch([0], epoch=epoch)["start"][0]
    assert len(starts) > 1


def test_an_interval_table_may_contain_the_labels(genome, bed):
    path = bed("chr1\t1\t5\tno\nchr2\t1\t5\tyes\n")
    data = IntervalDataset(genome, path, labels="name")
    assert (data.classes, data.labels.tolist()) == (("no", "yes"), [0, 1])


def test_several_columns_of_intervals_are_read_as_several_labels(genome, bed):
    path = bed("chrom\tstart\tstop\tx\ty\nchr1\t1\t5\t0.5\t2\nchr2\t1\t5\t1.5\t3\n")
    data = IntervalDataset(genome, path, labels=Labels(("y", "x"), task="regress"))
    assert (data.classes, data.labels.tolist()) == (("y", "x"), [[2, 0.5], [3, 1.5]])


def test_intervals_of_several_files_form_one_dataset(genome, bed):
    paths = [bed("chr1\t1\t5\tx\n", "b.bed"), bed("chr2\t1\t5\n\nchr1\t3\t9\n", "a.bed")]
    data = IntervalDataset(genome, paths)
    wanted = [("chr1", 1, 5), ("chr2", 1, 5), ("chr1", 3, 9)]
    assert [item["sequence"] for item in data] == [read(*row) for row in wanted]
    with pytest.raises(FormatError, match=r"a\.bed, line 2: chr2:1-999"):
        IntervalDataset(genome, [paths[0], bed("\nchr2\t1\t999\n")])


def test_the_option_labels_file_makes_each_interval_file_a_class(genome, bed):
    paths = [bed("chr1\t1\t5\nchr2\t1\t5\n", "open.bed"), bed("chr1\t3\t9\n", "no.bed")]
    data = IntervalDataset(genome, paths, labels="file")
    assert [data.classes[i] for i in data.labels] == ["open", "open", "no"]
    data = IntervalDataset(genome, paths, labels={str(paths[0]): 1, str(paths[1]): 0})
    assert data.labels.tolist() == [1, 1, 0]
    table = {"chrom": ["chr1"], "start": [1], "stop": [5]}
    with pytest.raises(ArgumentError, match="a table in memory"):
        IntervalDataset(genome, table, labels="file")


def test_labels_that_match_no_interval_are_reported(genome, bed):
    tables = [bed("id\tlabel\np1\tx\nq\tx\n", "1.tsv"), bed("id\tlabel\np2\ty\n", "2.tsv")]
    data = IntervalDataset(genome, bed("chr1\t1\t5\tp1\nchr2\t1\t5\tp2\n"), labels=tables)
    assert (data.unmatched, data.report["labels_without_sequence"]) == (("q",), 1)
    assert [data.classes[i] for i in data.labels] == ["x", "y"]


def test_an_invalid_label_of_an_interval_is_reported_with_its_line(genome, bed):
    path = bed("chr1\t1\t5\tp1\t1.5\nchr2\t1\t5\tp2\thigh\n")
    with pytest.raises(LabelError, match=r"a\.bed, line 2: label 'high' is not a finite"):
        IntervalDataset(genome, path, labels=Labels("score", task="regress"))


def test_an_unknown_interval_column_is_an_error_that_lists_columns(genome, bed):
    with pytest.raises(
        MissingFileError, match=r"colour: no such file, nor a column .* name"
    ):
        IntervalDataset(genome, bed("chr1\t1\t5\tp1\n"), labels="colour")


def test_an_interval_dataset_counts_residues_of_its_intervals(genome, bed):
    data = IntervalDataset(
        genome,
        bed("chr1\t0\t90\nchr2\t10\t70\n"),
        encoder=OneHot("dna"),
        jitter=2,
        edge="pad",
    )
    text = (read("chr1", 0, 90) + read("chr2", 10, 70)).decode()
    assert data.report["letters"] == {
        "letters": 150,
        "N": text.upper().count("N"),
        "ambiguous": sum(text.count(letter) for letter in "RY"),
        "soft_masked": sum(letter.islower() for letter in text),
    }


def test_an_invalid_genome_path_is_an_error(genome, bed):
    path = bed("chr1\t1\t5\n")
    with pytest.raises(ArgumentError, match="genome must be the path of a FASTA"):
        IntervalDataset([genome], path)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="each of intervals must be the path of a BED"):
        IntervalDataset(genome, [path, 3])


def test_interval_labels_may_be_in_file_order(genome, bed):
    path = bed("chr1\t1\t2\nchr1\t100\t104\nchr2\t100\t104\n")
    data = IntervalDataset(
        genome,
        path,
        width=8,
        edge="drop",
        labels=Labels(np.array([0.5, 1.5, 2.5]), task="regress"),
    )
    assert data.labels.tolist() == [1.5, 2.5]


def test_interval_labels_are_joined_by_id_or_name(genome, bed):
    path = bed("chr1\t1\t5\tp1\nchr2\t1\t5\tp2\n")
    data = IntervalDataset(genome, path, labels={"p1": "x", "chr2:1-5(.)": "y"})
    assert [data.classes[i] for i in data.labels] == ["x", "y"]


def test_the_error_for_an_interval_without_a_label_names_it(genome, bed):
    path = bed("chr1\t1\t5\tp1\nchr2\t1\t5\tp2\n")
    with pytest.raises(LabelError, match=r"line 2: 1 of 2 intervals have no label"):
        IntervalDataset(genome, path, labels={"p1": "x"})


def test_fewer_labels_than_intervals_are_an_error(genome, bed):
    with pytest.raises(ArgumentError, match="one for each of 1 intervals, got 2"):
        IntervalDataset(genome, bed("chr1\t1\t5\n"), labels=[1, 2])


def test_a_split_by_chromosome_keeps_chromosomes_together(genome):
    chroms = ["chr1"] * 6 + ["chr2"] * 3 + ["chrX"]
    table = {"chrom": chroms, "start": list(range(10)), "stop": list(range(20, 30))}
    data = IntervalDataset(genome, table)
    train, valid = split(data, (0.6, 0.4), groups="chrom")
    assert set(train.group("chrom")).isdisjoint(valid.group("chrom"))
    for train, valid in folds(data, 3, groups="chrom"):
        assert len(set(valid.group("chrom"))) == 1
        assert len(train) + len(valid) == 10


def test_splitting_by_an_unknown_interval_column_lists_the_columns(genome, bed):
    data = IntervalDataset(genome, bed("chr1\t1\t5\nchr2\t1\t5\n"))
    with pytest.raises(
        ArgumentError,
        match="no column 'donor'; they have 'chrom', 'start', 'stop', 'strand'",
    ):
        split(data, (0.5, 0.5), groups="donor")


def test_only_the_training_set_of_intervals_keeps_jitter(genome):
    table = {"chrom": ["chr1"] * 10, "start": [200] * 10, "stop": [210] * 10}
    train, valid = split(IntervalDataset(genome, table, jitter=90), (0.5, 0.5))
    assert set(valid.to_numpy()["start"].tolist()) == {200}
    assert set(train.to_numpy()["start"].tolist()) != {200}


def test_a_slice_of_intervals_is_a_subset(genome, bed):
    data = IntervalDataset(genome, bed("chr1\t1\t5\nchr2\t1\t5\nchrX\t1\t5\n"))
    assert data[1:].whole is data
    assert data[1:].ids == data.ids[1:]


def test_a_pickled_interval_dataset_is_equal(genome):
    table = {"chrom": ["chr1"], "start": [200], "stop": [210]}
    data = IntervalDataset(genome, table, jitter=9, encoder=OneHot("dna"))
    again = pickle.loads(pickle.dumps(data))  # noqa: S301 - ours
    np.testing.assert_equal(again[0], data[0])
    assert again.fingerprint() == data.fingerprint()


def test_an_invalid_character_in_an_interval_is_reported_with_its_position(genome, bed):
    where = CHROMOSOMES["chr1"].index("R")
    data = IntervalDataset(
        genome, bed(f"chr1\t{where}\t{where + 3}\n"), encoder=OneHot("dna", unknown="error")
    )
    with pytest.raises(AlphabetError, match=rf"g\.fa: chr1:{where}-{where + 3}, residue 0"):
        data[0]


@pytest.mark.parametrize("edge", ["keep", "pad", "drop"])
@pytest.mark.parametrize(("width", "stride"), [(50, 50), (64, 20), (7, 30), (600, 600)])
def test_sliding_windows_cover_each_sequence_to_its_end(genome, edge, width, stride):
    wanted = []
    for text in CHROMOSOMES.values():
        start = 0
        while True:
            tile = text[start : start + width].encode()
            if edge == "pad":
                tile = tile.ljust(width, b"N")
            if not (edge == "drop" and len(tile) < width):
                wanted.append(tile)
            start += stride
            if start >= len(text) or start - stride + width >= len(text):
                break
    if not wanted:
        assert not len(windows(genome, width, stride, edge=edge))
        return
    found = windows(genome, width, stride, edge=edge)
    assert [item["sequence"] for item in found] == wanted


def test_the_option_edge_error_makes_short_windows_an_error(genome):
    with pytest.raises(FormatError, match="is not within the 500 residues"):
        windows(genome, 300, edge="error")


def test_a_split_by_interval_file_keeps_intervals_of_a_file_together(fasta):
    paths = [fasta({f"{i}{j}": "AC" for j in range(3)}, f"{i}.fa") for i in range(4)]
    train, valid = split(SequenceDataset(paths), (0.5, 0.5), groups="file")
    assert set(train.group("file")).isdisjoint(valid.group("file"))


@pytest.mark.parametrize("name", ["track1", "browser_1", "trackable", "Chromosome"])
def test_a_chromosome_name_in_a_bed_may_begin_with_track(tmp_path, bed, name):
    (tmp_path / "g.fa").write_text(f">{name}\nACGTACGT\n")
    data = IntervalDataset(tmp_path / "g.fa", bed(f"{name}\t1\t4\n{name}\t2\t4\n"))
    assert [item["sequence"] for item in data] == [b"CGT", b"GT"]


@pytest.mark.parametrize("how", ["\ufeff{}", "{}\n \n\n"])
def test_an_interval_file_may_have_any_encoding_and_line_ending(genome, bed, how):
    text = how.format("chr1\t1\t5\nchr2\t2\t6\n")
    for written in (text, text.replace("\n", "\r\n"), text.replace("\t", "  ")):
        assert IntervalDataset(genome, bed(written)).ids == [
            "chr1:1-5(.)",
            "chr2:2-6(.)",
        ]


ONE_INTERVAL = {"chrom": ["chr1"], "start": [1], "stop": [5]}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (ONE_INTERVAL | {"start": [None]}, "row 0: start must be an integer, found None"),
        (ONE_INTERVAL | {"start": [True]}, "row 0: start must be an integer, found True"),
        (
            ONE_INTERVAL | {"Start": [2]},
            "'start' and 'Start' may both be the column 'start'",
        ),
        ({"chrom": "chr1", "start": 1, "stop": 5}, "with a value for each"),
        ([("chr1", 1, 5)], "each of intervals must be the path of a BED file"),
    ],
    ids=range(5),
)
def test_an_invalid_table_of_intervals_is_an_error(genome, columns, message):
    with pytest.raises((FormatError, ArgumentError), match=message):
        IntervalDataset(genome, columns)


def test_duplicate_column_names_of_intervals_are_an_error(genome, bed):
    text = "chrom\tstart\tstop\tname\tname\nchr1\t1\t5\tp\tq\n"
    with pytest.raises(FormatError, match="two columns are named 'name'"):
        IntervalDataset(genome, bed(text), labels="name")


def test_chromosomes_in_memory_may_be_bytes(genome):
    assert IntervalDataset(genome, ONE_INTERVAL | {"chrom": [b"chr1"]}).ids == [
        "chr1:1-5(.)"
    ]


def test_a_summit_outside_its_interval_is_an_error_with_a_width(genome, bed):
    peak = bed("chr1\t100\t140\tp\t0\t+\t1\t1\t1\t120\n")
    assert IntervalDataset(genome, peak)[0]["sequence"] == read("chr1", 100, 140)
    with pytest.raises(FormatError, match=r"line 1: the summit .* 0 to 40.* found 120"):
        IntervalDataset(genome, peak, width=10)
    at_its_end = bed("chr1\t100\t140\tp\t0\t+\t1\t1\t1\t40\n")
    assert IntervalDataset(genome, at_its_end, width=10).ids == ["chr1:135-145(+)"]


@pytest.mark.parametrize("nothing", [None, float("nan"), ".", ""])
def test_intervals_may_lack_strands_and_summits(genome, nothing):
    table = {
        "chrom": ["chr1", "chr1"],
        "start": [100, 200],
        "stop": [140, 240],
        "strand": ["-", nothing],
        "summit": [4, nothing],
    }
    data = IntervalDataset(genome, table, width=8)
    assert data.ids == ["chr1:100-108(-)", "chr1:216-224(.)"]


@pytest.mark.parametrize("strand", [-1, -1.0, b"-", "-"], ids=range(4))
def test_interval_strands_are_accepted_in_every_common_notation(genome, strand):
    data = IntervalDataset(genome, ONE_INTERVAL | {"strand": [strand]})
    assert data[0]["sequence"] == read("chr1", 1, 5, "-")


@pytest.mark.parametrize(
    "text",
    [
        "chrom,start,end,label\nchr1,1,5,x\nchr2,2,6,y\n",
        "chrom;start;end;label\nchr1;1;5;x\nchr2;2;6;y\n",
        '"chrom"\t"start"\t"end"\t"label"\n"chr1"\t1\t5\t"x"\n"chr2"\t2\t6\t"y"\n',
        "seqnames\tstart\tend\twidth\tlabel\nchr1\t1\t5\t4\tx\nchr2\t2\t6\t4\ty\n",
        "label\tcontig\tbegin\tend\nx\tchr1\t1\t5\ny\tchr2\t2\t6\n",
        "#chrom\tstart\tend\tlabel\nchr1\t1\t5\tx\n#chrom\tstart\tend\tlabel\nchr2\t2\t6\ty\n",
        "# Chromosomes of UCSC\nchrom\tstart\tend\tlabel\nchr1\t1\t5\tx\nchr2\t2\t6\ty\n",
    ],
    ids=["comma", "semicolon", "quotes", "granges", "any order", "joined", "comment"],
)
def test_an_interval_table_with_any_separator_is_recognised_by_its_header(
    genome, bed, text
):
    data = IntervalDataset(genome, bed(text), labels="label")
    assert data.ids == ["chr1:1-5(.)", "chr2:2-6(.)"]
    assert [data.classes[i] for i in data.labels] == ["x", "y"]


MACS2_TABLE = (
    "# This file is generated by MACS version 2.2.7.1\n# d = 254\n\n"
    "chr\tstart\tend\tlength\tabs_summit\tpileup\tname\n"
    "chr1\t101\t140\t40\t112\t9.0\tp_1\nchr2\t5\t10\t6\t7\t8.0\tp_2\n"
)
HOMER_TABLE = (
    "# HOMER Peaks\n# Peak finding parameters:\n"
    "#PeakID\tchr\tstart\tend\tstrand\tNormalized Tag Count\n"
    "chr1-1\tchr1\t101\t140\t1\t3.5\nchr2-1\tchr2\t5\t10\t0\t2\n"
)
SAF_TABLE = "GeneID\tChr\tStart\tEnd\tStrand\na\tchr1\t101\t140\t-\nb\tchr2\t5\t10\t+\n"
GRANGES_TABLE = (
    '"seqnames","start","end","width","strand"\n"chr1",101,140,40,"-"\n"chr2",5,10,6,"+"\n'
)
MACS_14_TABLE = (
    "chr\tstart\tend\tlength\tsummit\ttags\n"
    "chr1\t101\t140\t40\t12\t9\nchr2\t5\t10\t6\t3\t8\n"
)


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        (MACS2_TABLE, ".."),
        (MACS_14_TABLE, ".."),
        (HOMER_TABLE, "-+"),
        (SAF_TABLE, "-+"),
        (GRANGES_TABLE, "-+"),
    ],
    ids=["MACS", "MACS 1.4", "HOMER", "SAF", "GRanges"],
)
def test_interval_tables_with_one_based_positions_are_converted(genome, bed, text, signs):
    # 101 to 140 (one-based, closed) is 100 to 140 (zero-based, half-open).
    data = IntervalDataset(genome, bed(text, "peaks.txt"))
    assert data.ids == [f"chr1:100-140({signs[0]})", f"chr2:4-10({signs[1]})"]
    assert data[0]["sequence"] == read("chr1", 100, 140, signs[0])


@pytest.mark.parametrize("text", [MACS2_TABLE, MACS_14_TABLE])
def test_the_summit_column_of_macs_is_read_as_one_based(genome, bed, text):
    # The one-based summit 112 is 111 if zero-based; width 2 around 111 starts at 110.
    data = IntervalDataset(genome, bed(text, "a_peaks.xls"), width=2)
    assert data.ids == ["chr1:110-112(.)", "chr2:5-7(.)"]


def test_data_frames_with_one_based_positions_are_converted(genome):
    table = {"chr": ["chr1"], "start": [101], "end": [140.0], "length": [40]}
    assert IntervalDataset(genome, table).ids == ["chr1:100-140(.)"]


@pytest.mark.parametrize("name", ["seqname", "seqnames"])
def test_gtf_and_granges_columns_of_unknown_base_are_an_error(genome, bed, name):
    text = f"{name}\tsource\tfeature\tstart\tend\tstrand\nchr1\ta\texon\t101\t140\t-\n"
    said = f"peaks.tsv: the column '{name}' is used by GTF and GRanges, .* subtract 1"
    with pytest.raises(FormatError, match=said):
        IntervalDataset(genome, bed(text, "peaks.tsv"))


@pytest.mark.parametrize(
    "rest",
    ["chr1\t90\t105\t2", "10\t30\t7\t2", "101\t104\t255,0,0\t2", ".\t-1\t-1\t0"],
    ids=["overlap", "chromosome called 10", "BED12", "no overlap"],
)
def test_the_tenth_column_of_other_beds_is_not_read_as_a_summit(bed, rest):
    # The middle of 100 to 140 is 120; the tenth column is a count, not a summit.
    chrom = "10" if rest.startswith("10") else "chr1"
    genome = bed(f">{chrom}\n{'ACGT' * 40}\n", "g.fa")
    file = bed(f"{chrom}\t100\t140\tp\t0\t+\t{rest}\n")
    data = IntervalDataset(genome, file, width=10)
    assert data.ids == [f"{chrom}:115-125(+)"]


@pytest.mark.parametrize("between", ["", "p\t"], ids=["column 4", "column 5"])
def test_a_bed_with_strands_outside_the_sixth_column_is_an_error(genome, bed, between):
    number = 5 if between else 4
    with pytest.raises(FormatError, match=f"line 1: column {number} contains strands"):
        IntervalDataset(genome, bed(f"chr1\t1\t5\t{between}+\nchr1\t2\t6\t{between}-\n"))
    points = bed(f"chr1\t1\t5\t{between}.\n", "points.bed")
    assert len(IntervalDataset(genome, points)) == 1


def test_a_contradictory_length_column_does_not_change_positions(genome):
    chrom = {"chrom": ["chr1", "chr1"], "start": [5, 5]}
    data = IntervalDataset(genome, chrom | {"end": [9, 8], "length": [5, 3]})
    assert data.ids == ["chr1:5-9(.)", "chr1:5-8(.)"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p1\tchr1\t5\t9\t+\n", "id, chrom, start and end"),
        ("chr1\t5\t5\t0.5\n", "count from 1"),
    ],
)
def test_errors_for_impossible_positions_suggest_one_based_input(
    genome, bed, text, message
):
    with pytest.raises(FormatError, match=message):
        IntervalDataset(genome, bed(text))


def test_the_error_for_an_unknown_chromosome_suggests_a_spelling(genome, bed):
    with pytest.raises(FormatError, match=r"no sequence '2'.*it has 'chr2'"):
        IntervalDataset(genome, bed("2\t5\t9\n"))


def test_a_comment_that_mentions_chrom_is_not_an_interval_header(genome, bed):
    path = bed("# Chromosome names as in Ensembl\nchr1\t1\t5\n")
    assert IntervalDataset(genome, path).ids == ["chr1:1-5(.)"]


def test_labels_are_joined_by_interval_position_before_resizing(genome, bed):
    path = bed("chr1\t100\t140\nchr1\t110\t130\nchr2\t100\t140\n")
    places = {"chr1:100-140(.)": "x", "chr1:110-130(.)": "y", "chr2:100-140(.)": "x"}
    # With width 20, the id of the first interval is the original position of the
    # second.
    data = IntervalDataset(genome, path, labels=places, width=20)
    assert [data.classes[i] for i in data.labels] == ["x", "y", "x"]


def test_a_tilde_in_the_path_of_a_genome_is_the_home_folder(genome, monkeypatch):
    monkeypatch.setenv("HOME", str(genome.parent))
    assert windows("~/g.fa", 100).ids == windows(genome, 100).ids


@pytest.fixture
def protein(tmp_path):
    (tmp_path / "p.fa").write_text(">p\nMKVLAW\n")
    return tmp_path / "p.fa"


@pytest.mark.parametrize("encoder", [OneHot("protein"), Integer("protein")], ids=["o", "i"])
def test_an_interval_of_a_protein_is_padded_with_x(protein, encoder):
    tiles = windows(protein, 4, edge="pad", encoder=encoder)
    expected = SequenceDataset(["MKVL", "AWXX"], encoder=encoder).batch([0, 1])
    np.testing.assert_array_equal(tiles.batch([0, 1])["inputs"], expected["inputs"])


def test_protein_intervals_without_an_encoder_are_padded_by_alphabet(protein):
    tiles = windows(protein, 4, edge="pad", alphabet="protein")
    assert [item["sequence"] for item in tiles] == [b"MKVL", b"AWXX"]


def test_padding_protein_intervals_without_an_alphabet_is_an_error(protein):
    table = {"chrom": ["p"], "start": [3], "stop": [8]}
    data = IntervalDataset(protein, table, edge="pad")
    with pytest.raises(
        ArgumentError, match=r'N, which is asparagine in a protein.*alphabet="protein"'
    ):
        data[0]
    assert IntervalDataset(protein, table, edge="pad", alphabet="dna")[0]["sequence"] == (
        b"LAWNN"
    )


def test_an_encoder_set_later_determines_the_alphabet_of_intervals(protein):
    tiles = windows(protein, 4, edge="pad")
    tiles.encoder = Integer("protein")
    expected = Integer("protein").batch([b"AWXX"])[0]
    np.testing.assert_array_equal(tiles[1]["inputs"], expected)
    minus = {"chrom": ["p"], "start": [0], "stop": [4], "strand": ["-"]}
    data = IntervalDataset(protein, minus)
    data.encoder = Integer("protein")
    with pytest.raises(ArgumentError, match="a protein has no reverse complement"):
        data[0]


@pytest.mark.parametrize("name", ["start", "stop", "summit"])
@pytest.mark.parametrize("place", [2**62, -(2**62), 2**63 - 1, 2**60 + 1])
def test_an_interval_position_that_would_overflow_is_an_error(genome, name, place):
    table = ONE_INTERVAL | {"summit": [1], name: [place]}
    with pytest.raises(
        FormatError, match=f"row 0: {name} must be a position from .* found"
    ):
        IntervalDataset(genome, table, width=4, edge="pad")


@pytest.mark.parametrize("place", [2**60 - 9, -(2**60)])
def test_the_largest_64_bit_position_is_outside_any_chromosome(genome, place):
    table = ONE_INTERVAL | {"start": [place], "stop": [place + 9], "summit": [9]}
    for width in (1, 2**60 - 1):
        with pytest.raises(FormatError, match="is not within"):
            IntervalDataset(genome, table, width=width, jitter=2**60, edge="pad")


@pytest.mark.parametrize("option", ["width", "jitter"])
def test_an_interval_width_that_would_overflow_is_an_error(genome, option):
    too_much: Any = {option: 2**60 + 1}
    with pytest.raises(ArgumentError, match=f"{option} must be an integer from [01] to"):
        IntervalDataset(genome, ONE_INTERVAL, **too_much)


@pytest.mark.parametrize(
    "option",
    [
        {"classes": ("a", "b")},
        {"id_column": "name"},
        {"label_column": ("x", "y")},
        {"unlabelled": "skip"},
        {"missing": ["none"]},
        {"task": "regress"},
    ],
    ids=lambda option: next(iter(option)),
)
def test_label_options_without_labels_are_an_error(genome, option):
    with pytest.raises(ArgumentError, match=f"{next(iter(option))}: used only if labels="):
        IntervalDataset(genome, ONE_INTERVAL, labels=Labels(**option))


def test_an_interval_on_the_minus_strand_of_a_protein_is_an_error(protein):
    table = {"chrom": ["p"], "start": [0], "stop": [4], "strand": ["-"]}
    with pytest.raises(ArgumentError, match="a protein has no reverse complement"):
        IntervalDataset(protein, table, encoder=Integer("protein"))
    data = IntervalDataset(protein, table, encoder=Integer("protein"), strand=False)
    expected = Integer("protein").batch([b"MKVL"])[0]
    np.testing.assert_array_equal(data[0]["inputs"], expected)


def test_intervals_in_parquet_are_an_error_that_suggests_a_data_frame(genome, tmp_path):
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "a.parquet"
    pandas.DataFrame({"chrom": ["chr1"], "start": [1], "end": [5]}).to_parquet(path)
    with pytest.raises(
        FormatError, match=r"found a Parquet file: save it as CSV, or .* data frame"
    ):
        IntervalDataset(genome, path)
    assert IntervalDataset(genome, pandas.read_parquet(path)).ids == ["chr1:1-5(.)"]


def test_an_interval_data_frame_may_contain_the_label_column(genome):
    frame = pd.DataFrame(
        {"chrom": ["chr1"] * 3, "start": [1, 2, 3], "stop": [5, 6, 7], "y": ["a", "b", "c"]}
    ).iloc[[2, 0]]
    data = IntervalDataset(genome, frame, labels=frame["y"])
    assert [data.classes[i] for i in data.labels] == ["c", "a"]
    with pytest.raises(LabelError, match=r"labels\.to_numpy\(\)"):
        IntervalDataset(genome, frame, labels=frame["y"].iloc[::-1])


def test_interval_labels_are_joined_to_names_by_an_integer_index(genome, bed):
    labels = pd.Series({2: "b", 1: "a"})
    data = IntervalDataset(genome, bed("chr1\t1\t5\t1\nchr2\t1\t5\t2\n"), labels=labels)
    assert [data.classes[i] for i in data.labels] == ["a", "b"]
