"""Define the commands of seqloom, and the script for shell completion."""

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Literal, TypeAlias

from cyclopts import App, Parameter

from seqloom.cli._console import version
from seqloom.cli._exit import run_and_report
from seqloom.cli._settings import fill_options

Shell: TypeAlias = Literal["bash", "zsh", "fish"]
TRACEBACK_OPTION = "--traceback"
# Module and one-sentence help of each command.
COMMANDS = {
    "demo": ("_demo", "Train on real DNA to find splice junctions, and write a report."),
    "inspect": (
        "_inspect",
        "Show the contents of a sequence file: records, lengths, residues, qualities.",
    ),
    "convert": (
        "_convert",
        "Convert a sequence file to another format or compression, or select records.",
    ),
    "index": ("_inspect", "Build an index for random access to records."),
    "train": (
        "_train",
        "Train a network on labelled sequences or genotypes and write a run folder.",
    ),
    "predict": ("_predict", "Score sequences or samples and write a table in input order."),
    "evaluate": ("_predict", "Evaluate a trained model on labelled data."),
    "explain": (
        "_explain",
        "Show how much each residue contributes to the score of a trained model.",
    ),
    "effects": (
        "_effects",
        "Compute how variants change the scores of a trained model.",
    ),
    "compare": (
        "_compare",
        (
            "Compare runs, best first: metrics, significance tests, and settings that "
            "differ."
        ),
    ),
    "check": (
        "_check",
        "Find validation intervals that repeat training sequences, and compare both sets.",
    ),
    "pileup": (
        "_pileup",
        "Count the ends of fragments at each base, and write them as a bigWig file.",
    ),
    "embed": ("_embed", "Compute embeddings of protein sequences with ESM-2."),
    "bed": ("_bed", "Inspect, convert and subset PLINK genotypes (.bed, .fam, .bim)."),
    "export": ("_export", "Export a trained model for use without Python."),
    "run": ("_export", "Score files with an exported model; runs the program seqloom-run."),
    "completion": (
        "_app",
        "Print a shell script that completes commands, options and files.",
    ),
    "doctor": (
        "_doctor",
        ("Show versions, processor, threads, GPU, extras, cache and causes of slowness."),
    ),
}
_USAGE_TEXTS = {
    "convert": (
        "Usage: seqloom convert [OPTIONS] IN OUT\n"
        "       seqloom convert [OPTIONS] R1 R2 --out OUT1 OUT2"
    )
}
_COMMANDS_WITH_SET = ("train", "predict", "evaluate", "explain")
_EPILOGUE = (
    "Every command accepts --traceback, which prints the Python traceback of an error. "
    "Exit codes: 0 success, 2 invalid input, 130 stopped by Ctrl-C, 128 + n stopped by "
    "signal n (143: SIGTERM, 138: SIGUSR1)."
)


def make_app(words: Sequence[str]) -> App:
    """Create the program, which imports the module of a command only when it runs."""
    app = App(
        name="seqloom",
        help="Train models on biological sequences and genotypes.",
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
        # --help is passed to seqloom-run, which prints its own help.
        flags = {"help_flags": (), "version_flags": ()} if name == "run" else {}
        usage = _USAGE_TEXTS.get(name)
        app.command(command, name=name, sort_key=position, usage=usage, **flags)
    for name in _COMMANDS_WITH_SET:
        app[
            name
        ].help_epilogue = f"{_EPILOGUE}\n\nseqloom {name} --set help lists more options."
    return app


def run(tokens: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    words = [word for word in tokens if word != TRACEBACK_OPTION]
    return run_and_report(make_app(words), words, with_traceback=TRACEBACK_OPTION in tokens)


def completion(shell: Shell, /) -> None:
    """Print a shell script that completes commands, options and files.

    Example: eval "$(seqloom completion bash)"

    For bash, add the line above to ~/.bashrc. For zsh, replace bash by zsh, and add the
    line to ~/.zshrc after compinit. For fish: seqloom completion fish >
    ~/.config/fish/completions/seqloom.fish

    Args:
        shell: The shell for which the script is printed.
    """
    script = make_app(["completion"]).generate_completion(shell=shell)
    # Complete a word that is neither a command nor an option as a file name.
    if shell == "bash":
        script = script.replace("complete -F", "complete -o default -F")
    if shell == "zsh":
        positional = re.compile(r"(?m)^(\s+'[1-9*]:(?![ :])(?:(?!:_files).)*)' \\$")
        named = positional.sub(r"\1:_files' \\", script)
        script = f"{named}\ncompdef _cyclopts_seqloom seqloom\n"
    sys.stdout.write(script)
