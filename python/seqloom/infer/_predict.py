"""Prediction and evaluation with a trained model."""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import IO, Any, Protocol, TypeAlias, cast

import numpy as np

from seqloom._arguments import as_bool, is_list
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
from seqloom.infer._exported import find_exported, predict_exported, reject_exported
from seqloom.infer._input_warnings import (
    describe_duplicates,
    describe_missing_scores,
    warn_of_duplicate_ids,
    warn_of_records,
)
from seqloom.infer._kinds import find_encoder_kind, find_kind_of_data, is_path
from seqloom.infer._loop import (
    OnBatch,
    ProgressOption,
    report_batches,
    require_reverse_complement,
    run_both_strands,
    run_model,
    warn_of_augmentation,
)
from seqloom.infer._scores import Scores, measure_scores
from seqloom.io._settings import replace_remedies
from seqloom.models import Classify, Custom, Examples, Profile, Trained
from seqloom.models._examples import check_examples, noun_of
from seqloom.models._tracks import read_labels
from seqloom.models._trained import find_trained
from seqloom.models._training_facts import encode_with, find_duplicates

FilePath: TypeAlias = str | os.PathLike[str]
# Data frames and datasets of other libraries have no common type.
Readable: TypeAlias = Any
# Advice for error messages about settings that `predict` and `evaluate` do not have as
# arguments.
_DATASET_ADVICE = "SequenceDataset(data, encoder=model.encoder, {python})"


class HasTrained(Protocol):
    """An object with a trained model, such as a run."""

    @property
    def trained(self) -> Trained:
        """The trained model."""
        ...


Model: TypeAlias = Trained | HasTrained | FilePath


def predict(
    model: Model,
    data: Examples | Readable,
    *,
    reverse_complement: bool = False,
    num_threads: int | None = None,
    progress: ProgressOption = None,
) -> Scores:
    """Score every record once, in input order.

    Args:
        model: A trained model, its run, or its run folder. The folder or zip of an exported
            model is also accepted. An exported model scores only files; for read pairs,
            pass both files.
        data: Sequence files, an open file, sequences in memory (a list, dict or data
            frame), a .bed of genotypes, or a dataset with the model's encoder. Variants of
            the .bed are matched to those of the model by id and alleles, in any order. A
            dataset that changes in each epoch (``augment``, ``jitter``) causes a warning. A
            `DataWarning` reports scores that are not finite, duplicate ids, lengths that
            differ from the training set, and DNA for a protein model.
        reverse_complement: If True, score each record and its reverse complement, and
            return the mean of both scores (probabilities, or values of a regression).
            Averaging suits DNA and RNA tasks that do not depend on the strand. Splice
            sites, for example, depend on the strand.
        num_threads: The number of threads; by default the number of available CPU cores.
        progress: A function that is called after each batch with the numbers of finished
            records and of all records. True shows a progress bar on a terminal.

    Returns:
        A row for each record. The columns are the probabilities of the classes, the
        probabilities of the labels (multilabel), or values in the units of the labels
        (regress). For tracks (profile), the columns are counts, and ``outputs`` has the
        logarithms of the counts at each position. For an `IntervalDataset` with named
        intervals (the fourth column of BED), ``names`` contains the names.

    Raises:
        ArgumentError: An argument has the wrong type, or the model needs covariates. The
            error is also raised if the model was trained on arrays or for a custom task, or
            if proteins are given with ``reverse_complement``.
        ConfigError: The encoder of the dataset differs from that of the model.
        FileError: A file cannot be read.
        FormatError: A file has invalid content.
        ShapeError: The model needs sequences of one length, and a record has another
            length.

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
    both = as_bool("reverse_complement", reverse_complement)
    if (export := find_exported(model)) is not None:
        if both:
            raise ArgumentError(
                "reverse_complement (--reverse-complement) needs the run folder: an "
                "exported model scores files unchanged; pass the run folder that it was "
                "exported from"
            )
        with report_batches(progress) as tell:
            return predict_exported(export, data, num_threads=threads, progress=tell)
    trained = find_builtin_model(model, threads)
    if both:
        require_reverse_complement(trained.encoder)
    with (
        limit_blas(threads),
        report_batches(progress) as tell,
        open_examples(trained, data) as examples,
    ):
        warn_of_augmentation("data", examples)
        warn_of_records(trained, examples)
        warn_of_duplicate_ids(examples.ids, noun_of(examples))
        scores = score_records(trained, examples, progress=tell, both_strands=both)
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
    progress: ProgressOption = None,
) -> dict[str, float]:
    """Evaluate a model on records with known labels.

    Args:
        model: A trained model, its run, or its run folder.
        data: A dataset with labels that has the encoder and the classes of the model. A
            table of sequences and labels is also accepted: its path, a data frame, or a
            dict of columns. A dataset that changes in each epoch (``augment``, ``jitter``)
            causes a warning. A `DataWarning` reports lengths that differ from the training
            set, and a `SeenRecordsWarning` reports duplicates of training sequences.
        reverse_complement: If True, score each record and its reverse complement, and use
            the mean of both scores (probabilities, or values of a regression).
            Averaging suits DNA and RNA tasks that do not depend on the strand. Splice
            sites, for example, depend on the strand.
        num_threads: The number of threads; by default the number of available CPU cores.
        progress: A function that is called after each batch with the numbers of finished
            records and of all records. True shows a progress bar on a terminal.

    Returns:
        The metrics by name. ``n`` is the number of records. The metrics of a classifier
        are accuracy, balanced_accuracy, mcc, auroc and auprc; those of a regression are
        r2, pearson, spearman and rmse. The metrics of tracks are pearson, spearman and
        jensen_shannon.

    Raises:
        ArgumentError: An argument has the wrong type; the data is a FASTA file and
            therefore has no labels; or the records have no reverse complement.
        ConfigError: The encoder of the dataset differs from that of the model.
        LabelError: The dataset has no labels, or its task or its classes differ from those
            of the model.
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
    both = as_bool("reverse_complement", reverse_complement)
    reject_exported(model)
    trained = find_builtin_model(model, threads)
    if both:
        require_reverse_complement(trained.encoder)
    examples = open_labelled_dataset(trained, data)
    check_labels(trained, examples)
    warn_of_augmentation("data", examples)
    warn_of_records(trained, examples)
    with limit_blas(threads), report_batches(progress) as tell:
        scores = score_records(trained, examples, progress=tell, both_strands=both)
    if text := describe_missing_scores(scores):
        raise NotFiniteError(text)
    known = find_duplicates(trained.known_letters, examples)
    labels = read_labels(examples)
    if text := describe_duplicates(trained.task, labels, scores, known=known):
        warn_user(text, SeenRecordsWarning)  # the warning points to the caller of evaluate
    return compute_metrics(trained, examples, scores)


