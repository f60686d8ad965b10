"""Predicting and evaluating with a trained model."""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import IO, Any, Protocol, TypeAlias, cast

import numpy as np

from seqloom._arguments import as_flag, is_list
from seqloom._threads import count_threads, limit_blas
from seqloom._warning import warn_user
from seqloom.data import Dataset, Labels
from seqloom.data._frame import Frame
from seqloom.data._sources import is_sequence_table
from seqloom.errors import (
    ArgumentError,
    ConfigError,
    LabelError,
    NotFiniteError,
    SeenRecordsWarning,
    SeqloomError,
)
from seqloom.infer._exported import find_exported, predict_exported, refuse_exported
from seqloom.infer._input_warnings import (
    describe_known,
    describe_missing_scores,
    warn_of_records,
    warn_of_twice,
)
from seqloom.infer._kinds import is_path, kind_of_data, kind_of_encoder
from seqloom.infer._loop import (
    OnBatch,
    Watching,
    check_strands,
    report_batches,
    run_model,
    run_strands,
    warn_of_changes,
)
from seqloom.infer._scores import Scores, measure_scores
from seqloom.io._settings import replace_remedies
from seqloom.models import Classify, Custom, Examples, Trained
from seqloom.models._examples import check_examples, noun_of
from seqloom.models._trained import find_trained
from seqloom.models._training_facts import encode_with, find_duplicates

FilePath: TypeAlias = str | os.PathLike[str]
# A data frame or a data set of another library has no type that we could name.
Readable: TypeAlias = Any
# A dataset takes what `predict` and `evaluate` do not.
_DATASET = "SequenceDataset(data, encoder=model.encoder, {python})"


class HasTrained(Protocol):
    """What holds a trained model: a run."""

    @property
    def trained(self) -> Trained:
        """The model."""
        ...


Model: TypeAlias = Trained | HasTrained | FilePath


def predict(
    model: Model,
    data: Examples | Readable,
    *,
    reverse_complement: bool = False,
    num_threads: int | None = None,
    progress: Watching = None,
) -> Scores:
    """Score every record once, in input order.

    Args:
        model: A trained model, the run that made it, or its run folder; or the folder or
            zip of an exported model, which reads files, and of pairs two side by side.
        data: Sequence files, an open one, sequences from memory (a list, a dict, a data
            frame), a .bed of genotypes, or a dataset that has the model's encoder. Variants
            are found by id and alleles, in whatever order they are. What a
            dataset draws anew in each epoch (``augment``, ``jitter``) is a warning; so are
            (`DataWarning`) scores that are not finite, an id that occurs twice, lengths
            that the model has not seen, and DNA for a model of proteins.
        reverse_complement: Score each record and its reverse complement, and give the mean
            of both scores: of the probabilities, or of the values of a regression. For DNA
            and RNA whose strand does not matter; leave it out for tasks that depend on the
            strand, such as splice sites.
        num_threads: The threads to use; default: what the machine allows.
        progress: Called after each batch with the records done and in all. True shows a
            bar where there is a terminal.

    Returns:
        One row a record: the classes' probabilities, the labels' probabilities
        (multilabel), or values in the labels' own units (regress). Of an `IntervalDataset`
        whose intervals have names, such as the fourth column of BED, ``names`` holds them.

    Raises:
        ArgumentError: An argument is of another type, the model needs covariates too, or it
            was trained on arrays or for a custom task; or records have no reverse
            complement, as proteins have none.
        ConfigError: The dataset has another encoder than the model.
        FileError: A file cannot be read.
        FormatError: A file does not hold what it should.
        ShapeError: The model reads records of one length, and one has another.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nACGA\\n")
        >>> encoder, labels = sl.encode.OneHot("dna"), {"a": "yes", "b": "no"}
        >>> data = sl.data.SequenceDataset("a.fa", labels=labels, encoder=encoder)
        >>> run = sl.train.fit(sl.models.SequenceCNNConfig.for_data(data), data, epochs=1)
        >>> scores = sl.infer.predict(run.trained, "a.fa")
        >>> scores.ids, scores.classes, scores.to_numpy().shape
        (['a', 'b'], ('no', 'yes'), (2, 2))
        >>> sl.infer.predict(run.trained, ["ACGT", "ACGA"]).ids
        ['0', '1']
    """
    threads = count_threads(num_threads)
    both = as_flag("reverse_complement", reverse_complement)
    if (export := find_exported(model)) is not None:
        if both:
            raise ArgumentError(
                "reverse_complement (--reverse-complement) needs the run folder: an "
                "exported model scores files as they are; give the run folder that it was "
                "exported from"
            )
        with report_batches(progress) as tell:
            return predict_exported(export, data, num_threads=threads, progress=tell)
    trained = find_judged(model, threads)
    if both:
        check_strands(trained.encoder)
    with (
        limit_blas(threads),
        report_batches(progress) as tell,
        open_examples(trained, data) as examples,
    ):
        warn_of_changes("data", examples)
        warn_of_records(trained, examples)
        warn_of_twice(examples.ids, noun_of(examples))
        scores = score(trained, examples, progress=tell, both_strands=both)
        scores.names = examples.names if isinstance(examples, Dataset) else None
        if text := describe_missing_scores(scores):
            warn_user(text)
        return scores


