"""The JSON schemas describe the written files and reject other content."""

import json
import shutil
from importlib import metadata
from pathlib import Path

import jsonschema
import pytest
import yaml
from tests.face.write_schemas import SCHEMA_FOLDER, config_schema

import seqloom as sl
from seqloom.cli import main

STORED_EXPORT_FOLDERS = sorted(Path(__file__).parents[1].glob("export/data/version_*/"))


def check(name, value):
    schema = json.loads((SCHEMA_FOLDER / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(value)


@pytest.fixture
def run(toy, small, tmp_path):
    sl.train.fit(small, toy(), toy(30), epochs=2, out=tmp_path / "run")
    return tmp_path / "run"


def test_the_json_schema_of_model_settings_matches_their_classes():
    kept = json.loads((SCHEMA_FOLDER / "config.schema.json").read_text())
    assert kept == config_schema(), "stale: python -m tests.face.write_schemas"


def test_a_run_folder_matches_its_json_schema(run):
    check("config", json.loads((run / "config.json").read_text()))


def test_the_results_of_a_run_match_their_json_schema(run):
    check("results", json.loads((run / "results.json").read_text()))


def test_the_options_of_a_run_match_their_json_schema(tmp_path):
    rows = "".join(
        f"ACGTAC{letter}T,{label}\n" for letter, label in ["Ay", "Cn", "Gy", "Tn"]
    )
    (tmp_path / "t.csv").write_text(f"sequence,label\n{rows}")
    words = [
        "--alphabet",
        "dna",
        "--epochs",
        "1",
        "--valid-share",
        "0",
        "--width",
        "4",
        "8",
    ]
    with pytest.raises(SystemExit):
        main(["train", str(tmp_path / "t.csv"), *words, "--out", str(tmp_path / "made")])
    kept = json.loads((tmp_path / "made/command.json").read_text())
    check("command", kept)
    assert kept["width"] == ["4", "8"]


def test_a_comparison_of_runs_matches_its_json_schema(run, toy, small, tmp_path, capsys):
    sl.train.fit(small, toy(), epochs=1, out=tmp_path / "unjudged")
    stopped = shutil.copytree(run, tmp_path / "stopped")
    (stopped / "results.json").unlink()
    folders = [run, tmp_path / "unjudged", stopped]
    with pytest.raises(SystemExit):
        main(["compare", *map(str, folders), "--json"])
    check("compare", json.loads(capsys.readouterr().out))


def test_each_line_of_the_training_history_matches_its_json_schema(run):
    for line in (run / "metrics.jsonl").read_text().splitlines():
        check("metrics", json.loads(line))


@pytest.mark.parametrize(
    "change",
    [
        {"batch_size": 0},
        {"version": "1"},
        {"task": None},
        {"encoder": {"class": "OneHot", "version": 1, "alphabet": 4}},
        {"model": {"class": "SequenceCNNConfig"}},
    ],
    ids=str,
)
def test_invalid_model_settings_do_not_match_the_json_schema(run, change):
    facts = json.loads((run / "config.json").read_text()) | change
    with pytest.raises(jsonschema.ValidationError):
        check("config", facts)


@pytest.mark.parametrize("folder", STORED_EXPORT_FOLDERS, ids=lambda path: path.name)
@pytest.mark.parametrize("name", ["export", "graph", "encoder"])
def test_an_exported_model_matches_its_json_schemas(folder, name):
    check(name, json.loads((folder / f"{name}.json").read_text()))


def test_a_graph_with_an_unknown_argument_fails_its_json_schema():
    graph = json.loads((STORED_EXPORT_FOLDERS[0] / "graph.json").read_text())
    graph["operations"][0]["args"][0] = {"code": "import os"}
    with pytest.raises(jsonschema.ValidationError):
        check("graph", graph)


def test_the_citation_file_has_the_version_and_licence_of_seqloom():
    cited = yaml.safe_load((Path(__file__).parents[2] / "CITATION.cff").read_text())
    about = metadata.metadata("seqloom")
    assert cited["version"] == about["Version"]
    assert cited["license"] == about["License-Expression"]
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()
