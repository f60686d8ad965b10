"""The evaluation loop: `fit`, `predict` and `evaluate` all score records here."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import quote
from seqloom._warning import warn_user
from seqloom.augment import ReverseComplement
from seqloom.data import Dataset
from seqloom.data._parts import has_letters
from seqloom.errors import ArgumentError, FormatError, ShapeError
from seqloom.infer._forward import Forward
from seqloom.infer._kinds import kind_of_encoder
from seqloom.models import (
    Classify,
    Examples,
    Multilabel,
    SequenceCNNConfig,
    Task,
    TorchModule,
    Trained,
)
from seqloom.models._examples import count_positions, counts_words, is_of_tokens, noun_of
from seqloom.nn import Module
from seqloom.nn._processes import find_batch_processes

# The most positions of an evaluation batch, which limit its memory. A token becomes the
# features of a language model, and a count of words is one number.
_TOKENS = 1 << 14
_COUNTS = 1 << 24
_RECORDS = 256
# How many records are compared between two epochs, to find out whether they change.
_COMPARED = 16
# So many records of a batch are named in an error.
_NAMED = 5
_ALPHABETS = ("dna", "rna", "iupac")
_OPTION = "reverse_complement (--reverse-complement)"

# Called after each batch with the records done and the records in all.
OnBatch: TypeAlias = Callable[[int, int], Any]
Watching: TypeAlias = OnBatch | bool | None


def run_model(
    model: Module, examples: Examples, *, batch_size: int, on_batch: OnBatch | None = None
) -> NDArray[np.float32]:
    """Compute the model's outputs for every record, in the order of the records."""
    # Records of similar length share a batch, so that little is padded.
    check_lengths(model, examples)
    model.eval()
    parts: list[NDArray[np.float32]] = []
    processes = find_batch_processes()
    computed: NDArray[np.float32] | None = None
    # Equal lengths keep their order, so that the same records make the same batches.
    lengths = count_positions(examples)
    order = np.argsort(lengths, kind="stable")
    make = _batches_of_one_length if reads_padding(model, examples) else _batches
    batches = make(lengths[order], batch_size, most=_most_positions(examples.encoder))
    for number, (positions, real) in enumerate(batches):
        # Of several processes each computes its share of the batches, and adds zeros in
        # place of the others. The first batch is computed by all: it shows the shape.
        is_own = processes is None or number % processes.world == processes.number
        if is_own or computed is None:
            batch = examples.batch(order[positions])
            with _naming_records(examples, order[positions[:real]]):
                outputs = Forward.of(model)(model, batch, encoder=examples.encoder)
                computed = np.asarray(outputs, np.float32)
        shape = (real, *computed.shape[1:])
        parts.append(computed[:real] if is_own else np.zeros(shape, computed.dtype))
        if on_batch is not None:
            on_batch(int(positions[real - 1]) + 1, len(examples))
    by_length = np.concatenate(parts)
    by_length = by_length if processes is None else processes.sum_values(by_length)
    outputs = np.empty_like(by_length)
    outputs[order] = by_length
    return outputs


def reads_padding(model: Any, examples: Examples) -> bool:
    """Return whether a network would take padding of these records for letters."""
    lengths = np.asarray(count_positions(examples))
    if counts_words(examples.encoder) or not (lengths != lengths[:1]).any():
        return False
    return not Forward.of(model).tells_padding(model)


def warn_of_padding(model: Any, examples: Examples) -> None:
    """Warn of records of several lengths, where a network is not told what is padding."""
    if not reads_padding(model, examples):
        return
    lengths = count_positions(examples)
    name = type(getattr(model, "module", model)).__name__
    warn_user(
        f"{name} takes neither mask nor lengths, but the {noun_of(examples)} have "
        f"{lengths.min():,} to {lengths.max():,} positions: a batch of training pads the "
        f"shorter ones with zeros, which {name} takes for what it reads. "
        f"{_advise_mask(model)}, or cut all to one length. Validation and predict "
        "compute records of one length together, without padding",
    )


def _advise_mask(model: Any) -> str:
    """Say how a network leaves padding out, by functions that it can call."""
    mask = "a parameter mask (1 at letters, 0 at padding)"
    if isinstance(model, TorchModule):
        return (
            f"Give its forward {mask} and leave padding out: "
            "(x * mask[:, None]).sum(2) / mask.sum(1, keepdim=True) in place of x.mean(2); "
            "mask is None where a batch has no padding"
        )
    return (
        f"Give its method {mask} and leave padding out, as nn.functional.masked_mean does"
    )


def warn_of_changes(what: str, examples: Any) -> None:
    """Warn of records to score that augmentation or jitter changes in each epoch."""
    if _differs_between_epochs(examples):
        warn_user(
            f"{what} is augmented or has jitter, drawn anew in each epoch: its scores are "
            "not of the records as they stand; a dataset without augment= and jitter= "
            "stands still, as do parts that split() makes for validation",
        )


def _differs_between_epochs(examples: Any) -> bool:
    """Compare some records in two epochs; crops of the centre, for one, stay the same."""
    if not isinstance(examples, Dataset) or examples.plain() is examples:
        return False
    for row in range(min(len(examples), _COMPARED)):
        batches = [examples.batch([row], epoch=epoch) for epoch in (0, 1)]
        if not np.array_equal(*(batch.get("inputs", ()) for batch in batches)):
            return True
    return False