def evaluate(
    model: Model,
    data: Examples | Readable,
    *,
    reverse_complement: bool = False,
    num_threads: int | None = None,
    progress: Watching = None,
) -> dict[str, float]:
    """Say how good a model is on records whose labels are known.

    Args:
        model: A trained model, the run that made it, or its run folder.
        data: A dataset with labels and the model's encoder and classes; or a table of
            sequences and labels: its path, a data frame, or a dict of columns. What a
            dataset draws anew in each epoch (``augment``, ``jitter``) is a warning; so are
            (`DataWarning`) lengths that the model has not seen, and records that have the
            letters of a training record (`SeenRecordsWarning`).
        reverse_complement: Score each record and its reverse complement, and give the mean
            of both scores: of the probabilities, or of the values of a regression. For DNA
            and RNA whose strand does not matter; leave it out for tasks that depend on the
            strand, such as splice sites.
        num_threads: The threads to use; default: what the machine allows.
        progress: Called after each batch with the records done and in all. True shows a
            bar where there is a terminal.

    Returns:
        ``n``, then accuracy, balanced_accuracy, mcc, auroc, auprc; for a regression r2,
        pearson, spearman, rmse.

    Raises:
        ArgumentError: An argument is of another type: sequence files have no labels, so
            that `data` is a dataset or a table; or records have no reverse complement.
        ConfigError: The dataset has another encoder than the model.
        LabelError: It has no labels, or those of another task or other classes.
        NotFiniteError: The scores of a record are NaN or infinite.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nACGA\\n")
        >>> encoder, labels = sl.encode.OneHot("dna"), {"a": "yes", "b": "no"}
        >>> data = sl.data.SequenceDataset("a.fa", labels=labels, encoder=encoder)
        >>> run = sl.train.fit(sl.models.SequenceCNNConfig.for_data(data), data, epochs=1)
        >>> sl.infer.evaluate(run.trained, data)["n"]
        2
    """
    threads = count_threads(num_threads)
    both = as_flag("reverse_complement", reverse_complement)
    refuse_exported(model)
    trained = find_judged(model, threads)
    if both:
        check_strands(trained.encoder)
    examples = open_labelled(trained, data)
    check_labels(trained, examples)
    warn_of_changes("data", examples)
    warn_of_records(trained, examples)
    with limit_blas(threads), report_batches(progress) as tell:
        scores = score(trained, examples, progress=tell, both_strands=both)
    if text := describe_missing_scores(scores):
        raise NotFiniteError(text)
    known = find_duplicates(trained.known_letters, examples)
    labels = np.asarray(examples.labels)
    if text := describe_known(trained.task, labels, scores, known=known):
        warn_user(text, SeenRecordsWarning)  # where evaluate was called
    return measure(trained, examples, scores)


def find_judged(model: Model, threads: int) -> Trained:
    """Find a trained model; refuses one whose outputs have a meaning of the user's own."""
    trained = find_trained(model, num_threads=threads)
    if isinstance(trained.task, Custom):
        raise ArgumentError(
            "this model was trained with a loss or step of your own (task custom), so that "
            "its outputs have no names; call run.model(...), or the model that "
            "sl.models.load returns, on tensors"
        )
    if trained.encoder is None:
        raise ArgumentError(
            "this model was trained on arrays, and has no encoder for sequences; call "
            "run.model(...) on tensors"
        )
    return trained


def score(
    trained: Trained,
    data: Examples,
    *,
    progress: OnBatch | None = None,
    both_strands: bool = False,
) -> Scores:
    """Score a dataset, on as many threads as the caller allows."""
    options: Any = {"batch_size": trained.batch_size, "on_batch": progress}
    try:
        if both_strands:
            logits = run_strands(trained, data, **options)
        else:
            logits = run_model(trained.model, data, **options)
    except Exception as error:
        if trained.trained_on is not None and (
            taught := trained.trained_on.spell_lengths()
        ):
            error.add_note(f"the model was trained on records of {taught}")
        raise
    values = trained.task.activate(logits)
    return Scores(data.ids, trained.classes, values, outputs=logits)


def measure(trained: Trained, data: Examples, scores: Scores) -> dict[str, float]:
    """Compare scores with the labels."""
    metrics = measure_scores(trained.task, np.asarray(data.labels), scores)
    return {"n": len(scores), **metrics}


