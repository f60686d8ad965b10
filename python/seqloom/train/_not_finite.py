"""Losses and weights that are not finite end a run, with the record that is to blame."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import GradientError
from seqloom.models._reads import as_plain
from seqloom.nn import Module
from seqloom.train._parts import Arrays, LoaderBatches

# Rows of a part that are read at once.
_ROWS = 256


def error_of_loss(
    loss: float,
    place: tuple[int, int],
    *,
    train: Any,
    batch: Mapping[str, Any],
    folder: Path | None,
) -> GradientError:
    """Makes the error of a loss of NaN or infinity at an epoch and a batch in it."""
    epoch, number = place
    advice = _advise(epoch, folder, describe_batch(train, batch))
    return GradientError(f"epoch {epoch}, batch {number}: the loss is {loss}; {advice}")


def check_finite_epoch(
    model: Module, row: dict[str, Any], valid: Any, *, folder: Path | None
) -> None:
    """Refuses to save a network whose weights or validation loss are not finite."""
    weights, epoch = model.to_record().values(), row["epoch"]
    cause = ""
    if all(np.isfinite(array).all() for array in weights):
        if row.get("valid_loss", 0.0) is not None:
            return
        cause = describe_part(valid)
        cause = cause and f"in the validation part {cause}"
    what = "the validation loss is" if cause else "the network's numbers are no longer"
    raise GradientError(
        f"epoch {epoch}: {what} {'not ' if cause else ''}finite; "
        f"{_advise(epoch, folder, cause)}"
    )


def _advise(epoch: int, folder: Path | None, cause: str) -> str:
    """Says what may help a run that diverged, and which checkpoint is left."""
    saved = "nothing was saved"
    if folder is not None and epoch > 1:
        saved = f"the checkpoint of epoch {epoch - 1} is good"
    return f"{saved}; {cause or 'a lower lr (--lr) may help'}"


def describe_batch(part: Any, batch: Mapping[str, Any]) -> str:
    """Names the first record of a batch that is not finite; empty if all are."""
    if any(np.shape(as_plain(array))[:1] == (0,) for array in batch.values()):
        return "the batch has no records: leave empty batches out of the loader"
    # Rows of shuffled arrays are searched in the user's own arrays, by whose rows they are
    # named. The first one that is found there may be in another batch.
    if isinstance(part, Arrays):
        return _describe(part.columns)
    return _describe(batch)


def describe_part(part: Any) -> str:
    """Names the first record of a part that is not finite; empty if all are."""
    if isinstance(part, Arrays):
        return _describe(part.columns)
    return next((text for batch in _read(part) if (text := _describe(batch))), "")


def _read(part: Any) -> Iterator[Mapping[str, Any]]:
    """Yields the batches of a part, in their order."""
    if isinstance(part, LoaderBatches):
        yield from part.epoch(0)
        return
    for start in range(0, len(part), _ROWS):
        yield part.batch(np.arange(start, min(start + _ROWS, len(part))))


def _describe(arrays: Mapping[str, Any]) -> str:
    """Names the first row of the first array that is not finite."""
    for name, value in arrays.items():
        values = _as_floats(value)
        if values is None or np.isfinite(values).all():
            continue
        rows = values.reshape(len(values), -1)
        wrong = ~np.isfinite(rows)
        count, row = int(wrong.any(axis=1).sum()), int(wrong.any(axis=1).argmax())
        ids = arrays.get("id")
        record = f"row {row:,}" if ids is None else f"the record {str(ids[row])!r}"
        more = f" and in {count - 1:,} more" if count > 1 else ""
        return (
            f"the array {name} holds {rows[row][wrong[row]][0]} in {record}{more}; replace "
            "such values, or leave these records out"
        )
    return ""


def _as_floats(value: Any) -> NDArray[Any] | None:
    """Returns an array of floats; None of anything else."""
    if hasattr(value, "detach"):
        value = as_plain(value.detach().cpu()) if hasattr(value, "cpu") else value
    if not hasattr(value, "dtype") or not len(getattr(value, "shape", ())):
        return None
    array = np.asarray(value)
    is_float = array.dtype.kind in "fc" or "float" in str(array.dtype)
    return array if is_float and len(array) else None
