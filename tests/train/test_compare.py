"""Tests of the comparison of runs: metrics with intervals, differing settings, curves."""

import json
import shutil
from typing import Any

import numpy as np
import pytest
from scipy import stats

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import ArgumentError, ConfigError, FileError, MissingFileError
from seqloom.report import pearson_interval, wilson_interval


@pytest.fixture
def train(toy, small, tmp_path):
    """Train two epochs into a folder; keyword arguments override the defaults."""

    def call(name, **options):
        parts = {"valid": toy(30, name="valid"), "test": toy(20, name="test")}
        every: dict[str, Any] = {"epochs": 2, **parts, **options}
        return sl.train.fit(
            small, toy(), **as_arguments(out=tmp_path / "runs" / name, **every)
        )

    return call


def section_of(report, title):
    return next(it for it in report.sections if it.title == title)


def columns_of(section):
    """Return the cells of each table column by its heading."""
    columns = zip(*section.table.rows, strict=True)
    return dict(zip(section.table.columns, map(list, columns), strict=True))


def order_of(*runs):
    """Return runs in table order: highest accuracy first, ties in the given order."""
    return sorted(runs, key=lambda run: -run.test.metrics["accuracy"])


def test_the_comparison_table_has_the_results_of_each_run(train):
    runs = order_of(train("a"), train("b", lr=0.01))
    report = sl.train.compare([run.folder for run in runs])
    columns = columns_of(report.sections[0])
    assert columns["run"] == [run.folder.name for run in runs]
    assert columns["records"] == ["20", "20"]
    assert columns["MCC"] == [f"{run.test.metrics['mcc']:.4f}" for run in runs]
    assert columns["parameters"] == [f"{run.model.number_of_parameters:,}" for run in runs]
    assert columns["epochs"] == [f"2 (best {run.best_epoch})" for run in runs]
    rates = {"a": "0.001", "b": "0.01"}
    settings = columns_of(section_of(report, "Settings that differ"))
    assert settings["lr"] == [rates[run.folder.name] for run in runs]
    assert set(settings) == {"run", "lr"}


def test_an_accuracy_has_a_wilson_interval(train):
    run = train("a")
    cell = columns_of(sl.train.compare([run, train("b")]).sections[0])["accuracy"][0]
    share = run.test.metrics["accuracy"]
    low, high = wilson_interval(round(20 * share), 20)
    assert cell == f"{share:.4f} ({low:.4f} to {high:.4f})"


def test_a_run_and_its_folder_have_the_same_comparison(train):
    runs = [train("a"), train("b", seed=1)]
    first = sl.train.compare(runs)
    second = sl.train.compare([str(run.folder) for run in runs])
    assert len(first.sections) == 4
    for one, other in zip(first.sections, second.sections, strict=True):
        assert (one.title, one.note, one.table) == (other.title, other.note, other.table)


def test_settings_of_the_network_are_compared_one_by_one(train, toy, tmp_path):
    run = train("a")
    config = sl.models.SequenceCNNConfig(channels=4, outputs=2, widths=(5,), kernel_size=3)
    wide = sl.train.fit(config, toy(), toy(30), epochs=2, out=tmp_path / "runs/b")
    report = sl.train.compare([run, wide])
    columns = columns_of(section_of(report, "Settings that differ"))
    widths = dict(zip(columns["run"], columns["network widths"], strict=True))
    assert widths == {"a": str(list(run.model.config.widths)), "b": "[5]"}
    assert "network dropout" not in columns


def test_learning_curves_in_a_comparison_equal_the_histories_of_the_runs(train):
    runs = [train("a"), train("b", epochs=4)]
    runs = order_of(*runs)
    drawings: Any = section_of(sl.train.compare(runs), "Learning curves").drawings
    plots = {it.title: it for it in drawings}
    traces = plots["validation loss"].traces
    assert [trace.name for trace in traces] == [run.folder.name for run in runs]
    for trace, run in zip(traces, runs, strict=True):
        np.testing.assert_allclose(trace.y, [row["valid_loss"] for row in run.history])


