"""Options that --help does not list are set by --set, in a TOML file, or directly."""

import inspect
import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from seqloom.cli._app import COMMANDS
from seqloom.train import Epochs, RunFolder

TRAIN_COMMAND = (
    "train a.fa --labels a.tsv --alphabet dna --epochs 1 --valid-share 0 --out run"
)
MAX_OPTIONS_IN_HELP = 30


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Write eight sequences and their labels into the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("a.fa").write_text("".join(f">s{i}\n{'ACGT'[i % 4] * 9}\n" for i in range(8)))
    Path("a.tsv").write_text("id\tlabel\n" + "".join(f"s{i}\t{i % 2}\n" for i in range(8)))


def shown(text):
    """Return the options that a help text lists."""
    return re.findall(r"(?m)^│ [ *] {0,2}(--[a-z-]+)", text.replace("│ --", "│   --"))


def kept():
    """Return the options that are saved in the run folder."""
    return json.loads(Path("run/command.json").read_text())


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("command", ["train", "predict", "evaluate", "explain", "embed"])
def test_help_lists_at_most_30_options(call, command):
    found = shown(call(command, "--help").out)
    assert "--backend" in found
    assert len(found) <= MAX_OPTIONS_IN_HELP


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("command", ["train", "predict", "evaluate", "explain"])
def test_help_ends_with_the_command_for_more_options(call, command):
    last = call(command, "--help").out.strip().splitlines()[-1]
    assert last == f"seqloom {command} --set help lists more options."
    said = call(command, "--set", "help")
    assert said.code == 0
    names = re.findall(r"(?m)^([a-z_]+)  ", said.out)
    assert "whitespace" in names
    assert not {f"--{name.replace('_', '-')}" for name in names} & set(
        shown(call(command, "--help").out)
    )


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "words",
    [
        ["--jitter", "0", "--clip-norm", "2.5", "--width", "4", "8", "--drop-last"],
        ["--set", "clip_norm=2.5", "--set", "width=4 8", "--set", "drop-last=true"],
        ["--config", "more.toml"],
    ],
    ids=["own names", "set", "TOML"],
)
def test_options_in_files_and_on_the_command_line_have_equal_effects(call, words):
    Path("more.toml").write_text("clip_norm = 2.5\nwidth = [4, 8]\ndrop_last = true\n")
    said = call(*TRAIN_COMMAND.split(), "--batch-size", "4", *words)
    assert said.code == 0, said.err
    options = kept()
    assert options["clip_norm"] == ["2.5"]
    assert options["width"] == ["4", "8"]
    assert options["drop_last"] == ["True"]
    config = json.loads(Path("run/config.json").read_text())
    assert config["model"]["widths"] == [4, 8]


@pytest.mark.usefixtures("here")
def test_the_command_line_takes_precedence_over_the_config_file(call):
    Path("more.toml").write_text("epochs = 7\naccumulate = 2\n")
    assert call(*TRAIN_COMMAND.split(), "--config", "more.toml").code == 0
    assert kept()["epochs"] == ["1"]
    said = call("train", "--out", "run", "--resume", "--epochs", "2")
    assert said.code == 0, said.err
    assert kept()["accumulate"] == ["2"]


INVALID_OPTIONS = {
    "an unknown name": (
        ["--set", "acumulate=2"],
        ["'acumulate'", "mean accumulate", "--set help"],
    ),
    "an option of one call": (
        ["--set", "resume=yes"],
        ["--resume", "on the command"],
    ),
    "an open quotation": (["--set", "groups=it's.tsv"], ["groups=it's.tsv", "quotation"]),
    "no value behind =": (["--set", "width= "], ["--set width=", "a value"]),
    "two values": (["--set", "keep=2", "--set", "keep=3"], ["keep=3", "already"]),
    "one above": (["--set", "epochs=2"], ["--set epochs=2", "already"]),
    "no value": (["--set", "keep"], ["--set keep", "NAME=VALUE"]),
    "half a number": (["--set", "keep=1.5"], ["--keep", "integer", "1.5"]),
    "no choice": (["--set", "optimizer=best"], ["--optimizer", "best", "adamw"]),
    "no number": (["--set", "clip_norm=much"], ["--clip-norm", "much", "float"]),
    "an unknown name in a file": (["--config", "x.toml"], ["x.toml", "kep", "keep"]),
    "a table in a file": (["--config", "table.toml"], ["table.toml", "keep", "table"]),
    "no TOML": (["--config", "bad.toml"], ["bad.toml", "TOML"]),
    "no file": (["--config", "none.toml"], ["none.toml", "no such file"]),
    "a wrong value in a file": (["--config", "y.toml"], ["y.toml", "--keep", ">= 1"]),
}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("words", "parts"), INVALID_OPTIONS.values(), ids=INVALID_OPTIONS)
def test_the_error_for_an_invalid_option_names_value_and_expected_form(call, words, parts):
    Path("x.toml").write_text("kep = 2\n")
    Path("y.toml").write_text("keep = 0\n")
    Path("table.toml").write_text("[keep]\n")
    Path("bad.toml").write_text("keep 2\n")
    said = call(*TRAIN_COMMAND.split(), *words)
    assert said.code == 2
    assert 1 <= len(said.err.splitlines()) <= 2
    assert [part for part in parts if part not in said.err] == []
    assert not Path("run").exists()


@pytest.mark.usefixtures("here")
def test_options_have_types_defaults_and_help_of_dataclass_fields(call):
    text = " ".join(call("train", "--set", "help").out.split())
    assert f"[default: {RunFolder().keep}]" in text
    first = re.search(r"early_stop: (.+?)\.\n", inspect.getdoc(Epochs) or "", re.DOTALL)
    assert " ".join(first[1].split()) in text


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_list_shows_the_first_sentence_of_each_help(command):
    module, summary = COMMANDS[command]
    found = vars(import_module(f"seqloom.cli.{module}"))[command]
    text = found.help if command == "bed" else inspect.getdoc(found).splitlines()[0]
    assert text == summary
