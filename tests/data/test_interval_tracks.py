"""Tracks of intervals follow the sequence: jitter, strand and augmentation."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyBigWig
import pytest

import seqloom as sl
from seqloom.augment import Compose, Crop, Mutate, ReverseComplement, Shift
from seqloom.errors import ArgumentError, FormatError

LENGTH = 3000
INTERVALS = 24


@pytest.fixture
def genome(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    text = "".join(rng.choice(list("ACGT"), LENGTH))
    (tmp_path / "genome.fa").write_text(f">chr1\n{text}\n")
    return tmp_path / "genome.fa"


@pytest.fixture
def strands(tmp_path: Path) -> tuple[Path, Path]:
    """Counts at each base of the plus and the minus strand."""
    rng = np.random.default_rng(1)
    paths = tmp_path / "plus.bw", tmp_path / "minus.bw"
    for path in paths:
        with pyBigWig.open(str(path), "w") as file:
            file.addHeader([("chr1", LENGTH)])
            counts = rng.poisson(2, LENGTH).astype(float).tolist()
            file.addEntries("chr1", 0, values=counts, span=1, step=1)
    return paths


def make_intervals() -> dict[str, list[Any]]:
    starts = np.random.default_rng(2).integers(300, LENGTH - 400, INTERVALS)
    return {
        "chrom": ["chr1"] * INTERVALS,
        "start": starts.tolist(),
        "stop": (starts + 101).tolist(),
        "strand": list("+-") * (INTERVALS // 2),
    }


def one_hot(text: str) -> np.ndarray:
    return np.array([[base == it for base in text] for it in "ACGT"], np.float32)


@pytest.mark.parametrize(
    "augment", [None, ReverseComplement(), Compose([Mutate(0.05), ReverseComplement()])]
)
@pytest.mark.parametrize("target_width", [None, 41])
def test_tracks_follow_the_sequence(genome, strands, augment, target_width) -> None:
    data = sl.data.IntervalDataset(
        genome,
        make_intervals(),
        encoder=sl.encode.OneHot("dna"),
        width=201,
        jitter=30,
        tracks=[strands],
        missing="error",
        target_width=target_width,
        augment=augment,
    )
    batch = data.batch(range(INTERVALS), epoch=3)
    text = genome.read_text().split()[1]
    plus, minus = (pyBigWig.open(str(it)).values("chr1", 0, LENGTH) for it in strands)
    width = target_width or 201
    reversed_count = 0
    for row in range(INTERVALS):
        start, stop = int(batch["start"][row]), int(batch["stop"][row])
        forward = one_hot(text[start:stop])
        inputs = batch["inputs"][row]
        is_reversed = abs(inputs - forward[::-1, ::-1]).sum() < abs(inputs - forward).sum()
        first = start + (201 - width) // 2
        both = np.array([plus[first : first + width], minus[first : first + width]])
        expected = both[::-1, ::-1] if is_reversed else both
        np.testing.assert_array_equal(batch["tracks"][row], expected)
        reversed_count += is_reversed
    assert 0 < reversed_count < INTERVALS
    assert (batch["start"] != make_intervals()["start"]).any()


def test_bins_of_a_batch_are_means_of_bases(genome, strands) -> None:
    options: Any = {"width": 200, "tracks": strands[0], "missing": 0}
    bases = sl.data.IntervalDataset(genome, make_intervals(), **options)
    bins = sl.data.IntervalDataset(genome, make_intervals(), bin=25, **options)
    expected = bases.batch([0, 1])["tracks"].reshape(2, 1, 8, 25).mean(axis=3)
    np.testing.assert_allclose(bins.batch([0, 1])["tracks"], expected, rtol=1e-6)


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_do_not_depend_on_workers(genome, strands, workers: int) -> None:
    data = sl.data.IntervalDataset(
        genome,
        make_intervals(),
        encoder=sl.encode.OneHot("dna"),
        width=200,
        jitter=10,
        tracks=strands,
        missing=0,
    )
    loader = sl.data.DataLoader(data, batch_size=5, num_workers=workers, shuffle=True)
    for batch in loader:
        expected = data.batch(batch["ordinal"], epoch=0)["tracks"]
        np.testing.assert_array_equal(batch["tracks"], expected)


def test_cached_sequences_keep_their_tracks(genome, strands) -> None:
    data = sl.data.IntervalDataset(
        genome,
        make_intervals(),
        encoder=sl.encode.OneHot("dna"),
        augment=ReverseComplement(),
        width=200,
        tracks=[strands],
        missing=0,
    )
    one, other = (
        data.batch(range(9)),
        sl.data.cached(data, genome.parent / "cache").batch(range(9)),
    )
    np.testing.assert_array_equal(one["tracks"], other["tracks"])
    np.testing.assert_array_equal(one["inputs"], other["inputs"])


def test_the_request_is_part_of_the_fingerprint(genome, strands) -> None:
    requests: list[dict[str, Any]] = [
        {},
        {"tracks": strands[0], "missing": 0},
        {"tracks": strands[1], "missing": 0},
        {"tracks": strands[0], "missing": "nan"},
        {"tracks": strands[0], "missing": 0, "bin": 2},
        {"tracks": strands[0], "missing": 0, "target_width": 100},
    ]
    datasets = [
        sl.data.IntervalDataset(genome, make_intervals(), width=200, **it)
        for it in requests
    ]
    assert len({data.fingerprint() for data in datasets}) == len(requests)


def test_memory_does_not_grow_with_the_number_of_targets(genome, strands) -> None:
    starts = np.random.default_rng(3).integers(0, LENGTH - 1000, 20_000)
    table = {"chrom": ["chr1"] * 20_000, "start": starts, "stop": starts + 1000}
    tracemalloc.start()
    sl.data.IntervalDataset(genome, table)
    without = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    data = sl.data.IntervalDataset(genome, table, tracks=strands, missing=0)
    data.batch([0, 19_999])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All targets together would need 160 MB.
    assert peak < 2 * without + 10_000_000


@pytest.mark.parametrize("augment", [Crop(50), Shift(3), Mutate(deletions=0.1)])
def test_an_augmentation_that_moves_residues_is_refused(genome, strands, augment) -> None:
    with pytest.raises(ArgumentError, match=r"would not match the tracks.*pass jitter"):
        sl.data.IntervalDataset(
            genome, make_intervals(), tracks=strands, missing=0, augment=augment
        )


def test_intervals_of_several_widths_are_refused(genome, strands) -> None:
    table = {"chrom": ["chr1"] * 2, "start": [0, 10], "stop": [5, 30]}
    with pytest.raises(ArgumentError, match="2 widths from 5 to 20; pass width"):
        sl.data.IntervalDataset(genome, table, tracks=strands)


@pytest.mark.parametrize("target_width", [202, 100])
def test_targets_have_the_middle_of_the_sequence(genome, strands, target_width) -> None:
    with pytest.raises(ArgumentError, match="differ from it by an even number; got"):
        sl.data.IntervalDataset(
            genome,
            make_intervals(),
            width=201,
            tracks=strands,
            target_width=target_width,
        )


def test_a_track_of_another_genome_build_is_refused(genome, tmp_path) -> None:
    with sl.io.TrackWriter(tmp_path / "other.bw", {"chr1": LENGTH + 1}):
        pass
    message = r"other\.bw: chr1 has 3,001 bases, but 3,000 in the genome"
    with pytest.raises(FormatError, match=message):
        sl.data.IntervalDataset(genome, make_intervals(), tracks=tmp_path / "other.bw")


def test_by_default_a_base_without_a_value_is_an_error(genome, tmp_path) -> None:
    (tmp_path / "a.bedgraph").write_text(f"chr1 0 5 1\nchr1 9 {LENGTH} 2\n")
    table = {"chrom": ["chr1"], "start": [0], "stop": [10]}
    data = sl.data.IntervalDataset(genome, table, tracks=tmp_path / "a.bedgraph")
    with pytest.raises(FormatError, match="position 5 of chr1 has no value"):
        data.batch([0])


def test_homology_keeps_intervals_together_that_overlap_after_jitter(genome) -> None:
    starts = list(range(0, 2800, 120))
    table = {"chrom": ["chr1"] * len(starts), "start": starts}
    table["stop"] = [start + 100 for start in starts]
    apart = sl.data.IntervalDataset(genome, table, jitter=20, edge="pad")
    near = sl.data.IntervalDataset(genome, table, jitter=21, edge="pad")
    assert len(set(apart.group("homology"))) == len(starts)
    assert len(set(near.group("homology"))) == 1
