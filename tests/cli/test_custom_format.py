"""A custom file format in `seqloom train` and `seqloom predict`."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import seqloom as sl
from seqloom import _demo
from seqloom.infer import _kinds

EXAMPLES_FOLDER = Path(__file__).parents[2] / "examples"
RECORD_COUNT = 300


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Demo records in the custom format and as FASTA, with labels."""
    folder = tmp_path_factory.mktemp("beads")
    whole = sl.data.SequenceDataset(_demo.example_path("train.fa.gz"))
    lines, fasta = ["beads 1"], []
    for item in whole[:RECORD_COUNT]:
        letters = item["sequence"].decode()
        groups = "-".join(letters[at : at + 4] for at in range(0, len(letters), 4))
        lines.append(f"{item['id']} {groups}")
        fasta.append(f">{item['id']}\n{letters}\n")
    (folder / "a.beads").write_text("\n".join(lines) + "\n")
    (folder / "a.fa").write_text("".join(fasta))
    return folder


@pytest.fixture
def installed(tmp_path):
    """The environment of a process in which the example is an installed package."""
    facts = tmp_path / "custom_format-1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: custom_format\nVersion: 1\n"
    )
    (facts / "entry_points.txt").write_text(
        "[seqloom.kinds]\nbeads = custom_format:BEADS\n"
    )
    paths = [str(tmp_path), str(EXAMPLES_FOLDER), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


@pytest.fixture
def registered(monkeypatch):
    """The module of the example; its registered formats are removed after the test."""
    monkeypatch.setattr(_kinds, "REGISTERED_KINDS", [])
    monkeypatch.syspath_prepend(EXAMPLES_FOLDER)
    monkeypatch.delitem(sys.modules, "custom_format", raising=False)
    return __import__("custom_format")


def words_of(file, out):
    labels = _demo.example_path("train.tsv")
    options = ("--labels", labels, "--epochs", 1, "--valid-share", 0, "--quiet")
    return [str(word) for word in ("train", file, *options, "--out", out)]


@pytest.mark.usefixtures("registered")
def test_a_custom_format_gives_the_same_scores_as_fasta(call, home):
    for file in ("a.beads", "a.fa"):
        run, scores = home / f"run-{file}", home / f"{file}.tsv"
        assert call(*words_of(home / file, run)).code == 0
        assert call("predict", run, home / file, "--out", scores).code == 0
    assert (home / "a.beads.tsv").read_bytes() == (home / "a.fa.tsv").read_bytes()
    assert len((home / "a.beads.tsv").read_text().splitlines()) == RECORD_COUNT + 1


@pytest.mark.usefixtures("registered")
def test_a_custom_format_rejects_options_of_other_formats(call, home):
    said = call(*words_of(home / "a.beads", home / "none"), "--whitespace", "strip")
    expected = "--whitespace: only for sequences, but FILES are beads (an example format)"
    assert (said.code, expected in said.err) == (2, True)


@pytest.mark.usefixtures("registered")
def test_network_options_apply_to_a_custom_format(call, home):
    options = ("--set", "width=8 8", "--set", "kernel_size=5", "--set", "dropout=0.1")
    said = call(*words_of(home / "a.beads", home / "set"), *options)
    assert (said.code, said.err) == (0, "")
    model = sl.models.load(home / "set").model
    assert isinstance(model, sl.models.SequenceCNN)
    config = model.config
    assert (config.widths, config.kernel_sizes, config.dropout) == ((8, 8), (5, 5), 0.1)


@pytest.mark.usefixtures("registered")
def test_a_custom_format_cannot_finetune_a_language_model(call, home):
    options = ("--set", "finetune=lora", "--set", "model=esm2")
    said = call(*words_of(home / "a.beads", home / "none"), *options)
    expected = "--finetune lora needs protein sequences, but FILES are beads"
    assert (said.code, expected in said.err) == (2, True)


def test_importing_seqloom_does_not_import_custom_format_plugins(installed):
    code = "import sys, seqloom.infer, seqloom.cli; print('custom_format' in sys.modules)"
    code += "\nfrom seqloom.infer._kinds import find_files_kind; find_files_kind([])"
    code += "; print('custom_format' in sys.modules)"
    options: Any = {"env": installed, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", code], check=True, **options)
    assert done.stdout.split() == ["False", "True"]


def test_an_installed_package_can_add_a_file_format(home, installed):
    command = [sys.executable, "-m", "seqloom", *words_of(home / "a.beads", home / "other")]
    options: Any = {"env": installed, "capture_output": True, "text": True}
    done = subprocess.run(command, check=False, **options)
    assert (done.returncode, done.stderr) == (0, "")
    assert sl.models.load(home / "other").trained_on.records == RECORD_COUNT


def test_a_file_of_an_uninstalled_format_is_an_error(call, home):
    said = call(*words_of(home / "a.beads", home / "none"))
    assert said.code == 2
    assert "a.beads" in said.err
