"""The task `profile`: training on tracks, its metrics, intervals, tables and scores."""

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from bpnet_files import one_hot
from seqloom.errors import ArgumentError, LabelError
from seqloom.models import BPNetConfig, ConvTowerConfig, EnsembleConfig, Profile
from seqloom.train._track_results import make_track_section, track_intervals

F = sl.nn.functional
stats = pytest.importorskip("scipy.stats")
MOTIF = np.array([0, 1, 1, 2, 3, 0, 2])
LENGTH, POSITIONS = 200, 100


class TrackDataset:
    """Sequences with tracks, in the form of a dataset that reads tracks as needed."""

    supports_threads = True
    task, labels, noun, report = "profile", None, "regions", None

    def __init__(self, codes, tracks, classes=("reads",)):
        self.codes, self.tracks, self.classes = codes, tracks, classes
        self.encoder = sl.encode.OneHot("dna")
        self.ids = [f"r{number}" for number in range(len(codes))]
        self.lengths = np.full(len(codes), codes.shape[1])

    def __len__(self):
        return len(self.codes)

    def batch(self, indices):
        return {
            "inputs": one_hot(self.codes[indices]),
            "tracks": self.tracks[indices],
        }

    def __getitem__(self, index):
        return {name: array[0] for name, array in self.batch(np.asarray([index])).items()}

    def fingerprint(self):
        return "tracks"

    def part(self, start, stop):
        return TrackDataset(self.codes[start:stop], self.tracks[start:stop], self.classes)


def simulate(count, tracks=1, seed=0):
    """Return sequences, and reads around each copy of a motif."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, 4, (count, LENGTH))
    rates = np.full((count, tracks, POSITIONS), 0.05)
    for row in range(count):
        for place in random.integers(58, 135, row % 3):
            codes[row, place : place + len(MOTIF)] = MOTIF
            rates[row, :, place - 58 : place - 42] += 0.8
    names = ("reads",) if tracks == 1 else tuple(f"track{k}" for k in range(tracks))
    return TrackDataset(codes, random.poisson(rates).astype(np.float32), names)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Train a small BPNet on simulated reads, with a validation and a test set."""
    data, folder = simulate(240), tmp_path_factory.mktemp("profile") / "run"
    settings: Any = {"batch_size": 16, "lr": 1e-2, "epochs": 20, "out": folder}
    config = BPNetConfig(1, 16, 2, trimming=50)
    parts = [data.part(0, 160), data.part(160, 200), data.part(200, 240)]
    as_arrays = [{"x": one_hot(it.codes), "y": it.tracks} for it in parts]
    train, valid, test = as_arrays
    return sl.train.fit(config, train, valid, test=test, objective="profile", **settings)


def test_metrics_are_those_of_scipy(run):
    part = run.test
    true = part.labels.sum(axis=(1, 2), dtype=np.float64)
    logits = part.scores.outputs.astype(np.float64)[:, 0]
    logs = np.logaddexp.reduce(logits, axis=1)
    expected = {
        "pearson": stats.pearsonr(np.log1p(true), logs)[0],
        "spearman": stats.spearmanr(true, logs)[0],
    }
    found = {name: part.metrics[name] for name in expected}
    assert found == pytest.approx(expected, abs=1e-5)
    assert part.metrics["jensen_shannon"] < run.history[0]["valid_jensen_shannon"]


def test_the_weight_of_the_count_loss_is_a_tenth_of_the_median_count(run):
    totals = simulate(240).part(0, 160).tracks.sum(axis=(1, 2))
    assert run.trained.task.count_weight == max(1.0, np.median(totals) / 10)


def test_the_objective_sets_the_weight_of_the_count_loss():
    data, config = simulate(24), BPNetConfig(1, 4, 1, trimming=50)
    objective = sl.train.Objective(count_weight=0.5)
    run = sl.train.fit(config, data, objective=objective, epochs=1)
    assert run.trained.task == Profile(("reads",), count_weight=0.5)
    arrays = {"x": one_hot(data.codes), "y": data.tracks}
    objective = sl.train.Objective(count_weight=0.5, loss=F.profile_loss)
    with pytest.raises(ArgumentError, match="count_weight is for tracks, but the task is"):
        sl.train.fit(config, arrays, objective=objective, epochs=1)
    with pytest.raises(ArgumentError, match="count_weight must be 0 or more, got -1"):
        sl.train.Objective(count_weight=-1.0)


