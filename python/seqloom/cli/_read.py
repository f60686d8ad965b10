"""From files and label options to datasets."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from seqloom.cli._genotypes import are_genotypes, label_column_of, open_genotypes
from seqloom.cli._network import augment_for
from seqloom.cli._options import (
    DataOptions,
    GenotypeOptions,
    LabelOptions,
    LetterOptions,
    NetworkOptions,
    SequenceOptions,
)
from seqloom.errors import LabelError

if TYPE_CHECKING:
    from seqloom.data import GenotypeDataset, SequenceDataset

EXAMPLES = 3
_LEFT_OUT = {
    "unlabelled": "{} left out, without a label",
    "missing_labels": "{} left out, their label is missing",
    "missing_covariates": "{} without a covariate, filled in by its mean",
    "flipped": "variants with exchanged alleles, turned round",
}


def read_training(
    console: Console,
    files: Sequence[Path],
    *,
    options: DataOptions,
    sequences: LetterOptions,
    genotypes: GenotypeOptions,
    network: NetworkOptions,
) -> "SequenceDataset | GenotypeDataset":
    """Reads the training files and says what they are."""
    if are_genotypes(files):
        augment_for("genotypes", network)
        column = label_column_of(options.label_column)
        data = open_genotypes(
            console,
            files,
            labels=options,
            genotypes=genotypes,
            task=options.task,
            label_column=column,
        )
    else:
        data = _read_sequences(
            console, files, options=options, sequences=sequences, network=network
        )
    console.print(str(data))
    if data.labels is None:
        raise LabelError(f"{files[0]}: holds no labels to learn: give --labels TABLE")
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
) -> "SequenceDataset | GenotypeDataset":
    """Reads more files as a dataset, or a trained model, reads its own."""
    task = getattr(model.task, "name", model.task)
    settings = {"encoder": model.encoder, "classes": model.classes, "task": task}
    columns = model.classes if task == "regress" else ()
    if are_genotypes(files):
        asked = options.label_column or (columns if options.labels else ())
        settings["label_column"] = label_column_of(asked)
        return open_genotypes(
            console, files, labels=options, genotypes=genotypes, **settings
        )
    from seqloom.data import SequenceDataset

    named = options.to_keywords(columns=columns or ("label",))
    return SequenceDataset(files, **settings, **named, **sequences.to_reading())


def _read_sequences(
    console: Console,
    files: Sequence[Path],
    *,
    options: DataOptions,
    sequences: LetterOptions,
    network: NetworkOptions,
) -> "SequenceDataset":
    """Reads sequences, of an alphabet that is given or found."""
    from seqloom.data import SequenceDataset, guess_alphabet
    from seqloom.encode import OneHot

    alphabet = options.alphabet
    if alphabet == "auto":
        reading = sequences.to_reading()
        reading.pop("quality")
        alphabet = guess_alphabet(files, **reading)
        console.print(f"alphabet {alphabet}, by all letters of the training files")
    return SequenceDataset(
        files,
        encoder=OneHot(alphabet, **sequences.to_policy()),
        augment=augment_for(alphabet, network),
        task=options.task,
        **options.to_keywords(),
        **sequences.to_reading(),
    )


def show_left_out(console: Console, *datasets: "SequenceDataset | GenotypeDataset") -> None:
    """Says what has no partner; a label table may serve several of the datasets."""
    noun = getattr(datasets[0], "noun", "sequences")
    reports = [data.report for data in datasets if data.report]
    for key, text in _LEFT_OUT.items():
        if number := sum(report.get(key, 0) for report in reports):
            names = [it for report in reports for it in report.get(f"{key}_examples", ())]
            console.print(f"{text.format(noun)}: {_spell(number, names)}")
    first, *others = (data.unmatched for data in datasets)
    if lost := set(first).intersection(*others):
        names = [name for name in first if name in lost]
        spelled = _spell(len(lost), names)
        console.print(
            f"labels without a {noun.removesuffix('s')} in these files: {spelled}"
        )


def show_letters(console: Console, data: Any) -> None:
    """Says how many letters are ambiguous or soft-masked, where some are."""
    from seqloom.data._composition import describe_letters

    if text := describe_letters(data.report.get("letters", {})):
        console.print(text)


def _spell(number: int, names: Sequence[str]) -> str:
    """Spells how many there are, with examples."""
    shown = f" ({', '.join(names[:EXAMPLES])})" if names else ""
    return f"{number:,}{shown}"
