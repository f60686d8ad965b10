"""Train on a .bed, a trait and covariates, resume after kills, and predict."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl

TRAINING_SCRIPT = Path(__file__).with_name("train_genotypes_and_die.py")
DEMO_GENOTYPES = Path(__file__).parents[2] / "python/seqloom/_demo/genotypes"
NO_KILL = "never"
COMPARED_RUN_FILES = (
    "model.safetensors",
    "encoder.safetensors",
    "config.json",
    "scores-test.tsv",
)


def train(folder, death):
    """Train in a process that kills itself at a given moment; return its exit code."""
    command = [sys.executable, TRAINING_SCRIPT, folder, death]
    return subprocess.run(command, check=False, timeout=120).returncode


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that is not killed."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert train(folder, NO_KILL) == 0
    return folder


@pytest.mark.sample(3)
@pytest.mark.parametrize("death", ["sync 1", "sync 2", "sync 3", "batch 3.2", "epoch 4"])
def test_a_killed_genotype_run_resumes_with_bitwise_equal_results(whole, tmp_path, death):
    assert train(tmp_path / "run", death) == -9
    assert train(tmp_path / "run", NO_KILL) == 0
    for name in COMPARED_RUN_FILES:
        assert (tmp_path / "run" / name).read_bytes() == (whole / name).read_bytes()


def test_a_model_of_genotypes_and_covariates_predicts_a_trait(whole):
    data = sl.data.GenotypeDataset(
        DEMO_GENOTYPES / "example.bed",
        sl.data.Labels(DEMO_GENOTYPES / "phenotype.txt", label_column="Y1"),
        DEMO_GENOTYPES / "covariates.txt",
    )
    *_, test = sl.data.split(data, (0.7, 0.1, 0.2), seed=0)
    assert sl.infer.evaluate(whole, test, num_threads=1)["r2"] > 0.35


def test_a_bed_with_reordered_variants_gets_equal_scores(whole, tmp_path):
    bed, order = sl.io.open_bed(DEMO_GENOTYPES / "example.bed"), np.random.default_rng(0)
    order = order.permutation(bed.sid_count)
    properties = {
        name: it[order] if np.asarray(it).size == bed.sid_count else it
        for name, it in bed.properties.items()
    }
    sl.io.to_bed(tmp_path / "x.bed", bed.read((None, order)), properties=properties)
    model = sl.models.load(whole, num_threads=1)
    data = sl.data.GenotypeDataset(
        tmp_path / "x.bed",
        labels=False,
        covariates=DEMO_GENOTYPES / "covariates.txt",
        encoder=model.encoder,
    )
    scores = sl.infer.predict(model, data, num_threads=1)
    saved = sl.infer.Scores.read_tsv(whole / "scores-test.tsv")
    rows = [scores.ids.index(name) for name in saved.ids]
    # The batches differ from those of training, which may change the rounding.
    np.testing.assert_allclose(scores.to_numpy()[rows], saved.to_numpy(), atol=1e-6)


def test_the_genotype_example_runs_without_errors(tmp_path):
    script = Path(__file__).parents[2] / "examples/genotypes.py"
    done = subprocess.run(
        [sys.executable, script], check=True, cwd=tmp_path, capture_output=True, text=True
    )
    assert "r2 on the test set: 0." in done.stdout
    assert (tmp_path / "runs/y1/report.html").exists()
