"""Opens the files of a command as datasets, as its options say."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from seqloom.cli._genotypes import open_genotypes
from seqloom.cli._intervals import hold_out, open_intervals
from seqloom.cli._kinds import detect_kind, one_folder
from seqloom.cli._network import augment_for
from seqloom.cli._options import (
    DataOptions,
    GenotypeOptions,
    IntervalOptions,
    LabelOptions,
    LetterOptions,
    MovingOptions,
    NetworkOptions,
    PartOptions,
    SequenceOptions,
)
from seqloom.errors import ArgumentError, LabelError

if TYPE_CHECKING:
    from seqloom.data import Dataset, Labels

EXAMPLES = 3
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


def read_parts(
    console: Console,
    files: Sequence[Path],
    parts: PartOptions,
    *,
    network: NetworkOptions,
    **options: Any,
) -> "tuple[Dataset, Dataset | None, Dataset | None]":
    """Opens the training, validation and test part; None where no option names one."""
    whole = _read_training(console, files, network=network, **options)
    valid, test = (
        _read_part(console, whole, others, option=option, files=files, **options)
        for option, others in (("--valid", parts.valid), ("--test", parts.test))
    )
    if not parts.test_chromosomes:
        return whole, valid, test
    train, held = hold_out(whole, parts.test_chromosomes, "--test-chromosomes")
    return train, valid, held


def _read_training(
    console: Console,
    files: Sequence[Path],
    *,
    options: DataOptions,
    sequences: LetterOptions,
    genotypes: GenotypeOptions,
    intervals: MovingOptions,
    network: NetworkOptions,
) -> "Dataset":
    """Opens the training files as a dataset, and prints what they hold."""
    kind = detect_kind(files, intervals)
    labels = options.to_labels(task=options.task)
    if kind == "genotypes":
        augment_for("genotypes", network)
        data = open_genotypes(
            console,
            files,
            labels=labels,
            genotypes=genotypes,
        )
    elif kind == "embeddings":
        augment_for("embeddings", network)
        data = open_embeddings(files, labels)
    else:
        encoding = _encoding(console, files, options, sequences=sequences, network=network)
        data = (
            _open_whole(files, labels, sequences, **encoding)
            if kind == "sequences"
            else open_intervals(files[0], intervals, labels=labels, **encoding)
        )
    console.print(str(data))
    if data.labels is None:
        also = ", or of a table its column, --label-column" if kind == "sequences" else ""
        raise LabelError(f"{files[0]}: holds no labels to learn: give --labels TABLE{also}")
    show_letters(console, data)
    if options.task == "auto":
        console.print(f"task {data.task}, guessed from the labels; --task names another")
    return data


def read_like(
    console: Console,
    model: Any,
    files: Sequence[Path],
    *,
    options: LabelOptions,
    sequences: SequenceOptions,
    genotypes: GenotypeOptions,
    intervals: IntervalOptions,
) -> "Dataset":
    """Opens further files in the way of a dataset or of a trained model."""
    task = getattr(model.task, "name", model.task)
    encoder = model.encoder
    columns = model.classes if task == "regress" else ()
    kind = detect_kind(files, intervals)
    # The column of a .fam has no name.
    columns = columns if options.labels or kind != "genotypes" else ()
    labels = options.to_labels(columns=columns, classes=model.classes, task=task)
    if kind == "intervals":
        return open_intervals(files[0], intervals, labels=labels, encoder=encoder)
    if kind == "genotypes":
        return open_genotypes(
            console, files, labels=labels, genotypes=genotypes, encoder=encoder
        )
    if kind == "embeddings":
        return open_embeddings(files, labels, layer=getattr(encoder, "layer", None))
    return _open_whole(files, labels, sequences, encoder=encoder)


def _read_part(
    console: Console,
    whole: Any,
    others: Sequence[Path],
    *,
    option: str,
    files: Sequence[Path],
    intervals: MovingOptions,
    **options: Any,
) -> "Dataset | None":
    """Opens the files of the validation or test part, if there are any."""
    if not others:
        return None
    if intervals.intervals:  # files of intervals, in the genome of the training part
        intervals, others = replace(intervals, intervals=tuple(others), jitter=0), files
    try:
        return read_like(console, whole, others, intervals=intervals, **options)
    except LabelError as error:
        error.add_note(_where_labels_are(option, options["options"]))
        raise


def _where_labels_are(option: str, labels: LabelOptions) -> str:
    """Says where the labels of a validation or test file come from."""
    if labels.labels:
        given = " ".join(map(str, labels.labels))
        place = f"--labels too: give its table there as well (--labels {given} MORE.tsv)"
    else:
        place = "where those of FILES do: its headers, its name, or a column of its table"
    return (
        f"{option} files need labels, which come from {place}; `seqloom predict` scores "
        "files without labels"
    )


def open_embeddings(
    files: Sequence[Path], labels: Any = None, *, layer: int | None = None
) -> "Dataset":
    """Opens a folder of embeddings with its labels, if there are any."""
    from seqloom.data import EmbeddingDataset
    from seqloom.infer import load

    return EmbeddingDataset(load(one_folder(files)), labels, layer=layer)


def _open_whole(
    files: Sequence[Path],
    labels: "Labels",
    sequences: SequenceOptions,
    **settings: Any,
) -> "Dataset":
    """Opens sequence files with their labels."""
    from seqloom.data import SequenceDataset

    # The column of ids is that of FILES too, where they are tables.
    settings |= {"id_column": labels.id_column or "id", **sequences.to_reading()}
    return SequenceDataset(files, labels=labels, **settings)


def _encoding(
    console: Console,
    files: Sequence[Path],
    options: DataOptions,
    *,
    sequences: LetterOptions,
    network: NetworkOptions,
) -> dict[str, Any]:
    """Chooses the encoder and the augmentation, by the alphabet given or found."""
    from seqloom.encode import OneHot, Tokens

    if network.finetune:
        _check_protein(options.alphabet, sequences)
        encoder = Tokens("esm2", **sequences.to_policy())
        return {"encoder": encoder, "augment": augment_for("protein", network)}
    alphabet = options.alphabet
    if alphabet == "auto":
        alphabet = _find_alphabet(console, files, sequences)
    return {
        "encoder": OneHot(alphabet, **sequences.to_policy()),
        "augment": augment_for(alphabet, network),
    }


def _find_alphabet(
    console: Console, files: Sequence[Path], sequences: LetterOptions
) -> str:
    """Takes the alphabet that an option implies, or that the letters tell."""
    from seqloom.data import guess_alphabet

    if sequences.rna_as_dna:
        console.print("alphabet dna, by --rna-as-dna")
        return "dna"
    reading = sequences.to_reading()
    del reading["quality"], reading["id_from_header"]
    if sequences.symbols is not None:
        reading["symbols"] = sequences.symbols
    alphabet = guess_alphabet(files, **reading)
    console.print(f"alphabet {alphabet}, by all letters of the training files")
    return alphabet


def _check_protein(alphabet: str, sequences: LetterOptions) -> None:
    """Refuses options that do not fit ESM-2: other alphabets, and rules for letters."""
    if alphabet not in {"auto", "protein"}:
        raise ArgumentError(f"--finetune lora reads proteins, not --alphabet {alphabet}")
    strange = [it for it in ("unknown", "rare", "rna_as_dna") if getattr(sequences, it)]
    if strange:
        raise ArgumentError(
            f"--{strange[0].replace('_', '-')}: not with --finetune lora, because ESM-2 "
            "has a token for each letter"
        )


def show_left_out(console: Console, *datasets: "Dataset") -> None:
    """Prints which records were left out of datasets, and which labels have no record."""
    noun = getattr(datasets[0], "noun", "sequences")
    # Parts of one dataset share its report, which counts once.
    reports = [data.report for data in datasets]
    reports = list({id(report): report for report in reports}.values())
    for key, text in _LEFT_OUT.items():
        if number := sum(report.get(key, 0) for report in reports):
            names = [it for report in reports for it in report.get(f"{key}_examples", ())]
            console.print(f"{text.format(noun)}: {_spell(number, names)}")
    # A table of labels may serve several datasets: a label is lost if none of them uses it.
    first, *others = (data.unmatched for data in datasets)
    if lost := set(first).intersection(*others):
        names = [name for name in first if name in lost]
        spelled = _spell(len(lost), names)
        console.print(
            f"labels without a {noun.removesuffix('s')} in these files: {spelled}"
        )


def show_letters(console: Console, data: Any) -> None:
    """Prints how many letters are ambiguous or soft-masked, if any are."""
    from seqloom.data._describe import describe_letters

    if text := describe_letters(data.report.get("letters", {})):
        console.print(text)


def _spell(number: int, names: Sequence[str]) -> str:
    """Writes a number with some of the names as examples."""
    shown = f" ({', '.join(names[:EXAMPLES])})" if names else ""
    return f"{number:,}{shown}"
