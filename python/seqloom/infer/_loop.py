"""The evaluation loop, which scores records for `fit`, `predict` and `evaluate`."""

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
from seqloom.infer._kinds import find_encoder_kind
from seqloom.models import (
    Classify,
    Examples,
    Multilabel,
    Profile,
    SequenceCNNConfig,
    Task,
    TorchModule,
    Trained,
)
from seqloom.models._examples import count_positions, counts_kmers, noun_of, returns_tokens
from seqloom.nn import Module
from seqloom.nn._processes import find_batch_processes

# The maximum number of positions in an evaluation batch, limited by memory. A token
# becomes many features of a language model, so the limit for tokens is lower than for
# k-mer counts.
_MAX_BATCH_TOKENS = 1 << 14
_MAX_KMER_COUNTS = 1 << 24
_MAX_BATCH_RECORDS = 256
# The number of records that are compared between two epochs to detect augmentation.
_MAX_COMPARED_RECORDS = 16
# The maximum number of records that an error message lists.
_MAX_NAMES = 5
_NUCLEOTIDE_ALPHABETS = ("dna", "rna", "iupac")
_STRANDS = "reverse_complement (--reverse-complement)"

# A progress function receives the numbers of finished records and of all records.
OnBatch: TypeAlias = Callable[[int, int], Any]
ProgressOption: TypeAlias = OnBatch | bool | None


def run_model(
    model: Module, examples: Examples, *, batch_size: int, on_batch: OnBatch | None = None
) -> NDArray[np.float32]:
    """Return the model's outputs for all records, in the order of the records."""
    # Records of similar length share a batch, to reduce padding.
    check_lengths(model, examples)
    model.eval()
    parts: list[NDArray[np.float32]] = []
    processes = find_batch_processes()
    computed: NDArray[np.float32] | None = None
    # The sort is stable, so that the same records always form the same batches.
    lengths = count_positions(examples)
    order = np.argsort(lengths, kind="stable")
    make = _equal_length_batches if reads_padding(model, examples) else _split_into_batches
    batches = make(lengths[order], batch_size, most=_max_positions(examples.encoder))
    for number, (positions, real) in enumerate(batches):
        # Each rank computes its own batches and contributes zeros for the rest; the sum
        # is the full result. All ranks compute the first batch, because its output has
        # the shape of all outputs.
        is_own = processes is None or number % processes.world == processes.number
        if is_own or computed is None:
            batch = examples.batch(order[positions])
            with _add_record_names(examples, order[positions[:real]]):
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
    """Return whether the network would treat the padding of records as data."""
    lengths = np.asarray(count_positions(examples))
    if counts_kmers(examples.encoder) or not (lengths != lengths[:1]).any():
        return False
    return not Forward.of(model).receives_padding(model)


def warn_of_padding(model: Any, examples: Examples) -> None:
    """Warn if records have different lengths and the network cannot exclude padding."""
    if not reads_padding(model, examples):
        return
    lengths = count_positions(examples)
    name = type(getattr(model, "module", model)).__name__
    warn_user(
        f"{name} takes neither mask nor lengths, but the {noun_of(examples)} have "
        f"{lengths.min():,} to {lengths.max():,} positions. Training batches pad shorter "
        f"records with zeros, which {name} treats as data. {_advise_mask(model)}, or crop "
        "all to one length. Validation and predict compute records of one length together, "
        "without padding"
    )


def _advise_mask(model: Any) -> str:
    """Return advice on how a network can exclude padding from its computation."""
    mask = "a parameter mask (1 at data, 0 at padding)"
    if isinstance(model, TorchModule):
        return (
            f"Add to its forward {mask} and exclude padding: "
            "(x * mask[:, None]).sum(2) / mask.sum(1, keepdim=True), not x.mean(2). "
            "mask is None for batches without padding"
        )
    return (
        f"Add to its method {mask} and exclude padding, as nn.functional.masked_mean does"
    )