def test_the_run_folder_has_counts_intervals_and_pictures(run):
    scores = sl.infer.Scores.read_tsv(run.folder / "scores-test.tsv").to_numpy()
    labels = sl.infer.Scores.read_tsv(run.folder / "labels-test.tsv").to_numpy()
    assert np.array_equal(labels, run.test.labels.sum(axis=2))
    totals = np.exp(run.test.scores.outputs).sum(axis=2) - 1
    np.testing.assert_allclose(scores, totals, rtol=1e-4)
    results = json.loads((run.folder / "results.json").read_text())["parts"]["test"]
    for name, (low, high) in results["intervals"].items():
        assert low < results["metrics"][name] < high
    assert results["intervals"].keys() == {"pearson", "spearman", "jensen_shannon"}
    text = (run.folder / "report.html").read_text()
    assert "Observed and predicted tracks" in text
    assert sl.models.load(run.folder).task == run.trained.task


def test_intervals_are_those_of_a_slow_bootstrap():
    random = np.random.default_rng(3)
    labels = random.poisson(random.gamma(2.0, 0.3, (60, 2, 1)), (60, 2, 20)) * 1.0
    noise = 3 * random.random((60, 2, 1)) + random.random((60, 2, 20))
    scores = labels.mean(axis=2, keepdims=True) + noise
    task = Profile(("a", "b"), likelihood="poisson")
    found = track_intervals(task, labels, scores)
    draws = [random.integers(0, 60, 60) for _ in range(500)]
    slow = [task.measure(labels[rows], scores[rows]) for rows in draws]
    for name, interval in found.items():
        expected = np.percentile([it[name] for it in slow], (2.5, 97.5))
        width = expected[1] - expected[0]
        np.testing.assert_allclose(interval, expected, atol=0.1 * width)


@pytest.mark.parametrize("constant", [1, 2])
def test_intervals_leave_out_tracks_of_constant_counts(constant):
    random = np.random.default_rng(3)
    labels = random.poisson(1.0, (40, 2, 20)) * 1.0
    labels[:, :constant] = 1.0
    scores = labels + random.random((40, 2, 20))
    found = track_intervals(Profile(("a", "b"), "poisson"), labels, scores)
    other = track_intervals(Profile(("b",), "poisson"), labels[:, 1:], scores[:, 1:])
    for name in ("pearson", "spearman"):
        assert found[name] == pytest.approx(other[name], nan_ok=True)
        assert np.isnan(found[name]).all() == (constant == 2)
    assert np.isfinite(found["jensen_shannon"]).all()


def test_pictures_show_expected_counts_without_the_added_1():
    counts, values = np.array([[[3.0, 1.0, 0.5, 1.5]]]), np.array([[6.0]])
    outputs = np.log(counts * 7 / 6)  # the sum of the 4 positions is 6 + 1
    scores = sl.infer.Scores(["r"], ("reads",), values, outputs=outputs)
    part = SimpleNamespace(labels=counts, scores=scores)
    plot: Any = make_track_section(Profile(("reads",)), "test", part).drawings[0]
    np.testing.assert_allclose(-plot.traces[1].y, counts[0, 0], rtol=1e-5)


def test_a_dataset_that_reads_tracks_as_needed_trains_and_is_evaluated(tmp_path):
    data = simulate(60, tracks=2)
    train, test = data.part(0, 40), data.part(40, 60)
    config = BPNetConfig.for_data(train)
    assert (config.tracks, config.trimming) == (2, 50)
    small = BPNetConfig(2, 4, 1, trimming=50)
    run = sl.train.fit(small, train, test, epochs=2)
    assert run.trained.classes == ("track0", "track1")
    metrics = sl.infer.evaluate(run.trained, test)
    assert metrics == run.valid.metrics
    texts = ["".join("ACGT"[code] for code in row) for row in test.codes]
    scores = sl.infer.predict(run.trained, texts)
    np.testing.assert_array_equal(scores.to_numpy(), run.valid.scores.to_numpy())
    (tmp_path / "genome.fa").write_text(f">chr1\n{texts[0]}\n")
    for call in (
        lambda: sl.infer.predict(run.trained, texts, reverse_complement=True),
        lambda: sl.infer.variant_effects(
            run.trained, [], tmp_path / "genome.fa", reverse_complement=True
        ),
    ):
        with pytest.raises(ArgumentError, match="models of one track without strand"):
            call()


def test_both_strands_of_a_track_are_averaged_at_each_position(run):
    trained = sl.models.Trained(
        run.model, sl.encode.OneHot("dna"), run.trained.task, batch_size=4
    )
    codes = simulate(4, seed=9).codes
    texts = ["".join("ACGT"[code] for code in row) for row in codes]
    found: Any = sl.infer.predict(trained, texts, reverse_complement=True).outputs
    one, other = (
        np.exp(run.model.logits(run.model.backend.tensor(np.ascontiguousarray(x))).numpy())
        for x in (one_hot(codes), one_hot(codes)[:, ::-1, ::-1])
    )
    np.testing.assert_allclose(np.exp(found), (one + other[:, :, ::-1]) / 2, rtol=1e-4)


