"""Attributions: how much each residue changes the score of a trained model."""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import as_bool, as_choice, as_integer, quote
from seqloom._threads import count_threads, limit_blas
from seqloom.errors import ArgumentError
from seqloom.infer._attributions import Attributions
from seqloom.infer._exported import reject_exported
from seqloom.infer._input_warnings import warn_of_duplicate_ids, warn_of_records
from seqloom.infer._kinds import find_encoder_kind
from seqloom.infer._loop import ProgressOption, report_batches, require_reverse_complement
from seqloom.infer._predict import Model, Readable, find_builtin_model, open_examples
from seqloom.infer._probe import (
    EncoderProbe,
    ScoreFunction,
    list_residues,
    normalise_residues,
    reason_against_hiding,
    sequences_to_mutate,
)
from seqloom.models import Classify, Examples, Profile, Regress, Task, Trained
from seqloom.models._examples import noun_of

Method: TypeAlias = Literal["occlusion", "mutations"]
# The maximum number of classes that an error message lists.
_MAX_LISTED_CLASSES = 10


def explain(
    model: Model,
    data: Examples | Readable,
    *,
    method: Method = "occlusion",
    window: int = 1,
    target: str | None = None,
    reverse_complement: bool = False,
    num_threads: int | None = None,
    progress: ProgressOption = None,
) -> Attributions:
    """Compute the effect of each residue of sequences on the model's score.

    ``"occlusion"`` (Zeiler and Fergus, 2014) replaces residues by N, or by X in
    proteins. A weight is the score of the sequence minus its score without the residue.
    Residues with positive weights raise the score.

    ``"mutations"`` replaces each residue by every other residue: in silico saturation
    mutagenesis (Alipanahi et al., 2015). A weight is the score of the mutated sequence
    minus that of the original. Mutations with positive weights raise the score. The
    weight of the original residue is 0.

    The score of a class or label is the natural logarithm of its odds, p / (1 - p). For
    a regression, the score is the predicted value in the units of the labels. The
    ``augment`` and ``jitter`` of a dataset are not applied.

    Args:
        model: A trained model, its run, or its run folder.
        data: Sequences, in any form that `predict` accepts.
        method: ``"occlusion"`` or ``"mutations"``.
        window: The number of neighbouring residues that occlusion replaces at once (a
            window). Windows do not overlap, and the first window starts at the first
            residue. All residues of a window have the same weight.
        target: The class or label to explain; by default the highest-scoring class of
            each sequence. If a model has several labels, `target` is required.
        reverse_complement: If True, explain the mean of two scores, that of the sequence
            and that of its reverse complement, as in `predict`.
        num_threads: The number of threads; by default the number of available CPU cores.
        progress: A function that is called after some batches with the numbers of
            finished residues and of all residues. If True, show a progress bar on a
            terminal.

    Returns:
        The weights of the residues of each record, in input order.

    Raises:
        ArgumentError: An argument has the wrong type, or the records are not sequences. The
            error is also raised for exported models and unknown targets, and if the encoder
            rejects the symbol that occlusion needs.
        ConfigError: The encoder of the dataset differs from that of the model.
        FileError: A file cannot be read.
        FormatError: A file has invalid content.
        ShapeError: The model needs sequences of one length, and a record has another
            length.

    Examples:
        >>> import seqloom as sl
        >>> table = {"sequence": ["ACGT", "ACGA"], "label": ["yes", "no"]}
        >>> data = sl.data.SequenceDataset(table, encoder=sl.encode.OneHot("dna"))
        >>> run = sl.train.fit(sl.models.SequenceCNNConfig.for_data(data), data, epochs=1)
        >>> found = sl.infer.explain(run, ["ACGT"], target="yes")
        >>> found.targets, found.weights[0].shape
        (['yes'], (4,))
        >>> sl.infer.explain(run, ["ACGT"], method="mutations").weights[0].shape
        (4, 4)
    """
    _check_settings(method, window)
    threads = count_threads(num_threads)
    trained = _find_explainable_model(model, threads, method)
    column = _find_target_column(trained.task, target)
    if both := as_bool("reverse_complement", reverse_complement):
        require_reverse_complement(trained.encoder)
    with (
        limit_blas(threads),
        report_batches(progress, noun="residues") as tell,
        open_examples(trained, data) as examples,
    ):
        warn_of_records(trained, examples)
        warn_of_duplicate_ids(examples.ids, noun_of(examples))
        probe = EncoderProbe(trained, _require_sequences(examples), tell, both_strands=both)
        columns = probe.outputs.argmax(axis=1) if column is None else column
        columns = np.broadcast_to(columns, len(probe.outputs))
        score_target = _make_target_scorer(trained.task, columns)
        letters = list_residues(trained.encoder) if method == "mutations" else ""
        weights = (
            probe.mutate(score_target, letters)
            if letters
            else probe.hide(score_target, [window] * len(columns))
        )
        return Attributions(
            ids=list(examples.ids),
            sequences=[it.decode("ascii", "replace") for it in probe.sequences],
            read_as=[
                normalise_residues(trained.encoder, it).decode("ascii", "replace")
                for it in probe.sequences
            ],
            targets=[trained.classes[number] for number in columns.tolist()],
            scores=score_target(probe.outputs, np.arange(len(columns))),
            weights=weights,
            letters=letters,
            window=window,
            task=trained.task.name,
        )


