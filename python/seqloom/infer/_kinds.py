"""The registry of the kinds of input: how each is recognised, opened and learned from."""

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
from seqloom.data._encoder import encoded_kind
from seqloom.data._source import iterate_letters
from seqloom.errors import ArgumentError
from seqloom.io._summary import find_alphabet
from seqloom.models import SequenceCNNConfig
from seqloom.nn import Config

Files: TypeAlias = Sequence[Path]
# Options of the command line by name, those that differ from their defaults.
Given: TypeAlias = Mapping[str, Any]

# Entry points of this group, in other packages, are kinds too.
GROUP = "seqloom.kinds"
# Options of encoders of letters: they decide what a letter means.
_OF_LETTERS = frozenset({"alphabet", "unknown", "case", "rare", "symbols", "rna_as_dna"})
# The kind that reads files which no other kind recognises.
_DEFAULT = "sequences"
# The most positions of an evaluation batch, where a letter becomes many features.
_LETTERS = 1 << 18


def _choose_convolutions(
    train: Any,
    *others: Any,
    width: tuple[int, ...] = (),
    kernel_size: int | tuple[int, ...] | None = None,
    dropout: float | None = None,
) -> SequenceCNNConfig:
    """Choose convolutions; each new one is as the last of those that were chosen."""
    config = SequenceCNNConfig.for_data(train, *others)
    widths = width or config.widths
    kernels = kernel_size or _repeat_last(config.kernel_sizes, len(widths))
    return replace(
        config,
        widths=widths,
        kernel_size=kernels if width or kernel_size else config.kernel_size,
        pools=_repeat_last(config.pools, len(widths)),
        dropout=config.dropout if dropout is None else dropout,
    )


