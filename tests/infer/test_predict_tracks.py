"""Predicted tracks in bigWig files are the outputs of the network at their positions."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from bpnet_files import one_hot
from seqloom.errors import ArgumentError
from seqloom.models import BPNetConfig, ConvTowerConfig, Profile, Trained

DNA = sl.encode.OneHot("dna")
WIDTH, LENGTH = 160, 1000
BPNET = BPNetConfig(1, 4, 1, trimming=55)


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    """Write a genome of two contigs; return its path and its codes."""
    path = tmp_path_factory.mktemp("genome") / "g.fa"
    codes = np.random.default_rng(0).integers(0, 4, (2, LENGTH))
    texts = ["".join("ACGT"[code] for code in row) for row in codes]
    path.write_text(f">a\n{texts[0]}\n>b\n{texts[1]}\n")
    return path, codes


def intervals(*starts, contig="a", strand="+"):
    return {
        "chrom": [contig] * len(starts),
        "start": list(starts),
        "stop": [start + WIDTH for start in starts],
        "strand": [strand] * len(starts),
    }


def make_model(config, names=("reads",), likelihood: Any = "multinomial"):
    network = config.init("numpy", sl.Key(7)).eval()
    return Trained(network, DNA, Profile(names, likelihood), batch_size=4)


def expected_counts(model, codes):
    """Return the counts of one sequence, computed from both outputs of the network."""
    outputs = model.model(model.model.backend.tensor(one_hot(codes[None])))
    profile = outputs.profile.numpy()[0].astype(np.float64)
    share = np.exp(profile - profile.max()) / np.exp(profile - profile.max()).sum()
    return share * np.expm1(outputs.counts.item())


def read(path, contig="a"):
    return sl.io.open_tracks(path).values(contig, 0, LENGTH, missing="nan")[0]


def predict(model, genome, table, out, **options):
    data = sl.data.IntervalDataset(genome, table, encoder=DNA, **options)
    return sl.infer.predict_tracks(model, data, out)


def test_values_are_counts_in_the_middle_of_each_interval(genome, tmp_path):
    path, codes = genome
    model = make_model(BPNET)
    (out,) = predict(model, path, intervals(500, 100), tmp_path / "pred.bw")
    values = read(out)
    for start in (100, 500):
        expected = expected_counts(model, codes[0, start : start + WIDTH])[0]
        np.testing.assert_allclose(values[start + 55 : start + 105], expected, rtol=1e-4)
    assert np.isfinite(values).sum() == 100
    assert np.isnan(read(out, "b")).all()


def test_overlapping_intervals_have_the_mean(genome, tmp_path):
    path, codes = genome
    model = make_model(BPNET)
    (out,) = predict(model, path, intervals(100, 120, 170), tmp_path / "pred.bw")
    total = np.zeros((2, LENGTH))
    for start in (100, 120, 170):
        part = slice(start + 55, start + 105)
        total[0, part] += expected_counts(model, codes[0, start : start + WIDTH])[0]
        total[1, part] += 1
    with np.errstate(invalid="ignore"):
        expected = total[0] / total[1]
    np.testing.assert_allclose(read(out), expected, rtol=1e-4)


def test_intervals_on_the_minus_strand_are_in_the_order_of_the_genome(genome, tmp_path):
    path, codes = genome
    model = make_model(BPNET)
    table = intervals(300, contig="b", strand="-")
    (out,) = predict(model, path, table, tmp_path / "pred.bw")
    expected = expected_counts(model, 3 - codes[1, 300:460][::-1])[0, ::-1]
    np.testing.assert_allclose(read(out, "b")[355:405], expected, rtol=1e-4)


def test_padded_intervals_are_cut_at_the_ends_of_the_contig(genome, tmp_path):
    path, codes = genome
    model = make_model(BPNET)
    table = {"chrom": ["a", "a"], "start": [0, 980], "stop": [20, 1000]}
    (out,) = predict(model, path, table, tmp_path / "pred.bw", width=WIDTH, edge="pad")
    padded = np.pad(one_hot(codes[:1]), [(0, 0), (0, 0), (70, 70)])
    tensor = model.model.backend.tensor
    logits = [
        model.model(tensor(np.ascontiguousarray(padded[:, :, part]))).profile.numpy()
        for part in (slice(None, WIDTH), slice(-WIDTH, None))
    ]
    values = read(out)
    assert np.array_equal(
        np.flatnonzero(np.isfinite(values)), [*range(35), *range(965, 1000)]
    )
    for part, place in (
        (logits[0][0, 0, 15:], values[:35]),
        (logits[1][0, 0, :35], values[965:]),
    ):
        found = np.log(place) - np.log(place[0])
        np.testing.assert_allclose(found, part - part[0], atol=1e-4)


def test_bins_are_repeated_for_each_base(genome, tmp_path):
    path, codes = genome
    config = ConvTowerConfig(1, 8, channels=4, top_channels=4, layers=1, trimming=2)
    model = make_model(config, likelihood="poisson")
    (out,) = predict(model, path, intervals(200), tmp_path / "pred.bw")
    tensor = model.model.backend.tensor(one_hot(codes[:1, 200:360]))
    expected = np.exp(config.init("numpy", sl.Key(7)).eval().logits(tensor).numpy()[0, 0])
    np.testing.assert_allclose(read(out)[216:344], np.repeat(expected, 8), rtol=1e-4)


def test_several_tracks_have_a_file_each(genome, tmp_path):
    path, codes = genome
    config = BPNetConfig(2, 4, 1, trimming=55)
    model = make_model(config, ("plus.bw", "minus.bw"))
    found = predict(model, path, intervals(100), tmp_path / "pred.bw")
    assert [it.name for it in found] == ["pred.plus.bw", "pred.minus.bw"]
    expected = expected_counts(model, codes[0, 100:260])
    for out, values in zip(found, expected, strict=True):
        np.testing.assert_allclose(read(out)[155:205], values, rtol=1e-4)
    with pytest.raises(ArgumentError, match="several tracks, which may be strands"):
        predict(model, path, intervals(100, strand="-"), tmp_path / "pred.bw")


def test_names_without_letters_are_replaced_by_numbers(genome, tmp_path):
    model = make_model(BPNetConfig(2, 4, 1, trimming=55), ("???", "minus"))
    found = predict(model, genome[0], intervals(100), tmp_path / "pred.bigwig")
    assert [it.name for it in found] == ["pred.0.bigwig", "pred.1.bigwig"]


def test_a_path_in_the_home_folder_is_returned_as_written(genome, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (out,) = predict(make_model(BPNET), genome[0], intervals(100), "~/pred.bw")
    assert out == tmp_path / "pred.bw"
    assert out.is_file()


def test_other_models_and_records_are_refused(genome, tmp_path):
    model = make_model(BPNET)
    with pytest.raises(ArgumentError, match=r"out must end in \.bw or \.bigwig"):
        predict(model, genome[0], intervals(100), tmp_path / "pred.tsv")
    sequences = sl.data.SequenceDataset(["ACGT" * 40], encoder=DNA)
    with pytest.raises(ArgumentError, match="need the positions of intervals"):
        sl.infer.predict_tracks(model, sequences, tmp_path / "pred.bw")
    other = Trained(model.model, DNA, sl.models.Regress(("gc",)), 4)
    with pytest.raises(ArgumentError, match="the model's task is regress"):
        predict(other, genome[0], intervals(100), tmp_path / "pred.bw")
