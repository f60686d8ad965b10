"""``seqloom completion``: what a shell needs to complete commands, options and files."""

import re
import sys
from typing import Literal

from cyclopts import App


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print the script by which a shell completes commands, options and files.

    Example: eval "$(seqloom completion bash)"

    Put that line into ~/.bashrc, with zsh into ~/.zshrc behind compinit. For fish:
    seqloom completion fish > ~/.config/fish/completions/seqloom.fish

    Args:
        shell: The shell that reads the script.
    """
    from seqloom.cli._app import app

    sys.stdout.write(write_script(app, shell))


def write_script(app: App, shell: Literal["bash", "zsh", "fish"]) -> str:
    """Writes the script; a word that is neither command nor option may be a file."""
    script = app.generate_completion(shell=shell)
    if shell == "bash":
        return script.replace("complete -F", "complete -o default -F")
    if shell == "zsh":
        positional = re.compile(r"(?m)^(\s+'[1-9*]:(?![ :])(?:(?!:_files).)*)' \\$")
        named = positional.sub(r"\1:_files' \\", script)
        return f"{named}\ncompdef _cyclopts_seqloom seqloom\n"
    return script
