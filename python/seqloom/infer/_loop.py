"""The one evaluation loop: whatever scores a record, it goes through here."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.data import GenotypeEncoder, Subset
from seqloom.data._numbered import NumberedItems
from seqloom.errors import FormatError, ShapeError
from seqloom.infer._forward import Forward
from seqloom.infer._progress import OnBatch
from seqloom.models import Examples
from seqloom.models._examples import count_positions, noun_of
from seqloom.models._reads import counts_words, is_of_tokens
from seqloom.nn import Module
from seqloom.nn._joint import find_joint

# The letters of one evaluation batch, which bound its memory, its tokens, or its genotypes:
# a letter becomes many features, a token those of a language model, a genotype one number.
_LETTERS = 1 << 18
_TOKENS = 1 << 14
_GENOTYPES = 1 << 24
_RECORDS = 256
# So many records are looked at for one that moves.
_LOOKS = 16


def run_model(
    model: Module, examples: Examples, *, batch_size: int, on_batch: OnBatch | None = None
) -> NDArray[np.float32]:
    """Gives the model's outputs for every record, in order."""
    # Each batch has the same number of records, because the matrix library rounds another
    # number of rows in another way: the last one is filled up with its last record. Batches
    # are of records of similar length, so that little is padded.
    check_lengths(model, examples)
    model.eval()
    parts: list[NDArray[np.float32]] = []
    joint = find_joint()
    first: NDArray[np.float32] | None = None
    # Equal lengths keep their order, so that the same records make the same batches.
    order = np.argsort(count_positions(examples), kind="stable")
    batches = _batches_of_one_size(len(examples), batch_size)
    for number, (positions, real) in enumerate(batches):
        # Of several processes each computes some batches; the others count as 0.
        is_own = joint is None or number % joint.world == joint.number
        if is_own or first is None:
            batch = examples.batch(order[positions])
            first = _outputs(model, batch, examples.encoder)
        parts.append(first[:real] if is_own else np.zeros_like(first[:real]))
        if on_batch is not None:
            on_batch(int(positions[real - 1]) + 1, len(examples))
    found = np.concatenate(parts)
    found = found if joint is None else joint.sum_values(found)
    outputs = np.empty_like(found)
    outputs[order] = found
    return outputs


def warn_of_moving(what: str, examples: Any, *, stacklevel: int) -> None:
    """Says that records are drawn anew in each epoch, where they are to be judged."""
    if _is_moving(examples):
        warnings.warn(
            f"{what} is augmented or has jitter, drawn anew in each epoch: its scores are "
            "not of the records as they stand; a dataset without augment= and jitter= "
            "stands still, as do parts that split() makes for validation",
            stacklevel=stacklevel + 1,
        )


def _is_moving(examples: Any) -> bool:
    """Looks whether records differ between two epochs; crops of the centre do not."""
    whole = examples.dataset if isinstance(examples, Subset) else examples
    if not isinstance(whole, NumberedItems) or whole.plain() is whole:
        return False
    return any(
        not np.array_equal(*(_inputs_in(examples, row, epoch) for epoch in (0, 1)))
        for row in range(min(len(examples), _LOOKS))
    )


def _inputs_in(examples: Any, row: int, epoch: int) -> Any:
    """Reads one record as an epoch shows it."""
    return examples.batch([row], epoch=epoch).get("inputs")


def evaluation_batch_size(examples: Examples) -> int:
    """Chooses how many records an evaluation batch has, from the longest one."""
    longest = max(1, int(count_positions(examples).max(initial=1)))
    encoder = examples.encoder
    is_flat = isinstance(encoder, GenotypeEncoder) or counts_words(encoder)
    most = _TOKENS if is_of_tokens(encoder) else _GENOTYPES if is_flat else _LETTERS
    return max(1, min(_RECORDS, most // longest))


def check_lengths(model: Module, examples: Examples) -> None:
    """Refuses records that the model cannot read, naming the first sequence."""
    lengths = examples.lengths
    if not len(lengths):
        raise FormatError(f"there are no {noun_of(examples)} to work on")
    if not lengths.all():
        raise FormatError(f"the sequence {examples.ids[int(lengths.argmin())]!r} is empty")
    config: Any = getattr(model, "config", None)
    if hasattr(config, "check_encoder"):
        config.check_encoder(examples.encoder)
    _check_genotypes(model, examples)
    _check_places(getattr(config, "length", None), examples)


def _check_places(wanted: int | None, examples: Examples) -> None:
    """Refuses records with other numbers of positions than the model's."""
    positions = count_positions(examples)
    if wanted is None or counts_words(examples.encoder) or (positions == wanted).all():
        return
    first = int((positions != wanted).argmax())
    what = "tokens" if is_of_tokens(examples.encoder) else "letters"
    raise ShapeError(
        f"this model reads sequences of {wanted} {what}, but {examples.ids[first]!r} "
        f"has {positions[first]}; crop all to one length (parts of a genome: "
        f"width={wanted} in Python, --intervals BED --length {wanted} of seqloom predict), "
        "or train again on sequences of several lengths (in Python: "
        "SequenceCNNConfig(length=None)) for a model of any"
    )


def _check_genotypes(model: Module, examples: Examples) -> None:
    """Refuses samples with other numbers of variants or covariates than the model's."""
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


def _batches_of_one_size(total: int, size: int) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Gives each batch's positions, always as many, and how many of them are real."""
    for start in range(0, total, size):
        indices = np.minimum(np.arange(start, start + size), total - 1)
        yield indices, min(size, total - start)


def _outputs(model: Any, batch: dict[str, Any], encoder: Any) -> NDArray[np.float32]:
    """Runs the model on one batch."""
    return np.asarray(Forward.of(model)(model, batch, encoder=encoder), np.float32)
