"""``seqloom compare`` writes a table in the terminal, and an HTML page."""

import json
import shutil

import pytest


@pytest.fixture
def two(trained, tmp_path):
    """Two copies of one run folder."""
    for name in ("one", "two"):
        shutil.copytree(trained, tmp_path / name)
    return tmp_path / "one", tmp_path / "two"


def test_compare_prints_one_row_for_each_run(call, two):
    said = call("compare", *two)
    assert (said.code, said.err) == (0, "")
    rows = [line.split() for line in said.out.split("\n")]
    accuracy = json.loads((two[0] / "results.json").read_text())
    accuracy = f"{accuracy['parts']['test']['metrics']['accuracy']:.4f}"
    assert [row[1] for row in rows if row[:1] in (["one"], ["two"])][:2] == [accuracy] * 2
    assert "Metrics on the test set." in said.out
    assert "not the same records" not in said.out


def test_compare_writes_a_page_and_prints_its_path(call, two, tmp_path):
    said = call("compare", *two, "--out", tmp_path / "c.html")
    assert said.out.endswith(f"page   {tmp_path / 'c.html'}\n")
    assert "2 runs compared" in (tmp_path / "c.html").read_text("utf-8")


def test_a_comparison_page_is_replaced_only_with_the_option_overwrite(call, two, tmp_path):
    (tmp_path / "c.html").write_text("mine")
    said = call("compare", *two, "--out", tmp_path / "c.html")
    assert (said.code, (tmp_path / "c.html").read_text()) == (2, "mine")
    assert "--overwrite replaces it" in said.err
    words = ["--out", tmp_path / "c.html", "--overwrite"]
    assert call("compare", *two, *words).code == 0


def test_comparing_a_folder_without_a_run_is_an_error(call, two, tmp_path):
    said = call("compare", two[0], tmp_path)
    assert said.code == 2
    assert f"{tmp_path}: no config.json in it; expected a run folder" in said.err
    assert "seqloom train --out" in said.err


def test_compare_needs_two_runs(call, two):
    said = call("compare", two[0])
    assert said.code == 2
    assert "as in seqloom compare runs/a runs/b" in said.err


def test_compare_accepts_a_folder_of_several_runs(call, two):
    assert call("compare", two[0].parent).out == call("compare", *two).out


def test_compare_json_contains_the_metrics_of_each_run(call, two):
    said = call("compare", *two, "--json")
    assert (said.code, said.err) == (0, "")
    for folder, run in zip(two, json.loads(said.out)["runs"], strict=True):
        results = json.loads((folder / "results.json").read_text())
        assert run["name"] == folder.name
        assert run["metrics"] == results["parts"][run["part"]]["metrics"]
        assert run["intervals"] == results["parts"][run["part"]]["intervals"]
        lines = (folder / "metrics.jsonl").read_text().splitlines()
        assert run["history"] == [json.loads(line) for line in lines]


def test_compare_json_contains_the_settings_that_differ(call, two):
    path = two[1] / "results.json"
    results = json.loads(path.read_text())
    results["settings"]["lr"] = "0.5"
    path.write_text(json.dumps(results))
    compared = json.loads(call("compare", *two, "--json").out)
    assert compared["settings_that_differ"] == ["lr"]


def test_compare_json_reports_whether_runs_have_equal_test_records(call, two):
    assert json.loads(call("compare", *two, "--json").out)["comparable"] is True
    path = two[1] / "results.json"
    results = json.loads(path.read_text())
    results["parts"]["test"]["records"] = "0" * 16
    path.write_text(json.dumps(results))
    assert json.loads(call("compare", *two, "--json").out)["comparable"] is False


def test_compare_prints_only_json_on_standard_output(call, two, tmp_path):
    said = call("compare", *two, "--json", "--out", tmp_path / "c.html")
    assert len(json.loads(said.out)["runs"]) == 2
    assert said.err == f"page   {tmp_path / 'c.html'}\n"
    assert "2 runs compared" in (tmp_path / "c.html").read_text("utf-8")


def test_compare_json_keeps_the_types_of_settings(call, two):
    run = json.loads(call("compare", *two, "--json").out)["runs"][0]
    settings = run["settings"]
    assert (settings["epochs"], settings["seed"], settings["batch size"]) == (2, 3, 64)
    assert settings["lr"] == 0.001
    model = json.loads((two[0] / "config.json").read_text())["model"]
    for name, value in model.items():
        assert settings[f"network {name.replace('_', ' ')}"] == value
    assert {type(it) for it in settings.values()} >= {int, float, bool, str, list}


def test_compare_json_contains_significance_tests_against_the_best_run(call, two):
    found = json.loads(call("compare", *two, "--json").out)
    same = {"difference": 0, "only_this": 0, "only_best": 0, "p": 1, "p_holm": 1}
    assert [run["beside_best"] for run in found["runs"]] == [None, same]
    assert (found["ranked_by"], found["ranking"]) == ("accuracy", ["one", "two"])
    assert (found["tests"]["best"], found["tests"]["pairs"]) == ("one", 1)
    assert found["tests"]["notes"] == []


@pytest.fixture
def eight(trained, tmp_path):
    """Eight runs with long names and different settings and accuracies."""
    homes = [tmp_path / "runs" / f"a-study-of-splice-sites-seed-{it}" for it in range(8)]
    for number, home in enumerate(homes):
        shutil.copytree(trained, home)
        results = json.loads((home / "results.json").read_text())
        results["settings"]["lr"] = 10.0**-number
        results["settings"]["optimizer"] = f"AdamW(weight_decay={number}, {'x' * 80})"
        results["parts"]["test"]["metrics"]["accuracy"] = 0.1 * number
        (home / "results.json").write_text(json.dumps(results))
    return tmp_path / "runs"


def tables_of(text):
    """Return the table lines, which begin with a space."""
    return [line for line in text.split("\n") if line.startswith(" ")]


@pytest.mark.parametrize("width", [40, 80, 250])
def test_a_table_of_eight_runs_fits_any_terminal_width(call, eight, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = tables_of(call("compare", eight).out)
    assert max(map(len, lines)) <= width
    words = {word for line in lines for word in line.split()}
    for number in range(8):
        assert {f"...seed-{number}", f"{0.1 * number:.4f}", str(10.0**-number)} <= words
    assert not any("\N{HORIZONTAL ELLIPSIS}" in line for line in lines)
    assert "".join(lines).replace(" ", "").count("x") >= 8 * 80


def test_compare_prints_the_best_run_first(call, eight):
    rows = [
        line.split()[0]
        for line in tables_of(call("compare", eight).out)[4:]
        if line.strip()
    ]
    seeds = [row for row in rows if row.startswith("...seed-")][:8]
    assert seeds == [f"...seed-{number}" for number in range(7, -1, -1)]
