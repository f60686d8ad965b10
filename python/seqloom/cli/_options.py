"""Build command-line options for cyclopts from the dataclasses of Python functions."""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass, make_dataclass
from pathlib import Path
from types import FunctionType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from cyclopts import Group, Parameter, Token, validators

RUN_GROUP = Parameter(group=Group("Run", sort_key=0))
LABEL_GROUP = Parameter(group=Group("Labels", sort_key=1))
SEQUENCE_GROUP = Parameter(group=Group("Sequences", sort_key=2))
INTERVAL_GROUP = Parameter(group=Group("Genome intervals", sort_key=3))
GENOTYPE_GROUP = Parameter(group=Group("Genotypes", sort_key=4))
SPLIT_GROUP = Parameter(group=Group("Training, validation and test sets", sort_key=5))
TRAINING_GROUP = Parameter(group=Group("Training", sort_key=6))
NETWORK_GROUP = Parameter(group=Group("Network", sort_key=7))
MACHINE_GROUP = Parameter(group=Group("Machine", sort_key=8))
OUTPUT_GROUP = Parameter(group=Group("Output", sort_key=9))
FURTHER_GROUP = Parameter(group=Group("Further options", sort_key=10))


def parse_int(kind: Any, tokens: Sequence[Token]) -> int:
    """Parse an integer; the parser of cyclopts would convert 1.5 to 1."""
    del kind  # required by cyclopts
    try:
        return int(tokens[0].value)
    except ValueError:
        word = tokens[0].value
        raise ValueError(f"Must be an integer, got {word}.") from None


def parse_int_or_text(kind: Any, tokens: Sequence[Token]) -> int | str:
    """Parse an integer, or return the text unchanged if it is not an integer."""
    del kind  # required by cyclopts
    return int(tokens[0].value) if tokens[0].value.isdecimal() else tokens[0].value


def _check_paths(kind: Any, names: str | Sequence[str] | None) -> None:
    """Accept - for a standard stream; reject all other text that begins with a hyphen."""
    del kind  # required by cyclopts
    for name in (names,) if isinstance(names, str) else names or ():
        if name.startswith("-") and name != "-":
            raise ValueError(f"Unknown option: {name}; a file of that name is ./{name}.")


# Type of a path, or - for standard input or output.
PATH = PATHS = Parameter(allow_leading_hyphen=True, validator=_check_paths)
# Types of options. Flags are off by default. An option with several values accepts all
# arguments up to the next option.
Flag = Annotated[bool, Parameter(show_default=False)]
Files = Annotated[tuple[Path, ...], Parameter(consume_multiple=1, show_default=False)]
Several = Annotated[tuple[str, ...], Parameter(consume_multiple=1, show_default=False)]
Count = Annotated[int, Parameter(converter=parse_int, validator=validators.Number(gte=1))]
Folds = Annotated[int, Parameter(converter=parse_int, validator=validators.Number(gte=2))]
Seed = Annotated[int, Parameter(converter=parse_int, validator=validators.Number(gte=0))]
Threads = Annotated[
    int, Parameter(converter=parse_int, validator=validators.Number(gte=1, lte=256))
]

# Type of an option that is repeated for each value.
Texts = Annotated[tuple[str, ...], Parameter(allow_leading_hyphen=True, show_default=False)]
# Field name -> option name, for fields whose option has another name.
OPTION_NAMES = {"num_threads": "threads"}
# Command-line types for the types of dataclass fields.
_CLI_TYPES: dict[Any, Any] = {
    int: Count,
    float: float,
    str: str,
    Path: Path,
    NoneType: None,
}
_UNCHANGED_TYPES = (Annotated, Literal)
_TEXT_SEQUENCES = (Sequence[str], Iterable[str])
# Types that modules import only for type checking.
_TYPE_CHECKING_NAMES = {"re": re, "Sequence": Sequence}


def takes_options(
    *, shown: str | None = None, without: str = ""
) -> Callable[[FunctionType], FunctionType]:
    """Add the fields of dataclass parameters to a command as command-line options.

    Each option has the type, default and help text of its field. A field is skipped if an
    earlier parameter has the same name, or if its type cannot be given on the command line.

    Args:
        shown: Python names of the arguments and options that --help lists, separated by
            spaces. If `shown` is None, --help lists all options. `--set help` lists the
            options that --help omits.
        without: Names of fields that do not become options of this command.

    Returns:
        A decorator for the function of a command.
    """
    listed = None if shown is None else set(shown.split())

    def decorate(command: FunctionType) -> FunctionType:
        hints = get_type_hints(command, include_extras=True)
        del hints["return"]
        # Each hint is Annotated[kind, *extras] or the kind alone.
        parts = {
            name: get_args(hint) if get_origin(hint) is Annotated else (hint,)
            for name, hint in hints.items()
        }
        taken = {name for name, (kind, *_) in parts.items() if not is_dataclass(kind)}
        taken.update(without.split())
        defaults = dict(command.__kwdefaults__ or {})
        for name, (kind, *extras) in parts.items():
            if isinstance(kind, type) and is_dataclass(kind):
                form = _make_class(kind, taken, listed)
                hints[name] = Annotated[(form, *extras, Parameter(name="*"))]
                defaults.setdefault(name, kind())
            elif listed is not None and name not in listed:
                hints[name] = Annotated[hints[name], Parameter(show=False)]
        command.__annotations__ = hints
        command.__kwdefaults__ = defaults
        return command

    return decorate


