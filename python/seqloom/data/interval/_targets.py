"""Values of signal tracks at intervals, which a network learns to predict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._files import fingerprint_file
from seqloom._ragged import Ragged
from seqloom.augment import Augmentation, Compose, Mask, Mutate, ReverseComplement
from seqloom.data._encoder import apply_augment
from seqloom.data._position import check_integer
from seqloom.errors import ArgumentError
from seqloom.io._tracks import BinSettings, Tracks, open_tracks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.data.interval._spans import Genome, Spans

    Values = NDArray[np.float32]  # (rows, tracks, bins)

# Augmentations after which each position of a sequence is still known.
_SUITABLE_AUGMENTATIONS = (Compose, Mask, Mutate, ReverseComplement)


class TrackTargets:
    """Reads the values of tracks around the middle of each interval."""

    def __init__(
        self, tracks: Tracks, genome: Genome, *, width: int, bins: BinSettings
    ) -> None:
        self.tracks, self.bins = tracks, bins
        self._offset = (width - bins.width) // 2
        self._numbers: dict[int, list[int]] = {}
        self._genome = genome
        swapped = list(range(len(tracks)))
        for plus, minus in tracks.pairs:
            swapped[plus], swapped[minus] = minus, plus
        self._swapped = swapped

    @classmethod
    def of(
        cls, paths: Any, genome: Genome, spans: Spans, **options: Any
    ) -> TrackTargets | None:
        """Open tracks, and check that they fit the genome and the intervals."""
        if paths is None:
            return None
        tracks = open_tracks(paths)
        widths = np.unique(spans.stops - spans.starts)
        if widths.size > 1:
            raise ArgumentError(
                f"tracks need intervals of one width, but these have {widths.size} widths "
                f"from {widths[0]} to {widths[-1]}; pass width"
            )
        width = int(widths[0])
        target_width = options.pop("target_width")
        target_width = width if target_width is None else target_width
        check_integer("target_width", target_width, least=1)
        # Otherwise, the middle would differ between the strands.
        if target_width > width or (width - target_width) % 2:
            raise ArgumentError(
                f"target_width must be at most the width of the intervals, {width}, and "
                f"differ from it by an even number; got {target_width}"
            )
        bins = BinSettings(width=target_width, **options)
        made = cls(tracks, genome, width=width, bins=bins)
        for number in np.unique(spans.chroms).tolist():
            made.find_contig(number)
        return made

    def find_contig(self, number: int) -> list[int]:
        """Return the number in each track of a contig of the genome."""
        if number not in self._numbers:
            name, length = self._genome.names[number], int(self._genome.lengths[number])
            found = self.tracks.find_contig(name)
            self.tracks.check_length(found, name, length)
            self._numbers[number] = found
        return self._numbers[number]

    def read(
        self, spans: Spans, is_minus: NDArray[np.bool_], *, num_threads: int
    ) -> Values:
        """Return the values of rows, in the direction of their strand."""
        chroms, numbers = np.unique(spans.chroms, return_inverse=True)
        values = self.tracks.read_spans(
            [self.find_contig(chrom) for chrom in chroms.tolist()],
            (numbers.reshape(-1), spans.starts + self._offset),
            bins=self.bins,
            num_threads=num_threads,
        )
        return self.reverse(values, is_minus)

    def reverse(self, values: Values, is_reversed: NDArray[np.bool_]) -> Values:
        """Reverse the positions of some rows, and exchange the strands of each pair."""
        if is_reversed.any():
            values[is_reversed] = values[is_reversed][:, self._swapped, ::-1]
        return values

    def content(self) -> Iterator[bytes]:
        """Yield bytes to hash: the files, and the request."""
        tracks, bins = self.tracks, self.bins
        yield repr((tracks.names, tracks.pairs, tracks.absent_contigs)).encode()
        yield repr((bins.width, bins.bin, bins.reduce, bins.missing_rule)).encode()
        for path in self.tracks.paths:
            yield fingerprint_file(path).encode()


def find_reversed(augment: Any, keys: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Return the rows that an augmentation reverse-complements."""
    check_positions_known(augment)
    count = len(keys)
    # The augmentation reverses qualities together with residues.
    offsets = np.arange(count + 1) * 2
    residues = Ragged(np.tile(np.frombuffer(b"AC", np.uint8), count), offsets)
    qualities = Ragged(np.tile(np.frombuffer(b"!I", np.uint8), count), offsets)
    changed = apply_augment(augment, (residues, qualities), keys, num_threads=1)[1]
    return np.zeros(0, bool) if changed is None else changed.data[::2] == ord("I")


def check_positions_known(augment: Any) -> None:
    """Raise for an augmentation after which tracks and sequences do not match."""
    if augment is None:
        return
    members = augment.members if isinstance(augment, Compose) else (augment,)
    for member in members:
        if isinstance(member, Compose):
            check_positions_known(member)
        elif (
            not isinstance(member, _SUITABLE_AUGMENTATIONS)
            or getattr(member, "insertions", 0)
            or getattr(member, "deletions", 0)
        ):
            names = [kind.__name__ for kind in _SUITABLE_AUGMENTATIONS]
            name = type(member).__name__ if isinstance(member, Augmentation) else member
            raise ArgumentError(
                f"augment has {name}, which may move residues, so they would not match the "
                f"tracks; expected {', '.join(names)} (without insertions and deletions); "
                "for random shifts pass jitter"
            )
