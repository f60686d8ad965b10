"""The records of a command: how files are read, and files as datasets by their kind."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter, validators
from rich.console import Console

from seqloom.cli._options import Count, Files, Flag, Texts, read_whole
from seqloom.data import Dataset, Labels
from seqloom.data._describe import describe_letters
from seqloom.errors import ArgumentError
from seqloom.infer._kinds import Kind, kind_of_files
from seqloom.infer._score_bar import work_bar

STREAM = "-"
_MAX_EXAMPLES = 3
_LEFT_OUT = {
    "dropped": "intervals left out, they leave their chromosome",
    "unlabelled": "{} left out, without a label",
    "missing_labels": "{} left out, their label is missing",
    "missing_covariates": "{} without a covariate, filled in by its mean",
    "unused_covariates": "covariates that the model does not read, left out",
    "numbered": "{} of tables without a column id, whose ids are now numbers from 0 "
    "(--id-column names the column)",
    "flipped": "variants with exchanged alleles, flipped",
    "missing_alleles": "variants with a missing allele (0), found by id and the other one",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterOptions:
    """Says what letters mean; a trained model keeps it.

    Args:
        alphabet: What sequences are made of; auto decides on all letters of FILES.
        unknown: An ambiguity code such as N: zeros, equal shares, or an error.
        case: A lower-case letter: as upper case, zeros, or an error.
        rare: U and O of a protein.
        symbols: The symbols * and - and a point.
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
    """Says which parts of a genome are read.

    Args:
        intervals: Files of intervals: BED, narrowPeak or a table with a header. FILES is
            then the genome, and the records are these parts of it.
        length: The letters of each part, about its summit or middle; otherwise as it is.
        edge: A part that leaves its chromosome: an error, filled with N, or left out.
        ignore_strand: Read the plus strand, whatever the intervals say.
    """

    intervals: Files = ()
    length: Count | None = None
    edge: Literal["error", "pad", "drop"] = "error"
    ignore_strand: Flag = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MovingOptions(IntervalOptions):
    """Says which parts of a genome are trained on, and how they move.

    Args:
        jitter: Move each training part by up to this number of letters, differently in
            each epoch.
    """

    jitter: Annotated[
        int, Parameter(converter=read_whole, validator=validators.Number(gte=0))
    ] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CovariateOptions:
    """Says how a .bed is read, and which numbers go with its genotypes.

    Args:
        covariates: Tables of numbers for each sample of a .bed, joined as labels are.
        covariate_column: A column of these tables; otherwise all of them.
        missing_covariates: A sample without a covariate: an error, or given the mean.
        skip_format_check: Do not look whether the tables fit the ends of the .bed's lines.
    """

    covariates: Files = ()
    covariate_column: Texts = ()
    missing_covariates: Literal["error", "mean"] = "error"
    skip_format_check: Flag = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelTables:
    """Says where labels are.

    Args:
        labels: Tables of labels (TSV, CSV or white space), joined to the records by id.
        label_from_file: Or each file is a class: pos.fa.gz or pos.bed holds the class pos.
    """

    labels: Files = ()
    label_from_file: Flag = False

    def to_labels(self, options: Labels) -> Labels:
        """Add the tables to the options of labels."""
        source = "file" if self.label_from_file else list(self.labels) or None
        return replace(options, source=source)


def find_given(*values: Any) -> dict[str, Any]:
    """Return the options that differ from their defaults, by name."""
    return {
        item.name: value
        for options in values
        for item in fields(options)
        if (value := getattr(options, item.name)) != item.default
    }


def refuse(names: Sequence[str], why: str) -> None:
    """Raise if options are given that do not go with the others."""
    if names:
        spelled = " and ".join(f"--{name.replace('_', '-')}" for name in names)
        raise ArgumentError(f"{spelled}: {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Holds FILES, their kind, and the options of data that were given."""

    files: Sequence[Path]
    kind: Kind
    given: dict[str, Any]

    @classmethod
    def of(
        cls, files: Sequence[Path], *values: Any, others: Sequence[Path] = ()
    ) -> "Inputs":
        """Find the kind of the files; raises for options that do not go with it."""
        given = find_given(*values)
        kind = kind_of_files([*files, *others], given)
        kind.check_options([*files, *others], given)
        kinds = {kind_of_files([it], given).name: it for it in (*files, *others)}
        if len(kinds) > 1:
            parts = (f"{path} is one of {name}" for name, path in kinds.items())
            raise ArgumentError(f"give files of one kind: {', '.join(parts)}")
        return cls(files=files, kind=kind, given=given)

    def check_labels(self) -> None:
        """Raise if there are no labels, or more than one way to find them."""
        ways = ("labels", "label_from_header", "label_from_file")
        names = [f"--{name.replace('_', '-')}" for name in ways if name in self.given]
        if len(names) > 1:
            raise ArgumentError(f"{' and '.join(names)} exclude each other: give one")
        if names or self.kind.has_labels(self.files, **self.given):
            return
        if not self.kind.takes("label_from_header"):
            raise ArgumentError(
                f"no labels: give --labels TABLE, joined to the {self.kind.name} by id"
            )
        raise ArgumentError(
            "no labels: give --labels TABLE, --label-from-header REGEX, or "
            "--label-from-file where each file is a class"
        )

    def open(
        self, console: Console, *, labels: Labels | Literal[False], **settings: Any
    ) -> Dataset:
        """Open the files as a dataset; a copy that must be made first shows a bar."""
        with work_bar(console, "copy, samples first") as tell:
            options = {**self.kind.options_of(self.given), **settings}
            if self.kind.reports_progress:
                options["progress"] = tell
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
        """Open files to be scored; `seqloom.infer` opens standard input itself."""
        if list(self.files) == [Path(STREAM)]:
            why = "only for files; save standard input to a file first"
            refuse(list(self.kind.options_of(self.given)), why)
            return sys.stdin.buffer
        settings: dict[str, Any] = {}
        if self.kind.reads_tables and "id_column" in self.given:
            settings["id_column"] = self.given["id_column"]
        return self.open(console, labels=False, encoder=encoder, **settings)


def show_left_out(console: Console, *datasets: Dataset) -> None:
    """Print which records were left out of datasets, and which labels have no record."""
    # Parts of one dataset share its report, which counts once.
    reports = [data.report for data in datasets]
    reports = list({id(report): report for report in reports}.values())
    noun = datasets[0].noun
    for key, text in _LEFT_OUT.items():
        if number := sum(report.get(key, 0) for report in reports):
            names = [it for report in reports for it in report.get(f"{key}_examples", ())]
            console.print(f"{text.format(noun)}: {_count(number, names)}")
    # A table of labels may serve several datasets: a label is lost if none of them uses it.
    first, *others = (data.unmatched for data in datasets)
    if lost := set(first).intersection(*others):
        names = [name for name in first if name in lost]
        found = _count(len(lost), names)
        console.print(f"labels without a {noun.removesuffix('s')} in these files: {found}")


def _count(number: int, names: Sequence[str]) -> str:
    """Write a number with some of the names as examples."""
    shown = f" ({', '.join(names[:_MAX_EXAMPLES])})" if names else ""
    return f"{number:,}{shown}"


def show_letters(console: Console, data: Dataset) -> None:
    """Print how many letters are ambiguous or soft-masked, if any are."""
    if text := describe_letters(data.report.get("letters", {})):
        console.print(text)
