"""Options: fields of the values that Python functions take, read from words by cyclopts."""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass, make_dataclass
from pathlib import Path
from types import FunctionType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from cyclopts import Group, Parameter, Token, validators

RUN = Parameter(group=Group("Run", sort_key=0))
LABELS = Parameter(group=Group("Labels", sort_key=1))
SEQUENCES = Parameter(group=Group("Sequences", sort_key=2))
INTERVALS = Parameter(group=Group("Parts of a genome", sort_key=3))
GENOTYPES = Parameter(group=Group("Genotypes", sort_key=4))
PARTS = Parameter(group=Group("Training, validation and test records", sort_key=5))
LEARNING = Parameter(group=Group("Learning", sort_key=6))
NETWORK = Parameter(group=Group("Network", sort_key=7))
MACHINE = Parameter(group=Group("Machine", sort_key=8))
OUTPUT = Parameter(group=Group("Output", sort_key=9))
FURTHER = Parameter(group=Group("Further options", sort_key=10))


def read_whole(kind: Any, tokens: Sequence[Token]) -> int:
    """Read an integer; cyclopts alone would take 1.5 for 1."""
    del kind  # part of the protocol
    try:
        return int(tokens[0].value)
    except ValueError:
        found = tokens[0].value
        raise ValueError(f"Must be an integer, got {found}.") from None


def read_whole_or_text(kind: Any, tokens: Sequence[Token]) -> int | str:
    """Read an integer where the word is one."""
    del kind  # part of the protocol
    return int(tokens[0].value) if tokens[0].value.isdecimal() else tokens[0].value


def _check_paths(kind: Any, names: str | Sequence[str] | None) -> None:
    """Take - for a stream; a misspelt option is no file."""
    del kind  # part of the protocol
    for name in (names,) if isinstance(names, str) else names or ():
        if name.startswith("-") and name != "-":
            raise ValueError(f"Unknown option: {name}; a file of that name is ./{name}.")


# Files by their paths, or - for standard input or output.
PATH = PATHS = Parameter(allow_leading_hyphen=True, validator=_check_paths)
# A flag is off; an option for several takes all words, one at least, up to the next option.
Flag = Annotated[bool, Parameter(show_default=False)]
Files = Annotated[tuple[Path, ...], Parameter(consume_multiple=1, show_default=False)]
Several = Annotated[tuple[str, ...], Parameter(consume_multiple=1, show_default=False)]
Count = Annotated[int, Parameter(converter=read_whole, validator=validators.Number(gte=1))]
Folds = Annotated[int, Parameter(converter=read_whole, validator=validators.Number(gte=2))]
Seed = Annotated[int, Parameter(converter=read_whole, validator=validators.Number(gte=0))]
Threads = Annotated[
    int, Parameter(converter=read_whole, validator=validators.Number(gte=1, lte=256))
]

# A text or several; the option is repeated.
Texts = Annotated[tuple[str, ...], Parameter(allow_leading_hyphen=True, show_default=False)]
# Options that have another name than the field in Python.
OPTION_NAMES = {"num_threads": "threads"}
# How words spell a type that a field may have.
_SPELLINGS: dict[Any, Any] = {
    int: Count,
    float: float,
    str: str,
    Path: Path,
    NoneType: None,
}
_SPELLED_ALREADY = (Annotated, Literal)
_TEXTS = (Sequence[str], Iterable[str])
# Names that modules import for type checkers alone.
_NAMES_OF_TYPES = {"re": re, "Sequence": Sequence}


def takes_options(
    *, shown: str | None = None, without: str = ""
) -> Callable[[FunctionType], FunctionType]:
    """Make fields of the dataclasses that a function takes options of its command.

    Types, defaults and help texts are those of the fields. A field that an earlier value or
    an argument has too, or that words cannot spell, is no option.

    Args:
        shown: The arguments and options that --help lists, by their names in Python; None:
            all. The others work as well, and `--set help` lists them.
        without: Fields that are no options of this command.

    Returns:
        A decorator for the function of a command.
    """
    listed = None if shown is None else set(shown.split())

    def decorate(command: FunctionType) -> FunctionType:
        hints = get_type_hints(command, include_extras=True)
        del hints["return"]
        # Annotated[kind, *extras], or the kind alone.
        parts = {
            name: get_args(hint) if get_origin(hint) is Annotated else (hint,)
            for name, hint in hints.items()
        }
        taken = {name for name, (kind, *_) in parts.items() if not is_dataclass(kind)}
        taken.update(without.split())
        defaults = dict(command.__kwdefaults__ or {})
        for name, (kind, *extras) in parts.items():
            if isinstance(kind, type) and is_dataclass(kind):
                form = _make_form(kind, taken, listed)
                hints[name] = Annotated[(form, *extras, Parameter(name="*"))]
                defaults.setdefault(name, kind())
            elif listed is not None and name not in listed:
                hints[name] = Annotated[hints[name], Parameter(show=False)]
        command.__annotations__ = hints
        command.__kwdefaults__ = defaults
        return command

    return decorate


