"""The aligned branch, used for variants of one sequence, beats ridge regression."""

import numpy as np
import pytest
from benchmarks._simulated_scan import (
    predict_with_ridge_regression,
    simulate_scan,
    train_and_evaluate,
)

import seqloom as sl


@pytest.fixture(scope="module")
def variants():
    """Return a simulated mutational scan with interactions and a non-linear effect."""
    return simulate_scan(2500, length=30, noise=0.05)


@pytest.fixture(scope="module")
def run(variants, tmp_path_factory):
    """Train with default settings, and return the run."""
    folder = tmp_path_factory.mktemp("scan")
    return train_and_evaluate(folder, *variants, learned=2000)


def test_the_defaults_beat_ridge_regression_on_a_mutational_scan(variants, run):
    letters, values = variants
    found = predict_with_ridge_regression(letters, values, learned=2000)
    rank = sl.nn.spearman(values[2000:].astype(np.float32), found.astype(np.float32))
    assert run.test.metrics["spearman"] > rank + 0.01
    assert run.test.metrics["r2"] > sl.nn.r2(values[2000:], found)


def test_variants_of_one_sequence_get_the_aligned_branch(run):
    config = run.model.config
    assert (config.length, config.widths, config.aligned) == (30, (), 64)


def test_the_report_names_the_aligned_branch(run):
    facts = run.report.facts
    assert "aligned=64" in facts["network"]
    assert (facts["weight decay"], facts["epochs"]) == (1.0, 100)


@pytest.mark.parametrize(
    "encoder", [sl.encode.Tokens("esm2"), sl.encode.Integer("protein")]
)
def test_tokens_of_variants_get_the_aligned_branch(tmp_path, encoder):
    letters, _ = simulate_scan(40, length=30)
    path = tmp_path / "scan.fa"
    path.write_text("".join(f">v{i}\n{row}\n" for i, row in enumerate(letters)))
    labels = {f"v{i}": "ab"[i % 2] for i in range(40)}
    data = sl.data.SequenceDataset(path, labels=labels, encoder=encoder)
    assert sl.models.SequenceCNNConfig.for_data(data).aligned


def test_windows_of_a_genome_use_convolutions(splice):
    config = sl.models.SequenceCNNConfig.for_data(splice)
    assert (config.aligned, config.widths) == (0, (32, 32, 32))


def test_convolutions_and_aligned_branch_can_be_combined_and_saved(tmp_path, toy):
    data = toy()
    config = sl.models.SequenceCNNConfig(
        channels=4, outputs=2, length=20, widths=(8,), kernel_size=5, aligned=4
    )
    run = sl.train.fit(
        config, data, data, epochs=1, out=sl.train.RunFolder(tmp_path / "run", report=False)
    )
    scores = sl.infer.predict(tmp_path / "run", tmp_path / "toy.fa")
    assert scores.to_numpy().tobytes() == run.valid.scores.to_numpy().tobytes()


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_the_aligned_branch_gives_equal_outputs_on_all_backends(backend):
    config = sl.models.SequenceCNNConfig(
        channels=4, outputs=1, length=6, widths=(), aligned=3
    )
    rows = np.random.default_rng(0).normal(size=(5, 4, 6)).astype(np.float32)
    found = []
    for name in ("numpy", backend):
        model = config.init(name, sl.Key(3))
        x = model.backend.tensor(rows)
        model.logits(x, key=sl.Key(1))  # Training mode updates the running mean.
        found.append(np.asarray(model.eval().logits(x)))
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


def test_the_running_mean_is_that_of_the_training_records():
    config = sl.models.SequenceCNNConfig(
        channels=1, outputs=1, length=2, widths=(), aligned=1
    )
    model = config.init("numpy", sl.Key(0))
    rows = np.array([[[1.0, 5.0]], [[3.0, 9.0]]], np.float32)
    model.logits(model.backend.tensor(rows), key=sl.Key(1))
    taken_off = model.eval().aligned.mean(model.backend.tensor([[0.0, 0.0]])).numpy()
    np.testing.assert_allclose(taken_off, [[-2.0, -7.0]], rtol=1e-5)