def check_labels(trained: Trained, data: Examples) -> None:
    """Refuse a dataset that has no labels, or others than the model's."""
    check_encoder(trained, data)
    if data.labels is None:
        raise LabelError("the dataset has no labels to compare with; give it labels=")
    check_values(data)
    if data.task != trained.task.name:
        raise LabelError(
            f"the model's task is {trained.task.name}, but the labels were read for "
            f"{data.task}; give the dataset Labels(..., task={trained.task.name!r})"
        )
    if tuple(data.classes) != trained.classes:
        raise LabelError(
            f"the model's classes are {', '.join(trained.classes)}, the dataset's "
            f"{', '.join(data.classes)}; give the dataset Labels(..., "
            "classes=model.classes)"
        )


def check_values(data: Examples) -> None:
    """Refuse labels that are no numbers, or no classes, naming the first record."""
    labels = np.asarray(data.labels)
    if data.task == Classify.name:
        wrong = ~np.isin(labels, np.arange(len(data.classes)))
        expected = f"a class by its position, 0 to {len(data.classes) - 1}"
    else:
        wrong = ~np.isfinite(labels)
        expected = "a finite number"
    if wrong.any():
        first = int(wrong.reshape(len(labels), -1).any(axis=1).argmax())
        count = int(wrong.sum())
        raise LabelError(
            f"the label of {data.ids[first]!r} is {labels[first]}, expected {expected} "
            f"({count:,} such labels); correct them or leave these {noun_of(data)} out"
        )


@contextmanager
def open_examples(trained: Trained, data: Examples | Readable) -> Generator[Examples]:
    """Open files with the model's encoder, or checks that a dataset has it."""
    if hasattr(data, "batch") and hasattr(data, "encoder"):
        examples = _see(trained, data)
        check_encoder(trained, examples)
        yield examples
    elif hasattr(data, "read"):
        with _from_stream(trained.encoder, cast("IO[bytes]", data)) as examples:
            yield examples
    else:
        examples = _open(trained.encoder, data)
        check_encoder(trained, examples)
        yield examples


def _open(encoder: Any, data: Any, labels: Labels | None = None) -> Dataset:
    """Open files or record in memory as the model's encoder reads them."""
    data = os.fsdecode(data) if isinstance(data, bytes) else data
    kind, data = kind_of_data(encoder, data)
    with replace_remedies(_DATASET):
        return kind.open(data, labels=labels or False, encoder=encoder)


def open_labelled(trained: Trained, data: Examples | Readable) -> Examples:
    """Open a table of sequences and labels, or checks that a dataset has the encoder."""
    has_letters = kind_of_encoder(trained.encoder).has_letters
    if not (has_letters and _is_of_sequences(data)):
        return _see(trained, data)
    task: Any = trained.task.name  # one that labels can have
    has_columns = task != "classify" and len(trained.classes) > 1
    columns = trained.classes if has_columns else None
    labels = Labels(classes=trained.classes, task=task, label_column=columns)
    return _open(trained.encoder, data, labels)


def _is_of_sequences(data: Any) -> bool:
    """Tell a table of sequences, a file or in memory, from what is none."""
    if is_list(data):
        return bool(data) and isinstance(data[0], Mapping)
    if is_path(data):
        return is_sequence_table(data, "sequence")
    return Frame.of(data) is not None


def _see(trained: Trained, data: Any) -> Examples:
    """Show a dataset through the model's encoder."""
    check_examples("data", data)
    return encode_with(trained.encoder, data)


def check_encoder(trained: Trained, data: Examples) -> None:
    """Raise if a dataset has another encoder."""
    if data.encoder is not trained.encoder and data.encoder != trained.encoder:
        raise ConfigError(
            f"the model reads {trained.encoder}, the dataset has {data.encoder}; "
            f"{kind_of_encoder(trained.encoder).instead_of_encoder}"
        )


@contextmanager
def _from_stream(encoder: Any, stream: IO[bytes]) -> Generator[Examples]:
    """Keep a stream in a file while it is scored, since it can be read once only."""
    if not (kind := kind_of_encoder(encoder)).has_letters:
        raise ArgumentError(f"the model reads {kind.files}: give a path, not an open file")
    name = str(getattr(stream, "name", "the open file"))
    with TemporaryDirectory(prefix="seqloom-") as folder:
        held = Path(folder) / "stream"
        try:
            is_text = isinstance(stream.read(0), str)
            with held.open("w" if is_text else "wb") as file:
                copyfileobj(cast("Any", stream), cast("Any", file))
            yield _open(encoder, held)
        except SeqloomError as error:
            # A reader knows the file by the name that it gave to open().
            words = (str(word).replace(str(held), name) for word in error.args)
            error.args = tuple(words)
            if hasattr(error, "path"):
                error.path = name  # pyright: ignore[reportAttributeAccessIssue]
            raise
