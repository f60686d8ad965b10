"""The commands, and the script by which a shell completes them."""

import re
import sys
from collections.abc import Sequence
from typing import Literal, TypeAlias

from cyclopts import App, Parameter

from seqloom.cli._bed import bed
from seqloom.cli._compare import compare
from seqloom.cli._console import version
from seqloom.cli._convert import convert
from seqloom.cli._demo import demo
from seqloom.cli._doctor import doctor
from seqloom.cli._embed import embed
from seqloom.cli._evaluate import evaluate
from seqloom.cli._exit import guard
from seqloom.cli._explain import explain
from seqloom.cli._export import export, run as run_program
from seqloom.cli._inspect import index, inspect
from seqloom.cli._predict import predict
from seqloom.cli._recall import recall
from seqloom.cli._train import train

Shell: TypeAlias = Literal["bash", "zsh", "fish"]
TRACEBACK = "--traceback"

app = App(
    name="seqloom",
    help="Biological data from file to model.",
    help_epilogue=(
        "Every command takes --traceback: where in the code an error arose. "
        "Exit codes: 0 done, 2 bad input, 130 stopped by Ctrl-C, 128 + n stopped by signal "
        "n (143: SIGTERM, 138: SIGUSR1)."
    ),
    version=version,
    config=recall,
    default_parameter=Parameter(negative=""),
    suppress_keyboard_interrupt=False,
    result_action="return_value",
)
COMMANDS = (
    demo,
    inspect,
    convert,
    index,
    train,
    predict,
    evaluate,
    explain,
    compare,
    embed,
    export,
)
USAGES: dict[object, str] = {
    convert: (
        "Usage: seqloom convert [OPTIONS] IN OUT\n"
        "       seqloom convert [OPTIONS] R1 R2 --out OUT1 OUT2"
    )
}
for position, command in enumerate(COMMANDS):
    app.command(command, sort_key=position, usage=USAGES.get(command))
app.command(bed)
# Its own help is what the program prints.
app.command(run_program, sort_key=len(COMMANDS), help_flags=[], version_flags=[])
app.command(doctor, sort_key=len(COMMANDS) + 1)


@app.command(sort_key=len(COMMANDS) + 1)
def completion(shell: Shell, /) -> None:
    """Print the script by which a shell completes commands, options and files.

    Example: eval "$(seqloom completion bash)"

    Put that line into ~/.bashrc, with zsh into ~/.zshrc behind compinit. For fish:
    seqloom completion fish > ~/.config/fish/completions/seqloom.fish

    Args:
        shell: The shell that reads the script.
    """
    script = app.generate_completion(shell=shell)
    # A word that is neither command nor option may be a file.
    if shell == "bash":
        script = script.replace("complete -F", "complete -o default -F")
    if shell == "zsh":
        positional = re.compile(r"(?m)^(\s+'[1-9*]:(?![ :])(?:(?!:_files).)*)' \\$")
        named = positional.sub(r"\1:_files' \\", script)
        script = f"{named}\ncompdef _cyclopts_seqloom seqloom\n"
    sys.stdout.write(script)


def run(tokens: Sequence[str]) -> int:
    """Runs the command that the words name and gives its exit code."""
    rest = [word for word in tokens if word != TRACEBACK]
    return guard(app, rest, with_traceback=TRACEBACK in tokens)
