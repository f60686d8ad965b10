"""Tests that the model card of a run has valid metadata for model hubs, and metrics."""

import json
import re

import pytest
import yaml
from huggingface_hub import ModelCard
from scipy.stats import binomtest, pearsonr

import seqloom as sl
from seqloom.report import auroc_interval


@pytest.fixture
def run(toy, small, tmp_path):
    return sl.train.fit(
        small, toy(), toy(30), test=toy(40), epochs=2, out=tmp_path / "splice"
    )


def card(run):
    return (run.folder / "README.md").read_text()


def test_the_card_metadata_contain_every_metric_of_every_set(run):
    results = ModelCard.load(run.folder / "README.md").data.to_dict()["model-index"]
    found = {
        (result["dataset"]["type"], metric["type"]): metric["value"]
        for result in results[0]["results"]
        for metric in result["metrics"]
    }
    for name, part in (("test", run.test), ("validation", run.valid)):
        for hub, ours in (("accuracy", "accuracy"), ("roc_auc", "auroc")):
            assert found[name, hub] == pytest.approx(part.metrics[ours], abs=1e-6)


def test_the_card_metadata_are_valid_yaml(run):
    _, front, _ = card(run).split("---\n", 2)
    assert yaml.safe_load(front)["library_name"] == "seqloom"


def test_the_interval_of_the_accuracy_is_a_wilson_interval(run):
    hits = round(run.test.metrics["accuracy"] * 40)
    wanted = binomtest(hits, 40).proportion_ci(method="wilson")
    shown = re.search(r"\| accuracy \| [\d.]+ \| ([\d.]+) to ([\d.]+) \|", card(run))
    assert [float(it) for it in shown.groups()] == pytest.approx(
        [wanted.low, wanted.high], abs=6e-5
    )


def test_metrics_and_intervals_are_decimals_not_percentages(run):
    text = card(run).partition("## Results")[2].partition("## Data")[0]
    assert "%" not in text.replace("95 % interval", "")


def test_auroc_in_the_card_has_the_interval_of_the_report(run):
    positives = int(run.test.labels.sum())
    area = run.test.metrics["auroc"]
    low, high = auroc_interval(area, positives, 40 - positives)
    assert f"| auroc | {area:.4f} | {low:.4f} to {high:.4f} |" in card(run)


def test_the_interval_of_a_correlation_is_that_of_scipy(toy, small, tmp_path):
    data = toy(60, labels="gc", task="regress")
    network = sl.models.SequenceCNNConfig(channels=4, outputs=1, widths=(8,), kernel_size=5)
    run = sl.train.fit(network, data, data, epochs=3, out=tmp_path / "run")
    found = pearsonr(run.valid.labels.ravel(), run.valid.scores.to_numpy().ravel())
    low, high = found.confidence_interval()
    shown = re.search(r"\| pearson \| [-\d.]+ \| (\S+) to (\S+) \|", card(run))
    assert [float(it) for it in shown.groups()] == pytest.approx([low, high], abs=1e-3)


def test_each_class_is_listed_with_its_number_of_records(run):
    counts = [int((run.test.labels == number).sum()) for number in (0, 1)]
    for name, count in zip(run.trained.classes, counts, strict=True):
        assert f"| {name} | {count} |" in card(run)


def test_the_model_card_names_classes_with_few_records(run):
    assert re.search(r"few records of some classes: \d+ of no, \d+ of yes\.", card(run))


def test_the_model_card_mentions_a_missing_test_set(toy, small, tmp_path):
    run = sl.train.fit(small, toy(), toy(30), epochs=1, out=tmp_path / "run")
    assert "there was no test set" in card(run)


def test_a_regression_has_a_model_card(toy, small, tmp_path):
    data = toy(labels="gc", task="regress")
    network = sl.models.SequenceCNNConfig(channels=4, outputs=1, widths=(8,), kernel_size=5)
    run = sl.train.fit(
        network, data, toy(20, labels="gc", task="regress"), epochs=1, out=tmp_path / "run"
    )
    assert f"| r2 | {run.valid.metrics['r2']:.4f} |" in card(run)


def test_markup_in_class_names_is_escaped(toy, small, tmp_path):
    ids = toy().ids
    labels = {key: ("<b>|x", "# y")[number % 2] for number, key in enumerate(ids)}
    data = sl.data.SequenceDataset(
        tmp_path / "toy.fa", encoder=sl.encode.OneHot("dna"), labels=labels
    )
    run = sl.train.fit(small, data, data, epochs=1, out=tmp_path / "run")
    text = card(run).partition("# run")[2]
    assert "| &lt;b&gt;\\|x |" in text
    assert "| \\# y |" in text
    assert "<b>" not in text


def test_a_run_replaces_a_card_that_seqloom_wrote(run, toy, small):
    before = card(run)
    sl.train.fit(small, toy(), epochs=1, out=sl.train.RunFolder(run.folder, overwrite=True))
    assert card(run) != before


def test_a_run_does_not_replace_a_card_that_the_user_wrote(run, toy, small):
    (run.folder / "README.md").write_text("mine")
    sl.train.fit(small, toy(), epochs=1, out=sl.train.RunFolder(run.folder, overwrite=True))
    assert card(run) == "mine"


def test_a_saved_run_has_a_model_card(toy, small, tmp_path):
    run = sl.train.fit(small, toy(), epochs=1)
    run.save(tmp_path / "saved")
    assert "# saved" in (tmp_path / "saved/README.md").read_text()


def test_the_values_in_the_metadata_of_a_model_card_are_json(run):
    line = next(it for it in card(run).splitlines() if it.startswith("model-index: "))
    assert json.loads(line.removeprefix("model-index: "))[0]["name"] == "splice"