def find_builtin_model(model: Model, threads: int) -> Trained:
    """Return the trained model; raise for custom tasks and models without an encoder."""
    trained = find_trained(model, num_threads=threads)
    if isinstance(trained.task, Custom):
        raise ArgumentError(
            "this model was trained with your own loss or step (task custom), and its "
            "outputs have no names; call run.model(...) on tensors"
        )
    if trained.encoder is None:
        raise ArgumentError(
            "this model was trained on arrays and has no encoder for sequences; call "
            "run.model(...) on tensors"
        )
    return trained


def score_records(
    trained: Trained,
    data: Examples,
    *,
    progress: OnBatch | None = None,
    both_strands: bool = False,
) -> Scores:
    """Compute the scores of all records of a dataset."""
    options: Any = {"batch_size": trained.batch_size, "on_batch": progress}
    try:
        if both_strands:
            logits = run_both_strands(trained, data, **options)
        else:
            logits = run_model(trained.model, data, **options)
    except Exception as error:
        if trained.trained_on is not None and (
            taught := trained.trained_on.format_lengths()
        ):
            error.add_note(f"the model was trained on records of {taught}")
        raise
    values = trained.task.activate(logits)
    if isinstance(trained.task, Profile):
        values = trained.task.counts(values).sum(axis=2)
    return Scores(data.ids, trained.classes, values, outputs=logits)


def compute_metrics(trained: Trained, data: Examples, scores: Scores) -> dict[str, float]:
    """Compute metrics from the scores and labels of a dataset."""
    metrics = measure_scores(trained.task, read_labels(data), scores)
    return {"n": len(scores), **metrics}


