"""The columns of a batch, and taking them apart into items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.data._encoded import encode
from seqloom.data._extent import extents_of, mask_of, padded_length, position_axis
from seqloom.encode import Quality
from seqloom.errors import FormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom._ragged import Ragged
    from seqloom.data._encoded import Letters


def items_of(batch: dict[str, Any], encoder: Any) -> list[dict[str, Any]]:
    """Takes a batch apart into items, and the padding off."""
    lengths = batch.pop("lengths").tolist()
    batch.pop("mask", None)
    items = [
        dict(zip(batch, values, strict=True))
        for values in zip(*batch.values(), strict=True)
    ]
    if encoder is not None:
        is_last = encoder.channels == "first"
        for item, length in zip(items, lengths, strict=True):
            inputs = item["inputs"]
            item["inputs"] = inputs[:, :length] if is_last else inputs[:length]
    return items


def plain(letters: Letters) -> dict[str, Any]:
    """Lists letters, and qualities where there are any."""
    sequences, qualities = letters
    columns: dict[str, Any] = {"sequence": sequences.to_list()}
    if qualities is not None:
        columns["quality"] = qualities.to_list()
    return columns | {"lengths": sequences.lengths}


def encode_part(encoder: Any, letters: Letters) -> Ragged:
    """Gives what an encoder reads of records: their qualities, or their letters."""
    sequences, qualities = letters
    if not isinstance(encoder, Quality):
        return sequences
    if qualities is None:
        raise FormatError(
            f"{encoder} reads the qualities of FASTQ, but the records have none; give "
            'FASTQ files, or an encoder of letters such as OneHot("dna")'
        )
    return qualities


def encode_columns(
    encoder: Any,
    letters: Letters,
    names: list[str],
    *,
    length: int | None = None,
    multiple: int = 1,
    out: NDArray[Any] | None = None,
    num_threads: int = 1,
) -> dict[str, Any]:
    """Encodes sequences, and says where letters stand in the array."""
    sequences = encode_part(encoder, letters)
    lengths = extents_of(encoder, sequences)
    length = padded_length(lengths, lambda: names, length=length, multiple=multiple)
    inputs = encode(encoder, sequences, length=length, out=out, num_threads=num_threads)
    columns = {"inputs": inputs, "lengths": lengths}
    positions = inputs.shape[position_axis(encoder)]
    if not (lengths == positions).all():
        columns["mask"] = mask_of(lengths, positions)
    return columns
