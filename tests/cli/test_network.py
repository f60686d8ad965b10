"""The option ``--network`` of ``seqloom train``."""

import json

import numpy as np
import pytest

import seqloom as sl


@pytest.fixture
def command(tmp_path):
    """A command that selects a model for sequences of two compositions."""
    draw = np.random.default_rng(3)
    shares = {"no": [0.3, 0.2, 0.2, 0.3], "yes": [0.2, 0.3, 0.3, 0.2]}
    fasta, table = tmp_path / "a.fa", tmp_path / "a.tsv"
    with fasta.open("w") as records, table.open("w") as labels:
        labels.write("id\tlabel\n")
        for number in range(80):
            label = ["no", "yes"][number % 2]
            text = "".join(draw.choice([*"ACGT"], 24, p=shares[label]))
            records.write(f">r{number}\n{text}\n")
            labels.write(f"r{number}\t{label}\n")
    out = tmp_path / "run"
    words = ["train", fasta, "--labels", table, "--out", out, "--network", "auto"]
    return [*words, "--epochs", 1]


def test_automatic_model_selection_prints_its_candidates(call, command):
    done = call(*command)
    assert done.code == 0
    shown = " ".join(done.out.split())
    assert "candidate parameters best epoch validation loss selected" in shown
    assert "logistic regression, composition" in shown


def test_the_option_stranded_excludes_networks_of_both_strands(call, command):
    assert "both strands" in call(*command, "--overwrite").out
    assert "both strands" not in call(*command, "--overwrite", "--stranded").out


def test_automatic_model_selection_lists_its_candidates_as_json(call, command):
    done = call(*command, "--json")
    names = [it["name"] for it in json.loads(done.out)["candidates"]]
    assert len([it for it in names if it != "mean of the selected candidates"]) == 7


def test_automatic_model_selection_resumes_from_its_run_folder(call, command, tmp_path):
    call(*command)
    before = sl.models.load(tmp_path / "run").model.to_record()
    assert call("train", "--out", tmp_path / "run", "--resume").code == 0
    after = sl.models.load(tmp_path / "run").model.to_record()
    for path in before:
        np.testing.assert_array_equal(np.asarray(after[path]), np.asarray(before[path]))


@pytest.mark.parametrize("option", ["--width", "--members", "--kernel-size"])
def test_network_options_in_an_automatic_selection_are_an_error(call, command, option):
    done = call(*command, option, 3)
    assert done.code == 2
    assert f"--network auto and {option} exclude each other" in done.err


def test_automatic_model_selection_needs_a_validation_set(call, command):
    done = call(*command, "--valid-share", 0)
    assert done.code == 2
    assert "--valid-share" in done.err