def warn_of_augmentation(what: str, examples: Any) -> None:
    """Warn if augmentation or jitter changes the records to be scored."""
    if _differs_between_epochs(examples):
        warn_user(
            f"{what} has augmentation or jitter, so these are not the scores of the "
            "original records; use a dataset without them, or sets from split()"
        )


def _differs_between_epochs(examples: Any) -> bool:
    """Return whether records differ between two epochs, as random crops do."""
    if not isinstance(examples, Dataset) or examples.plain() is examples:
        return False
    for row in range(min(len(examples), _MAX_COMPARED_RECORDS)):
        batches = [examples.batch([row], epoch=epoch) for epoch in (0, 1)]
        if not np.array_equal(*(batch.get("inputs", ()) for batch in batches)):
            return True
    return False


def evaluation_batch_size(examples: Examples) -> int:
    """Return the number of records in a batch, computed from the longest record."""
    longest = max(1, int(count_positions(examples).max(initial=1)))
    return max(1, min(_MAX_BATCH_RECORDS, _max_positions(examples.encoder) // longest))


def _max_positions(encoder: Any) -> int:
    if returns_tokens(encoder):
        return _MAX_BATCH_TOKENS
    return (
        _MAX_KMER_COUNTS
        if counts_kmers(encoder)
        else find_encoder_kind(encoder).batch_positions
    )


def check_lengths(model: Module, examples: Examples) -> None:
    """Raise if the model cannot read the records; the error names the first such record."""
    lengths = examples.lengths
    if not len(lengths):
        raise FormatError(f"the input contains no {noun_of(examples)}")
    if not lengths.all():
        raise FormatError(f"the sequence {examples.ids[int(lengths.argmin())]!r} is empty")
    config: Any = getattr(model, "config", None)
    if hasattr(config, "check_encoder"):
        config.check_encoder(examples.encoder)
    _check_genotypes(model, examples)
    _check_positions(config, examples)


def _check_positions(config: Any, examples: Examples) -> None:
    """Raise if the length of a record differs from the length that the model requires."""
    wanted: int | None = getattr(config, "length", None)
    positions = count_positions(examples)
    if wanted is None or counts_kmers(examples.encoder) or (positions == wanted).all():
        return
    first = int((positions != wanted).argmax())
    what = "tokens" if returns_tokens(examples.encoder) else "residues"
    any_length = ""
    if isinstance(config, SequenceCNNConfig) and config.inputs != "counts":
        any_length = f" (in Python: {config.spell_any_length()})"
    raise ShapeError(
        f"this model reads sequences of {wanted} {what}, but {examples.ids[first]!r} has "
        f"{positions[first]}; crop all to one length (parts of a genome: width={wanted} in "
        f"Python, --intervals BED --length {wanted} of seqloom predict), or train again on "
        f"sequences of several lengths{any_length} for a model of any"
    )


def _check_genotypes(model: Module, examples: Examples) -> None:
    """Raise if the numbers of variants and covariates differ from those of the model."""
    config = getattr(model, "config", None)
    wanted = getattr(config, "variants", None), getattr(config, "covariates", 0)
    names: tuple[str, ...] = getattr(examples, "covariate_names", ())
    found = int(examples.lengths[0]), len(names)
    if wanted[0] is not None and wanted != found:
        raise ShapeError(
            f"this model reads {wanted[0]:,} variants and {wanted[1]} covariates, but the "
            f"dataset has {found[0]:,} and {found[1]}; "
            "create a suitable model with GenotypeMLPConfig.for_data(train)"
        )


def _split_into_batches(
    lengths: NDArray[np.int64], size: int, *, most: int
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield the record indices of each batch, and the number of distinct records in it."""
    # Matrix libraries round differently for different numbers of rows. So the last
    # batch is filled with copies of its last record, and the number of rows depends
    # only on the length of the records. Batches of long records are smaller, to limit
    # memory use.
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
def _add_record_names(examples: Examples, rows: NDArray[np.int64]) -> Generator[None]:
    """Add the ids of a batch's records to an error that the network raises."""
    try:
        yield
    except Exception as error:
        lengths = np.asarray(examples.lengths)[rows]
        named = list(zip(rows.tolist(), lengths.tolist(), strict=True))[-_MAX_NAMES:]
        shown = ", ".join(f"{examples.ids[row]!r} ({n:,})" for row, n in named)
        more = "..., " if len(rows) > _MAX_NAMES else ""
        error.add_note(
            f"in a batch of {noun_of(examples)} (with their lengths): {more}{shown}"
        )
        raise


def _equal_length_batches(
    lengths: NDArray[np.int64], size: int, *, most: int
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield the record indices of batches without padding, and the number of records."""
    # Batches of one length are not filled with copies, because most rows would be
    # copies if there are many lengths.
    starts = np.flatnonzero(np.diff(lengths, prepend=-1))
    for start, stop in pairwise([*starts.tolist(), len(lengths)]):
        rows = max(1, min(size, most // int(lengths[start])))
        for first in range(start, stop, rows):
            indices = np.arange(first, min(first + rows, stop))
            yield indices, indices.size


@contextmanager
def report_batches(
    progress: ProgressOption, *, noun: str = "samples"
) -> Generator[OnBatch | None]:
    """Yield the progress function that is called after each batch, or None."""
    if progress is True:
        # Imported here, because loading rich takes longer than scoring most files.
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
            "progress must be True, False or a function that receives the numbers of "
            f"finished and of all records, got {quote(progress)}"
        )


def run_both_strands(
    trained: Trained, data: Any, *, batch_size: int, on_batch: OnBatch | None = None
) -> NDArray[np.float32]:
    """Compute network outputs whose scores are the mean scores of both strands."""
    require_one_strand(trained.task)
    other = reverse_complements(data)
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


def require_reverse_complement(encoder: Any) -> None:
    """Raise if the records that the model reads have no reverse complement."""
    if getattr(encoder, "alphabet", None) not in _NUCLEOTIDE_ALPHABETS:
        raise ArgumentError(
            f"{_STRANDS} is for models of DNA or RNA, but the model reads {encoder}: "
            "leave it out"
        )


def require_one_strand(task: Task | None) -> None:
    """Raise if the tracks of a model may belong to different strands."""
    if isinstance(task, Profile) and len(task.columns) > 1:
        raise ArgumentError(
            f"{_STRANDS} is for models of one track without strand, because a model of "
            f"{len(task.columns)} tracks does not know which are strands of each other: "
            "leave it out"
        )


def reverse_complements(data: Any) -> Any:
    """Return the dataset with reverse complements of its records."""
    if not has_letters(data) or data.augment is not None:
        what = "has augment=" if has_letters(data) else "has no sequences"
        raise ArgumentError(
            f"{_STRANDS} needs the sequences of {noun_of(data)}, but the dataset {what}; "
            "pass the files, or a SequenceDataset without augment="
        )
    name = "rna" if getattr(data.encoder, "alphabet", "") == "rna" else "dna"
    return data.replace(augment=ReverseComplement(p=1.0, alphabet=cast("Any", name)))


def average_outputs(
    task: Task, forward: NDArray[np.float32], reverse: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return outputs whose scores are the mean scores of two network outputs."""
    one, other = forward.astype(np.float64), reverse.astype(np.float64)
    if isinstance(task, Classify):
        found = np.logaddexp(_log_softmax(one), _log_softmax(other)) - np.log(2)
    elif isinstance(task, Multilabel):
        # Computes the logit of the mean of the probabilities p and q.
        yes = np.logaddexp(_log_sigmoid(one), _log_sigmoid(other))
        found = yes - np.logaddexp(_log_sigmoid(-one), _log_sigmoid(-other))
    elif isinstance(task, Profile):
        found = np.logaddexp(one, other[:, :, ::-1]) - np.log(2)
    else:
        found = (one + other) / 2
    return found.astype(np.float32)


def _log_softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithms of the probabilities of classes."""
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


def _log_sigmoid(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithms of the probabilities of labels."""
    return -np.logaddexp(0.0, -logits)