def check_labels(trained: Trained, data: Examples) -> None:
    """Raise if a dataset has no labels, or its task or classes differ from the model's."""
    check_encoder(trained, data)
    is_profile = trained.task.name == Profile.name
    if data.labels is None and data.task != Profile.name:
        what = "tracks" if is_profile else "labels"
        raise LabelError(f"the dataset has no {what} to compare with; pass {what}= to it")
    check_label_values(data)
    if data.task != trained.task.name:
        raise LabelError(
            f"the model's task is {trained.task.name}, but the labels were read for "
            f"{data.task}; give the dataset Labels(..., task={trained.task.name!r})"
        )
    if tuple(data.classes) != trained.classes and is_profile:
        raise LabelError(
            f"the model's tracks are {', '.join(trained.classes)}, the dataset's "
            f"{', '.join(data.classes)}; name them in the dataset, as in "
            f'tracks={{"{trained.classes[0]}": path}}'
        )
    if tuple(data.classes) != trained.classes:
        raise LabelError(
            f"the model's classes are {', '.join(trained.classes)}, the dataset's "
            f"{', '.join(data.classes)}; give the dataset Labels(..., "
            "classes=model.classes)"
        )


def check_label_values(data: Examples) -> None:
    """Raise if labels are invalid numbers or classes; the error names the first record."""
    if data.labels is None:
        return  # tracks are checked when they are read
    labels = np.asarray(data.labels)
    if data.task == Classify.name:
        wrong = ~np.isin(labels, np.arange(len(data.classes)))
        expected = f"the index of a class, 0 to {len(data.classes) - 1}"
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
    """Open files with the model's encoder, or check that a dataset has this encoder."""
    if hasattr(data, "batch") and hasattr(data, "encoder"):
        examples = _with_model_encoder(trained, data)
        check_encoder(trained, examples)
        yield examples
    elif hasattr(data, "read"):
        with _open_stream(trained.encoder, cast("IO[bytes]", data)) as examples:
            yield examples
    else:
        examples = _open_data(trained.encoder, data)
        check_encoder(trained, examples)
        yield examples


def _open_data(encoder: Any, data: Any, labels: Labels | None = None) -> Dataset:
    """Open files, or records in memory, as a dataset with the model's encoder."""
    data = os.fsdecode(data) if isinstance(data, bytes) else data
    kind, data = find_kind_of_data(encoder, data)
    with replace_remedies(_DATASET_ADVICE):
        return kind.open(data, labels=labels or False, encoder=encoder)


def open_labelled_dataset(trained: Trained, data: Examples | Readable) -> Examples:
    """Open a table of sequences and labels, or encode a dataset for the model."""
    has_letters = find_encoder_kind(trained.encoder).has_letters
    if not (has_letters and _is_sequence_table(data)):
        return _with_model_encoder(trained, data)
    task: Any = trained.task.name
    has_columns = task != "classify" and len(trained.classes) > 1
    columns = trained.classes if has_columns else None
    labels = Labels(classes=trained.classes, task=task, label_column=columns)
    return _open_data(trained.encoder, data, labels)


def _is_sequence_table(data: Any) -> bool:
    """Return whether data are a table of sequences, in a file or in memory."""
    if is_list(data):
        return bool(data) and isinstance(data[0], Mapping)
    if is_path(data):
        return is_sequence_table(data, "sequence")
    return Frame.of(data) is not None


def _with_model_encoder(trained: Trained, data: Any) -> Examples:
    """Return a dataset with the model's encoder."""
    check_examples("data", data)
    return encode_with(trained.encoder, data)


def check_encoder(trained: Trained, data: Examples) -> None:
    """Raise if the encoder of a dataset differs from the model's."""
    if data.encoder is not trained.encoder and data.encoder != trained.encoder:
        raise ConfigError(
            f"the model reads {trained.encoder}, the dataset has {data.encoder}; "
            f"{find_encoder_kind(trained.encoder).instead_of_encoder}"
        )


@contextmanager
def _open_stream(encoder: Any, stream: IO[bytes]) -> Generator[Examples]:
    """Copy a stream to a temporary file, because a stream can be read only once."""
    if not (kind := find_encoder_kind(encoder)).has_letters:
        raise ArgumentError(f"the model reads {kind.files}: pass a path, not an open file")
    name = str(getattr(stream, "name", "the open file"))
    with TemporaryDirectory(prefix="seqloom-") as folder:
        held = Path(folder) / "stream"
        try:
            is_text = isinstance(stream.read(0), str)
            with held.open("w" if is_text else "wb") as file:
                copyfileobj(cast("Any", stream), cast("Any", file))
            yield _open_data(encoder, held)
        except SeqloomError as error:
            # Replace the path of the temporary file in messages by the stream name.
            words = (str(word).replace(str(held), name) for word in error.args)
            error.args = tuple(words)
            if hasattr(error, "path"):
                error.path = name  # pyright: ignore[reportAttributeAccessIssue]
            raise
