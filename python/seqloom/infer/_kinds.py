"""The registry of input kinds, which defines how each kind is recognised and opened."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import is_list
from seqloom.data import Dataset
from seqloom.data._encoder import encoder_input_type
from seqloom.data._source import iterate_letters
from seqloom.errors import ArgumentError
from seqloom.io._summary import find_alphabet
from seqloom.models import SequenceCNNConfig
from seqloom.nn import Config

Files: TypeAlias = Sequence[Path]
# Command-line options that differ from their defaults, by name.
Given: TypeAlias = Mapping[str, Any]

# Other packages can register input kinds as entry points with this group name.
ENTRY_POINT_GROUP = "seqloom.kinds"
# Command-line options that set how a sequence encoder reads residues.
_SEQUENCE_ENCODER_OPTIONS = frozenset(
    {"alphabet", "unknown", "case", "rare", "symbols", "rna_as_dna"}
)
# The name of the kind that is used if no other kind recognises the files.
_DEFAULT_KIND = "sequences"
# The maximum number of positions in an evaluation batch, which limits memory use.
_MAX_BATCH_POSITIONS = 1 << 18


def _choose_convolutions(
    train: Any,
    *others: Any,
    width: tuple[int, ...] = (),
    kernel_size: int | tuple[int, ...] | None = None,
    dropout: float | None = None,
) -> SequenceCNNConfig:
    """Choose settings of convolution layers; layers beyond the defaults copy the last."""
    config = SequenceCNNConfig.for_data(train, *others)
    widths = width or config.widths
    kernels = kernel_size or _fit_layer_sizes(config.kernel_sizes, len(widths))
    return replace(
        config,
        widths=widths,
        kernel_size=kernels if width or kernel_size else config.kernel_size,
        pools=_fit_layer_sizes(config.pools, len(widths)),
        dropout=config.dropout if dropout is None else dropout,
    )


def _fit_layer_sizes(sizes: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Shorten layer sizes to a length, or extend them by repeating the last size."""
    return (*sizes[:count], *sizes[-1:] * (count - len(sizes)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of input, and the functions that commands, prediction and export call for it.

    The ``kind`` attribute of a dataset or source is the name of its kind. Only
    ``name``, ``open`` and ``recognises`` are required. The defaults of all other fields
    suit sequences.

    Args:
        name: The name of the input kind, in the plural, such as ``"genotypes"``.
        open: A function that opens files as a dataset: ``open(files, labels=, encoder=,
            **options)``. ``labels`` is a `seqloom.data.Labels`, or False for no labels;
            ``encoder`` is None if the kind chooses the encoder.
        recognises: A function that returns whether files are of this kind, from their names
            and contents.
        noun: The plural noun for records of this kind, such as "samples".
        files: The noun phrase that messages use for files of this kind.
        encodes: The attribute ``encodes`` of the encoders for this kind.
        network: A function that chooses the settings of a network: ``network(train,
            *others, **changes)``. The changes are the values of ``width``, ``kernel_size``
            and ``dropout`` that the user set. The default function chooses a
            convolutional network.
        can_finetune: True if ``--finetune`` can adapt a protein language model.
        options: The command-line options that `open` accepts as keyword arguments, if the
            user sets them.
        other_options: Further command-line options that apply to this kind, such as options
            for labels. Options of sequence encoders apply to all kinds of sequences. An
            option that no kind lists applies to all kinds.
        by_option: The command-line option that selects this kind; None if only its files
            select it.
        refusals: Reasons why command-line options do not apply to this kind, by option
            name.
        check_files: A function that raises for unsuitable files: ``check_files(files,
            given)``.
        find_alphabet: A function that finds the alphabet of files: ``find_alphabet(files,
            **given)``. If `find_alphabet` is None, the alphabet is inferred from the
            residues of the opened files.
        has_labels: A function that returns whether the files contain labels, as tables do:
            ``has_labels(files, **given)``.
        has_named_columns: True if files with labels are tables with named columns.
        reads_tables: True if files may be tables that also have columns for labels, groups
            and ids; then `open` also accepts ``id_column``.
        list_files: A function that lists files together with their companion files.
        has_chromosomes: True if records are ranges of chromosomes.
        id_column: The name of the id column in tables that are joined to records of this
            kind.
        instead_of_encoder: The advice in the error message for a dataset whose encoder
            differs from the model's.
        instead_of_explain: The advice in the error message of `explain` for records that
            are not sequences.
        reports_progress: True if `open` accepts ``progress``, a function that is called
            with the finished and the total amount of work.
        batch_positions: The maximum number of positions in a batch when a model is
            evaluated.
        count_inputs: A function that returns how many numbers a record has for each input
            of a network: ``count_inputs(encoder)``. If `count_inputs` is None, records
            are sequences.
        list_arrays: A function that lists the learned arrays of an exported encoder:
            ``list_arrays(encoder, dtype)``. If `list_arrays` is None and `count_inputs`
            is set, the network is exported without an encoder.

    Examples:
        >>> import seqloom as sl
        >>> kind = sl.infer.Kind(
        ...     name="reads",
        ...     open=sl.data.SequenceDataset,
        ...     recognises=lambda files: all(file.suffix == ".reads" for file in files),
        ... )
        >>> kind.noun, kind.has_letters
        ('sequences', True)
    """

    name: str
    open: Callable[..., Dataset]
    recognises: Callable[[Files], bool]
    noun: str = "sequences"
    files: str = "sequences"
    encodes: str = _DEFAULT_KIND
    network: Callable[..., Config] = _choose_convolutions
    can_finetune: bool = False
    options: frozenset[str] = frozenset()
    other_options: frozenset[str] = frozenset()
    by_option: str | None = None
    refusals: Mapping[str, str] = field(default_factory=dict[str, str])
    check_files: Callable[[Files, Given], None] | None = None
    find_alphabet: Callable[..., str] | None = None
    has_labels: Callable[..., bool] = lambda *_, **__: False
    has_named_columns: bool = True
    reads_tables: bool = False
    list_files: Callable[[Files], list[Path]] = list
    has_chromosomes: bool = False
    id_column: str = "id"
    instead_of_encoder: str = "give the dataset encoder=model.encoder"
    instead_of_explain: str = "use a model of sequences"
    reports_progress: bool = False
    batch_positions: int = _MAX_BATCH_POSITIONS
    count_inputs: Callable[[Any], dict[str, int]] | None = None
    list_arrays: Callable[[Any, str], dict[str, NDArray[Any]]] | None = None

    @property
    def has_letters(self) -> bool:
        """True if records of this kind are sequences."""
        return self.encodes == _DEFAULT_KIND

    def check_options(self, files: Files, given: Given) -> None:
        """Raise for unsuitable files, and for options of other kinds.

        Args:
            files: The files.
            given: The command-line options that differ from their defaults.

        Raises:
            ArgumentError: A file or an option does not apply to this kind.
        """
        if self.check_files is not None:
            self.check_files(files, given)
        kinds = find_kinds().values()
        reasons: dict[str, list[str]] = {}
        for name in given:
            owner = next((kind for kind in kinds if kind.takes(name)), None)
            if owner is None or self.takes(name):
                continue
            if name in self.refusals:
                reason = self.refusals[name]
            elif owner.by_option is not None:
                reason = f"only with --{owner.by_option} BED"
            else:
                reason = f"only for {owner.files}, but FILES are {self.files}"
            reasons.setdefault(reason, []).append(f"--{name.replace('_', '-')}")
        for reason, names in reasons.items():
            raise ArgumentError(f"{' and '.join(names)}: {reason}")

    def takes(self, option: str) -> bool:
        """Return whether a command-line option applies to this kind, but not to all kinds.

        Args:
            option: The name of the option.

        Returns:
            True if this input kind lists the option among its own options.
        """
        is_of_letters = self.has_letters and option in _SEQUENCE_ENCODER_OPTIONS
        return is_of_letters or option in self.options | self.other_options

    def check_model(self, model: object, encoder: Any) -> None:
        """Raise for a model that reads another kind of records.

        Args:
            model: The name that the message uses for the model.
            encoder: The model's encoder.

        Raises:
            ArgumentError: The model reads records of another kind.
        """
        if (other := find_encoder_kind(encoder)).encodes != self.encodes:
            raise ArgumentError(
                f"{model}: the model reads {other.files}, but FILES are {self.files}"
            )

    def options_of(self, given: Given) -> dict[str, Any]:
        """Return the command-line options that `open` accepts.

        Args:
            given: The command-line options that differ from their defaults.

        Returns:
            The options for `open`.
        """
        return {name: value for name, value in given.items() if name in self.options}

    def guess_alphabet(self, files: Files, given: Given) -> str:
        """Infer the alphabet of files from their residues.

        Args:
            files: The files.
            given: The command-line options that differ from their defaults.

        Returns:
            The name of an alphabet.

        Raises:
            ArgumentError: The files have no records, or the residues fit no alphabet, or
                fit several alphabets.
        """
        if self.find_alphabet is not None:
            return self.find_alphabet(files, **given)
        data = self.open(files, labels=False, **self.options_of(given))
        if not len(data):
            names = ", ".join(map(str, files))
            raise ArgumentError(f"{names}: no records, so the alphabet cannot be inferred")
        counts = np.zeros(256, np.int64)
        for letters, _ in iterate_letters(data.source, data.rows):
            counts += np.bincount(letters.data, minlength=256)
        found = find_alphabet(counts)
        if found.name is None or found.strange:
            raise ArgumentError(
                f"{files[0]}: the residues fit no alphabet, or several; choose one: "
                "--alphabet dna, rna or protein"
            )
        return found.name


BUILT_IN_KINDS: list[Kind] = []
REGISTERED_KINDS: list[Kind] = []


def register_kind(kind: Kind) -> None:
    """Add a kind of input for `seqloom train` and `predict`.

    If several kinds recognise a file, the most recently added kind opens the file. A new
    kind replaces an older kind of the same name. An installed package can register kinds as
    entry points in the group ``seqloom.kinds``. Kinds of packages are tried after the kinds
    added by this function, and before the built-in kinds.

    Args:
        kind: The kind.

    Raises:
        ArgumentError: The object is not a `Kind`.

    Examples:
        >>> import seqloom as sl
        >>> sl.infer.register_kind(
        ...     sl.infer.Kind(
        ...         name="reads",
        ...         open=sl.data.SequenceDataset,
        ...         recognises=lambda files: all(file.suffix == ".reads" for file in files),
        ...     )
        ... )
    """
    _check_is_kind(kind)
    REGISTERED_KINDS.append(kind)


def _check_is_kind(kind: Kind) -> None:
    """Raise if the object is not a `Kind`."""
    if not isinstance(kind, Kind):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"kind must be a seqloom.infer.Kind, got {kind!r}")


def find_kinds() -> dict[str, Kind]:
    """Return all kinds of input by name: the default kind first, the newest last."""
    kinds: dict[str, Kind] = {}
    added = (*BUILT_IN_KINDS, *find_installed_kinds(), *REGISTERED_KINDS)
    for kind in sorted(added, key=lambda kind: kind.name != _DEFAULT_KIND):
        kinds.pop(kind.name, None)  # also move a replaced kind to the end
        kinds[kind.name] = kind
    return kinds


@cache  # `cache` does not cache exceptions, so errors are raised again
def find_installed_kinds() -> tuple[Kind, ...]:
    """Load the kinds that installed packages register as entry points."""
    return tuple(map(_load_kind, entry_points(group=ENTRY_POINT_GROUP)))


def _load_kind(entry: EntryPoint) -> Kind:
    """Load the kind of input to which an entry point refers."""
    try:
        kind = entry.load()
        _check_is_kind(kind)
    except Exception as error:
        package = entry.dist.name if entry.dist else "an installed package"
        raise ArgumentError(
            f"the kind of input {entry.name!r} of the package {package} cannot be loaded "
            f"from its entry point {entry.value}: {error}; repair or remove the package"
        ) from error
    return kind


def find_files_kind(files: Files, options: Iterable[str] = ()) -> Kind:
    """Return the input kind that an option selects, or that recognises the files."""
    given = set(options)
    kinds = [*reversed(find_kinds().values())]
    chosen = [kind for kind in kinds if kind.by_option in given]
    chosen += [kind for kind in kinds if files and kind.recognises(files)]
    return chosen[0] if chosen else kinds[-1]


def find_kind_of_data(encoder: Any, data: Any) -> tuple[Kind, Any]:
    """Return the kind of input that an encoder reads, and the data to open."""
    usual = find_encoder_kind(encoder)
    several = data if is_list(data) else [data]
    files = [Path(it) for it in several if is_path(it)]
    if files and len(files) == len(several):
        for kind in reversed(find_kinds().values()):
            if kind.encodes == usual.encodes and kind.recognises(files):
                return kind, data if kind is usual else files
    return usual, data


def is_path(value: Any) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(value, (str, os.PathLike))


def find_encoder_kind(encoder: Any) -> Kind:
    """Return the first input kind that suits an encoder; custom encoders read sequences."""
    kinds, encodes = find_kinds(), encoder_input_type(encoder)
    fitting = (kind for kind in kinds.values() if kind.encodes == encodes)
    return next(fitting, kinds[_DEFAULT_KIND])


def get_kind(dataset: Dataset) -> Kind:
    kinds = find_kinds()
    return kinds.get(dataset.kind, kinds[_DEFAULT_KIND])