def _check_settings(method: Method, window: int) -> None:
    """Raise if the method is unknown, or if a window is set for mutations."""
    as_choice("method", method, ("occlusion", "mutations"))
    if as_integer("window", window, least=1) != 1 and method == "mutations":
        raise ArgumentError(
            f'window (--window) is for method="occlusion", got {window}; mutations change '
            "one residue at a time: leave window out"
        )


def _find_explainable_model(model: Model, threads: int, method: Method) -> Trained:
    """Return the trained model; raise if its encoder lacks symbols for the method."""
    reject_exported(model)
    trained = find_builtin_model(model, threads)
    if not list_residues(trained.encoder):
        raise ArgumentError(
            f"the model reads {trained.encoder}, but explain changes the residues of "
            f"sequences and this encoder has no alphabet; "
            f"{find_encoder_kind(trained.encoder).instead_of_explain}"
        )
    reason = reason_against_hiding(trained.encoder) if method == "occlusion" else None
    if reason is not None:
        raise ArgumentError(
            f'method="occlusion" cannot hide residues, because {reason}; '
            'method="mutations" (--method mutations) does not need this symbol'
        )
    return trained


def _find_target_column(task: Task, target: str | None) -> int | None:
    """Return the index of the output to explain; None for the predicted class."""
    names = task.columns
    if target in names:
        return names.index(target)
    more = ", ..." if len(names) > _MAX_LISTED_CLASSES else ""
    listed = f"{', '.join(names[:_MAX_LISTED_CLASSES])}{more}"
    if target is not None:
        raise ArgumentError(
            f"target (--target) must be one of {listed}, got {quote(target)}"
        )
    if isinstance(task, Classify):
        return None
    if len(names) > 1:
        raise ArgumentError(f"target (--target) must be one of the labels: {listed}")
    return 0


def _require_sequences(examples: Any) -> list[bytes]:
    """Return the sequences of all records."""
    letters = sequences_to_mutate(examples, np.arange(len(examples)))
    if letters is None:
        raise ArgumentError(
            f"data must contain sequences, got {noun_of(examples)} in {quote(examples)}; "
            "pass the files, or a SequenceDataset of them"
        )
    return letters


def _make_target_scorer(task: Task, columns: NDArray[np.int64]) -> ScoreFunction:
    """Return the function that computes the score of each record's target."""

    def score_target(outputs: NDArray[np.float32], records: NDArray[np.int64]) -> Any:
        """Compute the score of each record's target from the outputs."""
        rows, targets = np.arange(len(outputs)), columns[records]
        wide = outputs.astype(np.float64)
        own = wide[rows, targets]
        if isinstance(task, Regress):
            return (
                own * np.asarray(task.deviation)[targets] + np.asarray(task.mean)[targets]
            )
        if isinstance(task, Profile):
            return np.logaddexp.reduce(own, axis=1)
        if not isinstance(task, Classify):
            return own
        wide[rows, targets] = -np.inf
        return own - np.logaddexp.reduce(wide, axis=1)

    return score_target
