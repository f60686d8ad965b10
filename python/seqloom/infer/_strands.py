"""Scores averaged over both strands: each record as it is, and its reverse complement."""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from seqloom.augment import ReverseComplement
from seqloom.data._parts import has_letters
from seqloom.errors import ArgumentError
from seqloom.infer._loop import run_model
from seqloom.infer._progress import OnBatch
from seqloom.models import Classify, Multilabel, Task, Trained
from seqloom.models._examples import noun_of

_ALPHABETS = ("dna", "rna", "iupac")
_OPTION = "reverse_complement (--reverse-complement)"


def run_strands(
    trained: Trained, data: Any, *, batch_size: int, on_batch: OnBatch | None = None
) -> NDArray[np.float32]:
    """Computes outputs whose scores are the means of the scores of both strands."""
    other = reverse_complement_of(data)
    count = len(data)

    def first(done: int, _: int) -> None:
        if on_batch is not None:
            on_batch(done // 2, count)

    def second(done: int, _: int) -> None:
        if on_batch is not None:
            on_batch((count + done) // 2, count)

    forward = run_model(trained.model, data, batch_size=batch_size, on_batch=first)
    reverse = run_model(trained.model, other, batch_size=batch_size, on_batch=second)
    return average_outputs(trained.task, forward, reverse)


def check_strands(encoder: Any) -> None:
    """Refuses a model of records that have no reverse complement."""
    if getattr(encoder, "alphabet", None) not in _ALPHABETS:
        raise ArgumentError(
            f"{_OPTION} is for models of DNA or RNA, but the model reads {encoder}: "
            "leave it out"
        )


def reverse_complement_of(data: Any) -> Any:
    """Shows the records of a dataset as reverse complements."""
    if not has_letters(data) or data.augment is not None:
        what = "has augment=" if has_letters(data) else "gives no letters"
        raise ArgumentError(
            f"{_OPTION} needs the letters of {noun_of(data)}, but the dataset {what}; "
            "give the files, or a SequenceDataset without augment="
        )
    name = "rna" if getattr(data.encoder, "alphabet", "") == "rna" else "dna"
    return data.replace(augment=ReverseComplement(p=1.0, alphabet=cast("Any", name)))


def average_outputs(
    task: Task, forward: NDArray[np.float32], reverse: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Finds the outputs that the task turns into the mean of the scores of two outputs."""
    one, other = forward.astype(np.float64), reverse.astype(np.float64)
    if isinstance(task, Classify):
        found = np.logaddexp(_log_softmax(one), _log_softmax(other)) - np.log(2)
    elif isinstance(task, Multilabel):
        # The logit of the mean probability: log(p + q) - log((1 - p) + (1 - q)).
        yes = np.logaddexp(_log_sigmoid(one), _log_sigmoid(other))
        found = yes - np.logaddexp(_log_sigmoid(-one), _log_sigmoid(-other))
    else:
        found = (one + other) / 2
    return found.astype(np.float32)


def _log_softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Computes the logarithms of the probabilities of classes."""
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


def _log_sigmoid(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Computes the logarithm of the probability of each label."""
    return -np.logaddexp(0.0, -logits)
