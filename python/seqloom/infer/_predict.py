"""Predicting and judging with a trained model."""

import os
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from seqloom._threads import limit_blas, thread_count
from seqloom.data import GenotypeDataset, GenotypeEncoder, SequenceDataset
from seqloom.errors import ArgumentError, ConfigError, LabelError
from seqloom.infer._loop import OnBatch, run_model
from seqloom.infer._scores import Scores
from seqloom.models import Classify, Examples, Trained, load
from seqloom.models._examples import noun_of
from seqloom.models._learned import seen_by

FilePath: TypeAlias = str | os.PathLike[str]


def predict(
    model: Trained | FilePath,
    data: Examples | FilePath | Sequence[FilePath],
    *,
    num_threads: int | None = None,
    progress: OnBatch | None = None,
) -> Scores:
    """Scores every record once, in input order.

    Args:
        model: A trained model, or its run folder.
        data: Sequence files, a .bed of genotypes, or a dataset that has the model's
            encoder. Variants are found by id and alleles, in whatever order they are.
        num_threads: The threads to use; default: what the machine allows.
        progress: Called after each batch with the records done and in all.

    Returns:
        One row a record: the classes' probabilities, the labels' probabilities
        (multilabel), or values in the labels' own units (regress).

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
    """
    threads = thread_count(num_threads)
    trained = model if isinstance(model, Trained) else load(model, num_threads=threads)
    with limit_blas(threads):
        return score(trained, _examples(trained, data), progress=progress)


def evaluate(
    model: Trained | FilePath,
    data: Examples,
    *,
    num_threads: int | None = None,
    progress: OnBatch | None = None,
) -> dict[str, float]:
    """Says how good a model is on records whose labels are known.

    Args:
        model: A trained model, or its run folder.
        data: A dataset with labels and the model's encoder and classes.
        num_threads: The threads to use; default: what the machine allows.
        progress: Called after each batch with the records done and in all.

    Returns:
        ``n``, then accuracy, balanced_accuracy, mcc, auroc, auprc; for a regression r2,
        pearson, spearman, rmse.

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
    threads = thread_count(num_threads)
    trained = model if isinstance(model, Trained) else load(model, num_threads=threads)
    data = cast("Examples", seen_by(trained.encoder, data))
    check_labels(trained, data)
    with limit_blas(threads):
        return measure(trained, data, score(trained, data, progress=progress))


def score(trained: Trained, data: Examples, *, progress: OnBatch | None = None) -> Scores:
    """Scores a dataset, on as many threads as the caller allows."""
    size = trained.batch_size
    logits = run_model(trained.model, data, batch_size=size, on_batch=progress)
    return Scores(data.ids, trained.classes, trained.task.activate(logits))


def measure(trained: Trained, data: Examples, scores: Scores) -> dict[str, float]:
    """Compares scores with the labels."""
    metrics = trained.task.measure(np.asarray(data.labels), scores.to_numpy())
    return {"n": len(scores), **metrics}


def check_labels(trained: Trained, data: Examples) -> None:
    """Refuses a dataset that has no labels, or others than the model's.

    Args:
        trained: The model.
        data: The dataset.

    Raises:
        ConfigError: Its encoder is another.
        LabelError: It has no labels, or those of another task or other classes, or one
            that is no number.
    """
    _check_encoder(trained, data)
    if data.labels is None:
        raise LabelError("the dataset has no labels to compare with; give it labels=")
    check_values(data)
    if data.task != trained.task.name:
        raise LabelError(
            f"the model's task is {trained.task.name}, but the labels were read for "
            f"{data.task}; give the dataset task={trained.task.name!r}"
        )
    if tuple(data.classes) != trained.classes:
        raise LabelError(
            f"the model's classes are {', '.join(trained.classes)}, the dataset's "
            f"{', '.join(data.classes)}; give the dataset classes=model.classes"
        )


def check_values(data: Examples) -> None:
    """Refuses labels that are no numbers, or no classes, naming the first record."""
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


def _examples(trained: Trained, data: Examples | FilePath | Sequence[FilePath]) -> Examples:
    """Opens files with the model's encoder; checks a dataset's."""
    if not hasattr(data, "batch"):
        return _opened(trained.encoder, cast("Any", data))
    examples = cast("Examples", seen_by(trained.encoder, data))
    _check_encoder(trained, examples)
    return examples


def _opened(encoder: Any, data: FilePath | Sequence[FilePath]) -> Examples:
    """Opens files as the model's encoder reads them, without labels."""
    if not isinstance(encoder, GenotypeEncoder):
        return SequenceDataset(data, encoder=encoder)
    paths = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    if len(paths) != 1:
        raise ArgumentError(f"genotypes are one .bed at a time, got {len(paths)} files")
    if encoder.covariate_names:
        raise LabelError(
            f"the model reads the covariates {', '.join(encoder.covariate_names)} too: "
            "give GenotypeDataset(bed, phenotype=False, covariates=, encoder=model.encoder)"
        )
    return GenotypeDataset(paths[0], phenotype=False, encoder=encoder)


def _check_encoder(trained: Trained, data: Examples) -> None:
    """Refuses a dataset with another encoder."""
    if data.encoder != trained.encoder:
        raise ConfigError(
            f"the model reads {trained.encoder}, the dataset has {data.encoder}; "
            "give the dataset encoder=model.encoder"
        )
