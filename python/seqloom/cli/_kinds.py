"""Detects the kind of the records, and refuses options that belong to another kind."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, TypeAlias

from seqloom.cli._options import (
    CovariateFileOptions,
    DataOptions,
    FileOptions,
    IntervalOptions,
    LabelOptions,
    SequenceOptions,
)
from seqloom.errors import ArgumentError, SeqloomError

Kind: TypeAlias = Literal["sequences", "genotypes", "intervals", "embeddings"]
_PLINK_MAGIC = b"\x6c\x1b"
_ARE_GENOTYPES = "FILES are genotypes (a PLINK .bed)"
_WHAT = {"genotypes": _ARE_GENOTYPES, "embeddings": "FILES are a folder of embeddings"}


def detect_kind(files: Sequence[Path], intervals: IntervalOptions) -> Kind:
    """Returns the kind of the records: sequences, genotypes, intervals or embeddings."""
    if intervals.intervals:
        return "intervals"
    if are_embeddings(files):
        return "embeddings"
    return "genotypes" if are_genotypes(files) else "sequences"


def are_genotypes(files: Sequence[Path]) -> bool:
    """Returns True if a file is a PLINK .bed file, by its name or its first bytes."""
    return any(file.suffix == ".bed" or _starts_with_plink_magic(file) for file in files)


def are_embeddings(files: Sequence[Path]) -> bool:
    """Returns True if a path is a folder of embeddings, by its plan."""
    return any((file / "plan.json").is_file() for file in files)


def one_folder(files: Sequence[Path]) -> Path:
    """Returns the one folder of embeddings there is to be."""
    if len(files) != 1:
        raise ArgumentError(
            f"embeddings are one folder at a time, got {len(files)} paths; embed all files "
            "into one folder: seqloom embed A.fa B.fa --model DIR --out FOLDER"
        )
    return files[0]


def check_options(
    files: Sequence[Path],
    *,
    options: LabelOptions,
    genotypes: CovariateFileOptions,
    sequences: SequenceOptions,
    intervals: IntervalOptions,
) -> Kind:
    """Returns the kind of the records; refuses label and reading options of other kinds."""
    kind = check_reading(files, genotypes, sequences=sequences, intervals=intervals)
    if kind == "intervals":
        given = {"--label-from-header": options.label_from_header is not None}
        _refuse(
            given, "not with --intervals; give --label-column, a column of the intervals"
        )
    if kind in _WHAT:
        alphabet = options.alphabet if isinstance(options, DataOptions) else "auto"
        given = {
            "--label-from-header": options.label_from_header is not None,
            "--label-from-file": options.label_from_file,
            "--alphabet": alphabet != "auto",
        }
        _refuse(given, f"only for sequences, but {_WHAT[kind]}")
    return kind


def check_reading(
    files: Sequence[Path],
    genotypes: CovariateFileOptions,
    *,
    sequences: SequenceOptions,
    intervals: IntervalOptions,
) -> Kind:
    """Returns the kind of the records; refuses reading options of other kinds."""
    kind = detect_kind(files, intervals)
    if kind == "intervals":
        _check_genome(files, intervals)
        _refuse(
            _find_changed(sequences, SequenceOptions),
            "not with --intervals: clean the genome first, with seqloom convert",
        )
    else:
        _refuse(_find_changed(intervals), "only with --intervals BED")
    if kind == "genotypes":
        _check_no_intervals(files)
        check_no_sequence_options(sequences)
        return kind
    why = "only for genotypes (a PLINK .bed), but "
    _refuse(_find_changed(genotypes), why + _WHAT.get(kind, "FILES are sequences"))
    if kind == "embeddings":
        _refuse(_find_changed(sequences), f"only for sequences, but {_WHAT[kind]}")
    return kind


def check_no_sequence_options(sequences: FileOptions) -> None:
    """Refuses options that read sequences, because the files are genotypes."""
    _refuse(_find_changed(sequences), f"only for sequences, but {_ARE_GENOTYPES}")


def check_no_file_options(sequences: SequenceOptions) -> None:
    """Refuses options that read files, because the sequences are on standard input."""
    _refuse(_find_changed(sequences), "only for files; save standard input to a file first")


def check_exported(*options: Any) -> None:
    """Refuses options that an exported model, which runs without Python, does not take."""
    for group in options:
        given = _find_changed(group)
        given.pop("--threads", None)
        _refuse(given, "not with an exported model; give the run folder that it is of")


def check_model(model: Path, trained: Any, kind: Kind) -> None:
    """Refuses records of another kind than those the model was trained on."""
    from seqloom.data import EmbeddingEncoder, GenotypeEncoder

    kinds = {GenotypeEncoder: "genotypes", EmbeddingEncoder: "embeddings"}
    expected, given = (
        next((name for it, name in kinds.items() if isinstance(trained.encoder, it)), ""),
        kind if kind in kinds.values() else "",
    )
    if expected != given:
        names = {"": "sequences", "genotypes": "genotypes (a PLINK .bed)"}
        names["embeddings"] = "embeddings (a folder that seqloom embed wrote)"
        raise ArgumentError(
            f"{model}: the model reads {names[expected]}, but FILES are {names[given]}"
        )


def _check_genome(files: Sequence[Path], intervals: IntervalOptions) -> None:
    """Refuses intervals unless FILES are one sequence file, the genome."""
    if len(files) != 1:
        raise ArgumentError(
            f"--intervals needs one genome file, got {len(files)} files: join them first; "
            "if some are files of intervals, name them after --intervals"
        )
    if are_genotypes(files):
        raise ArgumentError(
            f"{files[0]}: is not a genome in FASTA; give the genome first, as in "
            f"GENOME.fa --intervals {files[0]}; got --intervals {intervals.intervals[0]}"
        )


def _check_no_intervals(files: Sequence[Path]) -> None:
    """Refuses intervals where genotypes belong: the names of both end in .bed."""
    for file in filter(_holds_intervals, files):
        raise ArgumentError(
            f"{file}: holds intervals, not genotypes: give the genome first, then "
            f"--intervals {file}"
        )


def _holds_intervals(file: Path) -> bool:
    """Returns True if a file is a BED text file of intervals."""
    from seqloom.io import open_sequences
    from seqloom.io._settings import fault_of

    try:
        with open_sequences(file):
            return False
    except SeqloomError as error:
        return fault_of(error) == "is BED"


def _find_changed(options: Any, kind: Any = None) -> dict[str, bool]:
    """Says of each option, or each that `kind` defines, if it differs from the default."""
    defaults = type(options)()
    names = [field.name for field in fields(kind or options)]
    return {
        f"--{name.replace('_', '-')}": getattr(options, name) != getattr(defaults, name)
        for name in names
    }


def _starts_with_plink_magic(file: Path) -> bool:
    """Returns True if a file starts as a PLINK .bed; False if it cannot be read."""
    try:
        with file.open("rb") as opened:
            return opened.read(2) == _PLINK_MAGIC
    except OSError:  # whoever opens the file later raises the error
        return False


def _refuse(given: dict[str, bool], why: str) -> None:
    """Raises an error that names the given options and says why they are refused."""
    if names := [name for name, is_given in given.items() if is_given]:
        raise ArgumentError(f"{' and '.join(names)}: {why}")
