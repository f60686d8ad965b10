"""``seqloom completion``: what a shell needs to complete commands, options and files."""

import re
import sys
from typing import Literal, TypeAlias

from cyclopts import App

Shell: TypeAlias = Literal["bash", "zsh", "fish"]


def add_completion(app: App, *, sort_key: int) -> None:
    """Adds the command, which lists the other commands of the program."""

    def completion(shell: Shell, /) -> None:
        """Print the script by which a shell completes commands, options and files.

        Example: eval "$(seqloom completion bash)"

        Put that line into ~/.bashrc, with zsh into ~/.zshrc behind compinit. For fish:
        seqloom completion fish > ~/.config/fish/completions/seqloom.fish

        Args:
            shell: The shell that reads the script.
        """
        sys.stdout.write(_write_script(app, shell))

    app.command(completion, sort_key=sort_key)


def _write_script(app: App, shell: Shell) -> str:
    """Writes the script; a word that is neither command nor option may be a file."""
    script = app.generate_completion(shell=shell)
    if shell == "bash":
        return script.replace("complete -F", "complete -o default -F")
    if shell == "zsh":
        positional = re.compile(r"(?m)^(\s+'[1-9*]:(?![ :])(?:(?!:_files).)*)' \\$")
        named = positional.sub(r"\1:_files' \\", script)
        return f"{named}\ncompdef _cyclopts_seqloom seqloom\n"
    return script