def test_a_comparison_notes_that_runs_have_different_records(train, toy):
    runs = [train("a"), train("b", test=toy(25, name="other"))]
    (note, *_) = [it.note for it in sl.train.compare(runs).sections]
    assert "differ between runs" in note
    assert "differ" not in sl.train.compare([runs[0], train("c")]).sections[0].note


def test_runs_are_compared_on_a_set_that_all_runs_have(train):
    runs = [train("a"), train("b", test=None)]
    results = sl.train.compare(runs).sections[0]
    assert "Metrics on the validation set." in results.note
    assert columns_of(results)["records"] == ["30", "30"]


def test_a_run_that_was_stopped_has_its_best_epoch_so_far(train):
    runs = [train("a"), train("b", epochs=3)]
    (runs[1].folder / "results.json").unlink()
    results = sl.train.compare([run.folder for run in runs]).sections[0]
    best = min(runs[1].history, key=lambda row: row["valid_loss"])
    columns = columns_of(results)
    row = columns["run"].index("b")
    assert columns["accuracy"][row] == f"{best['valid_accuracy']:.4f}"
    assert columns["parameters"][row] == "\N{EN DASH}"
    assert "is unfinished" in results.note


def test_the_page_replaces_an_existing_file_only_on_request(train, tmp_path):
    runs = [train("a"), train("b")]
    page = tmp_path / "compare.html"
    sl.train.compare(runs, out=page)
    text = page.read_text("utf-8")
    assert "2 runs compared" in text
    assert text.endswith("</html>\n")
    with pytest.raises(FileError, match=r"compare\.html already exists; overwrite=True"):
        sl.train.compare(runs, out=page)
    sl.train.compare(runs, out=page, overwrite=True)


def test_the_error_names_a_folder_without_a_run(train, tmp_path):
    run = train("a")
    with pytest.raises(MissingFileError, match=r"none: no such folder.*seqloom train"):
        sl.train.compare([run.folder, tmp_path / "none"])
    with pytest.raises(MissingFileError, match=r"runs: no config\.json.*seqloom train"):
        sl.train.compare([run.folder, tmp_path / "runs"])


@pytest.mark.parametrize("runs", [[], "runs/a", ["runs/a"]])
def test_comparing_fewer_than_two_runs_is_an_error(runs):
    with pytest.raises(ArgumentError, match="runs must be two or more run folders"):
        sl.train.compare(runs)


def test_an_object_that_is_not_a_run_is_an_error():
    with pytest.raises(ArgumentError, match="runs must be runs or run folders, got None"):
        sl.train.compare(None)  # pyright: ignore[reportArgumentType]


def test_one_folder_may_contain_the_runs_to_compare(train, tmp_path):
    runs = [train("b").folder, train("a").folder]
    (tmp_path / "runs/notes.txt").write_text("mine")
    results = sl.train.compare(tmp_path / "runs").sections[0]
    assert sorted(columns_of(results)["run"]) == ["a", "b"]
    assert results.table == sl.train.compare(runs[::-1]).sections[0].table


def test_a_single_run_folder_is_an_error_with_advice(train):
    with pytest.raises(
        ArgumentError, match=r"got .*runs/a alone; as in seqloom compare runs/a"
    ):
        sl.train.compare([train("a").folder])


def test_comparing_a_run_with_itself_is_an_error(train):
    run = train("a")
    with pytest.raises(ArgumentError, match="a is given twice"):
        sl.train.compare([run, run.folder])