def _make_form(kind: type[Any], taken: set[str], listed: set[str] | None) -> type[Any]:
    """Make a dataclass that cyclopts fills in; its constructor returns a `kind`."""
    texts = _read_texts(kind)
    hints = get_type_hints(kind, localns=_NAMES_OF_TYPES, include_extras=True)
    members: list[tuple[str, Any, Any]] = []
    for item in fields(kind):
        words = None if item.name in taken else _spell_type(item, hints[item.name])
        taken.add(item.name)
        is_shown = words is not None and (listed is None or item.name in listed)
        # --set, by which an option is given that is not shown, has several in one word.
        several = " Repeat the option for several." if is_shown and words is Texts else ""
        option = Parameter(
            help=texts.get(item.name, "") + several,
            show=is_shown,
            parse=words is not None,
        )
        if item.name in OPTION_NAMES:
            name = Parameter(name=f"--{OPTION_NAMES[item.name]}")
            option = Parameter.combine(option, name)
        hint = Annotated[str if words is None else words, option]
        members.append((item.name, hint, field(default=item.default)))

    def construct(_: type[Any], **values: Any) -> Any:
        return kind(**values)

    form = make_dataclass(kind.__name__, members, namespace={"__new__": construct})
    form.__module__ = kind.__module__  # cyclopts takes a class of `types` for a builtin
    return form


def _spell_type(item: Field[Any], hint: Any) -> Any:
    """Return how words spell a field's type; None if they cannot."""
    if get_origin(hint) is Annotated:
        return hint
    if item.name == "num_threads":
        return Threads
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if any(member in _TEXTS for member in members):
        spelled: Any = Texts
    elif bool in members:
        negative = () if item.default is False else f"--no-{item.name.replace('_', '-')}"
        # A flag, which may have another word, as in --compile=auto.
        known = [it for it in members if it is bool or get_origin(it) is Literal]
        spelled = Annotated[
            Union[tuple(known)],  # noqa: UP007
            Parameter(negative=negative, show_default=False),
        ]
    elif int in members and str in members:
        spelled = Annotated[str, Parameter(converter=read_whole_or_text)]
    else:
        kept = [
            it for it in members if it in _SPELLINGS or get_origin(it) in _SPELLED_ALREADY
        ]
        known = [_SPELLINGS.get(it, it) for it in kept]
        is_spelled = any(it is not None for it in known)
        spelled = Union[tuple(known)] if is_spelled else None  # noqa: UP007
    return spelled


def _read_texts(kind: type[Any]) -> dict[str, str]:
    """Read help texts from docstrings: of a library's class the first sentences."""
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        section = inspect.cleandoc(base.__doc__ or "").partition("Args:\n")[2]
        for name, text in re.findall(r"(?m)^    (\w+): (.+(?:\n {8}.+)*)", section):
            whole = " ".join(text.replace("`", "").split())
            is_ours = base.__module__.startswith("seqloom.cli.")
            texts[name] = whole if is_ours else re.split(r'(?<=\.) (?=[A-Z"])', whole)[0]
    return texts


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineOptions:
    """Says what computes.

    Args:
        backend: What computes, and where.
        threads: Threads to use; otherwise as many as the machine allows.
    """

    backend: str = "numpy"
    threads: Threads | None = None

    def to_keywords(self) -> dict[str, Any]:
        """Spell the options as the packages take them."""
        return {"backend": self.backend, "num_threads": self.threads}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedOptions(MachineOptions):
    """Says what computes, and where the base of a trained model is.

    Args:
        base: The ESM-2 folder that adapters are for, where it has moved.
    """

    base: Path | None = None

    def to_keywords(self) -> dict[str, Any]:
        """Spell the options as `seqloom.models.load` takes them."""
        found = {"backend": self.backend, "num_threads": self.threads}
        return found if self.base is None else {**found, "base": self.base}


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherOptions:
    """Says where options come from that --help does not list.

    Args:
        set: An option that is not listed here, as in --set keep=3; one --set for each.
            --set help lists them all.
        config: A TOML file of options, a line NAME = VALUE for each. The command line wins.
    """

    set: Annotated[tuple[str, ...], Parameter(show_default=False)] = ()
    config: Path | None = None