def evaluation_batch_size(examples: Examples) -> int:
    """Choose how many records an evaluation batch has, by the length of the longest."""
    longest = max(1, int(count_positions(examples).max(initial=1)))
    return max(1, min(_RECORDS, _most_positions(examples.encoder) // longest))


def _most_positions(encoder: Any) -> int:
    """Return how many positions an evaluation batch has at most."""
    if is_of_tokens(encoder):
        return _TOKENS
    return _COUNTS if counts_words(encoder) else kind_of_encoder(encoder).batch_positions


def check_lengths(model: Module, examples: Examples) -> None:
    """Refuse records that the model cannot read, naming the first sequence."""
    lengths = examples.lengths
    if not len(lengths):
        raise FormatError(f"there are no {noun_of(examples)} to work on")
    if not lengths.all():
        raise FormatError(f"the sequence {examples.ids[int(lengths.argmin())]!r} is empty")
    config: Any = getattr(model, "config", None)
    if hasattr(config, "check_encoder"):
        config.check_encoder(examples.encoder)
    _check_genotypes(model, examples)
    _check_positions(config, examples)


def _check_positions(config: Any, examples: Examples) -> None:
    """Refuse records with other numbers of positions than the model's."""
    wanted: int | None = getattr(config, "length", None)
    positions = count_positions(examples)
    if wanted is None or counts_words(examples.encoder) or (positions == wanted).all():
        return
    first = int((positions != wanted).argmax())
    what = "tokens" if is_of_tokens(examples.encoder) else "letters"
    any_length = ""
    if isinstance(config, SequenceCNNConfig) and config.inputs != "counts":
        any_length = f" (in Python: {config.spell_any_length()})"
    raise ShapeError(
        f"this model reads sequences of {wanted} {what}, but {examples.ids[first]!r} "
        f"has {positions[first]}; crop all to one length (parts of a genome: "
        f"width={wanted} in Python, --intervals BED --length {wanted} of seqloom predict), "
        f"or train again on sequences of several lengths{any_length} for a model "
        "of any"
    )


def _check_genotypes(model: Module, examples: Examples) -> None:
    """Refuse samples with other numbers of variants or covariates than the model's."""
    config = getattr(model, "config", None)
    wanted = getattr(config, "variants", None), getattr(config, "covariates", 0)
    names: tuple[str, ...] = getattr(examples, "covariate_names", ())
    found = int(examples.lengths[0]), len(names)
    if wanted[0] is not None and wanted != found:
        raise ShapeError(
            f"this model reads {wanted[0]:,} variants and {wanted[1]} covariates, the "
            f"dataset has {found[0]:,} and {found[1]}; "
            "GenotypeMLPConfig.for_data(train) makes one that fits"
        )


def _batches(
    lengths: NDArray[np.int64], size: int, *, most: int
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield the positions of each batch, and how many of them are not filled up."""
    # The matrix library rounds another number of rows in another way: the last batch is
    # filled up with its last record, and a record's own length alone decides how many rows
    # its batch has. Records too long for `size` of them are in smaller batches, because
    # memory is limited.
    start = 0
    while start < len(lengths):
        rows = size
        while rows > 1 and rows * lengths[start] > most:
            rows //= 2
        fitting = int(np.searchsorted(lengths, most // rows, side="right"))
        stop = min(start + rows, max(fitting, start + 1))
        yield np.minimum(np.arange(start, start + rows), stop - 1), stop - start
        start = stop


@contextmanager
def _naming_records(examples: Examples, rows: NDArray[np.int64]) -> Generator[None]:
    """Add to an error of the network which records it was given."""
    try:
        yield
    except Exception as error:
        lengths = np.asarray(examples.lengths)[rows]
        named = list(zip(rows.tolist(), lengths.tolist(), strict=True))[-_NAMED:]
        shown = ", ".join(f"{examples.ids[row]!r} ({n:,})" for row, n in named)
        more = "..., " if len(rows) > _NAMED else ""
        error.add_note(
            f"in a batch of {noun_of(examples)} (with their lengths): {more}{shown}"
        )
        raise


def _batches_of_one_length(
    lengths: NDArray[np.int64], size: int, *, most: int
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield the positions of batches without padding, and how many they are."""
    # Not filled up: of many lengths most batches would be copies of one record.
    starts = np.flatnonzero(np.diff(lengths, prepend=-1))
    for start, stop in pairwise([*starts.tolist(), len(lengths)]):
        rows = max(1, min(size, most // int(lengths[start])))
        for first in range(start, stop, rows):
            indices = np.arange(first, min(first + rows, stop))
            yield indices, indices.size


@contextmanager
def report_batches(
    progress: Watching, *, noun: str = "samples"
) -> Generator[OnBatch | None]:
    """Yield the function that is called after each batch."""
    if progress is True:
        # Imported here, because rich takes longer to load than most files to score.
        from rich.console import Console

        from seqloom.infer._score_bar import score_bar

        with score_bar(Console(), noun=noun) as tell:
            yield tell
    elif callable(progress):
        yield progress
    elif progress is None or progress is False:
        yield None
    else:
        raise ArgumentError(
            "progress must be True, False or a function of the records done and the "
            f"records in all, got {quote(progress)}"
        )


def run_strands(
    trained: Trained, data: Any, *, batch_size: int, on_batch: OnBatch | None = None
) -> NDArray[np.float32]:
    """Compute outputs whose scores are the means of the scores of both strands."""
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
    """Refuse a model of records that have no reverse complement."""
    if getattr(encoder, "alphabet", None) not in _ALPHABETS:
        raise ArgumentError(
            f"{_OPTION} is for models of DNA or RNA, but the model reads {encoder}: "
            "leave it out"
        )


def reverse_complement_of(data: Any) -> Any:
    """Show the records of a dataset as reverse complements."""
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
    """Find the outputs that the task turns into the mean of the scores of two outputs."""
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
    """Compute the logarithms of the probabilities of classes."""
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


def _log_sigmoid(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the logarithm of the probability of each label."""
    return -np.logaddexp(0.0, -logits)
