"""The options of a run, kept in its folder, so that --resume alone goes on with it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cyclopts import App, ArgumentCollection, Token
from cyclopts.argument import Argument

from seqloom._files import write_atomic
from seqloom.errors import ArgumentError, FileError

if TYPE_CHECKING:
    from seqloom.train._progress import Plan

# What belongs to one call alone.
_OF_ONE_CALL = {"out", "resume", "overwrite", "quiet", "json"}


class Keep:
    """Writes the options of a run into its folder, as a callback of `fit`."""

    def __init__(self, files: list[Path], *groups: Any) -> None:
        options = {
            item.name: (group, item.name) for group in groups for item in fields(group)
        }
        given = {name: getattr(*place) for name, place in options.items()}
        self._words = {"files": _spell(files)} | {
            name: words
            for name, value in given.items()
            if name not in _OF_ONE_CALL and (words := _spell(value))
        }

    def on_start(self, plan: "Plan") -> None:
        """Writes them where the run has just been begun or opened."""
        from seqloom.models._folder import COMMAND

        if plan.folder is not None:
            text = json.dumps(self._words, indent=2) + "\n"
            write_atomic(plan.folder / COMMAND, text.encode())


def recall(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Fills in what a command line with --resume leaves out, from the run's folder."""
    del app  # part of cyclopts' protocol
    if commands != ("train",) or not arguments["--resume"].has_tokens:
        return
    for out in arguments["--out"].tokens:
        kept = _read(Path(out.value))
        if not kept and not arguments["FILES"].has_tokens:
            raise ArgumentError(
                f"{out.value}: holds no run that seqloom train began (command.json): give "
                "FILES and all options of its first call"
            )
        for argument in arguments:
            if not argument.has_tokens and (words := kept.get(_name_of(argument))):
                _check_files(Path(out.value), argument, words)
                _fill(argument, words, str(out.value))


def _spell(value: Any) -> list[str]:
    """Spells a value as words of a command line; an option that is off has none."""
    if value is None or value is False:
        return []
    several = cast("list[Any]", value) if isinstance(value, (list, tuple)) else [value]
    return [str(item) for item in several]


def _name_of(argument: Argument) -> str:
    """Names an argument as the file does."""
    return argument.name.removeprefix("--").replace("-", "_").lower()


def _read(out: Path) -> Mapping[str, list[str]]:
    """Reads the options of a run, or of its folds, which share them."""
    for path in _candidates(out):
        try:
            return _decode(path.read_bytes())
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError, AttributeError):
            raise FileError(
                f"{path}: cannot be read: remove it and give all options of the run again"
            ) from None
    return {}


def _decode(text: bytes) -> Mapping[str, list[str]]:
    """Reads names with their words; anything else is a ValueError."""
    words: dict[str, Any] = dict(json.loads(text).items())
    if not all(map(_are_words, words.values())):
        raise ValueError("expected lists of words")
    return words


def _are_words(value: Any) -> bool:
    """Says whether a value is a list of texts."""
    if not isinstance(value, list):
        return False
    return all(isinstance(word, str) for word in cast("list[object]", value))


def _candidates(out: Path) -> Iterator[Path]:
    """Gives where the options may be."""
    from seqloom.models._folder import COMMAND

    yield out / COMMAND
    yield from sorted(out.glob(f"fold-*/{COMMAND}"))


def _check_files(out: Path, argument: Argument, words: list[str]) -> None:
    """Refuses files that are not where the run was begun with them."""
    if argument.name != "FILES":
        return
    for word in words:
        if not Path(word).exists():
            raise FileError(
                f"{word}: is not here, but the run in {out} was begun with it: go to the "
                "folder where it was begun, or name its FILES again"
            )


def _fill(argument: Argument, words: list[str], source: str) -> None:
    """Gives an argument its words, as if they stood on the command line."""
    is_flag = words == ["True"] and argument.is_flag()
    for index, word in enumerate(words):
        value: Any = {"implicit_value": True} if is_flag else {"value": word}
        argument.append(Token(keyword=argument.name, source=source, index=index, **value))
