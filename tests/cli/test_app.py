"""The command line as a whole: help, version, exit codes."""

import json
import subprocess
import sys

import pytest

from seqloom.cli._console import version

COMMAND_NAMES = ["demo", "inspect", "train", "predict", "evaluate", "explain", "compare"]
SLOW_MODULES = {"torch", "jax", "matplotlib", "scipy", "seqloom.data", "seqloom.train"}


def run(*words):
    command = [sys.executable, "-m", "seqloom", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_help_lists_every_command(call):
    said = call()
    assert said.code == 0
    assert all(f"│ {name} " in said.out for name in COMMAND_NAMES)


@pytest.mark.parametrize("command", COMMAND_NAMES)
def test_each_command_help_has_an_example(call, command):
    said = call(command, "--help")
    assert said.code == 0
    assert f"Example: seqloom {command}" in said.out


def test_help_of_train_lists_the_common_options(call):
    said = call("train", "--help")
    options = (
        "--labels --out --valid --valid-share --folds --test --task --alphabet --id-column "
        "--label-column --label-from-header --threads --epochs --batch-size --lr --seed "
        "--backend --resume --overwrite --traceback --set --config"
    )
    assert [name for name in options.split() if name not in said.out] == []
    said = call("train", "--set", "help")
    names = "unlabelled class_weight checkpoint_every keep"
    assert [name for name in names.split() if name not in said.out] == []


def test_the_option_version_prints_the_version(call):
    assert call("--version").out.strip() == version()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["trian"], 'Did you mean "train"?'),
        (["train", "a.fa"], "train needs --out: the run folder to write, with model"),
        (["train", "a.fa"], "Example: seqloom train train.fa.gz --labels train.tsv --out"),
        (
            ["train", "a.fa", "--out"],
            "train needs a value after --out: the run folder to write",
        ),
        (["predict", "r", "a.fa"], "predict needs --out: the table to write"),
        (["bed", "subset", "a.bed"], "bed subset needs OUT: the .bed to write"),
        (["evaluate", "r", "a.fa", "--out", "s"], "seqloom predict MODEL FILES --out"),
        (["train", "a.fa", "--out", "r", "--epohcs", "2"], "--epohcs"),
        (["train", "a.fa", "--out", "r", "--lr", "fast"], 'unable to convert "fast"'),
        (["train", "a.fa", "--out", "r", "--task", "guess"], '"guess" for --task'),
        (["train", "a.fa", "--out", "r", "--threads", "0"], '"0" for --threads'),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else None,
)
def test_an_invalid_command_line_prints_two_lines_and_suggests_help(call, words, expected):
    said = call(*words)
    assert (said.code, said.out) == (2, "")
    first, second = said.err.splitlines()
    assert expected in first
    assert "--help lists the options" in second


def test_a_command_with_an_error_exits_with_code_2_and_prints_one_line():
    done = run("inspect", "none.fa")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: none.fa: no such file\n"


def test_the_option_traceback_prints_a_traceback(call):
    said = call("inspect", "none.fa", "--traceback")
    assert said.code == 2
    assert said.err.startswith("Traceback")
    assert said.err.endswith("error: none.fa: no such file\n")


def test_starting_the_command_imports_no_heavy_packages():
    code = "import sys, json, seqloom.cli; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert not SLOW_MODULES & set(json.loads(done.stdout))
