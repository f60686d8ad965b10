"""The commands, and the script by which a shell completes them."""

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Literal, TypeAlias

from cyclopts import App, Parameter

from seqloom.cli._console import version
from seqloom.cli._exit import guard
from seqloom.cli._settings import fill_options

Shell: TypeAlias = Literal["bash", "zsh", "fish"]
TRACEBACK = "--traceback"
# The module of each command, and the first sentence of its help. A module is imported for
# its own command alone.
COMMANDS = {
    "demo": ("_demo", "Learn to find splice junctions in real DNA, and write a report."),
    "inspect": (
        "_inspect",
        "Show the contents of a sequence file: records, lengths, letters, qualities.",
    ),
    "convert": (
        "_convert",
        "Write a sequence file anew: another container or format, or some of its records.",
    ),
    "index": ("_inspect", "Make the index by which records are read in any order."),
    "train": (
        "_train",
        "Train a network on labelled sequences or genotypes and write a run folder.",
    ),
    "predict": (
        "_predict",
        "Score every sequence or sample once and write a table, in input order.",
    ),
    "evaluate": ("_predict", "Compare a trained model's scores with labels."),
    "explain": ("_explain", "Show which letters of sequences count for a trained model."),
    "compare": (
        "_compare",
        (
            "Show runs beside each other, the best first: metrics, tests, settings that "
            "differ."
        ),
    ),
    "embed": (
        "_embed",
        "Compute embeddings of sequences with ESM-2, each record exactly once.",
    ),
    "bed": ("_bed", "PLINK genotypes: a .bed with its .fam and .bim."),
    "export": ("_export", "Write a trained model for where there is no Python."),
    "run": (
        "_export",
        "Score files by an exported model, without Python: becomes seqloom-run.",
    ),
    "completion": (
        "_app",
        "Print the script by which a shell completes commands, options and files.",
    ),
    "doctor": (
        "_doctor",
        (
            "Show versions, processor, threads, GPU, extras and cache, and what is slow "
            "and why."
        ),
    ),
}
_USAGES = {
    "convert": (
        "Usage: seqloom convert [OPTIONS] IN OUT\n"
        "       seqloom convert [OPTIONS] R1 R2 --out OUT1 OUT2"
    )
}
_WITH_FURTHER_OPTIONS = ("train", "predict", "evaluate", "explain")
_EPILOGUE = (
    "Every command takes --traceback: where in the code an error arose. "
    "Exit codes: 0 done, 2 bad input, 130 stopped by Ctrl-C, 128 + n stopped by signal "
    "n (143: SIGTERM, 138: SIGUSR1)."
)


def make_app(words: Sequence[str]) -> App:
    """Make the program with the commands that the words name, and the names of others."""
    app = App(
        name="seqloom",
        help="Biological data from file to model.",
        help_epilogue=_EPILOGUE,
        version=version,
        config=fill_options,
        default_parameter=Parameter(negative=""),
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )
    for position, (name, (module, summary)) in enumerate(COMMANDS.items()):
        if name not in words and "completion" not in words:
            app.command(App(name=name, help=summary, sort_key=position))
            continue
        command = vars(import_module(f"seqloom.cli.{module}"))[name]
        if isinstance(command, App):
            command.sort_key = position
            app.command(command)
            continue
        # seqloom-run prints its own help.
        flags = {"help_flags": (), "version_flags": ()} if name == "run" else {}
        usage = _USAGES.get(name)
        app.command(command, name=name, sort_key=position, usage=usage, **flags)
    for name in _WITH_FURTHER_OPTIONS:
        app[
            name
        ].help_epilogue = f"{_EPILOGUE}\n\nseqloom {name} --set help lists further options."
    return app


def run(tokens: Sequence[str]) -> int:
    """Run the command that the words name and give its exit code."""
    words = [word for word in tokens if word != TRACEBACK]
    return guard(make_app(words), words, with_traceback=TRACEBACK in tokens)


def completion(shell: Shell, /) -> None:
    """Print the script by which a shell completes commands, options and files.

    Example: eval "$(seqloom completion bash)"

    Put that line into ~/.bashrc, with zsh into ~/.zshrc behind compinit. For fish:
    seqloom completion fish > ~/.config/fish/completions/seqloom.fish

    Args:
        shell: The shell that reads the script.
    """
    script = make_app(["completion"]).generate_completion(shell=shell)
    # A word that is neither command nor option may be a file.
    if shell == "bash":
        script = script.replace("complete -F", "complete -o default -F")
    if shell == "zsh":
        positional = re.compile(r"(?m)^(\s+'[1-9*]:(?![ :])(?:(?!:_files).)*)' \\$")
        named = positional.sub(r"\1:_files' \\", script)
        script = f"{named}\ncompdef _cyclopts_seqloom seqloom\n"
    sys.stdout.write(script)
