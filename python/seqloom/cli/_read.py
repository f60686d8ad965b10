"""Options that describe the input files of a command, and functions that open the files."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter, validators
from rich.console import Console

from seqloom._text import MAX_EXAMPLES
from seqloom.cli._options import Count, Files, Flag, Texts, parse_int
from seqloom.data import Dataset, Labels
from seqloom.data._describe import describe_residue_counts
from seqloom.errors import ArgumentError
from seqloom.infer._kinds import Kind, find_files_kind
from seqloom.infer._score_bar import byte_progress_bar

STDIN = "-"
_SKIP_MESSAGES = {
    "dropped": "intervals skipped because they extend beyond their chromosome",
    "unlabelled": "{} skipped because they have no label",
    "missing_labels": "{} skipped because their label is missing",
    "missing_covariates": "{} with a missing covariate, replaced by its mean",
    "unused_covariates": "covariates ignored because the model does not use them",
    "numbered": "{} of tables without a column id, numbered from 0 (--id-column names the "
    "column)",
    "flipped": "variants flipped because their alleles are swapped",
    "missing_alleles": "variants with a missing allele (0), matched by the other allele",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlphabetOptions:
    """Alphabet of the sequences, and the encoding of special residues.

    Args:
        alphabet: The alphabet of the sequences; auto detects it from all residues of FILES.
        unknown: Encode an ambiguity code such as N as zeros or as equal fractions of its
            bases, or raise an error.
        case: Encode a lower-case residue like upper case or as zeros, or raise an error.
        rare: Encoding of U (selenocysteine) and O (pyrrolysine) in a protein.
        symbols: Encoding of the symbols * and - and full stop.
        rna_as_dna: Read U as T in DNA.
    """

    alphabet: Literal["auto", "dna", "rna", "protein"] = "auto"
    unknown: Literal["zeros", "uniform", "fractional", "error"] | None = None
    case: Literal["fold", "mask", "keep", "error"] | None = None
    rare: Literal["error", "zeros", "unknown", "replace", "keep"] | None = None
    symbols: Literal["strip_terminal_stop", "error", "zeros", "keep"] | None = None
    rna_as_dna: Flag = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalOptions:
    """Intervals of a genome to read.

    Args:
        intervals: Files of intervals: BED, narrowPeak or a table with a header. FILES is
            then the genome, and each record is one interval.
        length: Resize each interval to this number of bases around its summit or midpoint;
            by default, intervals are not resized.
        edge: If an interval extends beyond its chromosome: raise an error, fill it with N,
            or skip it.
        ignore_strand: Read the plus strand of every interval, even if the interval is on
            the minus strand.
    """

    intervals: Files = ()
    length: Count | None = None
    edge: Literal["error", "pad", "drop"] = "error"
    ignore_strand: Flag = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JitterOptions(IntervalOptions):
    """Intervals of a genome to train on, and their random shifts.

    Args:
        jitter: Shift each training interval by up to this number of bases, differently in
            each epoch.
    """

    jitter: Annotated[
        int, Parameter(converter=parse_int, validator=validators.Number(gte=0))
    ] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CovariateOptions:
    """Options for reading a PLINK .bed and covariates.

    Args:
        covariates: Tables of covariates (numbers) for the samples of a .bed, joined by id.
        covariate_column: A column of the tables of covariates; by default all columns.
        missing_covariates: If a covariate of a sample is missing: raise an error, or use
            the mean.
        skip_format_check: Skip the check of the padding in the .bed; the check detects a
            .fam or .bim that does not match the .bed.
    """

    covariates: Files = ()
    covariate_column: Texts = ()
    missing_covariates: Literal["error", "mean"] = "error"
    skip_format_check: Flag = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelTables:
    """Sources of labels.

    Args:
        labels: Tables of labels (TSV, CSV or white space), joined to the records by id.
        label_from_file: Use the name of each file as the class of its records, such as pos
            for pos.fa.gz or pos.bed.
    """

    labels: Files = ()
    label_from_file: Flag = False

    def to_labels(self, options: Labels) -> Labels:
        """Add the tables to the options of labels."""
        source = "file" if self.label_from_file else list(self.labels) or None
        return replace(options, source=source)


def changed_options(*values: Any) -> dict[str, Any]:
    """Return a dict of the options that differ from their defaults."""
    return {
        item.name: value
        for options in values
        for item in fields(options)
        if (value := getattr(options, item.name)) != item.default
    }


def reject_options(names: Sequence[str], why: str) -> None:
    """Raise if any of the options was given."""
    if names:
        spelled = " and ".join(f"--{name.replace('_', '-')}" for name in names)
        raise ArgumentError(f"{spelled}: {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandInputs:
    """FILES, the kind of their records, and the options for reading them."""

    files: Sequence[Path]
    kind: Kind
    given: dict[str, Any]

    @classmethod
    def of(
        cls, files: Sequence[Path], *values: Any, others: Sequence[Path] = ()
    ) -> "CommandInputs":
        """Detect the kind of the files; raise if options for another kind were given."""
        given = changed_options(*values)
        kind = find_files_kind([*files, *others], given)
        kind.check_options([*files, *others], given)
        kinds = {find_files_kind([it], given).name: it for it in (*files, *others)}
        if len(kinds) > 1:
            parts = (f"{path} contains {name}" for name, path in kinds.items())
            raise ArgumentError(f"give files of one kind: {', '.join(parts)}")
        return cls(files=files, kind=kind, given=given)

    def check_labels(self) -> None:
        """Raise if no source of labels was given, or more than one."""
        ways = ("labels", "label_from_header", "label_from_file")
        names = [f"--{name.replace('_', '-')}" for name in ways if name in self.given]
        if len(names) > 1:
            raise ArgumentError(f"{' and '.join(names)} exclude each other: give only one")
        if names or self.kind.has_labels(self.files, **self.given):
            return
        if not self.kind.takes("label_from_header"):
            raise ArgumentError(
                f"no labels: give --labels TABLE, joined to the {self.kind.name} by id"
            )
        raise ArgumentError(
            "no labels: give --labels TABLE, --label-from-header REGEX, or "
            "--label-from-file if each file is a class"
        )

    def open(
        self, console: Console, *, labels: Labels | Literal[False], **settings: Any
    ) -> Dataset:
        """Open the files as a dataset; show a progress bar while the data are read."""
        with byte_progress_bar(console, "copy, samples first") as report:
            options = {**self.kind.options_of(self.given), **settings}
            if self.kind.reports_progress:
                options["progress"] = report
            return self.kind.open(self.files, labels=labels, **options)

    def open_like(self, console: Console, model: Any, labels: Labels) -> Dataset:
        """Open labelled files with the encoder and the classes of a dataset or a model."""
        task = model.task if isinstance(model, Dataset) else model.task.name
        has_names = self.kind.has_named_columns or labels.source is not None
        columns = model.classes if task == "regress" and has_names else None
        labels = replace(
            labels,
            label_column=labels.label_column or columns,
            classes=model.classes,
            task=task,
        )
        return self.open(console, labels=labels, encoder=model.encoder)

    def open_unlabelled(self, console: Console, encoder: Any) -> Any:
        """Open files to score; return standard input unread, as a binary stream."""
        if list(self.files) == [Path(STDIN)]:
            why = "only for files; save the input to a file first"
            reject_options(list(self.kind.options_of(self.given)), why)
            return sys.stdin.buffer
        settings: dict[str, Any] = {}
        if self.kind.reads_tables and "id_column" in self.given:
            settings["id_column"] = self.given["id_column"]
        return self.open(console, labels=False, encoder=encoder, **settings)


def show_skipped(console: Console, *datasets: Dataset) -> None:
    """Print the number of skipped records, and the number of labels without a record."""
    # Subsets share the report of their dataset, so each report is counted only once.
    reports = [data.report for data in datasets]
    reports = list({id(report): report for report in reports}.values())
    noun = datasets[0].noun
    for key, text in _SKIP_MESSAGES.items():
        if number := sum(report.get(key, 0) for report in reports):
            names = [it for report in reports for it in report.get(f"{key}_examples", ())]
            console.print(f"{text.format(noun)}: {_format_count(number, names)}")
    # Datasets may share a table of labels, so report a label only if no dataset uses
    # it.
    first, *others = (data.unmatched for data in datasets)
    if lost := set(first).intersection(*others):
        names = [name for name in first if name in lost]
        text = _format_count(len(lost), names)
        console.print(f"labels without a {noun.removesuffix('s')} in these files: {text}")


def _format_count(number: int, names: Sequence[str]) -> str:
    """Format a number of names, with some names as examples."""
    shown = f" ({', '.join(names[:MAX_EXAMPLES])})" if names else ""
    return f"{number:,}{shown}"


def show_residue_counts(console: Console, data: Dataset) -> None:
    """Print the numbers of ambiguous and soft-masked residues, unless both are 0."""
    if text := describe_residue_counts(data.report.get("letters", {})):
        console.print(text)
