"""Effects of variants on tracks, from intervals and bigWig files to scores."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError

distance = pytest.importorskip("scipy.spatial.distance")
WIDTH, TARGET_WIDTH = 128, 64
COUNT = 600


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a genome with motifs, the reads around each motif, and regions."""
    folder = tmp_path_factory.mktemp("tracks")
    rng = np.random.default_rng(0)
    genome = rng.integers(0, 4, 200 * (COUNT + 2))
    rate = np.full(genome.size, 0.05)
    lines = list[str]()
    for row in range(COUNT):
        middle = 200 * (row + 1)
        lines.append(f"chr1\t{middle - 50}\t{middle + 50}\tr{row}\t0\t+\n")
        for at in rng.integers(middle - 25, middle + 18, row % 3):
            genome[at : at + 7] = [0, 1, 1, 2, 3, 0, 2]
            rate[at - 4 : at + 11] += 0.8
    text = "".join("ACGT"[base] for base in genome)
    (folder / "genome.fa").write_text(f">chr1\n{text}\n")
    (folder / "regions.bed").write_text("".join(lines))
    with sl.io.TrackWriter(folder / "reads.bw", {"chr1": genome.size}) as writer:
        writer.write_values("chr1", 0, rng.poisson(rate))
    return folder


@pytest.fixture(scope="module")
def run(files: Path) -> Any:
    """Train a small BPNet on the regions."""
    data = sl.data.IntervalDataset(
        files / "genome.fa",
        files / "regions.bed",
        encoder=sl.encode.OneHot("dna"),
        width=WIDTH,
        target_width=TARGET_WIDTH,
        tracks={"reads": files / "reads.bw"},
        missing=0,
    )
    train, valid = sl.data.split(data, (0.75, 0.25), seed=0)
    config = sl.models.BPNetConfig(tracks=1, channels=8, layers=2, trimming=32)
    return sl.train.fit(config, train, valid, batch_size=16, lr=1e-2, epochs=12, seed=0)


def test_a_network_learns_counts_from_bigwig(run: Any) -> None:
    assert run.trained.task.columns == ("reads",)
    assert run.valid.metrics["pearson"] > 0.5


def test_the_distance_of_profiles_is_that_of_scipy(run: Any, files: Path) -> None:
    text = (files / "genome.fa").read_text().split()[1]
    starts = [4000, 4003, 4010]
    variants: Any = {
        "chrom": ["chr1"] * 3,
        "start": starts,
        "ref": [text[at] for at in starts],
        "alt": ["ACGT"[("ACGT".index(text[at]) + 1) % 4] for at in starts],
    }
    effects = sl.infer.variant_effects(
        run,
        variants,
        files / "genome.fa",
        width=WIDTH,
        compare=("jensen_shannon", "log_ratio"),
    )
    for row, at in enumerate(starts):
        first = at - WIDTH // 2
        window = text[first : first + WIDTH]
        changed = text[first:at] + variants["alt"][row] + text[at + 1 : first + WIDTH]
        found = sl.infer.predict(run, [window, changed]).outputs
        one, other = np.exp(np.asarray(found, np.float64))[:, 0]
        expected = distance.jensenshannon(one, other)
        assert effects["jensen_shannon_reads"][row] == pytest.approx(expected, abs=1e-6)
        ratio = np.log2(other.sum() / one.sum())
        assert effects["log_ratio_reads"][row] == pytest.approx(ratio, abs=1e-5)


def test_a_classifier_has_no_profile_to_compare(files: Path, tmp_path: Path) -> None:
    table = {"sequence": ["ACGT", "ACGA"], "label": ["yes", "no"]}
    data = sl.data.SequenceDataset(table, encoder=sl.encode.OneHot("dna"))
    run = sl.train.fit(sl.models.SequenceCNNConfig.for_data(data), data, epochs=1)
    base = (files / "genome.fa").read_text().split()[1][50]
    other = "ACGT"[("ACGT".index(base) + 1) % 4]
    variants = {"chrom": ["chr1"], "start": [50], "ref": [base], "alt": [other]}
    with pytest.raises(ArgumentError, match="needs a model of tracks"):
        sl.infer.variant_effects(
            run, variants, files / "genome.fa", compare="jensen_shannon"
        )


@pytest.mark.parametrize("config", [sl.models.BPNetConfig, sl.models.ConvTowerConfig])
def test_a_network_of_other_bins_is_refused(config: Any, files: Path) -> None:
    data = sl.data.IntervalDataset(
        files / "genome.fa",
        files / "regions.bed",
        encoder=sl.encode.OneHot("dna"),
        width=WIDTH,
        tracks=files / "reads.bw",
        bin=8,
        missing=0,
    )
    assert sl.models.ConvTowerConfig.for_data(data).bin_size == 8
    network = config(tracks=1, trimming=0)
    with pytest.raises(ArgumentError, match="the tracks have bins of 8; open the dataset"):
        sl.train.fit(network, data, epochs=1)


def test_a_network_of_tracks_is_exported_with_its_length(run: Any, tmp_path: Path) -> None:
    sl.export.save(run, tmp_path / "model")
    facts = json.loads((tmp_path / "model" / "export.json").read_text())
    assert facts["length"] == WIDTH
