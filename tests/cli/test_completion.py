"""`seqloom completion` works in real shells."""

import subprocess
import sys
from functools import cache

import pytest

BASH_COMPLETION_SCRIPT = """
source ./script
COMP_WORDS=(seqloom "$@"); COMP_CWORD=$#; COMPREPLY=()
_seqloom
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """A folder with the script for a shell."""

    @cache
    def write(shell):
        folder = tmp_path_factory.mktemp(shell)
        command = [sys.executable, "-m", "seqloom", "completion", shell]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        (folder / "script").write_text(done.stdout)
        return folder

    return write


def run(folder, *command):
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        pytest.skip(f"{command[0]} is not installed")
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tr"], ["train"]),
        (["bed", "st"], ["stats"]),
        (["train", "--ep"], ["--epochs"]),
        (["train", "--task", "m"], ["multilabel"]),
    ],
    ids=" ".join,
)
def test_bash_completes_commands_options_and_choices(script, words, expected):
    assert (
        run(script("bash"), "bash", "-c", BASH_COMPLETION_SCRIPT, "bash", *words)
        == expected
    )


def test_bash_completes_file_names(script):
    asked = "source ./script; complete -p seqloom"
    assert "default" in run(script("bash"), "bash", "-c", asked)


def test_the_fish_shell_completes_commands(script):
    asked = "source script; complete --do-complete 'seqloom tra'"
    assert "train" in run(script("fish"), "fish", "--no-config", "-c", asked)


def test_the_script_for_zsh_defines_a_completion_function(script):
    asked = 'autoload -U compinit; compinit -u -D; eval "$(<script)"; echo $_comps[seqloom]'
    assert run(script("zsh"), "zsh", "-f", "-c", asked) == ["_cyclopts_seqloom"]
