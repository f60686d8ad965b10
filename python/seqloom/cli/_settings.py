"""Read options from --set, from a TOML file, and from the folder of a resumed run."""

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
from seqloom.cli._console import make_fact_table, open_console
from seqloom.cli._options import OPTION_NAMES
from seqloom.errors import ArgumentError, FileError

if TYPE_CHECKING:
    from seqloom.train._progress import Plan

# Options that a resumed run does not inherit from the first call.
_SINGLE_CALL_OPTIONS = {"out", "resume", "overwrite", "quiet", "json", "set", "config"}


def fill_options(
    app: App, commands: tuple[str, ...], arguments: ArgumentCollection
) -> None:
    """Add options from --set, --config and a resumed run to the parsed command line.

    Raises:
        SystemExit: `--set help` was given, and the options have been printed.
    """
    del app  # required by cyclopts
    if "--set" in arguments:
        named = [it for it in arguments if it.parse and it.name.startswith("--")]
        options = {_toml_name(it): it for it in named}
        words = [token.value for token in options["set"].tokens]
        if "help" in words:
            _print_options(options)
            raise SystemExit(0)
        help_command = f"seqloom {' '.join(commands)} --set help"
        _fill_from_set(options, words, help_command)
        for token in options["config"].tokens:
            _fill_from_file(options, Path(token.value), help_command)
    if commands == ("train",) and arguments["--resume"].has_tokens:
        for token in arguments["--out"].tokens:
            _fill_from_run(arguments, token.value)


def _toml_name(argument: Argument) -> str:
    """Return the name of an option in a TOML file, such as batch_size for --batch-size."""
    return argument.name.removeprefix("--").replace("-", "_").lower()


def _print_options(options: Mapping[str, Argument]) -> None:
    """Print the options that --help does not list, by group."""
    console = open_console()
    groups: dict[str, dict[str, str]] = {}
    for name, argument in options.items():
        if argument.parameter.show is False:
            # cyclopts stores the option groups of an argument as a tuple.
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
        console.print(make_fact_table(texts))
        console.line()
    console.print(
        "Set an option by --set NAME=VALUE, or by a line NAME = VALUE in the TOML file of "
        "--config. This also works for the options that --help lists."
    )


def _fill_from_set(
    options: Mapping[str, Argument], words: Sequence[str], help_command: str
) -> None:
    """Read NAME=VALUE from each --set."""
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ArgumentError(
                f"--set {word}: expected NAME=VALUE, as in --set keep=3; {help_command} "
                "lists the names"
            )
        name, where = name.strip(), f"--set {word}"
        argument = _find_option(options, name, where=where, help_command=help_command)
        if argument.has_tokens:
            raise ArgumentError(
                f"{where}: {name} already has a value; give it once, with several values "
                "as in "
                f'{name}="A B"'
            )
        # The string is split at spaces if the option has several values.
        try:
            is_many = argument.token_count()[1]
            values = shlex.split(value) if is_many else [value.strip()]
        except ValueError as error:
            raise ArgumentError(
                f"{where}: {error} in {value}; quote a name that contains a quotation mark "
                "or "
                f'a space, as in {name}="it\'s.tsv"'
            ) from None
        if not any(values):
            raise ArgumentError(f"{where}: expected a value after {name}=")
        _set_option_value(argument, values, "--set")


def _fill_from_file(options: Mapping[str, Argument], path: Path, help_command: str) -> None:
    """Read options from a TOML file, except options that are on the command line."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileError(f"{path}: no such file; --config names a TOML file") from None
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: cannot be read as TOML: {error}") from None
    for name, value in table.items():
        argument = _find_option(options, name, where=str(path), help_command=help_command)
        if isinstance(value, dict):
            raise ArgumentError(
                f"{path}: {name} is a table; write options as lines NAME = VALUE"
            )
        if not argument.has_tokens:
            _set_option_value(argument, _to_arguments(value), str(path))


def _find_option(
    options: Mapping[str, Argument], name: str, *, where: str, help_command: str
) -> Argument:
    """Return the option with this name; for an unknown name, raise and suggest names."""
    found = options.get(name.replace("-", "_"))
    if name in {"set", "config", "resume"}:
        raise ArgumentError(f"{where}: write --{name} on the command line")
    if found is None:
        matches = get_close_matches(name, options, n=3)
        hint = f"did you mean {' or '.join(matches)}? " if matches else ""
        raise ArgumentError(
            f"{where}: there is no option {name!r}; {hint}{help_command} lists the names"
        )
    return found


class OptionSaver:
    """Callback of `fit` that writes the options of a run into its folder."""

    def __init__(self, files: list[Path], given: Mapping[str, Any]) -> None:
        self._words = {"files": _to_arguments(files)} | {
            OPTION_NAMES.get(name, name): _to_arguments(value)
            for name, value in given.items()
            if name not in _SINGLE_CALL_OPTIONS
        }

    def on_start(self, plan: "Plan") -> None:
        """Write the options when the run starts or resumes."""
        from seqloom.models._folder import COMMAND

        if plan.folder is not None:
            text = json.dumps(self._words, indent=2) + "\n"
            write_atomic(plan.folder / COMMAND, text.encode())


def _to_arguments(value: Any) -> list[str]:
    """Convert a TOML value to arguments of a command line."""
    several = cast("list[Any]", value) if isinstance(value, (list, tuple)) else [value]
    return [str(item) for item in several]


def _fill_from_run(arguments: ArgumentCollection, out: str) -> None:
    """Read the options of a run from the folder of the run or of its first fold."""
    from seqloom.models._folder import COMMAND

    kept: Mapping[str, list[str]] = {}
    # All folds of a run have the same options.
    for path in (Path(out, COMMAND), *sorted(Path(out).glob(f"fold-*/{COMMAND}"))):
        try:
            kept = _parse_options(path.read_bytes())
            break
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError, AttributeError):
            raise FileError(
                f"{path}: cannot be read; remove it and give all options of the run again"
            ) from None
    if not kept and not arguments["FILES"].has_tokens:
        raise ArgumentError(
            f"{out}: contains no run of seqloom train (command.json is missing): give "
            "FILES and all options of the first call"
        )
    for argument in arguments:
        words = kept.get(_toml_name(argument))
        if argument.parse and not argument.has_tokens and words:
            if argument.name == "FILES" and (
                lost := [it for it in words if not Path(it).exists()]
            ):
                raise FileError(
                    f"{lost[0]}: no such file here; the run in {out} was started with it. "
                    "Run the command in the folder where the run was started, or give "
                    "FILES again"
                )
            _set_option_value(argument, words, out)


def _parse_options(text: bytes) -> Mapping[str, list[str]]:
    """Parse a dict from option name to arguments from JSON; raise ValueError if invalid."""
    words: dict[str, Any] = dict(json.loads(text).items())
    for value in words.values():
        is_list = isinstance(value, list)
        if not is_list or not all(isinstance(it, str) for it in cast("list[Any]", value)):
            raise ValueError("expected lists of strings")
    return words


def _set_option_value(argument: Argument, words: Sequence[str], source: str) -> None:
    """Set the value of an option as if it were given on the command line."""
    is_flag = words == ["True"] and argument.is_flag()
    for index, word in enumerate(words):
        value: Any = {"implicit_value": True} if is_flag else {"value": word}
        argument.append(Token(keyword=argument.name, source=source, index=index, **value))
