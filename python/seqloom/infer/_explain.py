"""Which letters of sequences a trained model goes by."""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import as_choice, as_flag, as_integer, quote
from seqloom._threads import count_threads, limit_blas
from seqloom.errors import ArgumentError
from seqloom.infer._attributions import Attributions
from seqloom.infer._exported import refuse_exported
from seqloom.infer._input_warnings import warn_of_records, warn_of_twice
from seqloom.infer._kinds import kind_of_encoder
from seqloom.infer._loop import Watching, check_strands, report_batches
from seqloom.infer._predict import Model, Readable, find_judged, open_examples
from seqloom.infer._probe import (
    Measure,
    Probe,
    as_read,
    letters_to_change,
    members_of,
    why_not_hidden,
)
from seqloom.models import Classify, Examples, Regress, Task, Trained
from seqloom.models._examples import noun_of

Method: TypeAlias = Literal["occlusion", "mutations"]
# So many classes are named in an error.
_NAMED = 10


def explain(
    model: Model,
    data: Examples | Readable,
    *,
    method: Method = "occlusion",
    window: int = 1,
    target: str | None = None,
    reverse_complement: bool = False,
    num_threads: int | None = None,
    progress: Watching = None,
) -> Attributions:
    """Weigh each letter of sequences by what a change of it does to the model's score.

    ``"occlusion"`` (Zeiler and Fergus, 2014) replaces letters by N, in a protein by X,
    which stand for any letter. A weight is the score of the sequence minus its score
    without the letter: above 0, the letter raises the score.

    ``"mutations"`` replaces each letter by each other one: in silico (saturation)
    mutagenesis (Alipanahi et al., 2015). A weight is the score of the mutated sequence
    minus that of the sequence: above 0, the mutation raises the score. It is 0 where the
    letter is the one that stands there.

    The score of a class is the natural logarithm of its odds, p / (1 - p); so is that of a
    label, its logit; of a regression it is the value in the labels' own units. What
    ``augment`` or ``jitter`` of a dataset draw is left out.

    Args:
        model: A trained model, the run that made it, or its run folder.
        data: What `predict` takes, but of sequences.
        method: ``"occlusion"`` or ``"mutations"``.
        window: The letters that occlusion replaces at once. Windows lie side by side, from
            the first letter on, and the letters of one share its weight.
        target: The class or the label to explain. None: of each sequence the class with
            the highest score; of other tasks the only label.
        reverse_complement: Explain the scores that `predict` gives with it: the mean of
            the scores of a sequence and its reverse complement.
        num_threads: The threads to use; default: what the machine allows.
        progress: Called after some batches with the letters done and in all. True shows a
            bar where there is a terminal.

    Returns:
        The weights of each record, in input order.

    Raises:
        ArgumentError: The records are no sequences of letters, the encoder refuses the
            letter that occlusion needs, the model is an exported one or has no such target,
            or an argument is of another type.
        ConfigError: The dataset has another encoder than the model.
        FileError: A file cannot be read.
        FormatError: A file does not hold what it should.
        ShapeError: The model reads records of one length, and one has another.

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
    trained = _find_explained(model, threads, method)
    column = _find_column(trained.task, target)
    if both := as_flag("reverse_complement", reverse_complement):
        check_strands(trained.encoder)
    with (
        limit_blas(threads),
        report_batches(progress, noun="letters") as tell,
        open_examples(trained, data) as examples,
    ):
        warn_of_records(trained, examples)
        warn_of_twice(examples.ids, noun_of(examples))
        probe = Probe(trained, _letters_of(examples), tell, both_strands=both)
        columns = probe.outputs.argmax(axis=1) if column is None else column
        columns = np.broadcast_to(columns, len(probe.outputs))
        measure = _measure_of(trained.task, columns)
        letters = members_of(trained.encoder) if method == "mutations" else ""
        weights = (
            probe.mutate(measure, letters)
            if letters
            else probe.hide(measure, [window] * len(columns))
        )
        return Attributions(
            ids=list(examples.ids),
            sequences=[it.decode("ascii", "replace") for it in probe.sequences],
            read_as=[
                as_read(trained.encoder, it).decode("ascii", "replace")
                for it in probe.sequences
            ],
            targets=[trained.classes[number] for number in columns.tolist()],
            scores=measure(probe.outputs, np.arange(len(columns))),
            weights=weights,
            letters=letters,
            window=window,
            task=trained.task.name,
        )


def _check_settings(method: Method, window: int) -> None:
    """Refuse a method that there is not, and a window of mutations."""
    as_choice("method", method, ("occlusion", "mutations"))
    if as_integer("window", window, least=1) != 1 and method == "mutations":
        raise ArgumentError(
            f'window (--window) is of method="occlusion", got {window}; mutations change '
            "one letter at a time: leave it out"
        )


def _find_explained(model: Model, threads: int, method: Method) -> Trained:
    """Find a trained model whose encoder reads letters that can be changed."""
    refuse_exported(model)
    trained = find_judged(model, threads)
    if not members_of(trained.encoder):
        raise ArgumentError(
            f"the model reads {trained.encoder}, and its encoder has no alphabet, but "
            f"explain changes the letters of sequences; "
            f"{kind_of_encoder(trained.encoder).instead_of_explain}"
        )
    reason = why_not_hidden(trained.encoder) if method == "occlusion" else None
    if reason is not None:
        raise ArgumentError(
            f'method="occlusion" cannot hide letters, because {reason}; '
            'method="mutations" (--method mutations) needs no such letter'
        )
    return trained


def _find_column(task: Task, target: str | None) -> int | None:
    """Find the output of a target; None is that of the class that is called."""
    names = task.columns
    if target in names:
        return names.index(target)
    more = ", ..." if len(names) > _NAMED else ""
    listed = f"{', '.join(names[:_NAMED])}{more}"
    if target is not None:
        raise ArgumentError(
            f"target (--target) must be one of {listed}, got {quote(target)}"
        )
    if isinstance(task, Classify):
        return None
    if len(names) > 1:
        raise ArgumentError(
            f"target (--target) must say which of several labels to explain: {listed}"
        )
    return 0


def _letters_of(examples: Any) -> list[bytes]:
    """Fetch the letters of all records."""
    letters = letters_to_change(examples, np.arange(len(examples)))
    if letters is None:
        raise ArgumentError(
            f"data gives no letters of its {noun_of(examples)}, got {quote(examples)}; "
            "give the files, or a SequenceDataset of them"
        )
    return letters


def _measure_of(task: Task, columns: NDArray[np.int64]) -> Measure:
    """Make the measure: for each record the score of its target."""

    def measure(outputs: NDArray[np.float32], records: NDArray[np.int64]) -> Any:
        """Compute the score of each record's target from the outputs."""
        rows, targets = np.arange(len(outputs)), columns[records]
        wide = outputs.astype(np.float64)
        own = wide[rows, targets]
        if isinstance(task, Regress):
            return (
                own * np.asarray(task.deviation)[targets] + np.asarray(task.mean)[targets]
            )
        if not isinstance(task, Classify):
            return own
        wide[rows, targets] = -np.inf
        return own - np.logaddexp.reduce(wide, axis=1)

    return measure
