"""Options from elsewhere: --set, a TOML file, and the folder of the run to resume."""

import json
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from cyclopts import App, ArgumentCollection, Group, Token
from cyclopts.argument import Argument
from rich.text import Text

from seqloom._files import write_atomic
from seqloom.cli._console import open_console, table_of
from seqloom.cli._options import OPTION_NAMES
from seqloom.errors import ArgumentError, FileError

if TYPE_CHECKING:
    from seqloom.train._progress import Plan

# Options of one call alone, which a resumed run does not take over.
_OF_ONE_CALL = {"out", "resume", "overwrite", "quiet", "json", "set", "config"}


def fill_options(
    app: App, commands: tuple[str, ...], arguments: ArgumentCollection
) -> None:
    """Fill in options that the command line leaves out, before cyclopts reads them.

    Raises:
        SystemExit: `--set help` has printed the names of the options.
    """
    del app  # part of cyclopts' protocol
    if "--set" in arguments:
        named = [it for it in arguments if it.parse and it.name.startswith("--")]
        options = {_name_of(it): it for it in named}
        words = [token.value for token in options["set"].tokens]
        if "help" in words:
            _print_options(options)
            raise SystemExit(0)
        help_command = f"seqloom {' '.join(commands)} --set help"
        _fill_from_words(options, words, help_command)
        for token in options["config"].tokens:
            _fill_from_file(options, Path(token.value), help_command)
    if commands == ("train",) and arguments["--resume"].has_tokens:
        for token in arguments["--out"].tokens:
            _fill_from_run(arguments, token.value)


def _name_of(argument: Argument) -> str:
    """Name an argument as a file does: without dashes in front, with _ for -."""
    return argument.name.removeprefix("--").replace("-", "_").lower()


def _print_options(options: Mapping[str, Argument]) -> None:
    """Print the options that --help does not list, by their groups."""
    console = open_console()
    groups: dict[str, dict[str, str]] = {}
    for name, argument in options.items():
        if argument.parameter.show is False:
            # cyclopts resolves the groups of an argument to a tuple of them.
            (group,) = cast("tuple[Group]", argument.parameter.group)
            notes = [argument.parameter.help or ""]
            if choices := argument.get_choices():
                flags = ("yes", "no") if bool in get_args(argument.hint) else ()
                notes.append(f"[choices: {', '.join((*flags, *choices))}]")
            if argument.show_default:
                notes.append(f"[default: {argument.field_info.default}]")
            groups.setdefault(group.name, {})[name] = " ".join(notes)
    for title, texts in groups.items():
        console.print(Text(title, style="bold"))
        console.print(table_of(texts))
        console.line()
    console.print(
        "Give one as --set NAME=VALUE, or as a line NAME = VALUE of a TOML file for "
        "--config. The options that --help lists may be given so, too."
    )


def _fill_from_words(
    options: Mapping[str, Argument], words: Sequence[str], help_command: str
) -> None:
    """Take NAME=VALUE of each --set."""
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ArgumentError(
                f"--set {word}: expected NAME=VALUE, as in --set keep=3; {help_command} "
                "lists the names"
            )
        name, where = name.strip(), f"--set {word}"
        argument = _find(options, name, where=where, help_command=help_command)
        if argument.has_tokens:
            raise ArgumentError(
                f"{where}: {name} has a value already; give it once, several values as in "
                f'{name}="A B"'
            )
        # An option for several words takes them all.
        try:
            is_many = argument.token_count()[1]
            values = shlex.split(value) if is_many else [value.strip()]
        except ValueError as error:
            raise ArgumentError(
                f"{where}: {error} in {value}; put a name with a quotation mark or a space "
                f'into quotation marks, as in {name}="it\'s.tsv"'
            ) from None
        if not any(values):
            raise ArgumentError(f"{where}: expected a value behind {name}=")
        _fill(argument, values, "--set")


