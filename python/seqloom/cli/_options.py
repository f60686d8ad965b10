"""Options that several commands share, each group a value."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter, Token, validators

if TYPE_CHECKING:
    from seqloom.data import Labels

SEQUENCES = Group("Sequences", sort_key=0)
INTERVALS = Group("Intervals", sort_key=1)
LABELS = Group("Labels", sort_key=2)
GENOTYPES = Group("Genotypes", sort_key=3)
PARTS = Group("Parts", sort_key=4)
LEARNING = Group("Learning", sort_key=5)
NETWORK = Group("Network", sort_key=6)
MACHINE = Group("Machine", sort_key=7)
SHOWN = Group("Output", sort_key=8)

# A flag is off; an option for several takes all words, one at least, up to the next option.
Flag = Annotated[bool, Parameter(show_default=False)]
Files = Annotated[tuple[Path, ...], Parameter(consume_multiple=1, show_default=False)]
Names = Annotated[tuple[str, ...], Parameter(consume_multiple=1, show_default=False)]


def _whole(kind: Any, tokens: Sequence[Token]) -> int:
    """Reads an integer; cyclopts alone would take 1.5 for 1."""
    del kind  # part of the protocol
    try:
        return int(tokens[0].value)
    except ValueError:
        found = tokens[0].value
        raise ValueError(f"Must be an integer, got {found}.") from None


def _check_path(kind: Any, name: str | None) -> None:
    """Takes - for a stream; a misspelt option is no file."""
    del kind  # part of the protocol
    if name is not None and name.startswith("-") and name != "-":
        raise ValueError(f"Unknown option: {name}; a file of that name is ./{name}.")


def _check_paths(kind: Any, names: Sequence[str]) -> None:
    """Does so for each of several."""
    for name in names:
        _check_path(kind, name)


# Files by their paths, or - for standard input.
PATHS = Parameter(allow_leading_hyphen=True, validator=_check_paths)
# A file by its path, or - for standard input or output.
PATH = Parameter(allow_leading_hyphen=True, validator=_check_path)

Count = Annotated[int, Parameter(converter=_whole, validator=validators.Number(gte=1))]
Folds = Annotated[int, Parameter(converter=_whole, validator=validators.Number(gte=2))]
Seed = Annotated[int, Parameter(converter=_whole, validator=validators.Number(gte=0))]
Threads = Annotated[
    int, Parameter(converter=_whole, validator=validators.Number(gte=1, lte=256))
]


@Parameter(name="*", group=SEQUENCES)
@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """Says how a sequence file is read.

    Args:
        whitespace: Blanks among letters: an error, or left out.
        comments: Lines of FASTA that begin with ; or #: an error, or left out.
        ids: Headers without a word: an error, or numbered.
        quality: What a letter of quality means in FASTQ.
    """

    whitespace: Literal["error", "strip"] = "error"
    comments: Literal["error", "skip"] = "error"
    ids: Literal["error", "number"] = "error"
    quality: Literal["phred33", "phred64", "solexa"] = "phred33"


@Parameter(name="*", group=SEQUENCES)
@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceOptions(FileOptions):
    """Says how sequences are read, of files and of tables.

    Args:
        sequence_column: The column of sequences of tables (CSV, TSV, Parquet).
        id_from_header: A regular expression: its group, in the header, is the id instead of
            the first word; "\\|(.+?)\\|" finds the accession in sp|P12345|NAME.
    """

    sequence_column: str = "sequence"
    id_from_header: str | None = None

    def to_reading(self) -> dict[str, Any]:
        """Spells how files are read as `SequenceDataset` takes it."""
        return {item.name: getattr(self, item.name) for item in fields(SequenceOptions)}


@Parameter(name="*", group=SEQUENCES)
@dataclass(frozen=True, slots=True, kw_only=True)
class LetterOptions(SequenceOptions):
    """Says what letters mean, too; a trained model keeps it.

    Args:
        unknown: An ambiguity code such as N: zeros, equal shares, or an error.
        case: A lower-case letter: as upper case, zeros, or an error.
        rare: U and O of a protein.
        symbols: The symbols * and - and a point.
        rna_as_dna: Read U as T in DNA.
    """

    unknown: Literal["zeros", "uniform", "fractional", "error"] | None = None
    case: Literal["fold", "mask", "keep", "error"] | None = None
    rare: Literal["error", "zeros", "unknown", "replace", "keep"] | None = None
    symbols: Literal["strip_terminal_stop", "error", "zeros", "keep"] | None = None
    rna_as_dna: Flag = False

    def to_policy(self) -> dict[str, Any]:
        """Spells what is given as an encoder takes it."""
        names = ("unknown", "case", "rare", "symbols")
        given = {name: getattr(self, name) for name in names}
        given["rna_as_dna"] = self.rna_as_dna or None
        return {name: value for name, value in given.items() if value is not None}


@Parameter(name="*", group=INTERVALS)
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

    def to_keywords(self) -> dict[str, Any]:
        """Spells the options as `IntervalDataset` takes them."""
        strand = not self.ignore_strand
        jitter = getattr(self, "jitter", 0)
        return {
            "width": self.length,
            "edge": self.edge,
            "strand": strand,
            "jitter": jitter,
        }


@Parameter(name="*", group=INTERVALS)
@dataclass(frozen=True, slots=True, kw_only=True)
class MovingOptions(IntervalOptions):
    """Says which parts of a genome teach, and how they move.

    Args:
        jitter: Move each training part by up to so many letters, anew in each epoch.
    """

    jitter: Annotated[
        int, Parameter(converter=_whole, validator=validators.Number(gte=0))
    ] = 0


@Parameter(name="*", group=LABELS)
@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOptions:
    """Says where labels come from.

    Args:
        labels: Tables of labels (TSV, CSV or white space), joined to the records by id.
        id_column: The tables' column of ids; for a .bed, FID and IID, or IID alone.
        label_column: The tables' column of labels; once for each of several columns.
            Without a table: that of FILES or of --intervals, such as name or score.
        label_from_header: Or a regular expression: its group, in the header, is the label.
        label_from_file: Or each file is a class: pos.fa.gz or pos.bed holds the class pos.
        unlabelled: A record without a label: an error, or left out and counted.
        missing: A text that is no label; once for each. They stand in place of NA, nan and
            the like: name those that are meant, too.
    """

    labels: Files = ()
    id_column: Annotated[str | None, Parameter(show_default=lambda _: "id")] = None
    label_column: Annotated[tuple[str, ...], Parameter(show_default=lambda _: "label")] = ()
    label_from_header: str | None = None
    label_from_file: Flag = False
    unlabelled: Literal["error", "skip"] = "error"
    missing: Annotated[
        tuple[str, ...], Parameter(allow_leading_hyphen=True, show_default=False)
    ] = ()

    def to_labels(self, *, columns: Sequence[str] = (), **settings: Any) -> "Labels":
        """Makes the value that every dataset takes; columns stand in for --label-column."""
        from seqloom.data import Labels

        return Labels(
            "file" if self.label_from_file else list(self.labels) or None,
            id_column=self.id_column,
            label_column=self.label_column or columns or None,
            label_from_header=self.label_from_header,
            missing=self.missing or None,
            unlabelled=self.unlabelled,
            **settings,
        )


@Parameter(name="*", group=LABELS)
@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions(LabelOptions):
    """Says what sequences and labels are, too.

    Args:
        task: What labels are; auto takes text and integers for classes; of a .bed,
            codes of control and case for classes, other numbers for values.
        alphabet: What sequences are made of; auto decides on all letters of FILES.
    """

    task: Literal["auto", "classify", "regress", "multilabel"] = "auto"
    alphabet: Literal["auto", "dna", "rna", "protein"] = "auto"


@Parameter(name="*", group=GENOTYPES)
@dataclass(frozen=True, slots=True, kw_only=True)
class CovariateFileOptions:
    """Says how a .bed is read, and which numbers go with its genotypes.

    Args:
        covariates: Tables of numbers for each sample, joined as labels are.
        covariate_column: A column of them; once for each of several; otherwise all.
        missing_covariates: A sample without a covariate: an error, or given the mean.
        skip_format_check: Do not look whether the tables fit the ends of the .bed's lines.
    """

    covariates: Files = ()
    covariate_column: Annotated[tuple[str, ...], Parameter(show_default=False)] = ()
    missing_covariates: Literal["error", "mean"] = "error"
    skip_format_check: Flag = False

    def to_keywords(self) -> dict[str, Any]:
        """Spells the options as `GenotypeDataset` takes them."""
        return {
            "covariates": list(self.covariates) or None,
            "covariate_columns": self.covariate_column or None,
            "missing_covariates": self.missing_covariates,
            "skip_format_check": self.skip_format_check,
        }


@Parameter(name="*", group=GENOTYPES)
@dataclass(frozen=True, slots=True, kw_only=True)
class GenotypeOptions(CovariateFileOptions):
    """Says what goes with a .bed; its labels are the sixth column of the .fam by default.

    Args:
        coding: What labels of 0, 1 and 2 mean: control and case, or (auto) what they show.
    """

    coding: Literal["auto", "01", "12"] = "auto"


@Parameter(name="*", group=PARTS)
@dataclass(frozen=True, slots=True, kw_only=True)
class PartOptions:
    """Says which records choose the epoch, and which judge the result.

    Args:
        valid: Files to choose the epoch by; of --intervals, other intervals.
        valid_chromosomes: Or all intervals of these chromosomes.
        valid_share: Or this share of FILES, cut off first; 0: keep the last epoch.
        folds: Or cross-validation: train so many times, each time without another part.
        groups: Tables of groups, such as families or donors, joined by id as labels are:
            --valid-share and --folds cut no group.
        group_column: The column of groups. Without --groups one of --labels, of FILES or of
            --intervals; or file; or sequence, where equal sequences are a group; or fid of
            a .bed.
        test: Files to score once, after training; of --intervals, other intervals.
        test_chromosomes: Or all intervals of these chromosomes.
    """

    valid: Files = ()
    valid_chromosomes: Names = ()
    valid_share: Annotated[float | None, Parameter(show_default=lambda _: "0.1")] = None
    folds: Folds | None = None
    groups: Files = ()
    group_column: Annotated[str | None, Parameter(show_default=lambda _: "group")] = None
    test: Files = ()
    test_chromosomes: Names = ()


_LR = 1e-3  # the default of `seqloom.train.fit`


@Parameter(name="*", group=LEARNING)
@dataclass(frozen=True, slots=True, kw_only=True)
class LearningOptions:
    """Says how to learn.

    Args:
        epochs: How often every record is seen; otherwise 20 times, and more in rounds
            while the validation loss falls.
        batch_size: The records of a step.
        lr: The highest learning rate.
        optimizer: What moves the weights, with its default settings and --weight-decay.
        schedule: How the learning rate changes: a rise and half a cosine, not at all, or
            down to a tenth where the validation loss stays for 10 epochs.
        class_weight: Let every class count the same in sum.
        early_stop: Stop after so many epochs without a lower validation loss.
        clip_norm: The largest norm of the gradients of a step; larger ones are scaled down.
        accumulate: The batches whose gradients make one step.
        weight_average: The decay of a running average of the weights, such as 0.999, or
            "equal": the average is evaluated and kept.
        drop_last: Leave out the last batch of an epoch if it is smaller than the others.
        seed: Decides the first weights, the order, the dropout and the parts.
        precision: What computes products of a step: float32, or half precision where the
            backend and the processor have instructions for it.
        compile: Make one program of each step, or do not; otherwise where that is sooner.
    """

    epochs: Annotated[Count | None, Parameter(show_default=lambda _: "20 or more")] = None
    batch_size: Count = 64
    lr: float = _LR
    optimizer: Literal["adamw", "adam", "sgd", "rmsprop", "lion", "muon"] = "adamw"
    schedule: Literal["cosine", "constant", "plateau"] = "cosine"
    class_weight: Literal["balanced"] | None = None
    early_stop: Count | None = None
    clip_norm: float | None = None
    accumulate: Count = 1
    weight_average: float | Literal["equal"] | None = None
    drop_last: Flag = False
    seed: Seed = 0
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    compile: Annotated[
        bool | None, Parameter(negative="--no-compile", show_default=False)
    ] = None

    def to_keywords(
        self, weight_decay: float | None, machine: "MachineOptions"
    ) -> dict[str, Any]:
        """Spells the options as `seqloom.train.fit` takes them."""
        from seqloom import train

        return {
            "objective": train.Objective(class_weight=self.class_weight),
            "epochs": train.Epochs(self.epochs, early_stop=self.early_stop),
            "batch_size": train.Batches(
                self.batch_size, drop_last=self.drop_last, accumulate=self.accumulate
            ),
            "lr": self._schedule(),
            "optimizer": train.Updates(
                **self._optimizer(weight_decay),
                clip_norm=self.clip_norm,
                weight_average=self.weight_average,
            ),
            "seed": self.seed,
            "backend": train.Computation(
                **machine.to_keywords(),
                precision=self.precision,
                compile="auto" if self.compile is None else self.compile,
            ),
        }

    def _optimizer(self, weight_decay: float | None) -> dict[str, Any]:
        """Makes the optimiser; None is the one that `fit` makes for the network."""
        if self.optimizer == "adamw":
            return {"optimizer": None, "weight_decay": weight_decay}
        from seqloom import optim

        kinds = {"adam": optim.Adam, "sgd": optim.SGD, "rmsprop": optim.RMSProp}
        kinds |= {"lion": optim.Lion, "muon": optim.Muon}
        decay: dict[str, Any] = (
            {} if weight_decay is None else {"weight_decay": weight_decay}
        )
        return {"optimizer": kinds[self.optimizer](**decay)}

    def _schedule(self) -> Any:
        """Makes the schedule; a number is the highest rate of that of `fit`."""
        if self.schedule == "cosine":
            return self.lr
        from seqloom import optim

        kind = optim.Constant if self.schedule == "constant" else optim.Plateau
        return kind(self.lr)


@Parameter(name="*", group=MACHINE)
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
        """Spells the options as the packages take them."""
        return {"backend": self.backend, "num_threads": self.threads}

    def find_backend(self) -> Any:
        """Finds the backend that computes."""
        from seqloom.tensor import backend as find_backend

        return find_backend(self.backend, num_threads=self.threads)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class FolderOptions:
    """Says where a run goes.

    Args:
        out: The run folder: model, scores, pictures and report.html.
        resume: Go on with the run in OUT from its last checkpoint; without one, begin.
            FILES and options that are not given are those that it was begun with; more
            --epochs make it longer.
        overwrite: Replace the run in OUT; files that are no run's stay.
        checkpoint_every: When to write checkpoints within an epoch: a number of steps, a
            time (90s, 10min, 2h), or "epoch" for none.
        keep: The checkpoints that stay in OUT; from 2 on that of the best epoch stays too.
    """

    out: Path
    resume: Flag = False
    overwrite: Flag = False
    checkpoint_every: Annotated[
        str | None, Parameter(show_default=lambda _: "a minute or more")
    ] = None
    keep: Count = 1

    def to_keywords(self, folder: Path) -> dict[str, Any]:
        """Spells the options as `seqloom.train.fit` takes them, for one of the folds."""
        from seqloom.train import RunFolder

        every = self.checkpoint_every
        steps = int(every) if every is not None and every.isdecimal() else every
        out = RunFolder(
            folder, overwrite=self.overwrite, checkpoint_every=steps, keep=self.keep
        )
        return {"out": out, "resume": self.resume}


@Parameter(name="*", group=NETWORK)
@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkOptions:
    """Says what the network is; without an option the data choose it.

    Args:
        width: The features of each convolution, of a .bed of each hidden layer: as many
            numbers as there are to be.
        kernel_size: The letters that a convolution sees at once, an odd number.
        dropout: The share of the last features that is left out in training.
        weight_decay: How much weights shrink; biases and normalisation do not.
        reverse_complement: Show every second sequence, drawn anew in each epoch, as its
            reverse complement.
        finetune: Train adapters of a protein language model, and a head on it: "lora".
        model: The folder of that ESM-2 network, which stays as it is.
        rank: The rank of each adapter.
    """

    width: Annotated[
        tuple[Count, ...], Parameter(consume_multiple=1, show_default=False)
    ] = ()
    kernel_size: Count | None = None
    dropout: float | None = None
    weight_decay: Annotated[
        float | None, Parameter(show_default=lambda _: "0.01, or the network's choice")
    ] = None
    reverse_complement: Flag = False
    finetune: Literal["lora"] | None = None
    model: Path | None = None
    rank: Annotated[Count | None, Parameter(show_default=lambda _: "8")] = None


@Parameter(name="*", group=MACHINE)
@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedOptions(MachineOptions):
    """Says what computes, and where the base of a trained model is.

    Args:
        base: The ESM-2 folder that adapters are for, where it has moved.
    """

    base: Path | None = None

    def to_keywords(self) -> dict[str, Any]:
        """Spells the options as `seqloom.models.load` takes them."""
        found = {"backend": self.backend, "num_threads": self.threads}
        return found if self.base is None else {**found, "base": self.base}


@Parameter(name="*", group=SHOWN)
@dataclass(frozen=True, slots=True, kw_only=True)
class QuietOption:
    """Says what is printed.

    Args:
        quiet: Print warnings, errors and the results that were asked for alone.
    """

    quiet: Flag = False


@Parameter(name="*", group=SHOWN)
@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOptions(QuietOption):
    """Says what is printed, and how.

    Args:
        json: Print the results as one JSON object; all else goes to standard error.
    """

    json: Flag = False


# What a command line without any of these options means.
FILE_DEFAULTS = FileOptions()
SEQUENCE_DEFAULTS = SequenceOptions()
LETTER_DEFAULTS = LetterOptions()
INTERVAL_DEFAULTS = IntervalOptions()
MOVING_DEFAULTS = MovingOptions()
LABEL_DEFAULTS = LabelOptions()
DATA_DEFAULTS = DataOptions()
COVARIATE_DEFAULTS = CovariateFileOptions()
GENOTYPE_DEFAULTS = GenotypeOptions()
PART_DEFAULTS = PartOptions()
NETWORK_DEFAULTS = NetworkOptions()
QUIET_DEFAULTS = QuietOption()
SHOWN_DEFAULTS = ShownOptions()
LEARNING_DEFAULTS = LearningOptions()
MACHINE_DEFAULTS = MachineOptions()
TRAINED_DEFAULTS = TrainedOptions()