def _make_class(kind: type[Any], taken: set[str], listed: set[str] | None) -> type[Any]:
    """Create a dataclass for cyclopts; calling this class returns an instance of `kind`."""
    texts = _read_help_texts(kind)
    hints = get_type_hints(kind, localns=_TYPE_CHECKING_NAMES, include_extras=True)
    members: list[tuple[str, Any, Any]] = []
    for item in fields(kind):
        words = None if item.name in taken else _to_cli_type(item, hints[item.name])
        taken.add(item.name)
        is_shown = words is not None and (listed is None or item.name in listed)
        # A hidden option with several values is set once, as in --set NAME="A B".
        several = (
            " Repeat the option for several values." if is_shown and words is Texts else ""
        )
        option = Parameter(
            help=texts.get(item.name, "") + several, show=is_shown, parse=words is not None
        )
        if item.name in OPTION_NAMES:
            name = Parameter(name=f"--{OPTION_NAMES[item.name]}")
            option = Parameter.combine(option, name)
        hint = Annotated[str if words is None else words, option]
        members.append((item.name, hint, field(default=item.default)))

    def construct(_: type[Any], **values: Any) -> Any:
        return kind(**values)

    form = make_dataclass(kind.__name__, members, namespace={"__new__": construct})
    # Set the module, because cyclopts treats a class of the module `types` as a
    # builtin.
    form.__module__ = kind.__module__
    return form


def _to_cli_type(item: Field[Any], hint: Any) -> Any:
    """Return the command-line type of a field, or None if the field cannot be an option."""
    if get_origin(hint) is Annotated:
        return hint
    if item.name == "num_threads":
        return Threads
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if any(member in _TEXT_SEQUENCES for member in members):
        spelled: Any = Texts
    elif bool in members:
        negative = () if item.default is False else f"--no-{item.name.replace('_', '-')}"
        # A flag that may also have a value, as in --compile=auto.
        known = [it for it in members if it is bool or get_origin(it) is Literal]
        spelled = Annotated[
            Union[tuple(known)],  # noqa: UP007
            Parameter(negative=negative, show_default=False),
        ]
    elif int in members and str in members:
        spelled = Annotated[str, Parameter(converter=parse_int_or_text)]
    else:
        kept = [
            it for it in members if it in _CLI_TYPES or get_origin(it) in _UNCHANGED_TYPES
        ]
        known = [_CLI_TYPES.get(it, it) for it in kept]
        is_spelled = any(it is not None for it in known)
        spelled = Union[tuple(known)] if is_spelled else None  # noqa: UP007
    return spelled


def _read_help_texts(kind: type[Any]) -> dict[str, str]:
    """Read help texts from a docstring; for a library class, only first sentences."""
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
    """Backend and threads of a command.

    Args:
        backend: The library and device that compute, such as torch:cuda.
        threads: Number of threads; by default the number of available cores.
    """

    backend: str = "numpy"
    threads: Threads | None = None

    def to_keywords(self) -> dict[str, Any]:
        """Return the options as keyword arguments of the Python functions."""
        return {"backend": self.backend, "num_threads": self.threads}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedOptions(MachineOptions):
    """Backend and threads of a command, and the base network of its trained model.

    Args:
        base: The folder of the ESM-2 base network, if it has moved since training.
    """

    base: Path | None = None

    def to_keywords(self) -> dict[str, Any]:
        """Return the options as keyword arguments of `seqloom.models.load`."""
        found = {"backend": self.backend, "num_threads": self.threads}
        return found if self.base is None else {**found, "base": self.base}


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherOptions:
    """Sources of options that --help does not list.

    Args:
        set: Set an option that --help does not list, as in --set keep=3. Repeat --set for
            each option; --set help lists all options.
        config: A TOML file with one line NAME = VALUE for each option. Options on the
            command line take precedence.
    """

    set: Annotated[tuple[str, ...], Parameter(show_default=False)] = ()
    config: Path | None = None