def test_effects_of_variants_are_log_ratios_of_counts(run, tmp_path):
    trained = sl.models.Trained(
        run.model, sl.encode.OneHot("dna"), run.trained.task, batch_size=4
    )
    codes = simulate(3, seed=5).codes[2]
    text = "".join("ACGT"[code] for code in codes)
    (tmp_path / "genome.fa").write_text(f">chr1\n{text}\n")
    other = text[:100] + ("A" if text[100] != "A" else "C") + text[101:]
    (tmp_path / "v.vcf").write_text(
        "##fileformat=VCFv4.2\n##contig=<ID=chr1,length=200>\n"
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
        f"chr1\t101\t.\t{text[100]}\t{other[100]}\t.\t.\t.\n"
    )
    effects = sl.infer.variant_effects(
        trained, tmp_path / "v.vcf", tmp_path / "genome.fa", width=200, compare="log_ratio"
    )
    encode, tensor = sl.encode.OneHot("dna"), run.model.backend.tensor
    logs = [
        run.model(tensor(encode(it.encode())[None])).counts.item() for it in (text, other)
    ]
    expected = (logs[1] - logs[0]) / np.log(2)
    assert effects["log_ratio_0"][0] == pytest.approx(expected, abs=1e-5)
    with pytest.raises(ArgumentError, match="logit"):
        sl.infer.variant_effects(
            trained, tmp_path / "v.vcf", tmp_path / "genome.fa", width=200, compare="logit"
        )


def test_explanations_are_changes_of_the_log_count(run):
    trained = sl.models.Trained(
        run.model, sl.encode.OneHot("dna"), run.trained.task, batch_size=4
    )
    codes = simulate(3, seed=5).codes[2]
    found = sl.infer.explain(
        trained, ["".join("ACGT"[code] for code in codes)], method="mutations"
    )
    changed = codes.copy()
    changed[90] = (codes[90] + 1) % 4
    tensor = run.model.backend.tensor
    logs = [run.model(tensor(one_hot(it[None]))).counts.item() for it in (codes, changed)]
    column = found.letters.index("ACGT"[changed[90]])
    assert found.scores[0] == pytest.approx(logs[0], abs=1e-5)
    assert found.weights[0][90, column] == pytest.approx(logs[1] - logs[0], abs=1e-5)


def test_an_export_has_the_logarithms_of_all_positions(run, tmp_path):
    trained = sl.models.Trained(
        run.model, sl.encode.OneHot("dna"), run.trained.task, batch_size=4
    )
    codes = simulate(3, seed=2).codes
    (tmp_path / "a.fa").write_text(
        "".join(f">{n}\n{''.join('ACGT'[c] for c in row)}\n" for n, row in enumerate(codes))
    )
    sl.export.save(trained, tmp_path / "model", length=LENGTH)
    found = sl.infer.predict(tmp_path / "model", tmp_path / "a.fa").to_numpy()
    expected = run.model.logits(run.model.backend.tensor(one_hot(codes))).numpy()
    np.testing.assert_allclose(found, expected[:, 0], atol=1e-5)


def test_the_network_determines_the_likelihood():
    data = simulate(24)
    data.tracks = data.tracks.reshape(24, 1, 25, 4).sum(axis=3)
    config = ConvTowerConfig(1, 4, channels=4, top_channels=4, layers=1, trimming=12)
    data.tracks = np.pad(data.tracks, [(0, 0), (0, 0), (0, 1)])
    for settings in (config, EnsembleConfig.of(config, 2)):
        run = sl.train.fit(settings, data, epochs=1)
        assert run.trained.task.to_dict()["likelihood"] == "poisson"


@pytest.mark.parametrize(
    ("tracks", "message"),
    [
        (-np.ones((3, 1, 100)), "tracks must be counts of 0 or more, got -1"),
        (np.full((3, 1, 100), np.nan), "tracks must be counts of 0 or more, got nan"),
        (np.ones((3, 100)), r"tracks must be an array \(regions, tracks, positions\)"),
    ],
)
def test_tracks_that_are_not_counts_are_refused(tracks, message):
    data = TrackDataset(np.zeros((3, LENGTH), int), tracks.astype(np.float32))
    with pytest.raises(LabelError, match=message):
        sl.train.fit(BPNetConfig(1, 4, 1, trimming=50), data, epochs=1)