@pytest.mark.parametrize("text", ["{", "[]", "{}", "\xff"])
def test_the_error_names_corrupt_results(train, text):
    runs = [train("a").folder, train("b").folder]
    (runs[1] / "results.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"b/results\.json"):
        sl.train.compare(runs)


def test_markup_in_the_name_of_a_folder_is_escaped(train, tmp_path):
    for name in ("a", "<b>&\u202e"):
        shutil.copytree(train(f"of-{name[0]}").folder, tmp_path / "named" / name)
    page = tmp_path / "c.html"
    sl.train.compare(sorted((tmp_path / "named").iterdir()), out=page)
    text = page.read_text("utf-8")
    assert "&lt;b&gt;&amp;\\u202e" in text
    assert "\u202e" not in text


def test_results_of_a_comparison_are_standard_json(train):
    run = train("a")
    found = json.loads((run.folder / "results.json").read_text())
    assert found["parameters"] == run.model.number_of_parameters
    assert found["parts"]["test"]["metrics"]["accuracy"] == run.test.metrics["accuracy"]
    assert found["best_epoch"] == run.best_epoch


def test_auroc_and_auprc_of_two_classes_have_confidence_intervals(train):
    part = json.loads((train("a").folder / "results.json").read_text())["parts"]["test"]
    for name in ("auroc", "auprc"):
        low, high = part["intervals"][name]
        assert low <= part["metrics"][name] <= high


def test_the_interval_of_a_correlation_equals_that_of_scipy():
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    y = x + rng.normal(size=30)
    found: Any = stats.pearsonr(x, y)
    expected = found.confidence_interval(0.95)
    assert pearson_interval(found.statistic, 30) == pytest.approx(tuple(expected))
    assert pearson_interval(0.5, 3) == (-1.0, 1.0)


def test_runs_in_a_folder_are_sorted_by_number(train, tmp_path):
    run = train("a")
    for number in (10, 2, 1):
        shutil.copytree(run.folder, tmp_path / "folds" / f"fold-{number}")
    results = sl.train.compare(tmp_path / "folds").sections[0]
    assert columns_of(results)["run"] == ["fold-1", "fold-2", "fold-10"]


def test_the_best_run_is_first_and_a_run_without_metrics_last(train, tmp_path):
    right = {"low": 0.2, "none": None, "high": 0.9, "middle": 0.5}
    run = train("a").folder
    for name, value in right.items():
        home = shutil.copytree(run, tmp_path / "sorted" / name)
        results = json.loads((home / "results.json").read_text())
        metrics = results["parts"]["test"]["metrics"]
        results["parts"]["test"]["metrics"] = metrics | {"accuracy": value}
        (home / "results.json").write_text(json.dumps(results))
    results = sl.train.compare(tmp_path / "sorted").sections[0]
    assert columns_of(results)["run"] == ["high", "middle", "low", "none"]
    assert "sorted by accuracy, the best first" in results.note


def test_runs_are_not_ranked_by_a_custom_metric(toy, small, tmp_path):
    def mine(labels, scores):
        return float(len(labels) + scores.ndim)

    loss = sl.nn.functional.cross_entropy
    options: Any = {"task": "custom", "loss": loss, "metrics": [mine], "epochs": 1}
    runs = [
        sl.train.fit(small, toy(), toy(30), **as_arguments(seed=seed, **options))
        for seed in (0, 1)
    ]
    results = sl.train.compare(runs).sections[0]
    assert columns_of(results)["run"] == ["run 1", "run 2"]
    assert "in the order given" in results.note


def test_a_common_prefix_of_long_names_is_shortened_and_noted(train, tmp_path):
    run = train("a").folder
    names = [f"splice-sites-of-a-whole-genome-seed-{seed}" for seed in (1, 10, 2)]
    for name in names:
        shutil.copytree(run, tmp_path / "long" / name)
    results = sl.train.compare(tmp_path / "long").sections[0]
    assert columns_of(results)["run"] == ["...seed-1", "...seed-2", "...seed-10"]
    assert "... means splice-sites-of-a-whole-genome-." in results.note


def test_with_more_runs_than_colours_only_the_best_are_drawn(train, tmp_path):
    run = train("a").folder
    for number in range(10):
        shutil.copytree(run, tmp_path / "many" / f"run-{number}")
    curves: Any = section_of(sl.train.compare(tmp_path / "many"), "Learning curves")
    assert curves.note == "Shown: the 8 best runs."
    assert all(len(plot.traces) == 8 for plot in curves.drawings)


def test_a_setting_saved_as_text_equals_the_same_setting_saved_as_a_number(train):
    runs = [train("a").folder, train("b").folder]
    results = json.loads((runs[1] / "results.json").read_text())
    results["settings"] = {it: str(value) for it, value in results["settings"].items()}
    (runs[1] / "results.json").write_text(json.dumps(results))
    titles = [section.title for section in sl.train.compare(runs).sections]
    assert "Settings that differ" not in titles
