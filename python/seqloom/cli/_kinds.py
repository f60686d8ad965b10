"""What the records are: sequences, genotypes or parts of a genome, and whose options."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, TypeAlias

from seqloom.cli._options import (
    CovariateOptions,
    DataOptions,
    FileOptions,
    IntervalOptions,
    LabelOptions,
    SequenceOptions,
)
from seqloom.errors import ArgumentError, SeqloomError

Kind: TypeAlias = Literal["sequences", "genotypes", "intervals"]
_MAGIC = b"\x6c\x1b"
_ARE_GENOTYPES = "FILES are genotypes (a PLINK .bed)"


def kind_of(files: Sequence[Path], intervals: IntervalOptions) -> Kind:
    """Says what the records are."""
    if intervals.intervals:
        return "intervals"
    return "genotypes" if are_genotypes(files) else "sequences"


def are_genotypes(files: Sequence[Path]) -> bool:
    """Says whether files are PLINK .bed files, by their name or first bytes."""
    return any(file.suffix == ".bed" or _begins_as_bed(file) for file in files)


def check_options(
    files: Sequence[Path],
    *,
    options: LabelOptions,
    genotypes: CovariateOptions,
    sequences: SequenceOptions,
    intervals: IntervalOptions,
) -> Kind:
    """Says what the records are, and refuses options of other ones."""
    kind = check_reading(files, genotypes, sequences=sequences, intervals=intervals)
    if kind == "intervals":
        given = {"--label-from-header": options.label_from_header is not None}
        _refuse(given, "not with --intervals; --label-column names a column of theirs")
    if kind == "genotypes":
        alphabet = options.alphabet if isinstance(options, DataOptions) else "auto"
        given = {
            "--label-from-header": options.label_from_header is not None,
            "--label-from-file": options.label_from_file,
            "--alphabet": alphabet != "auto",
        }
        _refuse(given, f"only for sequences, but {_ARE_GENOTYPES}")
    return kind


def check_reading(
    files: Sequence[Path],
    genotypes: CovariateOptions,
    *,
    sequences: SequenceOptions,
    intervals: IntervalOptions,
) -> Kind:
    """Says what the records are, and refuses other ways to read them."""
    kind = kind_of(files, intervals)
    if kind == "intervals":
        _check_genome(files, intervals)
        _refuse(
            _changed(sequences, SequenceOptions),
            "not with --intervals: they need a clean FASTA file, as seqloom convert writes",
        )
    else:
        _refuse(_changed(intervals), "only with --intervals BED")
    if kind == "genotypes":
        _check_no_text(files)
        check_no_letters(sequences)
    else:
        why = "only for genotypes (a PLINK .bed), but FILES are sequences"
        _refuse(_changed(genotypes), why)
    return kind


def check_no_letters(sequences: FileOptions) -> None:
    """Refuses for genotypes how sequences are read."""
    _refuse(_changed(sequences), f"only for sequences, but {_ARE_GENOTYPES}")


def check_no_reading(sequences: SequenceOptions) -> None:
    """Refuses for standard input what is for files."""
    _refuse(_changed(sequences), "only for files; save standard input to one first")


def check_model(model: Path, trained: Any, kind: Kind) -> None:
    """Refuses sequences for a model of genotypes, and the other way round."""
    from seqloom.data import GenotypeEncoder

    reads, found = isinstance(trained.encoder, GenotypeEncoder), kind == "genotypes"
    if reads != found:
        kinds = {False: "sequences", True: "genotypes (a PLINK .bed)"}
        raise ArgumentError(
            f"{model}: the model reads {kinds[reads]}, but FILES are {kinds[found]}"
        )


def _check_genome(files: Sequence[Path], intervals: IntervalOptions) -> None:
    """Refuses another genome than one sequence file."""
    if len(files) != 1:
        raise ArgumentError(
            f"--intervals lie in one genome, got {len(files)} files: join them first, or "
            "name all files of intervals behind --intervals"
        )
    if are_genotypes(files):
        raise ArgumentError(
            f"{files[0]}: is no genome, which is FASTA and comes first: "
            f"GENOME.fa --intervals {files[0]}; got --intervals {intervals.intervals[0]}"
        )


def _check_no_text(files: Sequence[Path]) -> None:
    """Tells intervals from genotypes, which have the same end of the name."""
    for file in filter(_holds_intervals, files):
        raise ArgumentError(
            f"{file}: holds intervals, not genotypes: name the genome, then "
            f"--intervals {file}"
        )


def _holds_intervals(file: Path) -> bool:
    """Says whether a file is BED as text."""
    from seqloom.io import open_sequences

    try:
        with open_sequences(file):
            return False
    except SeqloomError as error:
        return "found BED intervals" in str(error)


def _changed(options: Any, kind: Any = None) -> dict[str, bool]:
    """Lists options, all or those of a base, that are not as they are by default."""
    usual = type(options)()
    names = [field.name for field in fields(kind or options)]
    return {
        f"--{name.replace('_', '-')}": getattr(options, name) != getattr(usual, name)
        for name in names
    }


def _begins_as_bed(file: Path) -> bool:
    """Reads a file's first bytes; what cannot be read is told of later."""
    try:
        with file.open("rb") as opened:
            return opened.read(2) == _MAGIC
    except OSError:
        return False


def _refuse(given: dict[str, bool], why: str) -> None:
    """Refuses options that do not go with the files."""
    if names := [name for name, is_given in given.items() if is_given]:
        raise ArgumentError(f"{' and '.join(names)}: {why}")