def _repeat_last(sizes: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return as many sizes as are wanted; those that lack are as the last one."""
    return (*sizes[:count], *sizes[-1:] * (count - len(sizes)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of input: everything that commands, prediction and export ask about it.

    The name of a kind is the ``kind`` of its source, and so of its datasets. Only ``name``,
    ``open`` and ``recognises`` are needed; the other fields describe what differs from
    sequences.

    Args:
        name: Its name, in the plural.
        open: Opens files as a dataset: ``open(files, labels=, encoder=, **options)``.
            ``labels`` is a `seqloom.data.Labels`, or False to leave labels out; ``encoder``
            is None where the kind chooses it.
        recognises: Tells from their names and contents whether paths are of this kind.
        noun: What its records are called, in the plural.
        files: What the files are, in messages.
        encodes: What its encoders encode: ``encoder.encodes``.
        network: Chooses the settings of a network: ``network(train, *others, **changes)``,
            where changes are those of ``width``, ``kernel_size`` and ``dropout`` that the
            user gave. By default it chooses convolutions.
        can_finetune: Whether ``--finetune`` adapts a protein language model to its records.
        options: The options of the command line that `open` takes; those that the user
            gave are passed by name.
        other_options: Further options that go with the kind: those of labels.
            Options of letters go with all kinds that have letters, and options that no kind
            lists with all.
        by_option: The option that chooses this kind; None: files are recognised.
        refusals: Why an option does not go with the kind, by its name.
        check_files: Raises for files that do not fit: ``check_files(files, given)``.
        find_alphabet: Finds the alphabet of files: ``find_alphabet(files, **given)``;
            None: the letters of the opened files decide.
        has_labels: Tells whether files hold labels themselves, as tables do:
            ``has_labels(files, **given)``.
        has_named_columns: Whether such labels are in columns with names.
        reads_tables: Whether files may be tables, whose further columns are labels, groups
            and ids; then `open` takes ``id_column`` too.
        list_files: Lists files with those that are read beside them.
        has_chromosomes: Whether records are parts of chromosomes.
        id_column: The column of ids of tables that are joined to its records.
        instead_of_encoder: What to do where a dataset has another encoder than the model.
        instead_of_explain: What to do in place of `explain`, for records without letters.
        reports_progress: Whether `open` takes ``progress``, a function that it calls with
            what is done and the whole.
        batch_positions: The most positions of an evaluation batch.
        count_inputs: Counts the numbers of a record, by the input of a network that gets
            them: ``count_inputs(encoder)``; None: records are letters.
        list_arrays: Lists the learned arrays of an exported encoder:
            ``list_arrays(encoder, dtype)``; None: it has none, and where `count_inputs`
            is given, export writes the network without an encoder.

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
    encodes: str = _DEFAULT
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
    instead_of_explain: str = "give a model of sequences"
    reports_progress: bool = False
    batch_positions: int = _LETTERS
    count_inputs: Callable[[Any], dict[str, int]] | None = None
    list_arrays: Callable[[Any, str], dict[str, NDArray[Any]]] | None = None

    @property
    def has_letters(self) -> bool:
        """Whether its records are letters, which encoders of sequences read."""
        return self.encodes == _DEFAULT

    def check_options(self, files: Files, given: Given) -> None:
        """Raise for files that do not fit, and for options that only other kinds read.

        Args:
            files: The files.
            given: The options that differ from their defaults.

        Raises:
            ArgumentError: A file or an option does not go with this kind.
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
        """Return True for an option that goes with this kind, but not with all.

        Args:
            option: Its name.

        Returns:
            Whether the kind lists it.
        """
        is_of_letters = self.has_letters and option in _OF_LETTERS
        return is_of_letters or option in self.options | self.other_options

    def check_model(self, model: object, encoder: Any) -> None:
        """Raise for a model that reads another kind of records.

        Args:
            model: What names the model in the message.
            encoder: The model's encoder.

        Raises:
            ArgumentError: The model reads records of another kind.
        """
        if (other := kind_of_encoder(encoder)).encodes != self.encodes:
            raise ArgumentError(
                f"{model}: the model reads {other.files}, but FILES are {self.files}"
            )

    def options_of(self, given: Given) -> dict[str, Any]:
        """Choose the options that the kind reads.

        Args:
            given: The options that differ from their defaults.

        Returns:
            Those that `open` takes.
        """
        return {name: value for name, value in given.items() if name in self.options}

    def guess_alphabet(self, files: Files, given: Given) -> str:
        """Decide what the letters of files are: DNA, RNA or protein.

        Args:
            files: The files.
            given: The options that differ from their defaults.

        Returns:
            The name of an alphabet.

        Raises:
            ArgumentError: There are no records, or their letters are of no alphabet or of
                several.
        """
        if self.find_alphabet is not None:
            return self.find_alphabet(files, **given)
        data = self.open(files, labels=False, **self.options_of(given))
        if not len(data):
            names = ", ".join(map(str, files))
            raise ArgumentError(
                f"{names}: no records, so that no letters show the alphabet"
            )
        counts = np.zeros(256, np.int64)
        for letters, _ in iterate_letters(data.source, data.rows):
            counts += np.bincount(letters.data, minlength=256)
        found = find_alphabet(counts)
        if found.name is None or found.strange:
            raise ArgumentError(
                f"{files[0]}: its letters are those of no alphabet, or of several; give "
                "one: --alphabet dna, rna or protein"
            )
        return found.name


BUILT_IN: list[Kind] = []  # the kinds of seqloom
REGISTERED: list[Kind] = []  # those that `register_kind` added


def register_kind(kind: Kind) -> None:
    """Add a kind of input, which `seqloom train` and `predict` then read.

    Kinds that were added later are asked first whether they recognise files. A kind of a
    name that is taken replaces the other. An installed package can name its kinds in the
    group ``seqloom.kinds`` of entry points instead: they are asked after those that are
    added here, and before seqloom's own.

    Args:
        kind: The kind.

    Raises:
        ArgumentError: It is no `Kind`.

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
    _check_kind(kind)
    REGISTERED.append(kind)


def _check_kind(kind: Kind) -> None:
    """Raise unless it is a kind."""
    if not isinstance(kind, Kind):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"kind must be a seqloom.infer.Kind, got {kind!r}")


def find_kinds() -> dict[str, Kind]:
    """Return all kinds by name, the newest last; the default kind is always the first."""
    kinds: dict[str, Kind] = {}
    added = (*BUILT_IN, *find_installed(), *REGISTERED)
    for kind in sorted(added, key=lambda kind: kind.name != _DEFAULT):
        kinds.pop(kind.name, None)  # a kind that replaces another is the newest
        kinds[kind.name] = kind
    return kinds


@cache  # only of success: an error is raised again at each call
def find_installed() -> tuple[Kind, ...]:
    """Load the kinds that installed packages name in their entry points."""
    return tuple(map(_load, entry_points(group=GROUP)))


def _load(entry: EntryPoint) -> Kind:
    """Load the kind that an entry point names."""
    try:
        kind = entry.load()
        _check_kind(kind)
    except Exception as error:
        package = entry.dist.name if entry.dist else "an installed package"
        raise ArgumentError(
            f"the kind of input {entry.name!r} of the package {package} cannot be loaded "
            f"from its entry point {entry.value}: {error}; repair or remove the package"
        ) from error
    return kind


def kind_of_files(files: Files, options: Iterable[str] = ()) -> Kind:
    """Find the kind that an option chooses, or that recognises the files."""
    given = set(options)
    kinds = [*reversed(find_kinds().values())]
    chosen = [kind for kind in kinds if kind.by_option in given]
    chosen += [kind for kind in kinds if files and kind.recognises(files)]
    return chosen[0] if chosen else kinds[-1]


def kind_of_data(encoder: Any, data: Any) -> tuple[Kind, Any]:
    """Find the kind of records that an encoder reads; recognised files are a list."""
    usual = kind_of_encoder(encoder)
    several = data if is_list(data) else [data]
    files = [Path(it) for it in several if is_path(it)]
    if files and len(files) == len(several):
        for kind in reversed(find_kinds().values()):
            if kind.encodes == usual.encodes and kind.recognises(files):
                return kind, data if kind is usual else files
    return usual, data


def is_path(value: Any) -> TypeGuard[str | os.PathLike[str]]:
    """Return True for a path."""
    return isinstance(value, (str, os.PathLike))


def kind_of_encoder(encoder: Any) -> Kind:
    """Find the first kind whose records an encoder reads; a user's own reads sequences."""
    kinds, encodes = find_kinds(), encoded_kind(encoder)
    fitting = (kind for kind in kinds.values() if kind.encodes == encodes)
    return next(fitting, kinds[_DEFAULT])


def kind_of(dataset: Dataset) -> Kind:
    """Find the kind of a dataset."""
    kinds = find_kinds()
    return kinds.get(dataset.kind, kinds[_DEFAULT])
