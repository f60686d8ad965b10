"""``seqloom compare``: the table in the terminal, and the page."""

import json
import shutil

import pytest


@pytest.fixture
def two(trained, tmp_path):
    """Two folders of one run."""
    for name in ("one", "two"):
        shutil.copytree(trained, tmp_path / name)
    return tmp_path / "one", tmp_path / "two"


def test_prints_a_column_for_each_run(call, two):
    said = call("compare", *two)
    assert (said.code, said.err) == (0, "")
    assert said.out.split("\n")[1].split() == ["results", "one", "two"]
    assert " accuracy " in said.out
    assert "Metrics on the test part." in said.out
    assert "not the same records" not in said.out


def test_writes_the_page_and_says_where(call, two, tmp_path):
    said = call("compare", *two, "--out", tmp_path / "c.html")
    assert said.out.endswith(f"page   {tmp_path / 'c.html'}\n")
    assert "2 runs compared" in (tmp_path / "c.html").read_text("utf-8")


def test_replaces_a_page_only_if_asked(call, two, tmp_path):
    (tmp_path / "c.html").write_text("mine")
    said = call("compare", *two, "--out", tmp_path / "c.html")
    assert (said.code, (tmp_path / "c.html").read_text()) == (2, "mine")
    assert "--overwrite replaces it" in said.err
    words = ["--out", tmp_path / "c.html", "--overwrite"]
    assert call("compare", *two, *words).code == 0


def test_a_folder_that_is_no_run_is_named_with_a_remedy(call, two, tmp_path):
    said = call("compare", two[0], tmp_path)
    assert said.code == 2
    assert f"{tmp_path}: no config.json in it; expected a run folder" in said.err
    assert "seqloom train --out" in said.err


def test_one_run_is_not_enough(call, two):
    said = call("compare", two[0])
    assert said.code == 2
    assert "as in seqloom compare runs/a runs/b" in said.err


def test_one_folder_stands_for_the_runs_in_it(call, two):
    assert call("compare", two[0].parent).out == call("compare", *two).out


def test_json_has_the_numbers_of_each_runs_results(call, two):
    said = call("compare", *two, "--json")
    assert (said.code, said.err) == (0, "")
    for folder, run in zip(two, json.loads(said.out)["runs"], strict=True):
        results = json.loads((folder / "results.json").read_text())
        assert run["name"] == folder.name
        assert run["metrics"] == results["parts"][run["part"]]["metrics"]
        assert run["intervals"] == results["parts"][run["part"]]["intervals"]
        lines = (folder / "metrics.jsonl").read_text().splitlines()
        assert run["history"] == [json.loads(line) for line in lines]


def test_json_names_the_settings_that_differ(call, two):
    path = two[1] / "results.json"
    results = json.loads(path.read_text())
    results["settings"]["lr"] = "0.5"
    path.write_text(json.dumps(results))
    compared = json.loads(call("compare", *two, "--json").out)
    assert compared["settings_that_differ"] == ["lr"]


def test_json_says_whether_runs_were_judged_on_the_same_records(call, two):
    assert json.loads(call("compare", *two, "--json").out)["comparable"] is True
    path = two[1] / "results.json"
    results = json.loads(path.read_text())
    results["parts"]["test"]["records"] = "0" * 16
    path.write_text(json.dumps(results))
    assert json.loads(call("compare", *two, "--json").out)["comparable"] is False


def test_json_alone_is_on_standard_output_where_a_page_is_written(call, two, tmp_path):
    said = call("compare", *two, "--json", "--out", tmp_path / "c.html")
    assert len(json.loads(said.out)["runs"]) == 2
    assert said.err == f"page   {tmp_path / 'c.html'}\n"
    assert "2 runs compared" in (tmp_path / "c.html").read_text("utf-8")