def _fill_from_file(options: Mapping[str, Argument], path: Path, help_command: str) -> None:
    """Take the options of a TOML file that the command line does not give."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileError(f"{path}: no such file; --config names a TOML file") from None
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: cannot be read as TOML: {error}") from None
    for name, value in table.items():
        argument = _find(options, name, where=str(path), help_command=help_command)
        if isinstance(value, dict):
            raise ArgumentError(
                f"{path}: {name} is a table; write options as lines NAME = VALUE"
            )
        if not argument.has_tokens:
            _fill(argument, _spell(value), str(path))


def _find(
    options: Mapping[str, Argument], name: str, *, where: str, help_command: str
) -> Argument:
    """Find an option by its name; an unknown name is an error with the nearest ones."""
    found = options.get(name.replace("-", "_"))
    if name in {"set", "config", "resume"}:
        raise ArgumentError(f"{where}: write --{name} on the command line itself")
    if found is None:
        near = get_close_matches(name, options, n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise ArgumentError(
            f"{where}: no option has the name {name!r}; {hint}{help_command} lists the "
            "names"
        )
    return found


class Keep:
    """Writes the options of a run into its folder, as a callback of `fit`."""

    def __init__(self, files: list[Path], given: Mapping[str, Any]) -> None:
        self._words = {"files": _spell(files)} | {
            OPTION_NAMES.get(name, name): _spell(value)
            for name, value in given.items()
            if name not in _OF_ONE_CALL
        }

    def on_start(self, plan: "Plan") -> None:
        """Write them where the run has just been begun or opened."""
        from seqloom.models._folder import COMMAND

        if plan.folder is not None:
            text = json.dumps(self._words, indent=2) + "\n"
            write_atomic(plan.folder / COMMAND, text.encode())


def _spell(value: Any) -> list[str]:
    """Spell a value as words of a command line."""
    several = cast("list[Any]", value) if isinstance(value, (list, tuple)) else [value]
    return [str(item) for item in several]


def _fill_from_run(arguments: ArgumentCollection, out: str) -> None:
    """Take the options of a run from its folder, or from those of its folds."""
    from seqloom.models._folder import COMMAND

    kept: Mapping[str, list[str]] = {}
    # The folds of a run share its options.
    for path in (Path(out, COMMAND), *sorted(Path(out).glob(f"fold-*/{COMMAND}"))):
        try:
            kept = _decode(path.read_bytes())
            break
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError, AttributeError):
            raise FileError(
                f"{path}: cannot be read: remove it and give all options of the run again"
            ) from None
    if not kept and not arguments["FILES"].has_tokens:
        raise ArgumentError(
            f"{out}: holds no run that seqloom train began (command.json): give "
            "FILES and all options of its first call"
        )
    for argument in arguments:
        words = kept.get(_name_of(argument))
        if argument.parse and not argument.has_tokens and words:
            if argument.name == "FILES" and (
                lost := [it for it in words if not Path(it).exists()]
            ):
                raise FileError(
                    f"{lost[0]}: is not here, but the run in {out} was begun with it: go "
                    "to the folder where it was begun, or name its FILES again"
                )
            _fill(argument, words, out)


def _decode(text: bytes) -> Mapping[str, list[str]]:
    """Read names with their words; anything else is a ValueError."""
    words: dict[str, Any] = dict(json.loads(text).items())
    for value in words.values():
        is_list = isinstance(value, list)
        if not is_list or not all(isinstance(it, str) for it in cast("list[Any]", value)):
            raise ValueError("expected lists of words")
    return words


def _fill(argument: Argument, words: Sequence[str], source: str) -> None:
    """Give an argument its words, as if they stood on the command line."""
    is_flag = words == ["True"] and argument.is_flag()
    for index, word in enumerate(words):
        value: Any = {"implicit_value": True} if is_flag else {"value": word}
        argument.append(Token(keyword=argument.name, source=source, index=index, **value))
